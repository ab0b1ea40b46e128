#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir udp, and UDP on the server's one port: Debian's iperf3 in both roles, several clients at once, and
# a path that loses exactly what it is told to.

load helpers

setup()
{
	need_lab
}

# udp_json [ARG…]: a run of weir udp, its document in run.json.
udp_json()
{
	"$WEIR" udp "$WEIR_LAB_PEER" -J --no-store "$@" >run.json
}

# their JQ-PATH: its sum over the streams of the iperf3 server's report.
their()
{
	jq -er "[.end.streams[] | $1] | add" server.out
}

# against_iperf3 DIRS ARG…: weir udp to iperf3 -s; both programs say the same. Low rates and -w as
# large as anybody may have it: iperf3's receive buffer must last while it waits for a CPU.
against_iperf3()
{
	local dirs=$1 dir
	shift
	iperf3_server
	udp_json -w 208K "$@"
	ended 8 "$server"
	is 'exit status of iperf3' "$status" 0
	holds 'outcome' '.outcome == "complete" and .protocol == "iperf3" and .kind == "udp"'
	for dir in $dirs; do
		holds "$dir: nothing was lost" "total(\"$dir\"; \"receiver\"; \"udp.lost\") == 0"
		holds "$dir: all that was sent came" "total(\"$dir\"; \"receiver\"; \"udp.datagrams\") ==
			total(\"$dir\"; \"sender\"; \"udp.datagrams\")"
	done
}

up_pairs()
{
	against_iperf3 up -t 1 -b 3M -l 1448 -P 4 --udp-counters-64bit
	is 'flows' "$(jq '[.summaries[] | select(.metric == "goodput" and .dims.flow != null)] | length' run.json)" 4
	is 'datagrams as iperf3 counted' "$(figure up receiver udp.datagrams)" "$(their .udp.packets)"
	within 'goodput' "$(figure up receiver goodput)" 12e6 12
	WEIR_LAB_PEER=$WEIR_LAB_PEER6 against_iperf3 up -t 1 -b 50k -l 16 -6
}
@test "weir udp to iperf3 -s: up, four flows, 64-bit counters, the smallest datagram" {
	need iperf3
	lab --no-serve up_pairs
}

down_pairs()
{
	against_iperf3 down -t 1 -R -b 5M -l 1448
	against_iperf3 'up down' -t 1 --bidir -b 3M -P 2 -l 1000 --udp-counters-64bit
}
@test "weir udp to iperf3 -s: -R and --bidir" {
	need iperf3
	lab --no-serve down_pairs
}

large()
{
	against_iperf3 up -k 40 -b 20M -l 65507
	is 'datagrams' "$(figure up sender udp.datagrams)" 40
	holds 'fragments are told' 'codes | index("fragmented") != null'
	holds 'and what the path takes' 'total("up"; "sender"; "udp.path_payload") == 1472'
}
@test "weir udp to iperf3 -s: the largest datagram leaves in fragments, and that is said" {
	need iperf3
	lab --no-serve large
}

# client NAME ARG…: Debian's iperf3 against weir serve; its report in NAME.out.
client()
{
	local name=$1
	shift
	iperf3 -c "$WEIR_LAB_PEER" -J "$@" >"$name.out"
}

served()
{
	server
	client up -u -t 1 -b 8M -P 4 -l 1448
	holds 'up: all came' '.end.sum.packets > 1000 and .end.sum.lost_packets == 0' up.out
	# iperf3's receive buffer holds a fifth of a second of it, should it have to wait for a CPU
	client down -u -t 1 -R -b 5M -l 1448 --udp-counters-64bit
	holds 'down: all came' '.end.sum.packets > 200 and .end.sum.lost_packets == 0' down.out
	client both -u -t 1 --bidir -b 4M -l 1000
	holds 'both: all came' '[.end.streams[].udp | .lost_packets] == [0, 0] and
		([.end.streams[].udp.packets] | min) > 250' both.out
	client own -u -t 1 -b 2M -P 2 --get-server-output
	holds 'the server output' '.server_output_text | test("this test alone:\n\\[1\\] received .* 0 of [0-9]+ datagrams lost")' own.out
	client small -u -k 300 -b 1M -l 16
	holds 'small' '.end.sum.lost_packets == 0 and .end.sum.packets >= 300' small.out
	client large -u -k 20 -b 20M -l 65507
	holds 'large' '.end.sum.lost_packets == 0 and .end.sum.packets >= 20' large.out
	until_true 5 log_lines 6
	holds 'the log' '[., inputs] | all(.outcome == "done") and .[0].up.lost == 0 and .[1].down.goodput > 2e6' server.out
	stop_server
}
@test "iperf3 -u against weir serve: -P, -R, --bidir, 64-bit counters, 16 to 65507 bytes" {
	need iperf3
	lab --no-serve served
}

# client_of KIND I: one of the crowd, with datagrams or blocks of a length of its own; twice from the same
# ports.
client_of()
{
	local kind=$1 i=$2 k other=0 args=()
	case $kind in
	udp*) args=(iperf3 -c "$WEIR_LAB_PEER" -u -J) ;;
	tcp*) args=(iperf3 -c "$WEIR_LAB_PEER" -J) ;;
	own-*) args=("$WEIR" "${kind:4:3}" "$WEIR_LAB_PEER" --no-store -J) ;;
	esac
	case $kind in
	*-down) args+=(-R) ;;
	*-both) args+=(--bidir) ;;
	esac
	args+=(-t "$seconds" -b 2M -l $((600 + i * 20)) -P 2 --cport)
	# Not those on which TCP data came: its end may be behind data that is paced, and then the client was
	# the first to close.
	[[ $kind == tcp-[db]* ]] && other=8
	for k in 0 1; do
		"${args[@]}" $((20000 + i * 16 + k * other)) >"c$i.$((k + 1))" || return
	done
}

# Whole datagrams of this client's own length, none of them lost; of TCP no more than was sent, and most of it:
# what was on its way at the end is as much as a busy machine holds up.
own_count()
{
	local kind=$1 len=$2 out=$3
	case $kind in
	udp-up) holds "$out" ".end.sum.lost_packets == 0 and .end.sum.packets > 100 and
		.end.sum_received.bytes == .end.sum.packets * $len" "$out" ;;
	udp*) holds "$out" "[.end.streams[].udp | .lost_packets == 0 and .packets > 50 and .out_of_order == 0] | all" "$out" ;;
	tcp*) holds "$out" ".error == null and ([.end | [.sum_sent, .sum_received], [.sum_sent_bidir_reverse, .sum_received_bidir_reverse] |
		select(.[0]) | .[1].bytes <= .[0].bytes and .[1].bytes * 2 > .[0].bytes] | all)" "$out" ;;
	own-udp*) holds "$out" '([.summaries[] | select(.metric == "udp.lost" or .metric == "udp.foreign") | .value] | all(. == 0)) and
		([total("up"; "sender"; "udp.datagrams"), total("down"; "sender"; "udp.datagrams")] ==
		[total("up"; "receiver"; "udp.datagrams"), total("down"; "receiver"; "udp.datagrams")])' "$out" ;;
	own-tcp*)
		local dir
		for dir in up down; do
			holds "$out $dir" "total(\"$dir\"; \"sender\"; \"bytes\") as \$sent | total(\"$dir\"; \"receiver\"; \"bytes\") |
				. <= \$sent and . * 2 > \$sent" "$out"
		done ;;
	esac
}

crowd()
{
	local i n=8 seconds=1 kinds=(udp-up udp-down udp-both tcp-up tcp-down tcp-both own-udp-both own-tcp-both)
	[ "${WEIR_CHECK_ALL:-0}" = 1 ] && n=32 seconds=4
	server
	for ((i = 0; i < n; i++)); do
		spawn "client$i" client_of "${kinds[i % 8]}" "$i"
	done
	for ((i = 0; i < n; i++)); do
		ended 50 "${pids[i + 1]}"
		is "exit status of client $i, ${kinds[i % 8]}" "$status" 0
		own_count "${kinds[i % 8]}" $((600 + i * 20)) "c$i.1"
		own_count "${kinds[i % 8]}" $((600 + i * 20)) "c$i.2"
	done
	until_true 8 log_lines $((2 * n))
	holds 'the log' '[., inputs] | all(.outcome == "done")' server.out
	holds 'they were there at once' '[., inputs] | map(select(.warnings | index("overlap"))) | length > 1' server.out
	stop_server
}
@test "many clients at once behind one address, with the same ports again: each has its own count" {
	need iperf3
	lab --no-serve crowd
}

# A client whose host lost its memory comes back from the same port, and its old control connection is
# still there: as iperf3 and as a weir would, by hand.
returns()
{
	local way
	server
	for way in '' reverse native native-reverse; do
		python3 - "$WEIR_LAB_PEER" "$way" <<'PY'
import json, random, socket, struct, sys, time

native, reverse = sys.argv[2].startswith("native"), sys.argv[2].endswith("reverse")

def letters(n):
    return bytes(random.choices(b"abcdefgh", k=n)) + b"\0"

def line(c, **m):
    c.sendall(json.dumps(m, separators=(",", ":")).encode() + b"\n")

def heard(c, what):
    """The next message of that name; the server's run comes in between."""
    while True:
        text = b""
        while not text.endswith(b"\n"):
            got = c.recv(1)
            assert got, (what, text)
            text += got
        if json.loads(text).get("m") == what:
            return json.loads(text)

def ask_weir(c):
    c.sendall(b"WEIR/1;" + letters(29))
    heard(c, "hello")
    line(c, m="request", version="0", nonce="0" * 32,
         plan={"duration_ns": 30 * 10**9, "flows": [{"dir": "down" if reverse else "up",
               "transport": "udp", "len": 1000, "rate_bps": 1000000}]})
    return b"WUDP" + bytes.fromhex(heard(c, "ok")["udp_token"]), b"wudp"

def ask_iperf3(c):
    c.sendall(letters(36))
    assert c.recv(1) == b"\x09"
    text = json.dumps({"udp": True, "reverse": reverse, "omit": 0, "time": 30, "num": 0,
                       "blockcount": 0, "parallel": 1, "len": 1000, "bandwidth": 1000000}).encode()
    c.sendall(struct.pack(">I", len(text)) + text)
    assert c.recv(1) == b"\x0a"
    return b"9876", b"6789"

def test():
    c = socket.create_connection((sys.argv[1], 5201))
    c.settimeout(10)
    hello, answer = ask_weir(c) if native else ask_iperf3(c)
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.settimeout(8)
    u.bind(("", 6000))
    u.connect((sys.argv[1], 5201))
    u.send(hello)
    while u.recv(2000) != answer:
        pass
    if native:
        line(c, m="go", error_ns=-1, offset_ns=0)
        heard(c, "running")
    else:
        assert c.recv(1) == b"\x01"
    for n in range(1, 11):  # it runs for a while
        u.send(struct.pack(">III", 1, n * 20000, n) + bytes(988))
        time.sleep(0.02)
    u.close()
    return c

old, new = test(), test()
while old.recv(65536):  # to its end
    pass
new.setblocking(False)
try:
    while new.recv(65536):
        pass
    sys.exit("the new test is over")
except BlockingIOError:
    pass
PY
	done
	until_true 8 log_lines 8
	is 'tests ended by their own peer' "$(grep -c 'another test from the same port' server.out)" 4
	stop_server
}
@test "a hello on a dead test's ports ends the old test and begins the new one" {
	need python3
	lab --no-serve returns
}

# relay ARG…: the scripted path on 127.0.0.1:5301.
relay()
{
	rm -f relay.out
	spawn relay python3 "$RELAY" 5301 "$WEIR_LAB_PEER" "$@"
	relay=$pid
	until_true 5 grep -q ready relay.out
}

through_relay()
{
	"$WEIR" udp 127.0.0.1 -p 5301 -J --no-store "$@" >run.json
}

accounts()
{
	server
	relay drop=10,20-24,998-1000 dup=40,41,500 delay=100:3,200:7
	through_relay -k 1000 -b 8M -l 1000 "$@"
	is 'sent' "$(figure up sender udp.datagrams)" 1000
	is 'lost, with those at the end' "$(figure up receiver udp.lost)" 9
	is 'doubled' "$(figure up receiver udp.duplicates)" 3
	is 'reordered' "$(figure up receiver udp.reordered)" 2
	is 'late' "$(figure up receiver udp.late)" 0
	is 'received' "$(figure up receiver udp.datagrams)" 994
	holds 'share' '(total("up"; "receiver"; "udp.loss") - 0.009 | fabs) < 1e-9'
	stop_server
}
@test "a path that loses, doubles and delays: every datagram is accounted for" {
	need python3
	export RELAY=$BATS_TEST_DIRNAME/udp_relay.py
	lab --no-serve accounts
}
@test "the same with 64-bit counters and without offloads" {
	need python3
	export RELAY=$BATS_TEST_DIRNAME/udp_relay.py
	lab --no-serve accounts --udp-counters-64bit --no-offload
}

# iperf3's server knows of no number after the last that came.
tail_lost()
{
	iperf3_server
	relay drop=126-250
	through_relay --proto iperf3 -t 1 -b 2M -l 1000
	holds 'what came' 'total("up"; "receiver"; "udp.datagrams") | . >= 124 and . <= 126'
	holds 'lost' 'total("up"; "receiver"; "udp.lost") + total("up"; "receiver"; "udp.datagrams") ==
		total("up"; "sender"; "udp.datagrams")'
	holds 'share' 'total("up"; "receiver"; "udp.loss") > 0.4'
	holds 'who lost them' '.limited_code == "udp-path"'
}
@test "what is lost at the end is lost with an iperf3 server too" {
	need python3 iperf3
	export RELAY=$BATS_TEST_DIRNAME/udp_relay.py
	lab --no-serve tail_lost
}

searches()
{
	server
	relay police=800000
	through_relay --find-rate -b 2M --trial-time 0.3 --loss 1% -l 1000
	holds 'kind' '.kind == "find-rate"'
	holds 'found' 'total("up"; "receiver"; "rate.found") | . > 3e5 and . < 1.2e6'
	holds 'what gave out' '.limited_code == "udp-path"'
	holds 'the curve' '[.parts[] | select(.kind == "trial")] | length > 5'
	holds 'steps' '[.summaries[] | select(.metric == "rate.offered") | .dims.step] | unique | length > 5'
	kill "$relay"
	ended 8 "$relay"
	relay queue=4000000
	through_relay --find-rate -b 16M --trial-time 0.1 -l 1000
	holds 'nothing was lost' '[.summaries[] | select(.metric == "udp.lost") | .value] | add == 0'
	holds 'nothing above the link passes, though' 'total("up"; "receiver"; "rate.found") < 6e6'
	holds 'and it is not the path that lost' '.limited_code | IN("udp-queue", "udp-sender")'
	"$WEIR" udp "$WEIR_LAB_PEER" -J --no-store --find-rate -b 200k --trial-time 0.2 -l 1000 >run.json
	holds 'the highest that was tried' '.summaries[] | select(.metric == "rate.found") |
		.value > 1e5 and .value <= 2e5 and .bound == "ge"'
	stop_server
}
@test "--find-rate: the highest rate, the curve, and who gave out" {
	need python3
	export RELAY=$BATS_TEST_DIRNAME/udp_relay.py
	lab --no-serve searches
}

# A client behind a router, this host, whose other link is the server's.
in_client()
{
	nsenter -t "$client" -n -- "$@"
}
is_apart()
{
	[ "$(readlink "/proc/$client/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}
behind_a_router()
{
	spawn client unshare --net sleep 60
	client=$pid
	until_true 5 is_apart
	ip link add c0 type veth peer name c1 netns "$client"
	ip addr add 198.18.9.1/30 dev c0
	ip link set c0 up
	in_client ip link set lo up
	in_client ip addr add 198.18.9.2/30 dev c1
	in_client ip link set c1 up
	in_client ip route add default via 198.18.9.1
	echo 1 >/proc/sys/net/ipv4/ip_forward
	far ip route add 198.18.9.0/30 via 198.18.0.1
	ip link set "$(ip -o route get "$WEIR_LAB_PEER" | grep -oP 'dev \K\S+')" mtu 1400
}
from_client()
{
	in_client "$WEIR" udp "$WEIR_LAB_PEER" -J --no-store -b 4M "$@" >run.json
}

small_link()
{
	behind_a_router
	server
	from_client -t 0.5 -l 1448 # a router says so; each then leaves in two
	holds 'the run goes on' '.outcome == "complete" and total("up"; "receiver"; "udp.datagrams") > 50'
	holds 'what the path takes' 'total("up"; "sender"; "udp.path_payload") == 1372'
	holds 'the sender says so' '[.events[] | select(.code == "fragmented") | .text] | any(test("the path takes 1372"))'
	holds 'the receiver says so' '[.events[] | select(.code == "fragmented") | .text] | any(test("came in fragments"))'
	from_client -t 0.3 # the kernel knows by now
	holds 'the default fits' 'total("up"; "sender"; "udp.size") <= 1372 and (codes | index("fragmented") == null)'
	in_client ip route flush cache
	in_client sh -c 'echo 1 >/proc/sys/net/ipv4/ip_no_pmtu_disc'
	from_client -t 0.3 -l 1448 # nobody says so to the sender: the router cuts them
	holds 'what a router cut is seen' 'total("up"; "receiver"; "udp.fragmented") > 20'
	in_client sh -c 'echo 0 >/proc/sys/net/ipv4/ip_no_pmtu_disc'
	# A router that begins to refuse them.
	local said passed run
	passed=$(passed_by)
	said=$(says_unreachable)
	spawn run nsenter -t "$client" -n -- "$WEIR" udp "$WEIR_LAB_PEER" -J --no-store -b 4M -t 30 -l 1000
	run=$pid
	until_true 8 more_than $((passed + 100)) passed_by
	ip rule add ipproto udp dport 5201 prohibit
	until_true 8 more_than "$said" says_unreachable
	passed=$(passed_by)
	until_true 8 more_than $((passed + 100)) passed_by
	kill "$run"
	ended 8 "$run"
	holds 'refused on the way' 'total("up"; "sender"; "udp.unreachable") > 0' run.out
	holds 'is not a full queue' '(codes | index("unreachable") != null) and (codes | index("send-refused") == null)' run.out
	stop_server
}
passed_by() # datagrams of the client so far
{
	sed -n 's/^ *c0: *//p' /proc/net/dev | awk '{print $2}'
}
says_unreachable()
{
	awk '/^Icmp:/ { if (n) print $n; for (i = 2; i <= NF; i++) if ($i == "OutDestUnreachs") n = i }' /proc/net/snmp
}
more_than()
{
	(($("$2") > $1))
}
@test "behind a router whose next link takes less, or that refuses them" {
	lab --no-serve small_link
}

own_queue()
{
	server
	"$WEIR" udp "$WEIR_LAB_PEER" -J --no-store --find-rate --trial-time 0.1 -l 1000 --no-offload >run.json
	holds 'who gave out' '.limited_code == "udp-sender"'
	holds 'a lower bound' '[.summaries[] | select(.metric == "rate.found") | .bound] == ["ge"]'
	holds 'no more than was sent' '([.summaries[] | select(.metric == "throughput.sent") | .value] | max) as $most |
		total("up"; "receiver"; "rate.found") <= $most * 1.02'
	is 'tests that overlapped' "$(jq '[.events[] | select(.code == "overlap")] | length' run.json)" 0
	stop_server
}
@test "--find-rate does not blame the path for the sender's own queue" {
	lab --no-serve --rate=20M own_queue
}

words()
{
	server
	"$WEIR" udp "$WEIR_LAB_PEER" --no-store -t 0.5 -l 100 >text
	is 'the first line' "$(head -n 1 text)" \
		'offered load 1 Mbit/s (default); capacity not measured: use -b or --find-rate'
	"$WEIR" udp "$WEIR_LAB_PEER" --no-store -t 0.1 -q >text
	has text 'capacity was not measured'
	"$WEIR" udp "$WEIR_LAB_PEER" --no-store -t 0.3 -b 5M >text
	head -n 3 text | tr '\n' ' ' >first
	! grep -q 'default' first
	stop_server
}
@test "without -b, the first line says that nothing was measured of the capacity" {
	lab --no-serve words
}

usage()
{
	local args
	for args in '-l 15' '-l 65508' '--reverse --bidir' '-n 1M -k 2' '--find-rate -n 1M' '--find-rate -t 10' '--find-rate --loss 100%' '--find-rate --loss x' '--loss 1%' '--trial-time 1'; do
		# shellcheck disable=SC2086 # words
		status=0
		"$WEIR" udp 192.0.2.1 $args >out 2>err || status=$?
		is "exit status of weir udp $args" "$status" 2
		[ -s err ] || fail "no words for $args"
	done
}
@test "nonsense is refused before anything is sent" {
	cd "$BATS_TEST_TMPDIR"
	usage
}

closed_port()
{
	# A server of TCP alone: something else has its UDP port.
	spawn_far holder python3 -c 'import socket, time
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(("::", 5201)); time.sleep(60)'
	until_true 5 udp_is_held
	server
	status=0
	"$WEIR" udp "$WEIR_LAB_PEER" --no-store -t 1 2>err || status=$?
	is 'exit status' "$status" 1
	has err UDP
	has server.out 'UDP is not served'
	"$WEIR" tcp "$WEIR_LAB_PEER" --no-store -t 0.5 -q
	stop_server
}
udp_is_held()
{
	[ -n "$(far ss -Hlun 'sport = :5201')" ]
}
@test "a server without UDP still serves TCP, and says so" {
	need python3
	lab --no-serve closed_port
}
