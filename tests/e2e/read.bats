#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Other tools' reports: read, import, and compare and show of files with them.

samples="$BATS_TEST_DIRNAME/../data/readers/samples"

setup()
{
	: "${WEIR:=$BATS_TEST_DIRNAME/../../build/src/cmd/weir}"
	export WEIR_DB="$BATS_TEST_TMPDIR/runs.db"
}

weir()
{
	run "$WEIR" "$@"
	echo "weir $*: $status"
	echo "$output"
}

@test "weir read shows what it found and what it skipped" {
	{
		echo "Dear all,"
		sed 's/^/> /' "$samples/iperf3-client.txt"
		echo "Regards"
	} >"$BATS_TEST_TMPDIR/mail"
	weir read "$BATS_TEST_TMPDIR/mail"
	[ "$status" -eq 0 ]
	[[ "${lines[0]}" == "skipped, line 1, "*"Dear all," ]]
	[[ "$output" == *"goodput (up, receiver)"*"538.000 Mbit/s"* ]]
	[[ "${lines[-1]}" == "skipped, line 1"[67]", 7 bytes: Regards" ]]
	weir read - <"$BATS_TEST_TMPDIR/mail"
	[ "$status" -eq 0 ]
	run bash -c '"$WEIR" read --json "$1" | jq -r ".reports[0] | .kind, .span.line, (.metrics | length)"' - \
		"$BATS_TEST_TMPDIR/mail"
	[ "${lines[0]}" = iperf3 ]
	[ "${lines[1]}" -eq 2 ]
	run bash -c '"$WEIR" read --csv "$1" | grep -c ^iperf3,' - "$BATS_TEST_TMPDIR/mail"
	[ "$output" -ge 5 ]
	weir read --json --csv "$BATS_TEST_TMPDIR/mail"
	[ "$status" -eq 2 ]
	echo nothing | weir read
	run bash -c 'echo nothing | "$WEIR" read'
	[ "$status" -eq 1 ]
	[[ "$output" == *"no report that a reader knows"* ]]
}

@test "weir import stores a file once, without its addresses" {
	"$WEIR" list >/dev/null 2>&1 || skip "built without SQLite"
	weir import --tag where=lab "$samples/nttcp-two.txt" "$samples/iperf3-client.txt"
	[ "$status" -eq 0 ]
	[[ "${lines[0]}" == *"  2 reports" ]]
	weir import "$samples/nttcp-two.txt"
	[[ "${lines[0]}" == *"was there already" ]]
	run bash -c '"$WEIR" list --tag where=lab | tail -n +2 | wc -l'
	[ "$output" -eq 2 ]
	run grep -c 198.18.0 "$WEIR_DB"
	[ "$output" = 0 ]
	weir import --split-on '^(before|after):' "$samples/nttcp-two.txt"
	[ "${#lines[@]}" -eq 2 ]
	weir import --split-on '(' "$samples/nttcp-two.txt"
	[ "$status" -eq 2 ]
	weir import "$samples/iperf2-udp.txt"
	weir show last
	[ "$status" -eq 0 ]
	[[ "$output" == *"limited by  the path or the far end"* ]]
}

@test "compare and show take files with reports, and two configurations in one" {
	weir show "$samples/iperf3-client.txt"
	[ "$status" -eq 0 ]
	[[ "$output" == *"538 Mbit/s"* ]]
	weir show "$samples/iperf2-udp.txt"
	[[ "$output" == *"limited by  the path or the far end"* ]]
	weir compare "$samples/iperf2-udp.txt" "$samples/iperf3.json"
	[[ "$output" == *"Limited by"*"A (1 of 1): the path or"* ]]
	weir compare "$samples/iperf3-client.txt" "$samples/iperf3.json"
	[ "$status" -eq 0 ]
	[[ "$output" == *"goodput"* && "$output" != *"Limited by"* ]]
	weir compare --split "$samples/nttcp-two.txt"
	[ "$status" -eq 0 ]
	[[ "${lines[1]}" == *"A  1 report from line"*"before:" ]]
	[[ "${lines[2]}" == *"B  1 report from line"*"after:" ]]
	[[ "$output" == *"+25.6"*"inconclusive"* ]]
	weir compare --split "$samples/split-headings.txt" # B has reports that A has not
	[ "$status" -eq 0 ]
	[[ "${lines[1]}" == *"A  2 reports from line 4 on: == Before =="* ]]
	[[ "${lines[2]}" == *"B  3 reports from line 13 on: == After =="* ]]
	weir compare --split "$samples/ttcp.txt"
	[ "$status" -eq 1 ]
	[[ "$output" == *"cannot be told apart"* ]]
}

@test "compare --split: the two configurations of real mails" {
	[ -d "${WEIR_CORPUS:-}/mails" ] || skip "WEIR_CORPUS is not set: the corpus is not here"
	weir compare --split "$WEIR_CORPUS/mails/01-two-kernels-ipgen-iperf3.txt"
	[ "$status" -eq 0 ]
	[[ "${lines[1]}" == *"A  3 reports from line"*"GENERIC (without "* ]]
	[[ "${lines[2]}" == *"B  3 reports from line"*"GENERIC with "* ]]
	[[ "$output" == *"+0.82 % (-2.86 to +4.63)  inconclusive"* ]]
	[[ "$output" == *"911 Mbit/s  916 Mbit/s"*"inconclusive"*"806 Mbit/s  787 Mbit/s"*"inconclusive"* ]]
	weir compare --split "$WEIR_CORPUS/mails/02-frameburst-nttcp-qp.txt"
	[ "$status" -eq 0 ]
	[[ "${lines[1]}" == *"default (0)"* && "${lines[2]}" == *"5000"* ]]
	[[ "$output" == *"17.1 Mbit/s  28.2 Mbit/s  +64.55 %"*"inconclusive"* ]]
}
