#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What a stranger must not be able to do to weir serve, seen from outside (SECURITY.md): logins, who
# waits, who vanishes, what once broke iperf3, and where secrets are found.
# shellcheck disable=SC2030,SC2031,SC2154,SC2012 # each test has its own shell, and so has the lab; helpers

load helpers

PEER=${BATS_TEST_DIRNAME:-.}/peer.py
CONTRIB=${BATS_TEST_DIRNAME:-.}/../../contrib
export PEER CONTRIB

setup()
{
	need_lab
}

peer()
{
	python3 "$PEER" "$@"
}

logged()
{
	jq -se "any(.[]; $1)" server.out >/dev/null
}

# ---- logins ----

has_logins()
{
	need openssl
	"$WEIR" serve --help | grep -q rsa-private || skip 'this build has no logins'
	printf x >"$BATS_TEST_TMPDIR/x"
	! "$WEIR" serve --rsa-private-key-path "$BATS_TEST_TMPDIR/x" --authorized-users-path "$BATS_TEST_TMPDIR/x" \
		2>&1 | grep -q 'without logins' || skip 'this build has no logins'
}

# keys PASSWORD: a key pair, and a user mario of that password.
keys()
{
	openssl genrsa -out private.pem 2048 2>/dev/null
	openssl rsa -in private.pem -pubout -out public.pem 2>/dev/null
	printf '# users\nmario,%s\n' "$(printf '{mario}%s' "$1" | sha256sum | cut -d' ' -f1)" >users.csv
	logins=(--rsa-private-key-path private.pem --authorized-users-path users.csv)
	as_mario=(--username mario --rsa-public-key-path public.pem)
}

iperf3_logs_in()
{
	keys rossi
	server "${logins[@]}" --use-pkcs1-padding
	IPERF3_PASSWORD=rossi iperf3 -c "$WEIR_LAB_PEER" -n 1M "${as_mario[@]}" >out
	IPERF3_PASSWORD=rossi iperf3 -c "$WEIR_LAB_PEER" -n 1M -R -P 3 "${as_mario[@]}" >out
	until_true 5 log_lines 2
	holds 'both' 'map(.outcome == "done") | all' <(jq -s . server.out)
	if IPERF3_PASSWORD=verdi iperf3 -c "$WEIR_LAB_PEER" -n 1M "${as_mario[@]}" >out 2>&1; then
		fail 'a wrong password'
	fi
	has out 'authorization failed'
	if IPERF3_PASSWORD=rossi iperf3 -c "$WEIR_LAB_PEER" -n 1M --username luigi \
		--rsa-public-key-path public.pem >out 2>&1; then fail 'an unknown user'; fi
	has out 'authorization failed'
	if iperf3 -c "$WEIR_LAB_PEER" -n 1M >out 2>&1; then fail 'no login'; fi
	has out 'authorization failed'
	IPERF3_PASSWORD=rossi iperf3 -c "$WEIR_LAB_PEER" -n 1M "${as_mario[@]}" >out
}
@test "iperf3 logs in to weir serve" {
	need iperf3
	has_logins
	lab --no-serve iperf3_logs_in
}

# token NAME PASSWORD SECONDS-OFF PADDING
token()
{
	printf 'user: %s\npwd:  %s\nts:   %s' "$1" "$2" "$(($(date +%s) + $3))" |
		openssl pkeyutl -encrypt -pubin -inkey public.pem -pkeyopt rsa_padding_mode:"$4" |
		base64 -w 0
}

refusals_are_alike()
{
	keys rossi
	server "${logins[@]}"
	token mario rossi 0 oaep >good
	token mario verdi 0 oaep >password
	token luigi rossi 0 oaep >user
	token mario rossi -1000 oaep >late
	token mario rossi 1000 oaep >early
	token mario rossi 0 pkcs1 >padding
	head -c 256 /dev/urandom | base64 -w 0 >noise
	printf 'A' >short
	: >none
	head -c 3000 /dev/zero | tr '\0' A >long
	peer tokens "$WEIR_LAB_PEER" 5201 good good password user late early padding noise short none long \
		>answers
	# The first is admitted: data connections are asked for.
	is 'good' "$(head -n 1 answers)" 'good: 0a'
	is 'refused' "$(tail -n +2 answers | grep -c ': fe0000008e00000000 end$')" 10
	until_true 5 eval "[ \"\$(jq -s 'map(select((.why // \"\") | startswith(\"login refused\"))) | length' server.out)\" = 10 ]"
	logged '.why == "login refused: its token was used before"' || fail 'used again'
	logged '.why | startswith("login refused: its clock differs")' || fail 'time'
}
@test "every refused login hears the same bytes" {
	need python3
	has_logins
	lab --no-serve refusals_are_alike
}

weir_logs_in()
{
	keys rossi
	echo rossi >password
	server "${logins[@]}"
	if "$WEIR" tcp "$WEIR_LAB_PEER" -n 1M --no-store >out 2>&1; then fail 'without a login'; fi
	has out 'iperf3 error 142'
	"$WEIR" tcp "$WEIR_LAB_PEER" -n 1M --no-store -J "${as_mario[@]}" --password-file password >run.json
	holds 'as iperf3' '.protocol == "iperf3" and .outcome == "complete"'
	if IPERF3_PASSWORD=verdi "$WEIR" tcp "$WEIR_LAB_PEER" -n 1M --no-store "${as_mario[@]}" >out 2>&1; then
		fail 'a wrong password'
	fi
	stop_server
	iperf3_server --rsa-private-key-path private.pem --authorized-users-path users.csv
	IPERF3_PASSWORD=rossi "$WEIR" tcp "$WEIR_LAB_PEER" -n 1M --no-store -J --use-pkcs1-padding \
		"${as_mario[@]}" >run.json
	holds 'at iperf3' '.far.tool == "iperf3" and .outcome == "complete"'
}
@test "weir tcp logs in to weir serve and to iperf3 -s" {
	need iperf3
	has_logins
	lab --no-serve weir_logs_in
}

wrong_logins()
{
	keys rossi
	echo 'two words' >spaced
	local line words
	while IFS='|' read -r line words; do
		# shellcheck disable=SC2086 # words
		if "$WEIR" $line >out 2>&1; then fail "accepted: $line"; else status=$?; fi
		[ "$status" = 2 ] || [ "$status" = 1 ] || fail "exit status of $line: $status"
		has out "$words"
	done <<'END'
serve --rsa-private-key-path private.pem|belong together
serve --rsa-private-key-path users.csv --authorized-users-path users.csv|users.csv: not an RSA private key
serve --rsa-private-key-path private.pem --authorized-users-path public.pem|public.pem: line 1
serve --rsa-private-key-path private.pem --authorized-users-path missing|missing
serve --rsa-private-key-path private.pem --authorized-users-path users.csv --time-skew-threshold 2h|time-skew
tcp 192.0.2.1 --username mario|belong together
tcp 192.0.2.1 --username mario --rsa-public-key-path public.pem|no password
tcp 192.0.2.1 --username mario --rsa-public-key-path public.pem --password-file spaced|no spaces
END
}
@test "login options that make no sense are named" {
	has_logins
	lab --no-serve wrong_logins
}

# ---- secrets ----

canaries()
{
	keys c4nary-password
	echo c4nary-password >password
	echo c4nary-psk >psk
	server "${logins[@]}" --psk-file psk
	"$WEIR" tcp "$WEIR_LAB_PEER" -n 1M --psk c4nary-psk >out1 2>&1
	"$WEIR" tcp "$WEIR_LAB_PEER" -n 1M -J --psk-file psk --tag a=b >out2
	"$WEIR" tcp "$WEIR_LAB_PEER" -n 1M --json-stream "${as_mario[@]}" --proto iperf3 \
		--password-file password >out3
	IPERF3_PASSWORD=c4nary-password "$WEIR" tcp "$WEIR_LAB_PEER" -n 1M --csv "${as_mario[@]}" \
		--proto iperf3 >out4
	if "$WEIR" tcp "$WEIR_LAB_PEER" --psk c4nary-wrong >out5 2>&1; then fail 'a wrong key'; fi
	spawn long "$WEIR" tcp "$WEIR_LAB_PEER" -t 30 --psk c4nary-psk --no-store
	until_true 5 eval "! grep -q c4nary /proc/$pid/cmdline"
	has /proc/"$pid"/cmdline '*'
	kill "$pid"
	ended 10 "$pid"
	"$WEIR" show last --json >out6
	"$WEIR" export last >out7
	until_true 5 log_lines 5
	! grep -la c4nary server.out server.err long.* out* runs.db* || fail 'a secret is told'
	! grep -la "$(sed -n 2p private.pem)" server.out server.err out* runs.db* || fail 'the key is told'
	! tr '\0' ' ' <"/proc/$server/cmdline" | grep c4nary || fail 'in the title of the server'
}
@test "secrets are in no log, store, report or title" {
	has_logins
	lab --no-serve canaries
}

# ---- options of the server ----

config_file()
{
	printf '# a comment\n\n port = 5201 \nlog = json\nallow = 203.0.113.0/24\nexclusive\n' >good.conf
	spawn_far server "$WEIR" serve --config good.conf --runtime-dir "$PWD/run"
	server=$pid
	until_true 5 listens 5201
	"$WEIR" serve --status --json --runtime-dir "$PWD/run" >status.json
	holds 'exclusive' '.servers[0].tests_at_once == 1' status.json
	kill "$server"
	ended 5 "$server"
	spawn_far server "$WEIR" serve --config good.conf -p 5300 --no-exclusive --tests 7 --runtime-dir "$PWD/run"
	server=$pid
	until_true 5 listens 5300
	"$WEIR" serve --status --json --runtime-dir "$PWD/run" >status.json
	holds 'the command line goes first' '.servers[0].tests_at_once == 7' status.json
	local line words
	while IFS='|' read -r line words; do
		printf '# first\n%b\n' "$line" >bad.conf
		if "$WEIR" serve --config bad.conf >out 2>&1; then fail "accepted: $line"; else status=$?; fi
		is "exit status of $line" "$status" 2
		has out "bad.conf:2: $words"
	done <<'END'
port = many|port
frobnicate = 1|frobnicate
tests|tests
config = other.conf|config
max-time = 5 parsecs|max-time
\033[2J = 1|\x1b
END
	if "$WEIR" serve --config missing.conf >out 2>&1; then fail 'no file'; fi
	has out missing.conf
}
@test "options in a file: errors name file and line, the command line goes first" {
	lab --no-serve config_file
}

denied()
{
	server --public --deny 198.18.0.0/24
	if iperf3 -c 198.18.0.2 -t 1 >out 2>&1; then fail 'was served'; fi
	until_true 5 logged '.outcome == "refused" and .why == "denied (--deny)"'
	iperf3 -c fd00:18::2 -t 1 >out
	stop_server
	server --deny 198.18.0.0/24
	if "$WEIR" tcp 198.18.0.2 -t 1 --no-store >out 2>&1; then fail 'was served'; fi
	has out 'does not serve this address' --allow
}
@test "--deny goes before --public" {
	need iperf3
	lab --no-serve denied
}

# Asked for more, it is refused; unasked, it is ended once it has moved more for a while.
bounded_rate()
{
	server --max-rate 50M
	if iperf3 -c "$WEIR_LAB_PEER" -t 1 -b 80M >out 2>&1; then fail 'was served'; fi
	iperf3 -c "$WEIR_LAB_PEER" -t 1 -b 40M >out
	if iperf3 -c "$WEIR_LAB_PEER" -t 20 >out 2>&1; then fail 'was not ended'; fi
	weir_json -t 0.5
	holds 'paced' 'total("up"; "sender"; "throughput.sent") < 60e6 and (codes | index("server-limit"))'
}
@test "--max-rate refuses, slows and ends" {
	need iperf3
	lab --no-serve bounded_rate
}

in_turn()
{
	server --exclusive
	local i clients=()
	for i in 1 2 3 4; do
		spawn "client$i" iperf3 -c "$WEIR_LAB_PEER" -n 700K -b 10M
		clients+=("$pid")
	done
	for i in 0 1 2 3; do
		ended 20 "${clients[i]}"
		is "client $i" "$status" 0
	done
	until_true 5 log_lines 4
	is 'done' "$(jq -s 'map(select(.outcome == "done")) | length' server.out)" 4
	is 'overlapped' "$(jq -s 'map(select(.warnings | index("overlap"))) | length' server.out)" 0
	spawn first iperf3 -c "$WEIR_LAB_PEER" -t 2 -b 10M
	until_true 5 eval "far ss -Htn state established 'sport = :5201' | grep -c . | grep -q 2"
	"$WEIR" tcp "$WEIR_LAB_PEER" -n 1M --no-store >out
	has out goodput
}
@test "--exclusive: tests follow each other, none overlaps" {
	need iperf3
	lab --no-serve in_turn
}

status_tells()
{
	server --exclusive --grace 300ms --runtime-dir "$PWD/run"
	is 'mode of the folder' "$(stat -c %a run)" 700
	is 'mode of the socket' "$(stat -c %a run/serve-*.sock)" 600
	spawn first iperf3 -c "$WEIR_LAB_PEER" -t 30 -b 1M -P 2
	until_true 5 eval "\"$WEIR\" serve --status --json --runtime-dir \$PWD/run | jq -e '.servers[0].tests[0].stage == \"running\"'"
	spawn second iperf3 -c "$WEIR_LAB_PEER" -t 1
	until_true 5 eval "\"$WEIR\" serve --status --json --runtime-dir \$PWD/run | jq -e '.servers[0].waiting_now == 1'"
	"$WEIR" serve --status --runtime-dir "$PWD/run" >out
	has out '1 of 1 tests, 1 clients wait' 'iperf3, running' '2 data connections' 'waits for its turn'
	kill "$server"
	ended 15 "$server"
	if "$WEIR" serve --status --runtime-dir "$PWD/run" >out 2>&1; then fail 'nobody is there'; else status=$?; fi
	is 'exit status' "$status" 1
}
@test "--status tells who is served and who waits" {
	need iperf3
	lab --no-serve status_tells
}

# ---- those who vanish ----

sent_by_far()
{
	far ip -s link show eth0 | awk 'found { print $1; exit } /TX:/ { found = 1 }'
}

# From one moment on nothing of the near host arrives any more, neither data nor resets.
vanish()
{
	server --runtime-dir "$PWD/run" --pending-time 5
	mkfifo go
	spawn peer bash -c "exec python3 '$PEER' stages 198.18.0.2 5201 <go"
	exec 9>go
	until_true 10 grep -q '^ready 13' peer.out
	local since before after
	ip rule add to 198.18.0.2 priority 1 blackhole
	since=$(ms)
	until_true 20 eval "! pgrep -P $server"
	(($(ms) - since < 15000)) || fail "the last one took $(($(ms) - since)) ms"
	(($(ms) - since > 2000)) || fail 'they did not vanish but said goodbye'
	is 'connections' "$(far ss -Htn state established 'sport = :5201' | wc -l)" 0
	"$WEIR" serve --status --json --runtime-dir "$PWD/run" >status.json
	holds 'nothing is held' '.servers[0] | .tests_now == 0 and .pending == 0' status.json
	before=$(sent_by_far)
	sleep 1 # the period that is measured
	after=$(sent_by_far)
	((after - before < 2000)) || fail "$((after - before)) bytes a second are still sent"
}
@test "who vanishes in any stage of a test is gone within 15 s, and nothing is sent to him" {
	need python3 ip
	lab --no-serve vanish
}

# ---- what a stranger makes the server send ----

# counted GROUP NAME: a counter of the far host's network.
counted()
{
	far cat /proc/net/snmp | awk -v group="$1:" -v name="$2" '$1 == group && !at { for (i = 2; i <= NF; i++)
		if ($i == name) at = i; next } $1 == group { print $at; exit }'
}

meters()
{
	server
	iperf3 -c "$WEIR_LAB_PEER" -n 1M >out
	iperf3 -c "$WEIR_LAB_PEER" -n 1M --bidir >out
	"$WEIR" tcp "$WEIR_LAB_PEER" -n 1M --no-store >out
	peer advisories "$WEIR_LAB_PEER" 5201 >out
	# No datagram of a stranger is answered, and nobody is called whatever a client says first.
	local ports before
	ports=$(far ss -Hlun | awk '{ sub(/.*:/, "", $4); print $4 }' | sort -u)
	is 'UDP ports' "$ports" $'5001\n5201'
	before=$(counted Udp OutDatagrams)
	# shellcheck disable=SC2094 # a word, not the file
	peer meter "$WEIR_LAB_PEER" 5201 >meter
	is 'datagrams sent' "$(counted Udp OutDatagrams)" "$before"
	(($(awk '$1 == "udp" { print $2 }' meter) > 10000)) || fail "$(cat meter)"
	is 'bytes of answers to datagrams' "$(awk '$1 == "udp" { print $3 }' meter)" 0
	# iperf 2's flows: an end is answered with no more than it has.
	peer meter "$WEIR_LAB_PEER" 5001 >meter2
	(($(awk '$1 == "udp" { print $3 }' meter2) <= $(awk '$1 == "udp" { print $2 }' meter2))) || fail "$(cat meter2)"
	! grep -v '^udp' meter | grep -vE ': (ff|09|09fe0000007200000000)? ' || fail 'more is said than a byte or an error'
	is 'connections that the server opened' "$(counted Tcp ActiveOpens)" 0
	far bash -c '! : <>/dev/tcp/198.18.0.1/9' 2>/dev/null # nobody listens there; the counter sees it
	is 'what the counter sees' "$(counted Tcp ActiveOpens)" 1
	# Before it is known, a peer gets at most one byte for what it sends.
	local first
	for first in '' 'GET / HTTP/1.1\r\n\r\n' "$(printf '%040d' 0)" '\0\0\0\0'; do
		exec 3<>"/dev/tcp/$WEIR_LAB_PEER/5201"
		printf %b "$first" >&3
		local n
		n=$(timeout 1 head -c 100 <&3 | wc -c) || true
		((n <= 1)) || fail "$n bytes for $first"
		exec 3>&-
	done
}
@test "the server calls nobody, and says one byte to those it does not know" {
	need iperf3 python3
	lab --no-serve meters
}

# ---- what once broke iperf3 ----

advisories()
{
	server
	peer advisories "$WEIR_LAB_PEER" 5201 >out || fail "$(cat out)"
	has out 'CVE-2016-4303 fe00000072' 'CVE-2023-38403 fe00000072' 'CVE-2023-7250 others are served' \
		'CVE-2025-54351 counted True' 'CVE-2024-53580 title 0a'
	until_true 5 log_lines 20
	if logged '(.why // "") | contains("signal")'; then fail "$(grep signal server.out)"; fi
	iperf3 -c "$WEIR_LAB_PEER" -n 1M >out
}
@test "the eight advisories of iperf3" {
	need iperf3 python3
	lab --no-serve advisories
}

advisories_of_logins()
{
	keys rossi
	server "${logins[@]}"
	local n c
	for n in 1 4 100 340 344 348 1364 1368 1372 4000; do
		for c in A =; do
			head -c $n /dev/zero | tr '\0' $c >"token-$n-$c"
		done
	done
	peer tokens "$WEIR_LAB_PEER" 5201 token-* >answers
	is 'answers' "$(wc -l <answers)" 20
	is 'refused' "$(grep -c ': fe0000008e00000000 end$' answers)" 20
	if logged '(.why // "") | contains("signal")'; then fail "$(grep signal server.out)"; fi
}
@test "the advisories of iperf3's logins" {
	need python3
	has_logins
	lab --no-serve advisories_of_logins
}

# ---- a long siege ----

# wave N: so many real clients at once; who was served is counted.
wave()
{
	local i p clients=() ways=('-n 64K -P 2' '-n 64K -R' '-u -n 64K -b 5M' '-u -R -t 1 -b 1M')
	for ((i = 0; i < $1; i++)); do
		# shellcheck disable=SC2086 # words
		timeout 15 iperf3 -c "$WEIR_LAB_PEER" ${ways[i % 4]} >/dev/null 2>&1 &
		clients+=("$!")
	done
	for p in "${clients[@]}"; do
		if wait "$p"; then served=$((served + 1)); fi
	done
}

# For a second the server can open hardly anything more.
starve()
{
	[ -n "$(type -P prlimit)" ] || return 0
	prlimit --pid "$server" --nofile="$(($(ls "/proc/$server/fd" | wc -l) + 3)):" 2>/dev/null || return 0
	sleep 1 # the period of the siege without descriptors
	prlimit --pid "$server" --nofile="$1:"
}

soak()
{
	local seconds=5 at_once=100 real=4 slack=1024 fds rss threads
	# A sanitizer keeps freed memory for a while.
	if grep -q __asan_init "$WEIR"; then slack=131072; fi
	# For an hour by hand: WEIR_CHECK_ALL=1 WEIR_SOAK=3600 bats -f siege tests/e2e/secure.bats
	[ "${WEIR_CHECK_ALL:-0}" = 1 ] && seconds=${WEIR_SOAK:-300} at_once=1000 real=32
	server --runtime-dir "$PWD/run" --pending-time 2 --tests 200 --memory 256M
	served=0
	wave 4
	is 'served before the siege' "$served" 4
	until_true 5 eval "! pgrep -P $server"
	fds=$(ls "/proc/$server/fd" | wc -l)
	threads=$(ls "/proc/$server/task" | wc -l)
	rss=$(awk '/VmRSS/ { print $2 }' "/proc/$server/status")
	spawn hostile python3 "$PEER" soak "$WEIR_LAB_PEER" 5201 "$seconds" "$at_once"
	local hostile=$pid end=$(($(ms) + seconds * 1000)) most
	most=$(awk '/Max open files/ { print $4 }' "/proc/$server/limits")
	served=0
	starve "$most"
	while (($(ms) < end)); do
		wave "$real"
	done
	ended 30 "$hostile"
	is 'the siege' "$status" 0
	((served > 0)) || fail 'nobody was served meanwhile'
	until_true 60 eval "! pgrep -P $server"
	until_true 20 eval "[ \$(ls /proc/$server/fd | wc -l) -le $fds ]"
	is 'threads' "$(ls "/proc/$server/task" | wc -l)" "$threads"
	(($(awk '/VmRSS/ { print $2 }' "/proc/$server/status") < rss + slack)) ||
		fail "memory grew from $rss KiB: $(grep VmRSS "/proc/$server/status")"
	if logged '(.why // "") | contains("signal")'; then fail "$(grep signal server.out)"; fi
	served=0
	wave 4
	is 'served after the siege' "$served" 4
	stop_server
}
@test "a siege leaves the server as it was" {
	need iperf3 python3
	LAB_SECONDS=$((${WEIR_SOAK:-300} + 200)) lab --no-serve soak
}

# ---- what the processes may do ----

child_may_nothing()
{
	server
	spawn client iperf3 -c "$WEIR_LAB_PEER" -t 10 -b 1M
	until_true 5 pgrep -P "$server"
	local child field p
	child=$(pgrep -P "$server")
	for p in "$server" "$child"; do
		for field in CapInh CapPrm CapEff CapBnd CapAmb; do
			is "$field of $p" "$(awk -v f="$field:" '$1 == f { print $2 }' "/proc/$p/status")" \
				0000000000000000
		done
		is 'NoNewPrivs' "$(awk '$1 == "NoNewPrivs:" { print $2 }' "/proc/$p/status")" 1
	done
}
@test "neither the server nor a test's process has a capability left to gain" {
	need iperf3
	lab --no-serve child_may_nothing
}

@test "the unit for systemd is rated 2.0 or better" {
	need systemd-analyze
	local unit=$BATS_TEST_TMPDIR/weir.service
	sed 's|@bindir@|/usr/bin|; s|@sysconfdir@|/etc|' "$CONTRIB/systemd/weir.service.in" >"$unit"
	systemd-analyze security --offline=yes --threshold=20 --no-pager "$unit" >"$unit.out" 2>&1 || {
		cat "$unit.out"
		# systemd before 250 looks at running units only
		grep -q 'unrecognized option' "$unit.out" && skip 'systemd-analyze knows no --offline'
		return 1
	}
}

@test "the procd script starts weir serve, with its file of options when there is one" {
	local say='USE_PROCD=; n=0
		procd_open_instance() { n=$((n + 1)); }
		procd_set_param() { [ "$1" != command ] || { shift; line=$*; }; }
		procd_append_param() { shift; line="$line $*"; }
		procd_close_instance() { echo "$n $USE_PROCD $line"; }
		. "$1"; CONFIG=$2; start_service'
	run sh -c "$say" sh "$CONTRIB/openwrt/weir.init" "$BATS_TEST_TMPDIR/nothing"
	is 'without' "$output" '1 1 /usr/bin/weir serve'
	run sh -c "$say" sh "$CONTRIB/openwrt/weir.init" /dev/stdin </dev/null
	is 'a device is no file of options' "$output" '1 1 /usr/bin/weir serve'
	: >"$BATS_TEST_TMPDIR/serve.conf"
	run sh -c "$say" sh "$CONTRIB/openwrt/weir.init" "$BATS_TEST_TMPDIR/serve.conf"
	is 'with' "$output" "1 1 /usr/bin/weir serve --config $BATS_TEST_TMPDIR/serve.conf"
}

@test "sysusers takes the file that names the server's user" {
	need systemd-sysusers
	mkdir -p "$BATS_TEST_TMPDIR/tree/etc"
	run systemd-sysusers --root="$BATS_TEST_TMPDIR/tree" "$(realpath "$CONTRIB/sysusers.d/weir.conf")"
	is 'exit status' "$status" 0
	grep -q '^weir:.*:/nonexistent:/usr/sbin/nologin$' "$BATS_TEST_TMPDIR/tree/etc/passwd"
}
