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
	"$WEIR" udp "$WEIR_LAB_PEER" --proto iperf2 -p 5002 -b 5M -n 200000 -l 200 -J --no-store >run.json
	holds 'a report without a loss' '[.. | objects | select(.metric? == "udp.lost" and .value?)] | length > 0 and all(.value == 0)'
	until_true 5 grep -q '0/1000 (0%)' udp.out
	status=0
	"$WEIR" udp "$WEIR_LAB_PEER" --proto iperf2 -p 5003 -b 1M -n 1470 --no-store >out 2>&1 || status=$?
	has out 'nobody listens'
}
@test "weir at iperf 2.1.8's server: found out by itself, and both count the same" {
	lab --no-serve servers
}
