#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Debian's iperf3 as the other end, in both roles. The same test is told by two programs: their
# figures agree as their definitions allow. Options are covered in pairs, not as a product.

load helpers

setup()
{
	need iperf3
	need_lab
}

# ---- weir tcp against iperf3 -s ----

# their KEY-PATH: its sum over the streams of the iperf3 server's own report.
their()
{
	jq -er "[.end.streams[] | $1] | add" server.out
}

# What both ends must say alike, whatever the options. iperf3's server reports a stream either as
# a receiver's or as a sender's.
same_told()
{
	local dir view role
	for dir in "$@"; do
		[ "$dir" = up ] && view=receiver role='select(.sender.sender | not) | .receiver' ||
			view=sender role='select(.sender.sender) | .sender'
		is "bytes $dir as iperf3 told them" "$(figure "$dir" $view bytes)" "$(their "$role.bytes")"
		within "duration $dir" "$(figure "$dir" $view duration)" \
			"$(jq -er "[.end.streams[] | $role.seconds] | max" server.out)" 1
	done
}

# weir_run DIRS ARG…: runs, and compares what can be compared.
weir_run()
{
	local dirs=$1 dir
	shift
	iperf3_server
	weir_json "$@"
	ended 5 "$server"
	is 'exit status of iperf3' "$status" 0
	holds 'outcome' '.outcome == "complete" and .protocol == "iperf3" and .far.tool == "iperf3"'
	# shellcheck disable=SC2086 # words
	same_told $dirs
	for dir in $dirs; do
		# The two ends leave out what came before slightly different moments.
		holds "$dir: no more received than sent" "any(.parts[]; .name == \"omit\") or total(\"$dir\"; \"receiver\"; \"bytes\") <=
			total(\"$dir\"; \"sender\"; \"bytes\")"
		holds "$dir: what was in flight fits into the buffers" "
			total(\"$dir\"; \"sender\"; \"bytes\") - total(\"$dir\"; \"receiver\"; \"bytes\") <= 150e6"
	done
}

weir_up()
{
	weir_run up -t 1 -4
	holds 'goodput leads' 'total("up"; "receiver"; "goodput") > 1e6'
	within 'goodput' "$(figure up receiver goodput)" \
		"$(jq .end.sum_received.bits_per_second server.out)" 1
	within 'both ends, rate' "$(figure up sender throughput.sent)" "$(figure up receiver goodput)" 10
	is 'congestion control' "$(jq -r '.parts[0].params.congestion' run.json)" \
		"$(jq -r .end.receiver_tcp_congestion server.out)"
}
@test "weir tcp to iperf3 -s: one flow" {
	lab --no-serve weir_up
}

weir_reverse()
{
	local peer=$WEIR_LAB_PEER
	WEIR_LAB_PEER=$WEIR_LAB_PEER6
	weir_run down -t 1 -R -P 4 -w 256K -6
	is 'retransmits, told' "$(figure down sender tcp.retransmits)" \
		"$(their .sender.retransmits)"
	is 'flows' "$(jq '[.summaries[] | select(.metric == "goodput" and .dims.flow != null)] | length' \
		run.json)" 4
	holds 'address family' '.near | tostring | test("198.18") | not'
	WEIR_LAB_PEER=$peer
}
@test "weir tcp to iperf3 -s: -R -P 4 -w -6" {
	lab --no-serve weir_reverse
}

weir_bidir()
{
	weir_run 'up down' -t 1 --bidir -l 16K -N
	is 'retransmits of its direction' "$(figure down sender tcp.retransmits)" \
		"$(their 'select(.sender.sender) | .sender.retransmits')"
	is 'length of a block' "$(jq .start.test_start.blksize server.out)" 16384
	is 'streams of both directions' "$(jq '.end.streams | length' server.out)" 2
}
@test "weir tcp to iperf3 -s: --bidir -l -N" {
	lab --no-serve weir_bidir
}

weir_bytes()
{
	weir_run up -n 20M -P 4 -C reno
	is 'sent' "$(figure up sender bytes)" $((20 << 20))
	is 'congestion control' "$(jq -r .end.receiver_tcp_congestion server.out)" reno
	is 'congestion control here' "$(jq -r '.parts[0].params.congestion' run.json)" reno
}
@test "weir tcp to iperf3 -s: -n -P 4 -C" {
	lab --no-serve weir_bytes
}

weir_bytes_reverse()
{
	weir_run down -n 20M -R -l 100K
	holds 'at least what was asked for' 'total("down"; "receiver"; "bytes") >= 20 * 1048576'
	within 'and not much more' "$(figure down sender bytes)" $((20 << 20)) 1
}
@test "weir tcp to iperf3 -s: -n -R -l" {
	lab --no-serve weir_bytes_reverse
}

weir_bytes_omit()
{
	weir_run up -n 20M -O 1
	holds 'sent' 'total("up"; "sender"; "bytes") >= 20 * 1048576'
	# At a rate that makes what the two ends' different moments leave out small.
	weir_run down -n 20M -R -O 1 -b 400M
	within 'received' "$(figure down receiver bytes)" $((20 << 20)) 5
}
@test "weir tcp to iperf3 -s: -n -O, -n -R -O" {
	lab --no-serve weir_bytes_omit
}

# One test a server; before the second there is one that closes at once.
closes_once()
{
	iperf3 -s -1
	python3 -c 'import socket
s = socket.create_server(("", 5201))
s.accept()[0].close()'
	iperf3 -s -1
}
weir_each_way()
{
	declare -f closes_once >closes_once.sh
	local options
	for options in --each-way '--repeat 2'; do
		spawn_far servers bash -c '. ./closes_once.sh; closes_once'
		until_true 5 listens 5201
		# shellcheck disable=SC2086 # words
		weir_json -t 0.5 $options
		ended 5 "$pid"
		is 'exit status of the servers' "$status" 0
		is 'complete, in two parts' "$(jq -r '.outcome, .parts[].name' run.json | sort -u |
			wc -l)" "$([[ $options == --each* ]] && echo 3 || echo 2)"
	done
}
@test "weir tcp to iperf3 -s: --each-way, --repeat, and a server that is not ready at once" {
	lab --no-serve weir_each_way
}

weir_blocks()
{
	weir_run up -k 100 -l 64K -P 2 -w 128K
	is 'sent' "$(figure up sender bytes)" $((100 * 65536))
}
@test "weir tcp to iperf3 -s: -k -l -P 2 -w" {
	lab --no-serve weir_blocks
}

weir_rate()
{
	weir_run 'up down' -t 2 -b 20M -l 8K --bidir
	within 'rate up' "$(figure up sender throughput.sent)" 20e6 3
	within 'rate down' "$(figure down sender throughput.sent)" 20e6 3
	within 'goodput up' "$(figure up receiver goodput)" 20e6 3
	within 'goodput down' "$(figure down receiver goodput)" 20e6 3
}
@test "weir tcp to iperf3 -s: -b -l --bidir" {
	lab --no-serve weir_rate
}

weir_omit()
{
	weir_run down -t 1 -O 1 -R -b 100M
	holds 'a part that is left out' '[.parts[].name] == ["omit", "load"]'
	holds 'and lasts as asked' '.parts[0] | (.t1_ns - .t0_ns - 1e9) | fabs < 0.15e9'
	is 'omit told' "$(jq .start.test_start.omit server.out)" 1
	within 'without the omitted part' "$(figure down receiver bytes)" 12500000 5
}
@test "weir tcp to iperf3 -s: -O -R -b" {
	lab --no-serve weir_omit
}

tos_of()
{
	ss --tos -tniH "dport = :5201 or sport = :5201" | grep -oE '(tos|tclass):[0-9a-fx]*' | sort -u
}
mark_seen()
{
	far ss --tos -tniH "sport = :5201" | grep -qE "tos:(0x)?$1"
}
marked()
{
	ss --tos -tniH "dport = :5201" | grep -qE "tos:(0x)?$1"
}
weir_mss_tos()
{
	iperf3_server
	spawn run "$WEIR" tcp "$WEIR_LAB_PEER" -J --no-store -t 1 -M 1000 -S 0x28 -C reno
	until_true 2 marked 28
	ended 5 "$pid"
	is 'exit status' "$status" 0
	cp run.out run.json
	ended 5 "$server"
	same_told up
	# 12 bytes of each segment are its timestamps
	holds 'segments' 'total("up"; "sender"; "tcp.mss") as $m | $m <= 1000 and $m >= 988'
	is 'asked of the peer' "$(jq .start.test_start.tos server.out)" 40
}
@test "weir tcp to iperf3 -s: -M -S -C" {
	lab --no-serve weir_mss_tos
}

# ---- iperf3 -c against weir serve ----

# iperf3_run DIRS ARG…: report in client.json, log line in line.json.
iperf3_run()
{
	local dirs=$1 dir
	shift
	server
	iperf3 -c "$WEIR_LAB_PEER" -J "$@" >client.json || fail "iperf3: $(jq .error client.json)"
	until_true 5 log_lines 1
	cp server.out line.json
	holds 'outcome' '.outcome == "done" and .tool == "iperf3" and .version == "3.12"' line.json
	for dir in $dirs; do
		same_logged "$dir"
	done
}

# The receiver's rate over the receiver's time: iperf3 keeps the server's time in "end". It names the
# direction towards the client by a suffix only where there are two.
same_logged()
{
	local suffix='' up=false seconds=seconds
	[ "$1" = up ] && up=true seconds=end
	jq -e .end.sum_sent_bidir_reverse client.json >/dev/null && [ "$1" = down ] &&
		suffix=_bidir_reverse
	within "$1: goodput" "$(jq ".$1.goodput" line.json)" \
		"$(jq "[.end.streams[] | select(.sender.sender == $up) | .receiver] |
			(map(.bytes) | add) * 8 / (map(.$seconds) | max)" client.json)" 1
	[ "$1" = up ] || is "$1: retransmits" "$(jq ".$1.retransmits" line.json)" \
		"$(jq ".end.sum_sent$suffix.retransmits" client.json)"
	# The two ends leave out what came before slightly different moments.
	holds "$1: no more received than sent" ".start.test_start.omit > 0 or
		.end.sum_received$suffix.bytes <= .end.sum_sent$suffix.bytes" client.json
}

iperf3_up()
{
	iperf3_run up -t 1 -4
	within 'bytes' "$(jq '.up.goodput * .seconds / 8' line.json)" \
		"$(jq .end.sum_received.bytes client.json)" 0.01
	is 'retransmits' "$(jq .up.retransmits line.json)" "$(jq .end.sum_sent.retransmits client.json)"
	is 'congestion control' "$(jq -r .end.receiver_tcp_congestion client.json)" \
		"$(jq -r .end.sender_tcp_congestion client.json)"
	holds 'CPU of the far end' '.end.cpu_utilization_percent.remote_total > 0' client.json
}
@test "iperf3 -c to weir serve: one stream" {
	lab --no-serve iperf3_up
}

iperf3_reverse()
{
	WEIR_LAB_PEER=$WEIR_LAB_PEER6
	iperf3_run down -t 1 -R -P 4 -w 256K -6
	is 'flows' "$(jq .down.flows line.json)" 4
	is 'address family' "$(jq -r .peer line.json)" fd00:18::1
}
@test "iperf3 -c to weir serve: -R -P 4 -w -6" {
	lab --no-serve iperf3_reverse
}

iperf3_bidir()
{
	iperf3_run 'up down' -t 1 --bidir -l 16K -N
}
@test "iperf3 -c to weir serve: --bidir -l -N" {
	lab --no-serve iperf3_bidir
}

iperf3_bytes()
{
	iperf3_run up -n 20M -P 4 -C reno
	# iperf3 itself may send a block of each stream more.
	holds 'received' '.end.sum_received.bytes | . >= 20 * 1048576 and . <= 20 * 1048576 + 4 * 131072' \
		client.json
	holds 'no waiting counted in' '.end.sum_received.seconds < .end.sum_sent.seconds + 0.5' client.json
	is 'congestion control' "$(jq -r .end.receiver_tcp_congestion client.json)" reno
}
@test "iperf3 -c to weir serve: -n -P 4 -C" {
	lab --no-serve iperf3_bytes
}

iperf3_bytes_omit()
{
	# iperf3 3.12 counts what warms up, the server must not. The client may be over with its warm-up:
	# then there is no figure to compare.
	iperf3_run '' -n 20M -R -O 1 -b 400M
	holds 'more than the count warmed up' '.intervals[0].sum | .omitted and .bytes > 25 * 1048576' client.json
}
@test "iperf3 -c to weir serve: -n -R -O" {
	lab --no-serve iperf3_bytes_omit
}

iperf3_bytes_reverse()
{
	iperf3_run down -n 20M -R -l 100K
	is 'sent' "$(jq .end.sum_sent.bytes client.json)" $((20 << 20))
}
@test "iperf3 -c to weir serve: -n -R -l" {
	lab --no-serve iperf3_bytes_reverse
}

iperf3_blocks()
{
	iperf3_run up -k 100 -l 64K -P 2 -w 128K
	holds 'received' '.end.sum_received.bytes | . >= 100 * 65536 and . <= 102 * 65536' client.json
}
@test "iperf3 -c to weir serve: -k -l -P 2 -w" {
	lab --no-serve iperf3_blocks
}

iperf3_rate()
{
	iperf3_run 'up down' -t 2 -b 20M -l 8K --bidir
	within 'rate down' "$(jq .end.sum_sent_bidir_reverse.bits_per_second client.json)" 20e6 3
	within 'goodput down' "$(jq .end.sum_received_bidir_reverse.bits_per_second client.json)" 20e6 3
	within 'goodput up' "$(jq .up.goodput line.json)" 20e6 3
}
@test "iperf3 -c to weir serve: -b -l --bidir" {
	lab --no-serve iperf3_rate
}

iperf3_omit()
{
	iperf3_run down -t 1 -O 1 -R -b 100M
	within 'seconds' "$(jq .seconds line.json)" 1 15
	within 'sent without the omitted part' "$(jq .end.sum_sent.bytes client.json)" 12500000 10
}
@test "iperf3 -c to weir serve: -O -R -b" {
	lab --no-serve iperf3_omit
}

iperf3_mss_tos()
{
	server
	spawn client iperf3 -c "$WEIR_LAB_PEER" -J -t 1 -R -M 1000 -S 0x28 -C reno
	until_true 2 mark_seen 28
	ended 5 "$pid"
	is 'exit status' "$status" 0
	is 'congestion control' "$(jq -r .end.sender_tcp_congestion client.out)" reno
	holds 'segments' '.start.tcp_mss <= 1000' client.out
}
@test "iperf3 -c to weir serve: -M -S -C -R" {
	lab --no-serve iperf3_mss_tos
}
