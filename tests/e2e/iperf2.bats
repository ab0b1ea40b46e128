#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# iperf 2.1.8 as client of weir serve and as server of weir: modes, bytes, and no loss that was none.

load helpers

setup()
{
	need_lab
	need iperf
}

# client NAME ARG…: iperf's own words in NAME.txt, with nothing to complain of.
client()
{
	local name=$1
	shift
	timeout 20 iperf -c "$WEIR_LAB_PEER" "$@" >"$name.txt" 2>&1 || fail "$name: $(cat "$name.txt")"
	! grep -iE 'fail|warn|error' "$name.txt" || fail "$name: $(cat "$name.txt")"
}

clients()
{
	server
	client tcp -t 0.5
	client reverse -t 0.5 -R
	client duplex -t 0.5 --full-duplex
	client detect -n 1M -X
	client udp -u -t 0.5 -b 5m -l 200
	has udp.txt 'Server Report:' ' (0%)'
	printf 'ab' | nc -N "$WEIR_LAB_PEER" 5001
	until_true 5 grep -q stream server.out
	stop_server
	jq -es '[.[] | select(.protocol == "iperf2")] | length == 6 and all(.outcome == "done")' \
		server.out >/dev/null || fail "$(cat server.out)"
}
@test "iperf 2.1.8's client at weir serve: TCP both ways, UDP without loss, a plain stream" {
	need nc
	lab --no-serve clients
}

servers()
{
	spawn_far tcp stdbuf -oL iperf -s -i 10
	until_true 5 listens 5001
	"$WEIR" tcp "$WEIR_LAB_PEER" -n 2000000 -J --no-store >run.json
	holds 'found out by itself' '.protocol == "iperf2" and .far.version == "2.1.8"'
	until_true 5 grep -q '1.91 MBytes' tcp.out
	# 2.1.8 takes a header for 60 bytes of data.
	"$WEIR" tcp "$WEIR_LAB_PEER" -p 5001 -R -t 0.3 -J --no-store >run.json
	holds 'it sent' '.outcome == "complete"'
	spawn_far udp stdbuf -oL iperf -s -u -p 5002 -i 10
	until_true 5 grep -q 'UDP port 5002' udp.out
	"$WEIR" udp "$WEIR_LAB_PEER" -p 5002 -b 5M -n 200000 -l 200 -J --no-store >run.json
	holds 'found out by a datagram' '.protocol == "iperf2" and ([.. | objects | .code? | select(. == "peer-found")] | length) == 1'
	holds 'a report without a loss' '[.. | objects | select(.metric? == "udp.lost" and .value?)] | length > 0 and all(.value == 0)'
	until_true 5 grep -q '0/1000 (0%)' udp.out
	status=0
	"$WEIR" udp "$WEIR_LAB_PEER" --proto iperf2 -p 5003 -b 1M -n 1470 --no-store >out 2>&1 || status=$?
	has out 'nobody listens'
}
@test "weir at iperf 2.1.8's server: found out by itself, and both count the same" {
	lab --no-serve servers
}

# shape FILE: numbers and units away, the words in their order.
shape()
{
	sed -E 's/[0-9]+([.][0-9]+)*/N/g; s/[KMG](Byte|bit)/\1/g; s/ +/ /g; s/default/N/; s/N out-of-order.*//; s/(N:N,)+N:N/N:N/; s/[(]f[)]//' "$1" | sort -u
}

# alike NAME ARG…: iperf's client and weir's print the same lines, at a weir that is iperf's server.
alike()
{
	local name=$1
	shift
	iperf -c "$WEIR_LAB_PEER" "$@" >"$name.theirs" 2>&1
	"$WEIR" iperf -c "$WEIR_LAB_PEER" "$@" >"$name.ours" 2>&1
	is "shape of $*" "$(shape "$name.ours")" "$(shape "$name.theirs")"
}

personas()
{
	spawn_far server "$WEIR" iperf -s
	until_true 5 listens 5001
	alike tcp -t 0.2
	alike reverse -t 0.2 -R
	alike udp -u -t 0.2 -b 5m
	alike key -n 1M -f M
	alike enhanced -t 0.2 -e
	alike trips -t 0.2 --trip-times -e --full-duplex
	alike frames -u -t 0.2 --isochronous=20:2m
	spawn iperf iperf -s -p 5004
	until_true 5 listening 5004
	"$WEIR" iperf -c 127.0.0.1 -p 5004 -n 1M -P 2 -y C >csv
	is 'lines: two flows and their sum' "$(cut -d, -f6 csv | tr '\n' ' ')$(tail -1 csv | cut -d, -f8)" '1 2 -1 2097152'
	status=0
	"$WEIR" iperf -c 127.0.0.1 -U >out 2>err || status=$?
	is 'exit status' "$status" 1
	has err 'not here'
	mkdir links
	"$WEIR" aliases links >out
	spawn_far daemon "$WEIR" nttcp -i
	until_true 5 listens 5037
	links/nttcp -T -n 100 "$WEIR_LAB_PEER" -l1000 >rows
	is 'the title' "$(head -1 rows)" '     Bytes  Real s   CPU s Real-MBit/s  CPU-MBit/s   Calls  Real-C/s   CPU-C/s'
	is 'both ends count' "$(tail -n +2 rows | cut -c1-10 | tr '\n' '|')" 'l   409600|1   409600|'
	links/nttcp -r -u -n 20 -l 1000 "$WEIR_LAB_PEER" >rows
	is 'by UDP, the other way' "$(cut -c1-10 rows | tr '\n' '|')" 'l    20000|1    20000|'
	spawn datagrams "$WEIR" ttcp -r -s -u -p 5009
	until_true 5 takes_datagrams 5009
	links/ttcp -t -s -u -n 50 -l 1000 -p 5009 127.0.0.1 >sent
	has sent 'ttcp-t: 50000 bytes in 0.' 'KB/sec +++' ' I/O calls, msec/call = '
	until_true 5 grep -q 'ttcp-r: 50000 bytes in 0' datagrams.out
	spawn stream "$WEIR" ttcp -r -p 5009
	until_true 5 listening 5009
	links/ttcp -t -p 5009 127.0.0.1 <sent >words
	until_true 5 cmp -s sent stream.out
}
takes_datagrams()
{
	[ -n "$(ss -Hlun "sport = :$1")" ]
}
listening()
{
	[ -n "$(ss -Hltn "sport = :$1")" ]
}
@test "weir as iperf, nttcp and ttcp: the same lines, both ends the same bytes" {
	need ss
	lab --no-serve personas
}
