#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir tcp against weir serve: options in pairs, what both ends say, every form of output, the end
# of a test by hand, the key, and what is said of a command line that is wrong.

load helpers

setup()
{
	need_lab
}

# ---- figures ----

# Both ends' views of a native test, of each direction.
both_ends()
{
	local dir near far
	holds 'outcome' '.outcome == "complete" and .protocol == "weir" and .far.tool == "weir"'
	holds 'host facts of both ends' '.near.facts.kernel == .far.facts.kernel'
	holds 'CPU of both ends' '[of_end("near"; "far"; "cpu.total"; "value").value] |
		length >= 2 and all(. >= 0)'
	holds 'idle round trip at both ends' '[of_end("near"; "far"; "tcp.rtt_idle"; "value").value] |
		length >= 2 and all(. > 0 and . < 0.1)'
	for dir in "$@"; do
		[ "$dir" = up ] && near=sender far=receiver || near=receiver far=sender
		holds "$dir: frames of both ends" "([.frames[].dims | select(.dir == \"$dir\") |
			\"\(.end) \(.view)\"] | unique) == [\"far $far\", \"near $near\"]"
		# The two ends leave out what came before slightly different moments.
		holds "$dir: not more received than sent" "any(.parts[]; .name == \"omit\") or
			total(\"$dir\"; \"receiver\"; \"bytes\") <= total(\"$dir\"; \"sender\"; \"bytes\")"
		holds "$dir: round trip under load" "[.summaries[] | select(.metric == \"tcp.rtt_loaded\" and
			.dims.dir == \"$dir\" and .stat == \"p50\")] | length == 1 and .[0].value > 0"
		holds "$dir: share of segments" "total(\"$dir\"; \"sender\"; \"tcp.retransmits\") <=
			total(\"$dir\"; \"sender\"; \"tcp.segments\")"
	done
}

one_flow()
{
	local try
	# Bounds are as asked for where nothing says otherwise (1 = short). A machine with much
	# else to do may be late: not three times.
	for try in 1 2 3; do
		weir_json -t 1 -i 0.25 -4
		is_true 'all(.axes[].rows[]; .[2] % 2 == 1 or ((.[1] - .[0] - 250e6) | fabs) <= 12.5e6)' &&
			break
		[ "$try" -lt 3 ] || fail "intervals are not true: $(jq -c '[.axes[].rows]' run.json)"
	done
	both_ends up
	within 'rates of both ends' "$(figure up sender throughput.sent)" "$(figure up receiver goodput)" 10
	holds 'intervals join' 'all(.axes[].rows; . as $r | all(range(1; length); $r[.][0] == $r[. - 1][1]))'
	holds 'intervals are there' '[.axes[] | .rows | length] | length == 2 and all(. >= 4)'
	holds 'no more than the whole' '.parts[-1] as $p | [.axes[0].rows[][0:2][]] |
		min >= $p.t0_ns and max <= $p.t1_ns'
	holds 'samples add up' '([.frames[] | select(.dims.end == "near" and .columns.bytes) |
		.columns.bytes | add] | add) == total("up"; "sender"; "bytes")'
}
@test "one flow: both ends, intervals, round trips" {
	lab one_flow
}

reverse_window()
{
	WEIR_LAB_PEER=$WEIR_LAB_PEER6
	weir_json -t 0.7 -R -P 4 -w 256K -6
	both_ends down
	holds 'address family' '.request.host | contains(":")'
	holds 'flows apart' '[.summaries[] | select(.metric == "goodput" and .dims.flow != null)] | length == 4'
	within 'the flows add up' "$(jq '[.summaries[] | select(.metric == "bytes" and
		.dims.flow != null and .dims.view == "receiver") | .value] | add' run.json)" \
		"$(figure down receiver bytes)" 0
	holds 'windows' 'total("down"; "receiver"; "window.rcv") == 4 * 262144'
}
@test "-R -P 4 -w -6" {
	lab reverse_window
}

bidir_omit()
{
	weir_json -t 0.7 --bidir -l 16K -N -O 0.4
	both_ends up down
	holds 'left out, and kept' '[.parts[].name] == ["omit", "load"] and
		([.axes[].part] | unique) == [0, 1]'
	holds 'omit lasts' '.parts[0] | (.t1_ns - .t0_ns - 0.4e9) | fabs < 0.15e9'
	holds 'length of a write' 'total("up"; "sender"; "bytes") / total("up"; "sender"; "app.calls") <= 16384'
}
@test "--bidir -l -N -O" {
	lab bidir_omit
}

bytes_exact()
{
	weir_json -n 20M -P 4 -C reno
	both_ends up
	is 'sent' "$(figure up sender bytes)" $((20 << 20))
	is 'received' "$(figure up receiver bytes)" $((20 << 20))
	is 'congestion control' "$(jq -r '.parts[0].params.congestion' run.json)" reno
	holds 'no waiting counted in' 'total("up"; "receiver"; "duration") <
		total("up"; "sender"; "duration") + 0.5'
}
@test "-n -P 4 -C" {
	lab bytes_exact
}

# What warmed up is not a part of the count. At a rate that makes what is in flight small.
count_after_omit()
{
	local dir options
	while read -r dir options; do
		# shellcheck disable=SC2086 # words
		weir_json -O 0.2 -b 50M $options
		both_ends "$dir"
		within "$options: sent" "$(figure "$dir" sender bytes)" $((4 << 20)) 5
		within "$options: received" "$(figure "$dir" receiver bytes)" $((4 << 20)) 5
	done <<-'END'
		up -n 4M -l 16K
		down -n 4M -R -l 16K
		up -k 256 -l 16K
		down -k 256 -l 16K -R
		up -n 4M --bidir -l 16K
	END
}
@test "-n and -k count after -O" {
	lab count_after_omit
}

blocks_exact()
{
	weir_json -k 100 -l 64K -R -w 128K
	both_ends down
	is 'sent' "$(figure down sender bytes)" $((100 * 65536))
	is 'received' "$(figure down receiver bytes)" $((100 * 65536))
}
@test "-k -l -R -w" {
	lab blocks_exact
}

rates()
{
	weir_json -t 1 -b 20M -l 8K --bidir
	both_ends up down
	within 'up' "$(figure up receiver goodput)" 20e6 3
	within 'down' "$(figure down receiver goodput)" 20e6 3
	is 'what limited it' "$(jq -r .limited_code run.json)" asked-rate
	weir_json -t 0.7 --fq-rate 100M -P 2
	within 'paced by the kernel' "$(figure up receiver goodput)" 200e6 10
}
@test "-b -l --bidir; --fq-rate -P 2" {
	lab rates
}

marked()
{
	ss --tos -tniH "sport = :$1" | grep -qE "tos:(0x)?$2"
}
addressed()
{
	spawn run "$WEIR" tcp "$WEIR_LAB_PEER" -J --no-store -t 1 -M 1000 --dscp ef \
		-B 198.18.0.1 --bind-dev eth0 --cport 40000 -T 'a title'
	until_true 3 marked 40000 b8
	ended 5 "$pid"
	is 'exit status' "$status" 0
	cp run.out run.json
	both_ends up
	holds 'segments' 'total("up"; "sender"; "tcp.mss") as $m | $m <= 1000 and $m >= 988'
	holds 'title' '.title == "a title"'
}
@test "-M --dscp -B --bind-dev --cport -T" {
	lab addressed
}

each_way()
{
	weir_json -t 0.6 --each-way -P 2
	both_ends up down
	holds 'one after the other' '[.parts[].name] == ["load-up", "load-down"] and
		.parts[0].t1_ns <= .parts[1].t0_ns'
}
@test "--each-way -P 2" {
	lab each_way
}

copies()
{
	weir_json -t 0.4 --msg-zerocopy --skip-rx-copy
	holds 'copied after all: said' 'codes | index("zero-copy-copied")'
	holds 'completions' 'total("up"; "sender"; "zc.completions") > 0'
	holds 'not copied at the receiver: said' 'codes | index("receive-truncated")'
	weir_json -t 0.4 -Z -R
	holds 'sendfile moves data' 'total("down"; "receiver"; "bytes") > 1e6'
}
@test "-Z, --msg-zerocopy --skip-rx-copy" {
	lab copies
}

many()
{
	weir_json -t 0.5 -P 128 --bidir -i 0
	both_ends up down
	holds 'flows' 'total("up"; "sender"; "flows") == 128 and total("down"; "sender"; "flows") == 128'
	weir_json -t 0.5 -P 200
	holds 'flows' 'total("up"; "receiver"; "flows") == 200'
	holds 'fairness' 'total("up"; "receiver"; "jain") > 0.1'
}
@test "-P 128 --bidir, -P 200" {
	lab many
}

# An interval of so many flows is a long line.
very_many()
{
	local options
	for options in '-P 600 -R' '-P 1024 --bidir'; do
		# shellcheck disable=SC2086 # words
		weir_json -t 0.6 $options
		holds 'complete' '.outcome == "complete"'
		holds 'the sender' 'total("down"; "sender"; "bytes") > 0'
		holds 'its retransmits' 'total("down"; "sender"; "tcp.retransmits") >= 0'
		holds 'frames of the far end' '[.frames[] | select(.dims.end == "far" and
			.dims.dir == "down")] | length >= 600'
		holds 'CPU of both ends' '[of_end("near"; "far"; "cpu.total"; "value").value] |
			length >= 2'
	done
	holds 'goodput' 'total("up"; "receiver"; "goodput") > 0'
}
@test "-P 600 -R, -P 1024 --bidir: the far end's own report arrives" {
	lab very_many
}

# ---- forms of output ----

schema_run()
{
	local i=0 options
	for options in '-t 0.2 --bidir -P 2 -O 0.1 -T title' '-t 0.2 --each-way -i 0.05 --tag a=b' \
		'-n 2M -R -i 0 -b 100M'; do
		# shellcheck disable=SC2086 # words
		weir_json $options
		cp run.json $((++i)).json
		# shellcheck disable=SC2086
		"$WEIR" tcp "$WEIR_LAB_PEER" --json-stream --no-store $options >$i.ndjson
	done
	validate run ?.json
	validate ndjson ?.ndjson
	# A closed port: the document says why.
	! "$WEIR" tcp "$WEIR_LAB_PEER" -p 9 -J --no-store >failed.json 2>failed.err
	has failed.err ':9 ' refuse
}
@test "-J and --json-stream are as their schemas say" {
	python3 -c 'import jsonschema' 2>/dev/null || skip "python3-jsonschema is not installed"
	lab schema_run
}

streamed()
{
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.6 -i 0.1 --json-stream --no-store >lines
	is 'the first line' "$(head -n 1 lines | jq -r .type)" run
	is 'the last line' "$(tail -n 1 lines | jq -r .type)" end
	[ "$(jq -r 'select(.type == "tick") | .type' lines | wc -l)" -ge 5 ] || fail 'ticks are missing'
}
@test "--json-stream: lines as things happen" {
	lab streamed
}

csv()
{
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.4 --bidir --csv --no-store >csv
	is 'header' "$(head -n 1 csv)" "row,run,kind,part,part_name,t0_s,t1_s,flow,dir,view,end,size,cpu,$(
		)queue,class,iface,step,metric,stat,value,unit,mark"
	is 'fields of every line' "$(awk -F, '{ print NF }' csv | sort -u)" 22
	grep -q '^summary,.*,goodput,value,[0-9.e+]*,bit/s,' csv || fail "no goodput in $(head csv)"
}
@test "--csv: one header, the same number of fields in every line" {
	lab csv
}

no_escapes()
{
	! grep -q $'\033' "$1" || fail "escape sequences in $1: $(cat -v "$1")"
}

for_people()
{
	local run=("$WEIR" tcp "$WEIR_LAB_PEER" -t 0.3 --no-store)
	"${run[@]}" --bidir >text 2>err
	no_escapes text
	has text 'goodput     up' 'goodput     down' 'retransmits' 'RTT idle' 'CPU'
	is 'said on standard error' "$(cat err)" ''
	"${run[@]}" --bidir -P 2 --paste >paste
	no_escapes paste
	is 'widest line of a mail' "$(awk 'length > 72' paste)" ''
	is 'ASCII only' "$(LC_ALL=C grep -n '[^ -~]' paste)" ''
	has paste 'goodput     up' 'goodput     down' 'run '
	"${run[@]}" --each-way --markdown >markdown
	has markdown '| --- |' 'goodput up **' 'goodput down **'
	"${run[@]}" -q >quiet
	is 'lines of -q' "$(wc -l <quiet)" 1
	"${run[@]}" --bidir -q >quiet
	is 'lines of -q --bidir' "$(cut -c 1-16 quiet)" $'goodput     up  \ngoodput     down'
}
@test "text, --paste, --markdown, -q" {
	lab for_people
}

terminal()
{
	local run="'$WEIR' tcp $WEIR_LAB_PEER -t 0.4 -i 0.1 --no-store"
	TERM=xterm script -qec "$run" plain </dev/null >/dev/null
	grep -q $'\033' plain || fail 'no colour on a terminal'
	NO_COLOR=1 TERM=xterm script -qec "$run" nocolor </dev/null >/dev/null
	! grep -q $'\033\\[[0-9;]*m' nocolor || fail "colour in spite of NO_COLOR: $(cat -v nocolor)"
	has nocolor 'goodput     up'
}
@test "a terminal gets colour, with NO_COLOR none" {
	need script
	lab terminal
}

repeats()
{
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.3 --repeat 3 --tag site=lab >text
	is 'a line each' "$(grep -cE '^ +[123]  .*bit/s' text)" 3
	has text 'goodput up' '3 of 3'
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.1 --repeat 2 --csv --no-store >both.csv
	is 'heads of a CSV file' "$(grep -c ^row, both.csv)" 1
	is 'runs of a CSV file' "$(cut -d, -f2 both.csv | sort -u | wc -l)" 3
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.3 --repeat 2 -J --no-store | jq -es '
		length == 2 and .[0].experiment.id == .[1].experiment.id and
		[.[].experiment.position] == [0, 1]' >/dev/null || fail 'no experiment of two'
}
@test "--repeat, --tag" {
	lab repeats
}

stored()
{
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.3 --tag site=lab >text
	has text 'stored as' 'weir show last'
	"$WEIR" show last --json >run.json || fail "weir show last: $(cat run.json)"
	holds 'the stored run' '.tags.site == "lab" and .outcome == "complete" and .kind == "tcp"'
	"$WEIR" show last >shown
	is 'the same headline' "$(grep '^goodput ' shown)" "$(grep '^goodput ' text)"
}
@test "a run is found again" {
	"$WEIR" tcp --help | grep -q store-cap || skip 'built without a store'
	lab stored
}

assertions()
{
	local run=("$WEIR" tcp "$WEIR_LAB_PEER" -t 0.2 --no-store -q) status
	"${run[@]}" --bidir --assert 'goodput>=1k' --assert 'tcp.retransmits<1G' \
		--assert 'tcp.rtt_loaded:p50 < 10s' --assert 'cpu.total<=99' >out
	for what in 'goodput>=900T' 'goodput:down<1' 'tcp.rtt_loaded:p50>=10s'; do
		status=0
		"${run[@]}" --bidir --assert "$what" >out 2>err || status=$?
		is "exit status of $what" "$status" 3
		has err "assertion failed: $what"
	done
	# Down is not measured: what is not known holds nothing.
	status=0
	"${run[@]}" --assert 'goodput:down>1' >out 2>err || status=$?
	is 'exit status of an unknown figure' "$status" 3
	has err unknown
}
@test "--assert" {
	lab assertions
}

# ---- the end by hand ----

interrupted()
{
	local signal=$1 t0
	shift
	spawn run "$WEIR" tcp "$WEIR_LAB_PEER" -t 20 -J --no-store "$@"
	until_true 3 busy 5201
	sleep 0.6 # long enough to have something to tell
	t0=$(ms)
	kill -"$signal" "$pid"
	ended 5 "$pid"
	[ $(($(ms) - t0)) -lt 2000 ] || fail "it took $(($(ms) - t0)) ms to end"
	is 'exit status' "$status" 0
	cp run.out run.json
	holds 'said' '.outcome == "partial" and (codes | index("interrupted"))'
}
# busy PORT: more than the control connection.
busy()
{
	[ "$(ss -Htn state established "dport = :$1" | wc -l)" -ge 2 ]
}
by_hand()
{
	interrupted INT --bidir
	holds 'both ends' '[of_end("near"; "far"; "cpu.total"; "value")] | length == 2'
	holds 'both views' '[total("up"; "sender"; "bytes"), total("up"; "receiver"; "bytes"),
		total("down"; "sender"; "bytes"), total("down"; "receiver"; "bytes")] | all(. > 0)'
	# Of the warm-up alone there is no figure.
	interrupted TERM -R -P 2 -O 10
	holds 'nothing was measured' '[.summaries[] | select(.metric == "goodput" or .metric == "bytes")] == []'
	holds 'the warm-up is kept' '.parts | length == 1 and .[0].name == "omit"'
	# and the server has room for the next
	weir_json -t 0.2
}
@test "SIGINT and SIGTERM end the test, with the results of both ends" {
	lab by_hand
}

repeat_by_hand()
{
	spawn run "$WEIR" tcp "$WEIR_LAB_PEER" -t 0.6 --repeat 5 --no-store
	until_true 10 third
	kill -INT "$pid"
	ended 5 "$pid"
	is 'exit status' "$status" 1
	has run.out '2 of 3'
}
# Two results are out, and the third test moves data: before that there is no third to count.
third()
{
	[ "$(wc -l <run.out)" -ge 2 ] &&
		ss -tinH state established 'dport = :5201' | grep -qE 'bytes_sent:[0-9]{8}'
}
@test "--repeat that is cut short is a failure, and counts what ended" {
	lab repeat_by_hand
}

closed_streams()
{
	spawn_far server bash -c 'exec "$0" serve <&- >&- 2>&-' "$WEIR"
	server=$pid
	until_true 5 listens 5201
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.5 -i 0.1 --no-store <&- >&- 2>err
	is 'on standard error' "$(cat err)" ''
	weir_json -t 0.5
	holds 'to its end' '.outcome == "complete"'
	stop_server
}
@test "closed standard streams: neither end takes a socket for them" {
	lab --no-serve closed_streams
}

full()
{
	local form status
	for form in '' -J --csv '--repeat 2'; do
		status=0
		# shellcheck disable=SC2086 # words
		"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.2 -i 0.1 --no-store $form >/dev/full 2>err || status=$?
		is "exit status with $form" "$status" 1
		is "said once with $form" "$(grep -c 'No space left' err)" 1
	done
}
@test "a result that cannot be written is a failure, said once" {
	[ -c /dev/full ] || skip 'no /dev/full'
	lab full
}

progress_line()
{
	local run="$WEIR tcp $WEIR_LAB_PEER -t 0.5 -i 0.1 -q --no-store"
	TERM=xterm script -qec "$run" /dev/null </dev/null >out
	grep -q $'\033\\[K' out || fail 'there is no progress line'
	# What was drawn is wiped before the result, nothing is drawn into it.
	has out $'\r\033[Kgoodput'
	TERM=dumb script -qec "$run" /dev/null </dev/null >out
	! grep -q $'\033' out || fail 'escapes for a dumb terminal'
}
@test "the progress line does not garble the result" {
	need script
	lab progress_line
}

# ---- key and limits ----

refused()
{
	local status=0
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.2 -J --no-store "$@" >out 2>err || status=$?
	is 'exit status' "$status" 1
}
psk()
{
	echo s3cret-canary >key
	server --psk-file key
	weir_json -t 0.2 --psk-file key
	weir_json -t 0.2 --psk s3cret-canary
	! grep -q s3cret run.json || fail 'the key is in the result'
	WEIR_PSK=s3cret-canary weir_json -t 0.2
	refused --psk wr0ng
	has err 'pre-shared key'
	refused
	has err 'pre-shared key'
	until_true 2 log_lines 5
	! grep -q 's3cret\|wr0ng' server.out err || fail 'the key is in a log'
	stop_server
	server
	refused --psk s3cret-canary
	has err 'no pre-shared key'
	refused --psk s3cret-canary --proto iperf3
	has err "$WEIR_LAB_PEER:5201 speaks iperf3, which cannot prove the pre-shared key"
}
@test "a pre-shared key: right, wrong, missing, not wanted" {
	"$WEIR" tcp --help | grep -q psk-file || skip 'built without libcrypto'
	lab --no-serve psk
}

limits()
{
	server --max-flows 3 --max-time 300ms
	weir_json -t 5 -P 4
	holds 'lowered, and said' 'codes == ["server-limit"] or
		(codes - ["server-limit", "short-run"] | length == 0)'
	holds 'flows' 'total("up"; "sender"; "flows") == 3'
	holds 'time' 'total("up"; "sender"; "duration") < 1.5'
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 5 -P 4 -q --no-store >out 2>err
	has err 'a limit of the server changed the request'
}
@test "limits of the server change a native request, and it is said" {
	lab --no-serve limits
}

# ---- usage ----

@test "a command line that is wrong: exit 2, and it is said what is right" {
	local line option value right
	while IFS='|' read -r line option value right; do
		# shellcheck disable=SC2086 # words
		run "$WEIR" tcp $line
		echo "weir tcp $line: $status: $output"
		[ "$status" -eq 2 ]
		[[ $output == "weir tcp: "* ]]
		[[ $output == *"$option"* ]]
		[[ $output == *"$value"* ]]
		[[ $output == *"$right"* ]]
	done <<-'END'
	|HOST|missing|weir serve or iperf3 -s
	-t abc h|--time|"abc"|500ms
	-t -1 h|--time|"-1"|500ms
	-P 0 h|--parallel|0|1 to 2048
	-P x h|--parallel|"x"|whole number
	-p 70000 h|--port|70000|0 to 65535
	-b fast h|--bitrate|"fast"|200M
	-b 10M/0 h|--bitrate|0 blocks|1 to 1000
	-n 10X h|--bytes|"10X"|64K
	-l 2M h|--length|2M|0 to 1M
	-w 2T h|--window|2T|512M
	-M 99999 h|--set-mss|99999|32767
	-S 300 h|--tos|"300"|0 to 255
	--dscp gold h|--dscp|"gold"|ef
	-R --bidir h|--reverse|--bidir|exclude
	--bidir --each-way h|--bidir|--each-way|exclude
	-4 -6 h|--ipv4|--ipv6|exclude
	-n 1M -k 5 h|--bytes|--blocks|exclude
	-J --csv h|--json|--csv|exclude
	--proto ftp h|--proto|"ftp"|weir, iperf3, iperf2, nttcp or ttcp
	-i 1ms h|--interval|1 ms|10ms
	-b 1 h|--bitrate|1 bit/s|1 kbit/s to 10 Tbit/s
	-t 1us h|--time|1 us|1 ms
	-w 1 h|--window|1 B|256 B
	-M 1 h|--set-mss|1 B|88 B to 32767 B
	--fq-rate 1 h|--fq-rate|1 bit/s|1 kbit/s
	--cport 65535 -P 2 h|--cport|65535|65534
	--tag a/b=1 h|--tag|a/b|letters
	--psk= h|--psk|empty|key
	--psk-file /dev/null h|--psk-file|/dev/null|empty
	--repeat 0 h|--repeat|0|1 to
	--tag foo h|--tag|"foo"|KEY=VALUE
	--assert goodput h|--assert|"goodput"|goodput>=900M
	--assert speed>=5 h|--assert|"speed"|goodput
	--assert goodput:sideways>5 h|--assert|'sideways'|up, down
	--assert goodput>=lots h|--assert|"lots"|200M
	--frobnicate h|--frobnicate|no such option|--help
	-y h|-y|no such option|--help
	h extra|"extra"|one|too many
	--json=5 h|--json|"5"|yes nor no
	END
}

stored_far()
{
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.5 -i 0.1 -J >live.json
	"$WEIR" show last --json >stored.json
	holds 'both ends have samples' '([.axes[].clock] | unique | length) == 2' live.json
	is 'samples of the stored run' \
		"$(jq -c '[.axes[] | [.clock, .rows]]' stored.json)" \
		"$(jq -c '[.axes[] | [.clock, .rows]]' live.json)"
	is 'bytes of each interval' "$(jq -c '[.frames[].columns.bytes]' stored.json)" \
		"$(jq -c '[.frames[].columns.bytes]' live.json)"
}
@test "a stored run holds the samples of both ends, as the live one did" {
	lab stored_far
}
