#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir as iperf3: what it prints beside recordings of 3.12 and 3.21, live against Debian's iperf3 in
# both roles, and through the expressions by which people's programs read it. Tests of one kind
# run beside each other on ports of their own, at a low rate.

load helpers

setup()
{
	need python3 jq
	export SHAPE=$BATS_TEST_DIRNAME/iperf3_shape.py RECORDED=$BATS_TEST_DIRNAME/../data/iperf3
}

# What another test of this file shows in part.
for_all()
{
	[ "${WEIR_CHECK_ALL:-0}" = 1 ] || skip "runs with make check-all"
}

need_peer()
{
	need iperf3
	need_lab
}

@test "the patterns fit every line that iperf3 printed" {
	python3 "$SHAPE" lines "$RECORDED"/text/*.txt
}

# ---- every recorded mode ----

# NAME OPTIONS, as the recordings are called.
text_modes='tcp -t 1 -b 5M
tcp-R -t 1 -b 5M -R
tcp-bidir -t 1 -b 5M --bidir
tcp-P2 -t 1 -b 5M -P 2
tcp-bidir-P2 -t 1 -b 5M --bidir -P 2
udp-b100M -t 1 -u -b 5M
udp-R-b100M -t 1 -u -b 5M -R
udp-bidir-P2-b20M -t 1 -u -b 5M --bidir -P 2
udp-64bit-P2 -t 1 -u -b 5M -P 2 --udp-counters-64bit
tcp-omit1 -t 1 -b 5M -O 1
udp-omit1 -t 1 -u -b 5M -O 1
tcp-n500M -n 1M -b 5M
tcp-k1000 -k 4 -b 5M
tcp-V-b1G-getserver -t 1 -b 5M -V --get-server-output
tcp-fm-i05-title -t 1 -b 5M -f m -i 0.5 -T hello --timestamps'
json_modes='tcp -t 1 -b 5M
tcp-R -t 1 -b 5M -R
tcp-bidir -t 1 -b 5M --bidir
tcp-P2 -t 1 -b 5M -P 2
udp-b100M -t 1 -u -b 5M
udp-R-b100M -t 1 -u -b 5M -R
udp-bidir -t 1 -u -b 5M --bidir
tcp-omit1 -t 1 -b 5M -O 1
tcp-n500M -n 1M -b 5M
tcp-getserver -t 1 -b 5M -T ttl --extra-data foo --get-server-output'
export text_modes json_modes

all_listen()
{
	[ "$(far ss -Hltn 'sport >= :5301 and sport <= :5330' | wc -l)" -ge "$1" ]
}
# all_modes MODES NEAR-COMMAND FAR-COMMAND MORE: each mode's client here and server there, all at
# once; NAME.client, NAME.server.
all_modes()
{
	local near=$2 far=$3 more=$4 port=5300 name options own at=() v
	while read -r name options; do
		port=$((port + 1)) v=
		[[ $options == *-V* ]] && v=-V
		# shellcheck disable=SC2086 # words
		spawn_far "$name" $far -s -1 -p $port $v $more
		at+=("$port")
	done <<<"$1"
	until_true 10 all_listen "${#at[@]}"
	port=5300 own=()
	while read -r name options; do
		port=$((port + 1))
		# shellcheck disable=SC2086 # words
		$near -c "$WEIR_LAB_PEER" -p $port $options $more >"$name.client" 2>"$name.client.err" \
			</dev/null || echo "$name: $?" >>failed &
		own+=("$!")
	done <<<"$1"
	wait "${own[@]}"
	[ ! -e failed ] || fail "failed: $(cat failed; tail -n 3 ./*.err)"
	for pid in "${pids[@]}"; do
		until_true 5 gone "$pid"
	done
}

# pairs PATTERN-OF-RECORDINGS MODES ENDING: "*" stands for the mode; arguments for the script.
pairs()
{
	local name options
	while read -r name options; do
		printf '%s\n' "$RECORDED/${1/@/$name}" "$name.$3"
	done <<<"$2"
}
shape()
{
	local action=$1 args
	shift
	readarray -t args < <(pairs "$@")
	python3 "$SHAPE" "$action" "${args[@]}"
}
text_client()
{
	all_modes "$text_modes" "$WEIR iperf3 --no-store" iperf3 ''
	shape same text/3.12-@.client.txt "$text_modes" client
}
@test "text of every recorded mode, client" {
	need_peer
	lab --no-serve text_client
}

text_server()
{
	all_modes "$text_modes" iperf3 "$WEIR iperf3" ''
	shape same text/3.12-@.server.txt "$text_modes" out
}
@test "text of every recorded mode, server" {
	need_peer
	lab --no-serve text_server
}

# Modes that were not recorded: Debian's own client is the recording.
verbose_modes='udp -V -u -t 1 -b 5M
length -V -u -b 5M -l 500 -t 1
bytes -V -n 200K -b 5M
bidir -V --bidir -P 2 -b 5M -t 1
udp-bidir -u --bidir -V -b 5M -t 1
omit -V -O 1 -t 1 -b 5M
window -V -w 64K -M 1000 -t 1 -b 5M
whole -t 1 -i 0 -b 5M'
export verbose_modes
# beside ROLE MODES: Debian's at both ends, then weir's as ROLE (client, or out: the server).
beside()
{
	local role=$1 modes=$2 name options args=() near=iperf3 far=iperf3
	all_modes "$modes" $near $far ''
	while read -r name options; do
		mv "$name.$role" "$name.theirs"
		args+=("$name.theirs" "$name.$role")
	done <<<"$modes"
	pids=()
	[ "$role" = out ] && far="$WEIR iperf3" || near="$WEIR iperf3 --no-store"
	all_modes "$modes" "$near" "$far" ''
	python3 "$SHAPE" same "${args[@]}"
}
server_modes='tcp -V -t 1 -b 5M
tcp-R -V -t 1 -b 5M -R
bidir -V -t 1 -b 5M --bidir -P 2
udp -V -t 1 -b 5M -u
udp-R -V -t 1 -b 5M -u -R
udp-bidir -V -t 1 -b 5M -u --bidir
bytes -V -n 200K -b 5M'
export server_modes
@test "-V of a server, as Debian's prints it" {
	for_all
	need_peer
	lab --no-serve beside out "$server_modes"
}
@test "-V and others, as Debian's client prints them" {
	for_all
	need_peer
	lab --no-serve beside client "$verbose_modes"
}

json_client()
{
	all_modes "$json_modes" "$WEIR iperf3 --no-store --style 3.21" "$WEIR iperf3 --style 3.21" -J
	shape keys json/*-@.client.json "$json_modes" client
	shape keys json/*-@.server.json "$json_modes" out
}
@test "JSON of every recorded mode, both ends weir's, in 3.21's style" {
	need_peer
	lab --no-serve json_client
}

json_live()
{
	all_modes "$json_modes" "$WEIR iperf3 --no-store" iperf3 -J
	shape keys json/3.12-@.client.json "$json_modes" client
	holds 'to the byte' '.end.sum_sent.bytes == 1048576' tcp-n500M.client
}
@test "JSON of every recorded mode, against Debian's server" {
	for_all
	need_peer
	lab --no-serve json_live
}
json_live_server()
{
	all_modes "$json_modes" iperf3 "$WEIR iperf3" -J
	shape keys json/3.12-@.server.json "$json_modes" out
	# It takes ours for its own: the client's document is whole.
	shape keys json/3.12-@.client.json "$json_modes" client
	holds 'the sender, where theirs says 0' '.end.sum.bytes > 0 and .end.sum_sent.packets > 0' udp-b100M.out
	holds 'the sender, where theirs says 0' '.end.sum_sent.bytes > 0 and .end.streams[0].sender.bytes > 0' tcp.out
}
@test "JSON of every recorded mode, for Debian's client" {
	need_peer
	lab --no-serve json_live_server
}

# ---- the command line ----

# Wrong in the same words, on the same stream, with the same exit code.
@test "wrong command lines: the words and exit codes of Debian's iperf3" {
	need iperf3
	cd "$BATS_TEST_TMPDIR"
	while read -r line; do
		# shellcheck disable=SC2086 # words
		timeout 20 iperf3 $line >theirs.out 2>theirs.err </dev/null && theirs=0 || theirs=$?
		# shellcheck disable=SC2086
		timeout 20 "$WEIR" iperf3 $line >ours.out 2>ours.err </dev/null && ours=0 || ours=$?
		[ "$theirs" = "$ours" ] || fail "$line: exit $ours, not $theirs"
		[ "$(head -n 1 theirs.err)" = "$(head -n 1 ours.err)" ] ||
			fail "$line: $(head -n 1 ours.err), not $(head -n 1 theirs.err)"
		[ "$(head -n 1 theirs.out)" = "$(head -n 1 ours.out)" ] ||
			fail "$line: $(head -n 1 ours.out), not $(head -n 1 theirs.out)"
	done <<'LINES'

--foo
-c
-c h -p 0
-c h -p abc
-c h -t 90000
-c h -P 129
-c h -l 2M
-c h -u -l 8
-c h -u -l 70000
-c h -w 600M
-c h -M 9300
-c h -i 0.05
-c h -i 61
-c h -O 61
-c h -O -1
-c h -b 1M/2000
-c h -S 256
-c h --dscp 64
-c h --dscp foo
-c h -L 0
-c h --cport 70000
-c h -t 1 -n 5
-c h -n 5 -k 5
-c h -R --bidir
-c h -f x
-c h --rcv-timeout 50
-c h --rcv-timeout 500
-c h --username u
-s --rsa-private-key-path x
-s --idle-timeout 999999
-s --time-skew-threshold 0
-s -t 3
-s -u
-c h -1
-c h -D
-c h -s
-c 127.0.0.1 -p 1
-c 127.0.0.1 --port=1 --rever --paral 2
-c 127.0.0.1 -p 1 -B 198.51.100.77
-c h --logfile /nonexistent/x
LINES
}

@test "JSON is one document, whatever was wrong; 3.12 exits with 0 then, 3.21 with 1" {
	cd "$BATS_TEST_TMPDIR"
	for line in '-c 127.0.0.1 -p 1 -T name' '-c 127.0.0.1 -C none' '-c 127.0.0.1 -F none/x'; do
		# shellcheck disable=SC2086 # words
		"$WEIR" iperf3 $line -J >run.json 2>err || fail "$line: exit $?"
		holds "$line" '(.error | length) > 0 and .intervals == [] and .end == {}'
		# shellcheck disable=SC2086
		"$WEIR" iperf3 $line -J --style 3.21 >run.json 2>>err && fail "$line: exit 0 of 3.21"
		holds "$line" '(.error | length) > 0'
		[ ! -s err ] || fail "$line: $(cat err)"
	done
	for line in '-c 127.0.0.1 -P 500' '-c h -m' '-X no' '--foo'; do
		# shellcheck disable=SC2086
		"$WEIR" iperf3 $line -J >run.json 2>/dev/null && fail "$line: no failure"
		holds "$line" '(.error | length) > 0 and .intervals == [] and .end == {}'
	done
	"$WEIR" iperf3 -s -J -B 198.51.100.77 >run.json 2>/dev/null && fail 'no failure'
	holds 'a server' '.error == "error - unable to start listener for connections: Cannot assign requested address"'
	"$WEIR" iperf3 -c 127.0.0.1 -p 1 -J --logfile run.log -T name 2>/dev/null
	holds 'the log' '(.error | test("refused")) and .title == "name"' run.log
	"$WEIR" iperf3 -c 127.0.0.1 -p 1 --json-stream >run.json 2>/dev/null && fail 'no failure'
	is events "$(jq -r .event run.json | tr '\n' ' ')" 'error end '
}

@test "refused, killed, told to end: what both ends say, and their exit codes, as Debian's" {
	need_peer
	lab --no-serve python3 "${SHAPE%/*}/iperf3_ends.py"
}

@test "weir aliases: links that stand for the tool, and nothing else is touched" {
	cd "$BATS_TEST_TMPDIR"
	mkdir links
	ln -s "$(realpath "$WEIR")" weir
	"$WEIR" aliases links >out
	[ -L links/iperf3 ]
	links/iperf3 -v >version
	grep -qE '^iperf 3\.12 \(weir' version
	"$WEIR" aliases links >out # again
	"$WEIR" aliases --remove links
	[ ! -e links/iperf3 ]
	echo mine >links/iperf3
	! "$WEIR" aliases links 2>err || fail 'a file was overwritten'
	is 'what was there' "$(cat links/iperf3)" mine
}

# ---- what the options do ----

daemon()
{
	far "$WEIR" iperf3 -s -D -1 -p 5301 --pidfile "$PWD/pid" --logfile "$PWD/log" --timestamps
	until_true 5 listens 5301
	until_true 5 test -s pid
	iperf3 -c "$WEIR_LAB_PEER" -p 5301 -t 1 -b 1M --forceflush >client.out
	until_true 5 gone "$(cat pid)"
	has log 'Server listening on 5301 (test #1)' 'Accepted connection' 'receiver'
	grep -qE '^\w{3} \w{3} [ 0-9]{2} [0-9:]{8} [0-9]{4} \[ +[0-9]+\]' log || fail "$(cat log)"
}
@test "-D, --pidfile, --logfile, --timestamps" {
	need_peer
	lab --no-serve daemon
}

files()
{
	head -c 300000 /dev/urandom >sent
	spawn_far in iperf3 -s -1 -p 5301 -F got.theirs
	spawn_far in2 "$WEIR" iperf3 -s -1 -p 5302 -F got.ours
	spawn_far in3 "$WEIR" iperf3 -s -1 -p 5303 -F got.digits
	until_true 5 all_listen 3
	# Debian's writes whole blocks only: what it sends by itself ends the same way.
	"$WEIR" iperf3 -c "$WEIR_LAB_PEER" -p 5301 -F sent -J --no-store >run.json
	holds 'all of it' '.end.streams[0].diskfile.sent == 300000 and .end.streams[0].diskfile.percent_sent == 100'
	cmp got.theirs <(head -c "$(stat -c %s got.theirs)" sent)
	"$WEIR" iperf3 -c "$WEIR_LAB_PEER" -p 5302 -F sent --no-store >out
	grep -qE '^        Sent  293 KBytes /  293 KBytes \(100%\) of sent$' out || fail "$(cat out)"
	until_true 5 cmp sent got.ours
	"$WEIR" iperf3 -c "$WEIR_LAB_PEER" -p 5303 -n 100K --repeating-payload --no-store >out
	until_true 5 test "$(stat -c %s got.digits)" -ge 102400
	is 'the payload' "$(head -c 12 got.digits)" 012345678901
}
@test "-F both ways, --repeating-payload" {
	need_peer
	lab --no-serve files
}

logins()
{
	openssl genrsa -out key.pem 2048 2>/dev/null
	openssl rsa -in key.pem -pubout -out pub.pem 2>/dev/null
	echo "mario,$(printf '{mario}rossi' | sha256sum | cut -d' ' -f1)" >users
	spawn_far theirs iperf3 -s -p 5301 --rsa-private-key-path key.pem --authorized-users-path users
	spawn_far ours "$WEIR" iperf3 -s -p 5302 --rsa-private-key-path key.pem \
		--authorized-users-path users --use-pkcs1-padding
	until_true 5 all_listen 2
	export IPERF3_PASSWORD=rossi
	local who=(--username mario --rsa-public-key-path pub.pem -t 1 -b 1M)
	"$WEIR" iperf3 -c "$WEIR_LAB_PEER" -p 5301 "${who[@]}" --use-pkcs1-padding --no-store >out
	has out 'iperf Done.'
	iperf3 -c "$WEIR_LAB_PEER" -p 5302 "${who[@]}" >out
	has out 'iperf Done.'
	export IPERF3_PASSWORD=wrong
	! "$WEIR" iperf3 -c "$WEIR_LAB_PEER" -p 5301 "${who[@]}" --use-pkcs1-padding --no-store \
		>out 2>err || fail 'a wrong password was let in'
	is 'their refusal' "$(cat err)" 'iperf3: error - test authorization failed'
	! iperf3 -c "$WEIR_LAB_PEER" -p 5302 "${who[@]}" >out 2>err || fail 'a wrong password'
	has err 'test authorization failed'
	until_true 5 has_refusal
}
has_refusal()
{
	grep -q 'test authorization failed' ours.err
}
@test "logins with Debian's iperf3, both roles" {
	need openssl
	need_peer
	lab --no-serve logins
}

limits()
{
	spawn_far rate "$WEIR" iperf3 -s -p 5301 --server-bitrate-limit 5M/1
	spawn_far idle "$WEIR" iperf3 -s -1 -p 5302 --idle-timeout 1
	local idle=$pid
	spawn_far short "$WEIR" iperf3 -s -1 -p 5304 --server-max-duration 2
	local short=$pid
	spawn_far stuck iperf3 -s -1 -p 5303
	local stuck=$pid
	until_true 5 listens 5301
	until_true 5 listens 5303
	! "$WEIR" iperf3 -c "$WEIR_LAB_PEER" -p 5301 -b 10M --no-store 2>err || fail 'no refusal'
	is 'asked for too much' "$(cat err)" \
		'iperf3: error - total required bandwidth is larger than server limit'
	! iperf3 -c "$WEIR_LAB_PEER" -p 5301 -t 10 >out 2>err || fail 'no end'
	until_true 5 grep -q 'larger than server limit' rate.err
	"$WEIR" iperf3 -c "$WEIR_LAB_PEER" -p 5301 -t 10 -J --no-store >run.json
	holds 'moved too much' '.error | test("larger than server limit")'
	ended 5 "$idle"
	is 'exit status of an idle server' "$status" 0
	! "$WEIR" iperf3 -c "$WEIR_LAB_PEER" -p 5304 -t 3 --no-store 2>err || fail 'no refusal'
	has err "client's requested duration exceeds the server's maximum permitted limit"
	ended 5 "$short"
	spawn client "$WEIR" iperf3 -c "$WEIR_LAB_PEER" -p 5303 -R -b 1M -t 20 --rcv-timeout 500 --no-store
	local client=$pid
	until_true 5 grep -q connected client.out
	kill -STOP "$stuck"
	ended 8 "$client"
	is 'exit status' "$status" 1
	has client.err 'idle timeout for receiving data'
}
@test "--server-bitrate-limit, --server-max-duration, --idle-timeout, --rcv-timeout" {
	need_peer
	lab --no-serve limits
}

# The far host's link goes down: nothing is acknowledged any more.
unacknowledged()
{
	spawn_far server iperf3 -s -1
	until_true 5 listens 5201
	spawn client "$WEIR" iperf3 -c "$WEIR_LAB_PEER" -t 60 -b 50M --snd-timeout 1000 --no-store
	local client=$pid
	until_true 10 grep -q 'sec' client.out
	far ip link set eth0 down
	ended 20 "$client"
	is 'exit status' "$status" 1
	has client.err 'iperf3: error - '
}
@test "--snd-timeout ends what is not acknowledged" {
	for_all
	need_peer
	lab --no-serve unacknowledged
}

four_connections()
{
	[ "$(far ss -Htn state established 'sport = :5301' | wc -l)" -ge 4 ]
}
interrupted()
{
	local client server
	spawn_far server "$WEIR" iperf3 -s -p 5301
	server=$pid
	until_true 5 listens 5301
	spawn client "$WEIR" iperf3 -c "$WEIR_LAB_PEER" -p 5301 -t 30 -b 1M -J
	client=$pid
	until_true 10 grep -q 'sec' server.out
	kill -INT "$client"
	ended 5 "$client"
	is 'exit status' "$status" 1
	holds 'a document with what there was' '.error == "interrupt - the client has terminated" and
		.end.sum_sent.bytes >= 0 and (.start.connected | length) == 1' client.out
	# Two at once; Debian's is told, and both are printed apart.
	spawn a iperf3 -c "$WEIR_LAB_PEER" -p 5301 -t 30 -b 1M
	spawn b "$WEIR" iperf3 -c "$WEIR_LAB_PEER" -p 5301 -t 30 -b 1M --no-store
	client=$pid
	until_true 5 grep -q connected b.out
	until_true 5 four_connections
	kill -TERM "$client"
	ended 5 "$client"
	has b.err 'interrupt - the client has terminated'
	has b.out 'receiver'
	kill -INT "$server"
	until_true 5 grep -q 'interrupt - the server has terminated' server.err
	until_true 5 grep -q 'the server has terminated' a.err
}
@test "signals, and clients at the same time" {
	need_peer
	lab --no-serve interrupted
}

# Clients at the same time, each with a handful of flags, on one server.
steering()
{
	local own=() port=5301
	far ip addr add 203.0.113.7/32 dev lo
	spawn_far server "$WEIR" iperf3 -s -p 5301
	until_true 5 listens 5301
	client()
	{
		local name=$1
		shift
		"$WEIR" iperf3 -p $port -t 1 -b 1M --no-store "$@" >"$name" 2>"$name.err" &
		own+=("$!")
	}
	client tcp -c "$WEIR_LAB_PEER" -J -w 256K -N -C "$(cat /proc/sys/net/ipv4/tcp_congestion_control)" \
		-M 1400 -S 0x10 -Z --skip-rx-copy -l 8K --fq-rate 10M -4 --cport 6000 -A 0,0 \
		--snd-timeout 5000 --cntl-ka=10/2/3 --extra-data x
	client tcp6 -c "$WEIR_LAB_PEER6" -J -6 -L 77
	client udp -c "$WEIR_LAB_PEER" -J -u -l 500 --dont-fragment --dscp ef -w 200K --cport 6100 -b 1M/5 \
		--gsro --udp-counters-64bit --repeating-payload
	client slow -c "$WEIR_LAB_PEER" -J -R -P 4 -b 100K --rcv-timeout 5000
	client stream -c "$WEIR_LAB_PEER" --json-stream --style 3.21
	client full -c "$WEIR_LAB_PEER" --json-stream-full-output --style 3.21
	client new -c "$WEIR_LAB_PEER" --style 3.21 -P 2 -i 0.5
	client once -c "$WEIR_LAB_PEER" -i 0 -d
	wait "${own[@]}"
	for name in tcp tcp6 udp slow; do
		holds "$name" '.error == null and .end.sum_received.bytes > 0' "$name"
	done
	holds 'what was asked' '.start.test_start.blksize == 8192 and .start.test_start.tos == 16 and
		.start.tcp_mss == 1400 and .start.connected[0].local_port == 6000 and .extra_data == "x" and
		.start.sock_bufsize == 262144' tcp
	holds 'what was asked' '.start.test_start.protocol == "UDP" and .start.test_start.tos == 184 and
		.start.connected[0].local_port == 6100 and .start.test_start.blksize == 500' udp
	holds 'the far end sends at its rate from the start' '.end.sum_sent.bits_per_second | . > 2e5 and . < 5e5' slow
	mv stream stream.ndjson
	python3 "$SHAPE" keys "$RECORDED/jsonstream/3.21git-tcp.client.ndjson" stream.ndjson
	is 'the last of a stream is the document' \
		"$(jq -s '.[-1].start.version == "iperf 3.21" and .[-1].end == .[-2].data' full)" true
	python3 "$SHAPE" same "$RECORDED/text/3.21git-tcp-P2.client.txt" new
	grep -qE '^\[ +[0-9]+\].* {12}sender$' new || fail "$(cat new)"
	is 'one interval' "$(grep -c 'Bytes       $' once)" 1
	# The server's reports, one after the other: each is whole.
	until_true 10 has_reports 8
	python3 "$SHAPE" lines server.out
	is 'clients of one server' "$(grep -c '^Accepted' server.out)" 8
	has server.err 'iperf3: warning - 203.0.113.7 is a public address'
}
has_reports()
{
	# All have ended when it says that it listens once more.
	[ "$(grep -c '^Accepted' server.out)" -ge "$1" ] && tail -n 2 server.out | grep -q '^Server listening'
}
@test "what the other flags ask for, clients at the same time" {
	need_peer
	lab --no-serve steering
}

# The path loses the last datagrams of a flow, and doubles some: 103 are sent.
accounts()
{
	spawn relay python3 "$RELAY" 5301 "$WEIR_LAB_PEER" drop=5,95-103
	until_true 5 grep -q ready relay.out
	spawn_far theirs iperf3 -s -1
	until_true 5 listens 5201
	"$WEIR" iperf3 -c 127.0.0.1 -p 5301 -u -k 103 -l 1000 -b 10M --no-store >out
	grep -qE ' 10/103 \(9\.7%\)  receiver$' out || fail "their receiver: $(cat out)"
	end_all
	spawn relay python3 "$RELAY" 5302 "$WEIR_LAB_PEER" drop=5,95-103 dup=20,21
	until_true 5 grep -q ready relay.out
	spawn_far ours "$WEIR" iperf3 -s -1
	until_true 5 listens 5201
	iperf3 -c 127.0.0.1 -p 5302 -u -k 103 -l 1000 -b 10M -J >run.json
	holds 'what our server told their client' '.end.sum.lost_packets == 10'
	until_true 5 grep -q ' 10/103 (9.7%)  receiver$' ours.out
}
@test "what is lost at the end is lost, and what comes twice makes up for nothing" {
	export RELAY=$BATS_TEST_DIRNAME/udp_relay.py
	need_peer
	lab --no-serve accounts
}

# ---- who reads it ----

consumers()
{
	local port own=()
	for port in 5301 5302 5303 5304; do
		spawn_far "far$port" iperf3 -s -1 -p "$port"
	done
	spawn_far two "$WEIR" iperf3 -s -1 -p 5305
	until_true 5 all_listen 5
	local near=("$WEIR" iperf3 -c "$WEIR_LAB_PEER" -t 1 -b 20M)
	"${near[@]}" -p 5301 -P 2 --tag state=before >p2 & own+=("$!")
	"${near[@]}" -p 5302 -f m --tag state=after >m & own+=("$!")
	"${near[@]}" -p 5303 -J --tag state=before >j & own+=("$!")
	"${near[@]}" -p 5304 --json-stream --tag state=after >s & own+=("$!")
	iperf3 -c "$WEIR_LAB_PEER" -u -t 1 -b 5M -p 5305 >udp & own+=("$!")
	wait "${own[@]}"
	until_true 5 grep -q receiver two.out
	python3 "${SHAPE%/*}/iperf3_consumers.py" p2 m two.out j s
	# What people's pipes ask for.
	jq -e '.end.sum_received.bits_per_second / 1e6 | . > 15 and . < 25' j
	jq -e '[.intervals[].sum.bits_per_second] | add / length > 0' j
	jq -er '.end.streams[0].sender.mean_rtt, .end.cpu_utilization_percent.host_total' j
	jq -e 'select(.event == "end") | .data.sum_sent.retransmits >= 0' s
	is 'the receiver, by awk' "$(awk '/receiver/ {print $NF}' m)" receiver
	# weir's own reader, too.
	"$WEIR" read p2 >read
	has read 'goodput (flow=1, up, receiver)' 'goodput (up, receiver)'
	"$WEIR" read j >read
	has read 'version 3.12' 'goodput'
	# They are runs like any other.
	is 'stored runs' "$("$WEIR" list | grep -c ' tcp .* state=')" 4
	"$WEIR" show "$(jq -r .weir.run j)" >shown
	has shown 'iperf3'
	"$WEIR" compare tag:state=before tag:state=after >compared || [ $? -eq 3 ]
	[ -s compared ] || fail 'weir compare said nothing'
}
@test "parsers of public programs; the runs are stored as weir tcp's are" {
	need_peer
	lab --no-serve consumers
}

driven()
{
	mkdir links
	ln -s "$(realpath "$WEIR")" links/iperf3
	spawn_far server iperf3 -s
	until_true 5 listens 5201
	PATH=$PWD/links:$PATH stressant --no-information --no-disk --no-cpu \
		--iperfServer "$WEIR_LAB_PEER" --iperfTime 1 >out 2>&1 || fail "$(cat out)"
	has out 'Connecting to host' 'receiver' 'iperf Done.' 'all done'
}
@test "stressant, the Debian package that calls iperf3, on weir" {
	need stressant
	need_peer
	lab --no-serve driven
}
