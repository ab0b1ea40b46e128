#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What weir tcp meets where it is pointed at, if it is not what it needs: the error names it within
# seconds, and the exit status is 1.

load helpers

setup()
{
	need_lab
}

# meets PORT SECONDS TEXT… [-- ARG…]: the error has each text.
meets()
{
	local port=$1 seconds=$2 texts=() t0 status=0
	shift 2
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		texts+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	t0=$(ms)
	"$WEIR" tcp "$WEIR_LAB_PEER" -p "$port" -t 1 --no-store "$@" >out 2>err || status=$?
	is "exit status at port $port" "$status" 1
	[ $(($(ms) - t0)) -le "$seconds"000 ] || fail "port $port: it took $(($(ms) - t0)) ms: $(cat err)"
	has err "weir tcp: " "${texts[@]}"
	is 'output of a test that never was' "$(cat out)" ''
}

closed_and_dropped()
{
	meets 7 1 "$WEIR_LAB_PEER:7 refuses the connection" 'is the server running'
	# An address that nobody has, and one whose answers get lost.
	WEIR_LAB_PEER=198.18.0.77
	meets 5201 3 'no answer from 198.18.0.77:5201' 'firewall' -- --connect-timeout 1s
	far ip addr add 198.18.0.9/32 dev lo
	far ip rule add from 198.18.0.9 blackhole
	WEIR_LAB_PEER=198.18.0.9
	meets 5201 3 'no answer from 198.18.0.9:5201' 'firewall' -- --connect-timeout 1s
	WEIR_LAB_PEER=203.0.113.1
	meets 5201 1 'no route to 203.0.113.1'
	WEIR_LAB_PEER=no-such-host.invalid
	meets 5201 6 'cannot find the host "no-such-host.invalid"'
}
@test "a closed port, a firewall that drops, no route, no such name" {
	need ip
	lab --no-serve closed_and_dropped
}

web()
{
	spawn_far web python3 -m http.server 8000
	until_true 5 listens 8000
	meets 8000 3 'a web server' 'not weir or iperf3' 'is the port right' -- --connect-timeout 1s
}
@test "a web server" {
	need python3
	lab --no-serve web
}

iperf2()
{
	spawn_far iperf iperf -s -p 5300
	until_true 5 listens 5300
	"$WEIR" tcp "$WEIR_LAB_PEER" -p 5300 --connect-timeout 1s -n 100000 -J --no-store >run.json
	holds 'asked in its own words' '.protocol == "iperf2" and .far.version == "2.1.8"'
}
@test "an iperf 2 server on a port that is not its own" {
	need iperf
	lab --no-serve iperf2
}

# says PORT TEXT: a service that says it and waits.
says()
{
	mkfifo "fifo$1"
	spawn_far "nc$1" sh -c 'exec nc -l "$1" <"$2"' sh "$1" "fifo$1"
	printf '%b' "$2" >"fifo$1"
	until_true 5 listens "$1"
}
strangers()
{
	local port
	spawn_far silent nc -lk 6000
	spawn_far closing sh -c 'exec nc -N -l 6001 </dev/null'
	for port in 6000 6001; do
		until_true 5 listens $port
	done
	# A second each for iperf3's words, iperf 2's and nttcp's.
	meets 6000 5 'says nothing for 1 s' -- --connect-timeout 1s
	meets 6001 3 'closes it at once'
	says 6002 'SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n'
	meets 6002 3 'an SSH server' 'not weir or iperf3'
	says 6003 '220 mail.example ESMTP\r\n'
	meets 6003 3 'a mail or FTP server'
	says 6004 'hello\033[31m\r\n'
	meets 6004 3 'neither weir nor iperf3' 'it answered "hello\x1b[31m'
}
@test "a silent service, one that closes at once, SSH, mail, an unknown one" {
	need nc
	lab --no-serve strangers
}

busy()
{
	spawn_far server iperf3 -s
	until_true 5 listens 5201
	spawn client iperf3 -c "$WEIR_LAB_PEER" -t 5 -b 10M
	until_true 5 talking
	meets 5201 3 'busy' 'one test at a time'
	meets 5201 3 'speaks iperf3, not weir' -- --proto weir
}
talking()
{
	[ "$(ss -Htn state established 'dport = :5201' | wc -l)" -ge 2 ]
}
@test "an iperf3 server that is busy" {
	need iperf3
	lab --no-serve busy
}

forced()
{
	weir_json -t 0.3 --proto iperf3 --bidir
	holds 'protocol' '.protocol == "iperf3"'
	weir_json -t 0.3 --proto weir
	holds 'protocol' '.protocol == "weir"'
}
@test "--proto chooses what a weir server speaks" {
	lab forced
}

not_served()
{
	server --tests 1
	spawn first "$WEIR" tcp "$WEIR_LAB_PEER" -t 4 -b 1M --no-store
	until_true 3 talking
	meets 5201 2 'busy'
	meets 5201 2 'busy' -- --proto iperf3
	if [ -n "$(type -P iperf3)" ]; then
		! iperf3 -c "$WEIR_LAB_PEER" -t 1 >iperf3 2>&1 || fail 'iperf3 was served'
		has iperf3 'server is busy'
	fi
}
@test "a weir server at its limit of tests" {
	lab --no-serve not_served
}
