#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir try, calibrate, plan: experiments between two hosts, cut short in every way and resumed. Short
# runs get no verdict, by the rule; what is looked at is which runs were made and kept.
# shellcheck disable=SC2154,SC2034,SC2016 # variables of bats and of the tests; jq
# shellcheck disable=SC2030,SC2031 # bats runs each test in a shell of its own

load helpers

setup()
{
	need_lab
}

# runs_of FILTER: the stored runs of measurements, as JSON lines.
stored()
{
	"$WEIR" list --json 2>/dev/null | jq -c '.runs[] | select(.kind == "tcp")'
}
stored_runs()
{
	stored | wc -l
}
at_least()
{
	[ "$(stored_runs)" -ge "$1" ]
}

# try_one [ARG…]: a short experiment, its verdict in verdict.json, what it said in said.
try_one()
{
	status=0
	"$WEIR" try --json --warmup 0 "$@" >verdict.json 2>said || status=$?
}

# ---- a verdict ----

verdict()
{
	local run
	try_one --quick --fail-on worse --vary tcp.length=128K,256 -- tcp "$WEIR_LAB_PEER" -t 1.1
	is 'exit status' "$status" 3
	has said '128K | 256: 6 pairs, 12 runs x' '12 of 12' 'so far'
	holds 'writing 256 bytes at a time is worse' '.outcome == "worse" and .effect < -0.3' verdict.json
	holds sides '[.sides[].n] == [6, 6] and [.sides[].name] == ["128K", "256"]' verdict.json
	holds 'what was varied is declared' '[.sides[].undeclared[]] == []' verdict.json
	holds 'the blocks are the design' '.design == "blocked" and .units == 6' verdict.json
	validate comparison verdict.json
	is runs "$(stored_runs)" 12
	run=$(jq -r '.sides[1].runs[0]' verdict.json)
	"$WEIR" export --format json "$run" >run.json
	holds place '.experiment.variant == "256" and .experiment.block >= 0 and .experiment.position >= 0'
	holds request '.request.length == 256'
	holds 'boot and interface are known' '.near.facts | (.boot | length == 36) and .iface and .mtu == 1500
		and .driver == "veth"'
	"$WEIR" list >listed
	has listed 'worse: goodput -' 'length=128K,256 -- tcp'
	"$WEIR" export --format json last >run.json
	holds record '.kind == "experiment" and .outcome == "complete" and (.verdicts[0].inputs | length) == 12'
	"$WEIR" show last >shown
	has shown 'length: 128K | 256' "weir tcp $WEIR_LAB_PEER -t 1.1" '6 pairs' 'finished, 12 of 12 runs' \
		'goodput: worse, -' '256 against 128K'
	is 'runs that are shown' "$(grep -cE '^ +[0-9]+  20' shown)" 12
	judged
}
# The same runs for a script: what is worse does not pass for not worse, the other way round it does.
judged()
{
	status=0
	"$WEIR" compare --baseline tag:arm=128K tag:arm=256 --varied length --require not-worse --margin 5% \
		--json >verdict.json || status=$?
	is 'exit status' "$status" 3
	holds 'the same verdict' '.outcome == "worse" and .design == "blocked" and .margin == 0.05
		and .sides[1].undeclared == []' verdict.json
	"$WEIR" compare --baseline tag:arm=256 tag:arm=128K --varied length --require not-worse --fail-on worse \
		--metric goodput >out
	has out 'Better: goodput'
	status=0
	"$WEIR" compare tag:arm=256 tag:arm=128K >out || status=$?
	is 'exit status' "$status" 0
	has out 'No verdict: the sides did not measure the same' 'request.length: 256 | '
}
@test "try: a factor of the request, its runs and its verdict" {
	lab verdict
}

order()
{
	local a
	for a in 1 2; do
		try_one --pairs 2 --seed 5 --vary tcp.length=16K,128K -- tcp "$WEIR_LAB_PEER" -t 0.2
		sed -n 's/^ *[0-9]* of 4  \([0-9]*K\) .*/\1/p' said >"order$a"
		is lines "$(wc -l <"order$a")" 4
	done
	cmp order1 order2 || fail "two orders from one seed"
}
@test "try: the seed makes the order" {
	lab order
}

factors()
{
	"$WEIR" try --warmup 0 --pairs 1 --vary tcp.length=16K,128K --vary tcp.window=64K,256K \
		-- tcp "$WEIR_LAB_PEER" -t 0.2 >verdict 2>said
	has said '16K+64K | 16K+256K | 128K+64K | 128K+256K: 1 block, 4 runs'
	has verdict 'length:' 'window:' 'A  16K (2 runs)' 'B  256K (2 runs)'
	is runs "$(stored_runs)" 4
	try_one --pairs 1 --vary tcp.length=16K,128K --vary tcp.window=64K,256K -- tcp "$WEIR_LAB_PEER" -t 0.2
	holds 'an array of comparisons' '[.[].sides[].name] == ["16K", "128K", "64K", "256K"]' verdict.json
}
@test "try: two factors are crossed" {
	lab factors
}

# ---- what the machine gets back ----

dev()
{
	ip -o route get "$WEIR_LAB_PEER" | sed 's/.* dev \([^ ]*\).*/\1/'
}

commands()
{
	try_one --pairs 2 --arms on,off --a 'echo on >>switched' --b 'echo off >>switched' \
		--undo 'echo undone >>switched' -- tcp "$WEIR_LAB_PEER" -t 0.2
	is switches "$(sort switched | uniq -c | tr -s ' \n' ' ')" ' 2 off 2 on 1 undone '
	is last "$(tail -n 1 switched)" undone
	try_one --pairs 1 --a true --b true -- tcp "$WEIR_LAB_PEER" -t 0.2
	has said 'not undone (--undo'
	try_one --pairs 1 --a true --b 'exit 9' -- tcp "$WEIR_LAB_PEER" -t 0.2
	is 'exit status' "$status" 1
	has said 'switching: exit status 9 of: exit 9' 'too many failed runs' '3 runs failed'
}
@test "try: commands are run before each run, undone at the end, their failures counted" {
	lab commands
}

elsewhere()
{
	mkdir bin
	printf '#!/bin/sh\necho "$@" >>%s/ssh.log\n' "$PWD" >bin/ssh
	chmod +x bin/ssh
	PATH=$PWD/bin:$PATH try_one --pairs 1 --on box=ssh:root@192.0.2.9 --a 'make a' --b 'make b' \
		--undo 'make c' -- tcp "$WEIR_LAB_PEER" -t 0.2
	is commands "$(sed 's/.*-- //' ssh.log | sort | tr '\n' '|')" \
		'root@192.0.2.9 make a|root@192.0.2.9 make b|root@192.0.2.9 make c|'
	try_one --on box=ssh:-oProxyCommand=x --a a --b b -- tcp "$WEIR_LAB_PEER"
	is 'exit status' "$status" 2
}
@test "try: commands on the box in the middle" {
	lab elsewhere
}

ttl()
{
	cat /proc/sys/net/ipv4/ip_default_ttl
}
ttl_is()
{
	[ "$(ttl)" = "$1" ]
}
knobs()
{
	is before "$(ttl)" 64
	try_one --pairs 1 --vary sysctl:net.ipv4.ip_default_ttl=70,71 -- tcp "$WEIR_LAB_PEER" -t 0.2
	if grep -q 'could not be undone' said; then
		echo "skipped: $(cat said)" >"$BATS_TEST_TMPDIR/skipped"
		return
	fi
	is 'exit status' "$status" 0
	is after "$(ttl)" 64
	try_one --pairs 1 --vary iface:eth0.gro=on,off -- tcp "$WEIR_LAB_PEER" -t 0.2
	holds 'of an interface, and known as what was varied' '[.sides[].undeclared[]] == []' verdict.json
	spawn try "$WEIR" try --warmup 0 --pairs 9 --vary sysctl:net.ipv4.ip_default_ttl=70,71 \
		-- tcp "$WEIR_LAB_PEER" -t 0.3
	until_true 10 at_least 3
	kill -9 "$pid"
	until_true 5 ttl_is 64
}
@test "try: kernel settings are put back, also when it is killed" {
	lab knobs
	[ ! -e "$BATS_TEST_TMPDIR/skipped" ] || skip "$(cat "$BATS_TEST_TMPDIR/skipped")"
}

# ---- cut short, and resumed ----

killed()
{
	local before what
	spawn try "$WEIR" try --warmup 0 --pairs 3 --primary tcp.rtt_loaded:p50 --margin 7% \
		--noise-floor 90% --metric goodput --ceiling 77M \
		--vary tcp.length=16K,128K -- tcp "$WEIR_LAB_PEER" -t 0.3
	until_true 10 grep -q '3 of 6' try.err
	status=0
	"$WEIR" try --resume >/dev/null 2>said || status=$?
	is 'exit status: it is being run' "$status" 1
	has said "is being run: process $pid is at it"
	status=0
	"$WEIR" rm last:experiment 2>said || status=$?
	is 'exit status: it cannot be removed' "$status" 1
	kill -9 "$pid"
	wait "$pid" || true
	"$WEIR" show last:experiment >shown
	has shown 'of 6 runs; to go on: weir try --resume=' 'verdict     none yet'
	before=$("$WEIR" list --json | jq -c '[.runs[] | select(.kind == "tcp" and .outcome == "complete") | .id]')
	[ "$(jq length <<<"$before")" -ge 3 ] || fail "a finished run is lost: $before"
	for what in '--margin 5%' '--noise-floor 3%' '--metric tcp.cwnd' '--ceiling 78M' '--precision 3%' '--pairs 4' \
		'--runs auto' '--runs-per-boot 2'; do
		# shellcheck disable=SC2086 # two words
		try_one --resume $what
		is "exit status: $what is another" "$status" 2
	done
	"$WEIR" try --json --warmup 0 --resume --noise-floor 90% >verdict.json 2>said
	has said 'of 6 runs left' '6 of 6'
	holds 'all runs, the old ones too' \
		"([.sides[].n] == [3, 3]) and ($before - [.sides[].runs[]] == [])" verdict.json
	holds 'judged as planned' '.metric == "tcp.rtt_loaded:p50" and .margin == 0.07
		and .noise_floor == 0.9' verdict.json
	"$WEIR" export --format json last:experiment >run.json
	holds 'and by the same metrics' '[.verdicts[].metric] == ["tcp.rtt_loaded:p50", "goodput"]'
	try_one --resume
	is 'exit status: nothing is open' "$status" 1
}
@test "try: SIGKILL loses no finished run, and the experiment resumes" {
	lab killed
}

# Killed again and again, at whatever it is doing: no run that was finished goes, and it ends.
killed_often()
{
	local i had=0 now
	"$WEIR" try --warmup 0 --pairs 8 --vary tcp.length=16K,128K --max-time 1ms -- tcp "$WEIR_LAB_PEER" \
		-t 0.1 >/dev/null 2>&1 || true
	for ((i = 0; i < ${1:-4}; i++)); do
		spawn try "$WEIR" try --resume
		sleep "0.$((RANDOM % 9))$((RANDOM % 10))"
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
		now=$("$WEIR" list --json | jq '[.runs[] | select(.kind == "tcp" and .outcome == "complete")] | length')
		[ "$now" -ge "$had" ] || fail "$had finished runs were there, now $now"
		had=$now
	done
	"$WEIR" try --json --resume >verdict.json 2>said || { grep -q 'no experiment is open' said && return; }
	holds 'all runs' '[.sides[].n] == [8, 8]' verdict.json
	"$WEIR" list --json | jq -e '[.runs[] | select(.tags.experiment == "finished" and .outcome == "complete")]
		| length == 1' >/dev/null || fail 'the experiment is not finished'
}
@test "try: SIGKILL at any moment, again and again" {
	if [ "${WEIR_CHECK_ALL:-}" = 1 ]; then lab killed_often 25; else lab killed_often 4; fi
}

interrupted()
{
	spawn try "$WEIR" try --warmup 0 --pairs 20 --vary tcp.length=16K,128K -- tcp "$WEIR_LAB_PEER" -t 0.3
	until_true 10 grep -q '5 of 40' try.err
	kill -INT "$pid"
	ended 5 "$pid"
	is 'exit status' "$status" 1
	has try.err 'verdict so far' 'of 40 runs are there'
	has try.out 'goodput'
}
@test "try: SIGINT ends it with the verdict so far" {
	lab interrupted
}

no_command()
{
	! pgrep -f 'echo [ab] >>ran' >/dev/null
}
commands_again()
{
	local id
	spawn try "$WEIR" try --warmup 0 --pairs 3 --a 'echo a >>ran' --b 'echo b >>ran' --undo 'echo u >>ran' \
		--settle 20ms -- tcp "$WEIR_LAB_PEER" -t 0.3
	until_true 10 grep -q '2 of 6' try.err
	kill -9 "$pid"
	wait "$pid" || true
	until_true 5 no_command # one that had begun ends by itself
	rm ran
	try_one --resume
	is 'exit status' "$status" 2
	has said 'must be said again'
	try_one --resume --a 'echo x >>ran' --b 'echo b >>ran' -- tcp "$WEIR_LAB_PEER" -t 0.3
	is 'exit status' "$status" 2
	has said 'was another one'
	try_one --resume --a 'echo a >>ran' --b 'echo b >>ran' -- tcp "$WEIR_LAB_PEER" -t 0.3
	is 'exit status: what undoes is missing' "$status" 2
	has said "say --undo 'echo u >>ran'"
	try_one --resume --a 'echo a >>ran' --b 'echo b >>ran' --undo 'echo u >>ran' --settle 30ms -- \
		tcp "$WEIR_LAB_PEER" -t 0.3
	is 'exit status: another settle time' "$status" 2
	has said 'settles for 0.02 s'
	[ ! -e ran ] || fail "a command was run"
	id=$(sed -n 's/^Experiment \([0-9a-f]*\);.*/\1/p' try.err)
	try_one --resume="$id" --a 'echo a >>ran' --b 'echo b >>ran' --undo 'echo u >>ran' -- \
		tcp "$WEIR_LAB_PEER" -t 0.3
	has said '6 of 6' 'too short for a verdict'
	is last "$(tail -n 1 ran)" u
	"$WEIR" show last:experiment >shown
	has shown 'settling for 0.02 s' 'undo        echo u >>ran'
	"$WEIR" export --format json last:experiment >run.json
	holds 'what was planned' '.experiment.plan | (if type == "string" then fromjson else . end)
		| .settle_ns == 20000000 and .undo == "echo u >>ran"'
}
@test "try: commands are never taken from the store" {
	lab commands_again
}

vanished()
{
	server
	try_one --pairs 2 --vary tcp.length=16K,128K -- tcp "$WEIR_LAB_PEER" -t 0.2
	is 'exit status' "$status" 0
	spawn try "$WEIR" try --warmup 0 --pairs 20 --vary tcp.length=16K,128K -- \
		tcp "$WEIR_LAB_PEER" -t 0.2 --connect-timeout 300ms
	until_true 10 grep -q '3 of 40' try.err
	kill -9 "$server"
	ended 30 "$pid"
	is 'exit status' "$status" 1
	has try.err 'failed' 'Given up' '3 runs failed' 'to go on: weir try --resume='
}
@test "try: a peer that vanishes costs three tries; finished runs are judged" {
	lab --no-serve vanished
}

# ---- by hand ----

by_hand()
{
	"$WEIR" try --arms stock,patched --by-hand --seed 1 --pairs 1 --warmup 0 -- tcp "$WEIR_LAB_PEER" -t 0.2 >out 2>said
	has out 'Run 1 of 2 is the turn of:' 'weir try --resume='
	is runs "$(stored_runs)" 0
	"$WEIR" try --resume --warmup 0 >out 2>said
	has out 'Run 2 of 2 is the turn of:'
	is runs "$(stored_runs)" 1
	try_one --resume
	is 'exit status' "$status" 2
	has said 'still the boot of the last run' '--changed'
	is runs "$(stored_runs)" 1
	try_one --resume --changed
	is 'exit status' "$status" 0
	is runs "$(stored_runs)" 2
	holds sides '[.sides[].name] == ["stock", "patched"]' verdict.json
}
@test "try: by hand, a turn at a time, with a look whether the arm changed" {
	lab by_hand
}

boots()
{
	local i
	"$WEIR" try --arms stock,patched --by-hand --runs-per-boot 2 --pairs 2 --warmup 0 -- \
		tcp "$WEIR_LAB_PEER" -t 0.2 --connect-timeout 300ms >out 2>said
	has out 'Boot 1 of 4 is the turn of:'
	status=0
	"$WEIR" try --resume --warmup 0 >out 2>said || status=$?
	is 'exit status: there is no server' "$status" 1
	has said 'Given up' '3 runs failed'
	has out 'Boot 1 of 4 is the turn of:'
	server
	"$WEIR" try --resume --warmup 0 >out 2>said
	has out 'Boot 2 of 4 is the turn of:'
	is runs "$(stored_runs)" 2
	status=0
	"$WEIR" try --resume --warmup 0 >out 2>said || status=$?
	is 'exit status: the same boot' "$status" 2
	for i in 3 4; do
		"$WEIR" try --resume --changed --warmup 0 >out 2>said
		has out "Boot $i of 4 is the turn of:"
	done
	try_one --resume --changed
	has said '3 runs failed and had to be repeated' 'no fact of the hosts tells patched from stock'
	holds 'a boot is one value' '.n == [4, 4] and .units == 2 and .design == "blocked"' verdict.json
	"$WEIR" show last >shown
	has shown '2 pairs by hand, 2 runs a boot' 'finished, 8 of 8 runs, 3 had to be repeated'
	has said '8 of 8'
}
@test "try: by hand, several runs of a boot are one; failures are counted over all boots" {
	lab --no-serve boots
}

# ---- a full disk ----

# The store's folder is full: what was measured is judged and printed, what is stored stays.
full()
{
	local before
	mkdir small
	mount -t tmpfs -o size=1m none small 2>"$BATS_TEST_TMPDIR/skipped" || return 0
	rm "$BATS_TEST_TMPDIR/skipped"
	export WEIR_DB=$PWD/small/runs.db
	try_one --pairs 1 --vary tcp.length=16K,128K -- tcp "$WEIR_LAB_PEER" -t 0.2
	is 'exit status' "$status" 0
	before=$(stored | jq -s 'map(.id) | sort')
	is runs "$(jq length <<<"$before")" 2
	spawn try "$WEIR" try --warmup 0 --pairs 2 --json --vary tcp.length=16K,128K -- tcp "$WEIR_LAB_PEER" -t 0.3
	until_true 10 grep -q '1 of 4' try.err
	cat /dev/zero >small/fill 2>/dev/null || true
	ended 20 "$pid"
	holds 'all runs are judged' '[.sides[].n] == [2, 2]' try.out
	has try.err 'not stored'
	rm small/fill
	stored | jq -s 'map(.id)' >after
	is_true "$before - . == []" after || fail 'a finished run is lost'
}
@test "try: a full disk costs the stored copy, neither the verdict nor finished runs" {
	lab full
	[ ! -e "$BATS_TEST_TMPDIR/skipped" ] || skip "no tmpfs: $(cat "$BATS_TEST_TMPDIR/skipped")"
}

# ---- how long ----

time_up()
{
	try_one --pairs 50 --max-time 2s --vary tcp.length=16K,128K -- tcp "$WEIR_LAB_PEER" -t 0.2
	has said 'at most 2 s' '--max-time is up' 'runs are there'
	holds 'even sides' '.sides[0].n == .sides[1].n and .sides[0].n > 0' verdict.json
	try_one --pairs 50 --max-time 3s --vary tcp.length=16K,128K -- tcp "$WEIR_LAB_PEER" -t 2
	is 'exit status: no pair would end in time' "$status" 1
	has said 'no pair would end within --max-time'
}
@test "try: --max-time begins no pair that would end later" {
	lab time_up
}

precise()
{
	try_one --runs auto --precision 99% --vary tcp.length=16K,128K -- tcp "$WEIR_LAB_PEER" -t 0.2
	holds 'at the stated width' '.confidence == 0.965' verdict.json
	holds 'eight pairs at least' '.sides[0].n >= 8 and .sides[0].n < 200' verdict.json
	"$WEIR" export --format json last:experiment >run.json
	holds 'the width is in the plan' '.experiment.plan | (if type == "string" then fromjson else . end)
		| .auto and .precision == 0.99'
}
@test "try: --runs auto ends at the width of the interval" {
	lab precise
}

# ---- noise ----

calibrated()
{
	"$WEIR" calibrate --experiments 3 --pairs 2 --warmup 0 --a 'echo a >>switched' --b 'echo b >>switched' \
		--json -- tcp "$WEIR_LAB_PEER" -t 0.2 >floor.json 2>said
	has said 'A1 | A2: 6 pairs, 12 runs'
	holds floor '.type == "calibration" and .noise_floor > 0 and .experiments == 3 and .pairs == 2' floor.json
	holds 'a floor a metric' '[.floors[].metric] | index("goodput") == 0 and index("cpu.per_gb:near")' floor.json
	validate comparison floor.json
	is 'switched there and back' "$(grep -c b switched) $(tail -n 1 switched)" '12 a'
	"$WEIR" try --warmup 0 --pairs 1 --vary tcp.length=16K,128K -- tcp "$WEIR_LAB_PEER" -t 0.2 >out 2>said
	has out 'Noise floor of this testbed: goodput ' 'cpu.per_gb:near '
	# It says nothing of datagrams.
	"$WEIR" udp "$WEIR_LAB_PEER" -t 0.2 -b 1M --repeat 2 >said
	"$WEIR" compare last-1 last >out
	! grep -q 'Noise floor' out || fail "$(cat out)"
	"$WEIR" show last:calibration >shown
	has shown 'finished, 12 of 12 runs' 'noise floor goodput ' 'A/A experiments of 2'
	"$WEIR" plan --detect 5% --from tag:arm=16K,tag:arm=128K >planned 2>&1 || true
	"$WEIR" plan --detect 5% --from tag:try --json >plan.json
	validate comparison plan.json
	holds plan '.type == "plan" and .noise > 0 and .noise_floor > 0 and .seconds_a_run > 0' plan.json
}
@test "calibrate: the noise floor is found, kept and named; plan takes the noise of runs" {
	lab calibrated
}

calibrated_by_hand()
{
	local i
	"$WEIR" calibrate --by-hand --experiments 2 --pairs 1 --warmup 0 -- tcp "$WEIR_LAB_PEER" -t 0.2 >out 2>said
	has out 'Run 1 of 4 is the turn of: A'
	for i in 1 2 3; do
		"$WEIR" calibrate --resume --changed --warmup 0 >out 2>said
		has out 'weir calibrate --resume='
	done
	"$WEIR" calibrate --resume --changed --warmup 0 --json >floor.json 2>said
	holds 'between sessions' '.across_sessions and .experiments == 2 and .pairs == 1' floor.json
	validate comparison floor.json
	"$WEIR" show last:calibration >shown
	has shown '2 pairs in A/A experiments of 1 by hand' 'across-sessions=yes'
}
@test "calibrate: by hand, a floor that holds between boots" {
	lab calibrated_by_hand
}

@test "plan: from a figure" {
	run "$WEIR" plan --detect 1% --cv 2% -t 10
	[ "$status" -eq 0 ]
	[[ $output == *"To find an effect of 1 %: 66 pairs (132 runs, 22 min)"* ]]
	[[ $output == *"within 2 %: 20 pairs"* ]]
	run "$WEIR" plan --detect 5% --cv 2% --noise-floor 1.9%
	[[ $output == *"within 2 %: no number of runs does it, the noise floor is too wide"* ]]
	run "$WEIR" plan --detect 1%
	[ "$status" -eq 2 ]
}

# ---- bad input ----

refused()
{
	local words
	while read -r words; do
		eval "set -- $words"
		status=0
		"$WEIR" try "$@" >out 2>said || status=$?
		is "exit status of $words" "$status" 2
		is "lines about $words" "$(grep -c '^weir try:' said)" 1
	done <<-'EOF'
		-- tcp h
		--vary tcp.length=1K,2K
		--vary tcp.length=1K -- tcp h
		--vary udp.length=1K,2K -- tcp h
		--vary tcp.lenth=1K,2K -- tcp h
		--vary tcp.length=1K,x -- tcp h
		--vary tcp.length=1K,2K -- list
		--vary tcp.length=1K,2K -- tcp
		--vary tcp.length=1K,2K -- tcp h --psk secret
		--vary tcp.length=1K,2K --quick --runs auto -- tcp h
		--vary tcp.length=1K,2K --pairs 8 --runs auto -- tcp h
		--vary tcp.length=1K,2K --pairs 8 --quick -- tcp h
		--vary tcp.length=1K,2K --undo true -- tcp h
		--vary tcp.length=1K,1K -- tcp h
		--vary tcp.time=1,2 -- tcp h
		--primary goodptu --vary tcp.length=1K,2K -- tcp h
		--metric goodput --metric goodput:upp --vary tcp.length=1K,2K -- tcp h
		--vary tcp.length=1K,2K --vary tcp.length=3K,4K -- tcp h
		--vary tcp.length=1K,2K --runs many -- tcp h
		--vary sysctl:kernel.panic=1,2 -- tcp h
		--a true -- tcp h
		--arms x,y -- tcp h
		--by-hand -- tcp h
		--on box --a true --b true -- tcp h
		--json --paste --vary tcp.length=1K,2K -- tcp h
		--runs-per-boot 2 --vary tcp.length=1K,2K -- tcp h
		--by-hand --arms x,y --vary tcp.length=1K,2K -- tcp h
	EOF
	is 'nothing was measured' "$(stored_runs)" 0
}
@test "try: what cannot be run is refused before the first run" {
	lab --no-serve refused
}
