#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What limited a run: each rule that can be provoked is, and must be the first. Few of them belong to
# every check; the others run with make check-all.

load helpers

setup()
{
	need_lab
	need tc ip
}

all_only()
{
	[ "${WEIR_CHECK_ALL:-}" = 1 ] || skip 'only with make check-all'
}

# first CODE COMMAND [ARG…]: the run's first line is that rule. A machine with much else to do may
# be what limits: not three times.
first()
{
	local code=$1 kind=$2 try
	shift 2
	for try in 1 2 3; do
		"$WEIR" "$kind" "${peer:-$WEIR_LAB_PEER}" -J --no-store "$@" >run.json
		[ "$(jq -r .limited_code run.json)" != "$code" ] || return 0
	done
	fail "limited by $(jq -r '"\(.limited_code) (\(.limited_by))"' run.json), not $code, try $try"
}

few()
{
	first receiver-window tcp -t 0.3 -w 4K
	first udp-receiver udp -t 0.3 -b 300M -l 200 -w 2K
	tc qdisc add dev eth0 root tbf rate 50mbit burst 16k limit 30k
	first local-qdisc tcp -t 0.4
	holds 'what is not known is not zero' 'any(.summaries[]; .metric == "cpu.irq") and
		all(.summaries[] | select(.metric == "cpu.irq"); .state == "unknown" or .value > 0)'
	holds 'of both hosts, in every interval' '[.frames[] | select(.columns["cpu.core_max"]) |
		{e: .dims.end, n: (.columns["cpu.core_max"] | length)}] | map(.e) == ["near", "far"] and
		all(.n >= 1)'
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.3 -q --explain >out
	has out 'limited by: local-qdisc: ' 'not known of the far host: '
	"$WEIR" show --explain last >out
	has out 'limited by: local-qdisc: '
}
@test "a small window, a socket that overflows, a token bucket" {
	lab few
}

# TCP has data to send now and then only.
paced()
{
	first asked-rate tcp -t 0.5 -b 20M
	"$WEIR" show --explain run.json >out
	has out 'limited by: asked-rate: '
}
@test "a paced application" {
	all_only
	lab paced
}

qdisc_udp()
{
	tc qdisc add dev eth0 root tbf rate 20mbit burst 16k limit 30k
	first local-qdisc udp -t 0.6 -b 100M
	# One that drops nothing, and makes the program wait.
	tc qdisc replace dev eth0 root tbf rate 20mbit burst 16k limit 3m
	first local-qdisc udp -t 0.6 -b 100M -w 64K
}
@test "a datagram sender whose queue drops" {
	all_only
	lab qdisc_udp
}

lossy()
{
	first network-loss tcp -t 1.5 -P 4
}
@test "a narrow router that drops" {
	all_only
	lab --topology=router --rate=20M --queue='pfifo limit 10' lossy
}

# The reader: the server's child that takes the test.
reader()
{
	pgrep -P "$server" >child
}
# It reads for 10 ms and is stopped for 150, again and again: the fault that is to be found.
stutter()
{
	until_true 5 reader
	while kill -STOP "$(head -n 1 child)"; do
		sleep 0.15
		kill -CONT "$(head -n 1 child)"
		sleep 0.01
	done
}
slow_reader()
{
	server
	(stutter 2>/dev/null) &
	pids+=($!)
	"$WEIR" tcp "$WEIR_LAB_PEER" -J --no-store -t 1.5 -w 256K >run.json
	is 'slow reader' "$(jq -r .limited_code run.json)" receiver-window
	holds 'and why' '.limited_by | contains("reads too slowly")'
}
@test "a slow reader" {
	all_only
	need pgrep
	lab --no-serve slow_reader
}

ready()
{
	grep -q ready "$1.out"
}
small_buffer()
{
	spawn path python3 "$HELPERS/slow_path.py" "$WEIR_LAB_FAR_PID" 10
	until_true 5 ready path
	sysctl -qw net.ipv4.tcp_wmem='4096 16384 16384'
	peer=198.18.9.2 first receiver-window tcp -t 1.5 -w 32K
	peer=198.18.9.2 first send-buffer tcp -t 1.5
}
@test "a small send buffer on a path with delay" {
	all_only
	need python3
	[ -w /dev/net/tun ] || skip 'no /dev/net/tun'
	HELPERS=$BATS_TEST_DIRNAME lab small_buffer
}

# Before all others: in this session, and the session among them; with a server that is in it.
hurry()
{
	renice -n -20 $$ >/dev/null
	echo -20 2>/dev/null >/proc/self/autogroup || true
	server
}

full_core()
{
	hurry
	first sender-cpu tcp -t 1 -l 64 -N
}
@test "a sender without processor time" {
	all_only
	[ "$(id -u)" = 0 ] || skip 'not root: no higher priority'
	lab --no-serve full_core
}

filters()
{
	hurry
	python3 "$HELPERS/nft_rules.py" 4000
	first netfilter tcp -t 1 -M 500 -R
	holds 'counted' 'any(.summaries[]; .metric == "nf.rules" and .value >= 4000)'
}
@test "four thousand packet filter rules" {
	all_only
	need python3
	[ "$(id -u)" = 0 ] || skip 'not root: packet filters cannot be counted'
	HELPERS=$BATS_TEST_DIRNAME lab --no-serve filters
}
