#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir serve from outside: who is served and who is not, how it ends, what it logs, and what it may
# still do once it listens.
# shellcheck disable=SC2030,SC2031 # each test has its own shell, and so has the lab

load helpers

setup()
{
	need_lab
}

# hello FD COOKIE-LETTER: connects and sends a cookie of 36 such letters.
hello()
{
	eval "exec $1<>/dev/tcp/$WEIR_LAB_PEER/5201"
	printf '%s\0' "$(printf "%036d" 0 | tr 0 "$2")" >&"$1"
}

# byte FD: the next byte, in hexadecimal; nothing at the end.
byte()
{
	timeout 5 head -c 1 <&"$1" | od -An -tx1 | tr -d ' \n'
}

# logged JQ-EXPRESSION: some line of the server's log is so.
logged()
{
	jq -se "any(.[]; $1)" server.out >/dev/null
}

# ---- the command line ----

wrong_options()
{
	local line words
	while read -r line; do
		IFS='|' read -r -a words <<<"$line"
		# shellcheck disable=SC2086 # words
		if "$WEIR" serve ${words[0]} >out 2>&1; then fail "accepted: ${words[0]}"; else status=$?; fi
		is "exit status of ${words[0]}" "$status" 2
		has out "${words[1]}"
	done <<'END'
--port 70000|--port
--tests many|--tests
--allow 10.0.0.0/99|--allow
--log xml|xml
-4 -6|-4
--frobnicate|--frobnicate
--psk-file /dev/null|empty
END
}
@test "usage errors name the option and exit 2" {
	lab --no-serve wrong_options
}

cannot_listen()
{
	if "$WEIR" serve -B 192.0.2.7 >out 2>&1; then fail accepted; else status=$?; fi
	is 'exit status' "$status" 1
	has out 192.0.2.7
}
@test "an address that is not there is a clear failure" {
	lab --no-serve cannot_listen
}

# ---- what it may do ----

privileges()
{
	server
	has server.err 'weir 0.1.0 serving iperf3 and weir clients on [::]:5201, iperf2 on 5001, nttcp on 5037'
	local field
	for field in CapInh CapPrm CapEff CapAmb; do
		is "$field" "$(awk -v f="$field:" '$1 == f { print $2 }' "/proc/$server/status")" \
			0000000000000000
	done
	is NoNewPrivs "$(awk '$1 == "NoNewPrivs:" { print $2 }' "/proc/$server/status")" 1
	if [ "$(awk '{ print $3; exit }' "/proc/$server/uid_map")" -gt 65534 ]; then
		is 'user' "$(stat -c %U "/proc/$server")" nobody
		is 'other groups' "$(awk '$1 == "Groups:" { print NF }' "/proc/$server/status")" 1
	fi
}
@test "privileges are gone once it listens" {
	getent passwd weir >/dev/null && skip "there is a user weir here"
	lab --no-serve privileges
}

child_has_little()
{
	server
	spawn client iperf3 -c "$WEIR_LAB_PEER" -t 5 -b 1M
	until_true 5 pgrep -P "$server"
	local child
	child=$(pgrep -P "$server")
	until_true 5 eval "[ \$(ls -l /proc/$child/fd | grep -c socket:) -ge 3 ]"
	# control, data, the channel; neither the listener nor standard output
	is 'standard output' "$(readlink "/proc/$child/fd/1")" /dev/null
	local listener
	listener=$(far ss -Hltne 'sport = :5201' | grep -o 'ino:[0-9]*' | cut -d: -f2)
	[ -n "$listener" ] || fail 'no listener is seen'
	if readlink /proc/"$child"/fd/* | grep -qF "socket:[$listener]"; then
		fail 'the child holds the listener'
	fi
	is 'niceness of the child' "$(ps -o ni= -p "$child" | tr -d ' ')" "$(nice)"
}
@test "a test's process holds neither the listener nor the output" {
	need iperf3
	lab --no-serve child_has_little
}

# ---- who is served ----

strangers()
{
	ip address add 203.0.113.9/32 dev lo
	far ip route add 203.0.113.9 via 198.18.0.1
	server
	if iperf3 -c "$WEIR_LAB_PEER" -B 203.0.113.9 -t 1 >out 2>&1; then fail 'was served'; fi
	has out 'authorization failed'
	until_true 5 logged '.outcome == "refused" and (.why | contains("--allow 203.0.113.9/32"))'
	kill "$server"
	ended 5 "$server"
	server --allow 203.0.113.0/24
	iperf3 -c "$WEIR_LAB_PEER" -B 203.0.113.9 -n 1M >out
	until_true 5 logged '.outcome == "done" and .peer == "203.0.113.9"'
}
@test "a stranger is refused, and told of in the log; --allow serves him" {
	need iperf3 ip
	lab --no-serve strangers
}

at_the_limit()
{
	server --tests 1
	hello 3 a
	is 'the first' "$(byte 3)" 09
	hello 4 b
	is 'the second' "$(byte 4)" ff
	is 'and then' "$(byte 4)" ''
	exec 3>&-
	until_true 5 logged '.outcome == "failed"'
	hello 5 c
	is 'the third' "$(byte 5)" 09
}
@test "over the limit iperf3's own busy byte, and room again afterwards" {
	lab --no-serve at_the_limit
}

public_limits()
{
	server --public
	local i
	for i in 1 2 3 4; do
		hello $((i + 2)) "$i"
		is "test $i" "$(byte $((i + 2)))" 09
	done
	hello 9 f
	is 'the fifth of one address' "$(byte 9)" ff
}
@test "--public: four tests of one address" {
	lab --no-serve public_limits
}

public_time()
{
	server --public
	if iperf3 -c "$WEIR_LAB_PEER" -t 61 >out 2>&1; then fail 'was served for 61 s'; fi
	if iperf3 -c "$WEIR_LAB_PEER" -t 0 >out 2>&1; then fail 'was served for ever'; fi
	if iperf3 -c "$WEIR_LAB_PEER" -n 1K -P 33 >out 2>&1; then fail 'had 33 flows'; fi
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 1 -J --no-store >run.json
	holds protocol '.protocol == "iperf3"'
	until_true 5 logged '.outcome == "done"'
}
@test "--public: at most 60 s and 32 flows" {
	need iperf3
	lab --no-serve public_time
}

other_bytes()
{
	server
	exec 3<>"/dev/tcp/$WEIR_LAB_PEER/5201"
	printf 'GET / HTTP/1.1\r\nHost: a\r\n\r\n' >&3
	is 'to a browser' "$(byte 3)" ff
	hello 4 a
	is 'to the next' "$(byte 4)" 09
}
@test "a browser is no client" {
	lab --no-serve other_bytes
}

one_family()
{
	server "$1"
	iperf3 -c "$2" -n 1M >out
	if iperf3 -c "$3" -n 1M >out 2>&1; then fail "$3 was served"; fi
}
@test "-4 and -6" {
	need iperf3
	# shellcheck disable=SC2317 # called by name
	both() { one_family -4 198.18.0.2 fd00:18::2; }
	lab --no-serve both
	both() { one_family -6 fd00:18::2 198.18.0.2; }
	lab --no-serve both
}

# ---- many at once ----

many_at_once()
{
	server
	local i clients=()
	for i in {1..8}; do
		spawn "client$i" iperf3 -c "$WEIR_LAB_PEER" -t 2 -P 2 -b 5M -J
		clients+=("$pid")
	done
	for i in {0..7}; do
		ended 20 "${clients[i]}"
		is "client $i" "$status" 0
	done
	until_true 5 log_lines 8
	is 'done' "$(jq -s 'map(select(.outcome == "done")) | length' server.out)" 8
	is 'overlapped' "$(jq -s 'map(select(.warnings | index("overlap"))) | length' server.out)" 8
	for i in {1..8}; do
		holds "client $i: its own bytes" '.end.sum_sent.bytes == .end.sum_received.bytes' \
			"client$i.out"
	done
}
# One after the other they are alone, however soon the next one comes.
alone()
{
	server
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 20ms --repeat 25 --no-store -q
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 20ms -P 100 --each-way --no-store -q
	until_true 5 log_lines 27
	is 'overlapped' "$(jq -s 'map(select(.warnings | index("overlap"))) | length' server.out)" 0
}
@test "a client that comes again at once did not overlap with itself" {
	lab --no-serve alone
}

@test "eight clients at once, each with its own bytes, each told of the overlap" {
	need iperf3
	lab --no-serve many_at_once
}

# ---- things that die ----

client_dies()
{
	server
	spawn client iperf3 -c "$WEIR_LAB_PEER" -t 30
	until_true 5 pgrep -P "$server"
	until_true 5 eval "far ss -Htn state established 'sport = :5201' | grep -c . | grep -q 2"
	kill -9 "$pid"
	until_true 20 logged '.outcome == "cut short" and (.warnings | index("peer-gone"))'
	iperf3 -c "$WEIR_LAB_PEER" -n 1M >out
}
@test "a client that is killed is logged, and the next one served" {
	need iperf3
	lab --no-serve client_dies
}

child_dies()
{
	server
	spawn client iperf3 -c "$WEIR_LAB_PEER" -t 30
	until_true 5 pgrep -P "$server"
	pkill -SEGV -P "$server"
	until_true 5 logged '.outcome == "failed" and (.why | contains("signal 11"))'
	ended 15 "$pid"
	iperf3 -c "$WEIR_LAB_PEER" -n 1M >out
	until_true 5 logged '.outcome == "done"'
}
@test "a test's process that dies is logged and touches nothing else" {
	need iperf3
	lab --no-serve child_dies
}

front_dies()
{
	server
	spawn client iperf3 -c "$WEIR_LAB_PEER" -t 30
	until_true 5 pgrep -P "$server"
	local child
	child=$(pgrep -P "$server")
	kill -9 "$server"
	until_true 5 gone "$child"
	ended 15 "$pid"
}
@test "no test outlives the front" {
	need iperf3
	lab --no-serve front_dies
}

# ---- the end ----

one_off()
{
	server --one-off
	hello 3 a # admitted, but no test
	is 'admitted' "$(byte 3)" 09
	exec 3>&-
	until_true 5 logged '.outcome == "failed"'
	iperf3 -c "$WEIR_LAB_PEER" -t 1 >out
	ended 5 "$server"
	is 'exit status' "$status" 0
	logged '.outcome == "done"' || fail 'the test is not logged'
}
@test "--one-off ends after one test that ran" {
	need iperf3
	lab --no-serve one_off
}

stops_idle()
{
	local from
	server
	hello 3 a
	printf abc >/dev/tcp/"$WEIR_LAB_PEER"/5201
	is 'admitted' "$(byte 3)" 09
	exec 3>&-
	until_true 5 logged '.outcome == "failed"'
	from=$(ms)
	kill "$server"
	ended 5 "$server"
	is 'exit status' "$status" 0
	(($(ms) - from < 1000)) || fail "took $(($(ms) - from)) ms"
}
@test "SIGTERM ends an idle server at once" {
	lab --no-serve stops_idle
}

stops_in_time()
{
	local from
	server --grace 1
	spawn client iperf3 -c "$WEIR_LAB_PEER" -t 30
	until_true 5 pgrep -P "$server"
	until_true 5 eval "far ss -Htn state established 'sport = :5201' | grep -c . | grep -q 2"
	from=$(ms)
	kill "$server"
	ended 10 "$server"
	is 'exit status' "$status" 0
	(($(ms) - from >= 900 && $(ms) - from < 7000)) || fail "took $(($(ms) - from)) ms"
	logged '.outcome == "cut short" and (.warnings | index("interrupted"))' ||
		fail "$(cat server.out)"
	ended 5 "$pid"
	has client.err 'the server has terminated'
}
@test "SIGTERM ends a running test after the grace, in iperf3's words" {
	need iperf3
	lab --no-serve stops_in_time
}

stops_gently()
{
	server --grace 20
	spawn client iperf3 -c "$WEIR_LAB_PEER" -t 2 -b 10M
	until_true 5 eval "far ss -Htn state established 'sport = :5201' | grep -c . | grep -q 2"
	kill "$server"
	ended 10 "$pid"
	is 'the client' "$status" 0
	ended 5 "$server"
	is 'the server' "$status" 0
	logged '.outcome == "done"' || fail "$(cat server.out)"
}
@test "SIGTERM lets a test finish within the grace" {
	need iperf3
	lab --no-serve stops_gently
}

# ---- socket activation, keys, the log ----

activated()
{
	cat >activate.py <<'PY'
import os, socket, sys
s = socket.socket(socket.AF_INET6)
s.bind(("::", 5201))
s.listen()
os.dup2(s.fileno(), 3)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], sys.argv[1:])
PY
	spawn_far server python3 activate.py "$WEIR" serve --log json -p 5999
	server=$pid
	until_true 5 grep -q 5201 server.err
	iperf3 -c "$WEIR_LAB_PEER" -n 1M >out
	until_true 5 logged '.outcome == "done"'
}
@test "socket activation" {
	need iperf3 python3
	lab --no-serve activated
}

keys()
{
	local secret=c4nary-of-the-key
	echo "$secret" >key
	echo another >wrong
	server --psk-file key
	if "$WEIR" tcp "$WEIR_LAB_PEER" -t 1 --no-store --psk-file wrong >out 2>&1; then fail 'wrong key'; fi
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 1 -J --no-store --psk-file key >run.json
	holds protocol '.protocol == "weir"'
	until_true 5 logged '.outcome == "done" and .protocol == "weir"'
	logged '.outcome == "failed"' || fail "$(cat server.out)"
	if grep -r "$secret" server.out server.err out run.json; then fail 'the key is told'; fi
}
@test "native clients need the pre-shared key, which is told nowhere" {
	"$WEIR" tcp --help | grep -q psk-file || skip "this build has no keys"
	lab --no-serve keys
}

text_log()
{
	spawn_far server "$WEIR" serve
	server=$pid
	until_true 5 listens 5201
	iperf3 -c "$WEIR_LAB_PEER" -t 1 -R -P 2 >out
	until_true 5 log_lines 1
	grep -qE '^[0-9T:-]+Z 198\.18\.0\.1:[0-9]+ iperf3 3\.[0-9.]+\+? done, down [0-9.]+ [MG]bit/s in 2 flows \([0-9]+ retransmits\), 1\.[0-9] s' \
		server.out || fail "$(cat server.out)"
}
@test "a log line as text" {
	need iperf3
	lab --no-serve text_log
}
