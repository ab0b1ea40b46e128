#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# One end dies, hangs or loses its network, in every state of the dialogue: a clear message, no
# wait beyond the timeout, and a server that serves the next client and keeps no process.

load helpers

setup()
{
	need_lab
	fake="$BATS_TEST_DIRNAME/fake_iperf3.py"
	export fake
}

# ---- helpers ----

talking()
{
	[ "$(ss -Htn state established 'dport = :5201' | wc -l)" -ge 2 ]
}

# A connection has moved some MB.
moving()
{
	ss -Htin state established 'dport = :5201' | grep -qE 'bytes_(sent|received):[0-9]{7}'
}

childless()
{
	! pgrep -P "$1" >/dev/null
}

# still_serves [SECONDS]: no process of a test is left, and the next test works.
still_serves()
{
	until_true "${1:-3}" childless "$server"
	weir_json -t 0.2
	if [ -n "$(type -P iperf3)" ]; then
		iperf3 -c "$WEIR_LAB_PEER" -t 1 -b 10M -J >next.json || fail "next: $(jq .error next.json)"
	fi
	until_true 3 childless "$server"
}

# failed SECONDS TEXT…: the client of `spawn run` ends by itself with exit status 1 and says so.
failed()
{
	local seconds=$1
	shift
	ended "$seconds" "$pid"
	is 'exit status' "$status" 1
	has run.err 'weir tcp: ' "$@"
}

# ---- the client dies ----

client_dies()
{
	local signal options lines=0 outcome
	server
	while read -r signal options; do
		# shellcheck disable=SC2086 # words
		spawn run ${client[@]} "$WEIR_LAB_PEER" -t 20 $options
		until_true 3 moving
		kill -"$signal" "$pid"
		ended 2 "$pid"
		until_true 3 log_lines $((++lines))
		outcome=$(tail -n 1 server.out | jq -r .outcome)
		case $signal$no_results in
		TERM) is 'outcome' "$outcome" 'done' ;;
		*) is 'outcome' "$outcome" 'cut short' ;;
		esac
		until_true 3 childless "$server"
	done <<-'END'
	KILL
	TERM -R
	KILL --bidir -P 3
	TERM -P 2
	END
	still_serves
	stop_server
}
weir_dies()
{
	client=("$WEIR" tcp --no-store) no_results=
	client_dies
}
@test "the client dies: weir tcp of weir serve" {
	lab --no-serve weir_dies
}
iperf3_dies()
{
	# Told to stop, iperf3 leaves without results.
	client=(iperf3 -c) no_results=1
	client_dies
}
@test "the client dies: iperf3 of weir serve" {
	need iperf3
	lab --no-serve iperf3_dies
}

# What was measured until then is kept, marked as cut off.
kept()
{
	spawn run "$WEIR" tcp "$WEIR_LAB_PEER" -t 20 -i 0.2
	until_true 3 talking
	until_true 5 rows_shown
	until_true 5 stored_rows
	kill -KILL "$pid"
	ended 2 "$pid"
	"$WEIR" show last --json >run.json
	holds 'marked' '.outcome != "complete"'
	holds 'what there was' '[.axes[].rows[]] | length >= 2'
	"$WEIR" show last >shown
	has shown 'goodput ' 'incomplete'
}
rows_shown()
{
	[ "$(grep -c 'bit/s' run.out)" -ge 8 ]
}
stored_rows()
{
	"$WEIR" show last --json | jq -e '[.axes[].rows[]] | length >= 2'
} >/dev/null
@test "the client dies: what it stored is there" {
	"$WEIR" tcp --help | grep -q store-cap || skip 'built without a store'
	lab kept
}

of_iperf3()
{
	spawn_far server iperf3 -s
	server=$pid
	until_true 5 listens 5201
	for signal in KILL TERM; do
		spawn run "$WEIR" tcp "$WEIR_LAB_PEER" -t 20 --no-store
		until_true 3 talking
		kill -$signal "$pid"
		ended 2 "$pid"
		weir_json -t 0.3
	done
}
@test "the client dies: weir tcp of iperf3 -s" {
	need iperf3
	lab --no-serve of_iperf3
}

# ---- the server dies ----

server_dies()
{
	local what signal child
	while read -r what signal; do
		server
		spawn run "$WEIR" tcp "$WEIR_LAB_PEER" -t 20 --no-store
		until_true 3 moving
		child=$(pgrep -P "$server")
		[ "$what" = test ] && kill -"$signal" "$child" || kill -"$signal" "$server"
		failed 3 'the peer '
		has run.out 'goodput ' 'incomplete'
		if [ "$what" = test ]; then
			until_true 3 log_lines 1
			still_serves
			stop_server
		else
			until_true 3 gone "$server"
			until_true 3 gone "$child"
		fi
	done <<-'END'
	test KILL
	all KILL
	END
	server --grace 300ms
	spawn run "$WEIR" tcp "$WEIR_LAB_PEER" -t 20 --no-store
	until_true 3 talking
	child=$(pgrep -P "$server")
	kill "$server"
	failed 3 'the peer'
	has run.out 'goodput ' 'incomplete'
	ended 3 "$server"
	is 'exit status of weir serve' "$status" 0
	gone "$child" || fail 'a test outlives the server'
}
@test "the server dies: weir serve, of weir tcp" {
	lab --no-serve server_dies
}

server_of_iperf3_dies()
{
	for signal in KILL TERM; do
		server --grace 300ms
		spawn run iperf3 -c "$WEIR_LAB_PEER" -t 20
		until_true 3 talking
		kill -$signal "$server"
		ended 5 "$pid"
		is 'exit status of iperf3' "$status" 1
		has run.err iperf3:
		until_true 3 gone "$server"
	done
}
@test "the server dies: weir serve, of iperf3" {
	need iperf3
	lab --no-serve server_of_iperf3_dies
}

iperf3_server_dies()
{
	local signal options
	while read -r signal options; do
		spawn_far server iperf3 -s
		server=$pid
		until_true 5 listens 5201
		# shellcheck disable=SC2086 # words
		spawn run "$WEIR" tcp "$WEIR_LAB_PEER" -t 20 --no-store $options
		until_true 3 moving
		kill -"$signal" "$server"
		failed 3 'the peer '
		has run.out 'goodput ' 'incomplete'
		until_true 3 gone "$server"
	done <<-'END'
	KILL
	KILL -R
	TERM --bidir
	END
}
@test "the server dies: iperf3 -s, of weir tcp" {
	need iperf3
	lab --no-serve iperf3_server_dies
}

# ---- it hangs, or the network is cut ----

server_hangs()
{
	server
	spawn run "$WEIR" tcp "$WEIR_LAB_PEER" -t 1 --no-store --connect-timeout 1s
	until_true 3 talking
	kill -STOP "$(pgrep -P "$server")"
	failed 4 'no answer'
	has run.out 'goodput ' 'incomplete'
	kill -CONT "$(pgrep -P "$server")"
	still_serves 12
}
@test "the server hangs" {
	lab --no-serve server_hangs
}

# cut FUNCTION: each in a lab of its own, all at once: they take long and do nothing.
cut_network()
{
	until_true 3 talking
	far ip link set eth0 down
	t0=$(ms)
}
cut_weir()
{
	server
	spawn run "$WEIR" tcp "$WEIR_LAB_PEER" -t 8 --no-store --connect-timeout 2s --bidir
	cut_network
	failed 15 'no answer'
	has run.out 'goodput ' 'incomplete'
	until_true 15 childless "$server"
	has server.out '"outcome":"cut short"' peer-gone
}
cut_iperf3_server()
{
	spawn_far server iperf3 -s
	until_true 5 listens 5201
	spawn run "$WEIR" tcp "$WEIR_LAB_PEER" -t 8 --no-store --connect-timeout 2s
	cut_network
	failed 15 'no answer'
	has run.out "only the sender's rate is known" 'incomplete'
}
cut_iperf3_client()
{
	server
	spawn run iperf3 -c "$WEIR_LAB_PEER" -t 20 "$@"
	cut_network
	until_true 15 childless "$server"
	has server.out '"outcome":"cut short"' peer-gone
}
@test "the network is cut while a test runs" {
	need iperf3 ip
	local jobs=() job
	cd "$BATS_TEST_TMPDIR"
	mkdir a b c d
	(BATS_TEST_TMPDIR=$PWD/a lab --no-serve cut_weir) & jobs+=($!)
	(BATS_TEST_TMPDIR=$PWD/b lab --no-serve cut_iperf3_server) & jobs+=($!)
	(BATS_TEST_TMPDIR=$PWD/c lab --no-serve cut_iperf3_client) & jobs+=($!)
	(BATS_TEST_TMPDIR=$PWD/d lab --no-serve cut_iperf3_client -R) & jobs+=($!)
	for job in "${jobs[@]}"; do
		wait "$job"
	done
}

# ---- every state of iperf3's dialogue ----

# As a server that stops there; all at once, on ports of their own.
server_stops()
{
	local port step how
	spawn_far fake python3 "$fake" server 6000 "accepted,cookie,asked-params,params,create,streams,$(
		)start,running,end,exchange,their-results,half-results,results" close,reset,hang
	until_true 30 lines_of fake.out 39
	while read -r port step how; do
		spawn "run$port" "$WEIR" tcp "$WEIR_LAB_PEER" -p "$port" -t 0.4 -b 1M --no-store \
			--connect-timeout 3s
		echo "$pid" >"run$port.pid"
	done <fake.out
	while read -r port step how; do
		stopped_at "$port" "$step" "$how"
	done <fake.out
}
lines_of()
{
	[ "$(wc -l <"$1")" -eq "$2" ]
}
stopped_at()
{
	local what="$3 at step $2"
	until_true 20 gone "$(cat "run$1.pid")"
	status=0
	wait "$(cat "run$1.pid")" || status=$?
	# With all results in, a farewell that does not come is no loss.
	[ "$2" != results ] || return 0
	[ "$status" -eq 1 ] || fail "$what: exit status $status: $(cat "run$1.err" "run$1.out")"
	has "run$1.err" 'weir tcp: '
	case $3-$2 in
	hang-accepted | hang-cookie) has "run$1.err" 'says nothing for 3 s' ;;
	hang-*) has "run$1.err" 'no answer' ;;
	esac
	# Who had a test to measure still tells what there is.
	case $2 in
	running | end | exchange | *results) has "run$1.out" 'goodput ' incomplete ;;
	esac
}
@test "iperf3's server stops at every step" {
	need python3
	lab --no-serve server_stops
}

# As a client that stops there.
client_stops()
{
	local slow=close,reset n=33 bound=15
	# A test that runs, and streams that are to come, are given more time.
	[ "${WEIR_CHECK_ALL:-0}" = 0 ] || slow=close,reset,hang n=36 bound=60
	server
	spawn fakes python3 "$fake" client "$WEIR_LAB_PEER" 5201 create,half-stream,running $slow
	spawn fakes2 python3 "$fake" client "$WEIR_LAB_PEER" 5201 "connected,half-cookie,asked-params,$(
		)half-params,end,exchange,half-results,results,none" close,reset,hang
	until_true 30 lines_of fakes2.out 27
	# Meanwhile others are served.
	weir_json -t 0.2
	# Those that hang are given up by the timeouts.
	until_true $bound childless "$server"
	weir_json -t 0.2
	has server.out '"outcome":"done"' '"outcome":"failed"' '"outcome":"cut short"'
	# all but those that never sent a cookie, and two others
	until_true 2 log_lines $((n - 6 + 2))
}
@test "iperf3's client stops at every step" {
	need python3
	lab --no-serve client_stops
}

# ---- the lab itself ----

no_server()
{
	! pgrep -f "serve.*$1" >/dev/null
}
@test "SIGKILL of weir lab leaves no server" {
	need_lab
	mark=$BATS_TEST_TMPDIR/run
	cd "$BATS_TEST_TMPDIR"
	"$WEIR" lab --serve-arg=--runtime-dir --serve-arg="$mark" -- sh -c 'echo >up; sleep 60' 3>&- &
	lab=$!
	until_true 5 test -s up
	pgrep -f "serve.*$mark" >/dev/null
	kill -9 "$lab"
	until_true 3 no_server "$mark"
}
