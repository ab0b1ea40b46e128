#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir compare on bare numbers, on the examples of docs/verdict.md, on stored runs and on files.
# shellcheck disable=SC2030,SC2031,SC2154,SC2209,SC2317,SC2329 # bats runs each test in a shell of its own

data="$BATS_TEST_DIRNAME/../data"

setup()
{
	: "${WEIR:=$BATS_TEST_DIRNAME/../../build/src/cmd/weir}"
	export WEIR_DB="$BATS_TEST_TMPDIR/runs.db"
	cd "$BATS_TEST_TMPDIR" || return
	numbers a 931 918 940 902 925 911
	numbers b 962 955 971 949 958 940
	numbers noisy_a 880 941 902 925 861 930
	numbers noisy_b 915 898 951 890 939 907
}

numbers()
{
	printf '%s\n' "${@:2}" >"$1"
}

weir()
{
	run "$WEIR" "$@"
	echo "weir $*: $status"
	echo "$output"
}

json()
{
	[ -n "$(type -P jq)" ] || skip "jq is not installed"
	"$WEIR" compare --json "$@" >out.json
}

# holds JQ-EXPRESSION
holds()
{
	jq -e "$1" out.json >/dev/null || { echo "not so: $1"; jq . out.json; return 1; }
}

words()
{
	tr '\n' ' ' <<<"$output" | tr -s ' '
}

pairs=ABBAABBAABBA

@test "bare numbers whose order is known: better, and worse where lower is better" {
	weir compare --values a b --order $pairs
	[ "$status" -eq 0 ]
	[[ "$(words)" == *"Better: B is 3.8 % higher than A (95 % interval +3.0 % to +4.6 %; 6 pairs; permutation p = 0.031)."* ]]
	[[ "$output" == *"  A |"*"  B |"* ]]
	weir compare --values a b --order $pairs --better lower
	[[ "$(words)" == *"Worse: B is 3.8 % higher than A"* ]]
	weir compare --values a b --paired
	[[ "$(words)" == *"Better: B is 3.8 % higher than A (95 % interval +3.0 % to +4.6 %; 6 pairs; permutation p = 0.031)."* ]]
}

@test "the examples of docs/verdict.md" {
	doc=$(tr '\n' ' ' <"$BATS_TEST_DIRNAME/../../docs/verdict.md" | sed 's/ > / /g' | tr -s ' ')
	numbers n1 931 930 933 929 932 931
	numbers n2 937 936 938 936 937 938
	numbers e1 931 934 929 936 930 933
	numbers e2 933 930 934 932 929 935
	numbers o1 903
	numbers o2 931
	seen=0
	for args in "a b --order $pairs" "n1 n2 --order $pairs" "e1 e2 --order $pairs" \
		"noisy_a noisy_b --order $pairs" "a b" "o1 o2"; do
		# shellcheck disable=SC2086 # several words
		json --values --better higher $args
		text=$(jq -r .text out.json)
		[[ "$doc" == *"$text"* ]] || { echo "not in the page: $text"; return 1; }
		seen=$((seen + 1))
	done
	[ $seen -eq 6 ]
}

@test "the stable keys of --json" {
	json --values a b --order $pairs
	holds '.type == "comparison" and .outcome == "better" and .design == "blocked"'
	holds '.effect > 0.037 and .effect < 0.038 and (.interval | length) == 2 and .n == [6, 6]'
	holds '.margin == 0.02 and (.reasons | index("better-assumed") != null)'
	holds '.p.permutation == 0.03125 and .primary and (.comparisons | length) == 1'
	holds '[.sides[].name] == ["a", "b"] and .values_a[2] == 940'
	json --values a b
	holds '.outcome == "differs-between-sessions"'
	json --values a b --order $pairs --noise-floor 6%
	holds '.outcome == "inconclusive" and (.reasons | index("below-floor") != null)'
	json --values noisy_a noisy_b --paired
	holds '.outcome == "inconclusive" and .pairs_needed == 69'
}

@test "exit codes for scripts" {
	weir compare --values a b --order $pairs --better lower --fail-on worse
	[ "$status" -eq 3 ]
	weir compare --values a b --order $pairs --fail-on worse
	[ "$status" -eq 0 ]
	weir compare --values a b --order $pairs --fail-on different
	[ "$status" -eq 3 ]
	weir compare --values a b --order $pairs --require not-worse --margin 2%
	[ "$status" -eq 0 ]
	weir compare --values a b --order $pairs --require better
	[ "$status" -eq 0 ]
	weir compare --values a b --order $pairs --require equivalent
	[ "$status" -eq 3 ]
	weir compare --values noisy_a noisy_b --paired --require not-worse --margin 2%
	[ "$status" -eq 3 ]
	weir compare --values b --baseline a --paired --require not-worse
	[ "$status" -eq 0 ]
	weir compare --values a b --baseline a --paired --require not-worse # not with itself, too
	[ "$status" -eq 0 ]
	numbers one 900
	weir compare --values one one --require not-worse
	[ "$status" -eq 3 ]
}

@test "what ministat's users have: comments, columns, standard input" {
	printf '# a comment\nrun 931 x\nrun 918 x\n' >cols
	run bash -c "printf '962\n955\n' | '$WEIR' compare --values cols - --column 2"
	echo "$output"
	[ "$status" -eq 1 ]
	[ "$output" = 'weir compare: -: line 1: "" is not a number' ]
	run bash -c "printf 'y 962\ny 955\n' | '$WEIR' compare --values cols - --column 2"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$(words)" == *"Inconclusive: B is 3.7 % higher than A"*"2 and 2 runs"* ]]
	weir compare --values - -
	[ "$status" -eq 2 ]
	[ "$output" = 'weir compare: standard input (-) is one side, not 2' ]
}

@test "bare numbers that could be read in two ways are refused, units are read" {
	numbers comma 1,000 1,001
	weir compare --values a comma
	[ "$status" -eq 1 ]
	[[ "${lines[0]}" == 'weir compare: comma: line 1: "1,000" is not a number without doubt: its comma '* ]]
	numbers mega '931 Mbits/sec' '918 Mbits/sec' '940 Mbits/sec' '0.902 Gbits/sec' '925 Mbits/sec' '911 Mbits/sec'
	numbers giga '0.962 Gbit/s' '0.955 Gbit/s' '0.971 Gbit/s' '0.949 Gbit/s' '0.958 Gbit/s' '0.940 Gbit/s'
	json --values mega giga --order $pairs
	holds '.outcome == "better" and .unit == "bit/s" and (.effect | . > 0.037 and . < 0.038)'
	json --values mega a --order $pairs
	holds '.effect == null and (.reasons | index("units") != null)'
	printf '%s ms\n' 900 910 905 902 >slow
	printf '%s ms\n' 800 810 805 802 >fast
	json --values slow fast --noise-floor 1% --across-sessions
	holds '.outcome == "better"'
	numbers req '931 req/s' '918 req/s'
	json --values a req
	holds '.reasons | index("units") != null'
}

@test "three sides: each against the first, corrected" {
	numbers c 931 921 938 905 922 914
	json --values a b c --paired
	holds '.comparisons | length == 2'
	holds '.comparisons[0].p.adjusted > .comparisons[0].p.t'
	holds '[.comparisons[].side] == ["B", "C"]'
	weir compare --values a b c --paired
	[[ "$output" == *"value C"* ]]
}

@test "no verdict says why, and is no failure" {
	numbers neg 931 -918 940 902
	: >none
	for args in "a neg" "a none" "a a"; do
		# shellcheck disable=SC2086 # several words
		weir compare --values $args
		[ "$status" -eq 0 ]
		[[ "$output" == *"No verdict: "* ]]
	done
	weir compare --values a b --order $pairs --require not-worse --baseline neg
	[ "$status" -eq 2 ]
}

@test "bad input is one clear line" {
	numbers bad 931 fast 940
	for args in "a bad" "a" "a b --order ABBA" "a b --order ABXB" "a nothere" \
		"a b --paired --order $pairs" "a b --json --paste" "a b --margin x" \
		"a b --primary goodput" "a o --paired"; do
		numbers o 1 2
		# shellcheck disable=SC2086 # several words
		weir compare --values $args
		[ "$status" -eq 1 ] || [ "$status" -eq 2 ]
		[ "${#lines[@]}" -le 2 ]
		[[ "${lines[0]}" == "weir compare: "* ]]
	done
	weir compare --values a bad
	[ "$output" = 'weir compare: bad: line 2: "fast" is not a number' ]
	weir compare a b
	[[ "${lines[0]}" == "weir compare: a: no reader knows this" ]]
	weir compare nothere last
	[ "$status" -eq 1 ]
}

@test "for a mail and for a wiki" {
	weir compare --values a b --order $pairs --paste --margin 5%
	[ "$status" -eq 0 ]
	[ "$(LC_ALL=C tr -d '\0-\177' <<<"$output" | wc -c)" -eq 0 ]
	[ "$(wc -L <<<"$output")" -le 72 ]
	[[ "$output" == *"value: 921.1 -> 955.8"* ]]
	long="ä very long name of a file that no mail can hold in seventy-two columns, whatever"
	cp b "$long"
	weir compare --values a "$long" --paste
	[ "$(LC_ALL=C tr -d '\0-\177' <<<"$output" | wc -c)" -eq 0 ]
	[ "$(wc -L <<<"$output")" -le 72 ]
	[[ "$(words)" == *"? very long name of a file"*"columns, whatever (6 runs)"* ]]
	weir compare --values a b --order $pairs --markdown
	[[ "$output" == *"| metric | A     | B     |"*"|---|---|---|---|---|"*"| better |"* ]]
}

# run_file FILE ID GOODPUT START_S REQUEST KERNEL [FACTS [SAMPLES [SUMMARIES]]]: a result file with one
# figure. FACTS are of the near host, SAMPLES the bytes a second of one flow, all with a comma before.
run_file()
{
	local axes='[]' frames='[]' parts='[]'
	if [ -n "${8-}" ]; then
		parts='[{"id":0,"kind":"phase","name":"load","t0_ns":0,"outcome":"complete"}]'
		axes=$(jq -cn "[{id: 0, part: 0, clock: 0, rows: [range([$8] | length) |
			[. * 1000000000, (. + 1) * 1000000000, 0]]}]")
		frames='[{"id":0,"axis":0,"dims":{"flow":0,"dir":"up","view":"receiver"},"columns":{"bytes":['$8']}}]'
	fi
	cat >"$1" <<JSON
{"schema":1,"type":"run","id":"01a22d2d-0000-7000-8000-0000000000$2","kind":"tcp","weir":"0.1.0",
"start_real_ns":${4}000000000,"outcome":"complete","request":{"host":"x"$5},"protocol":"weir",
"near":{"name":"pc","facts":{"kernel":"$6"${7-}}},"far":{},"tags":{},"parts":$parts,
"clocks":[{"id":0,"end":"near","kind":"mono","pairs":[]}],"axes":$axes,
"frames":$frames,"events":[],"hists":[],"verdicts":[],"summaries":[
{"metric":"goodput","dims":{"dir":"up","view":"receiver"},"stat":"value","state":"known","bound":"eq","provenance":"measured","value":$3},
{"metric":"duration","stat":"value","state":"known","bound":"eq","provenance":"measured","value":10}${9-}]}
JSON
}

# sides A… B…: the runs of both sides one after the other, in files whose names are put in $a and $b.
# file_NAME FILE ID VALUE START makes each.
sides()
{
	local i=10 side=a g file
	a='' b=''
	for g; do
		[ "$g" != / ] || { side=b; continue; }
		file=$side$i.json
		"$maker" "$file" $i "$g" $((1700000000 + i * 20))
		[ $side = a ] && a+=${a:+,}$file || b+=${b:+,}$file
		i=$((i + 1))
	done
}

@test "result files: order by start time, what else differs, one run twice" {
	a='' b=''
	i=10
	for g in 931 962 918 955 940 971 902 949 925 958 911 940; do
		if ((i % 2)); then
			run_file "r$i.json" $i "${g}e6" $((1700000000 + i * 20)) "" 6.6
			b+=${b:+,}r$i.json
		else
			run_file "r$i.json" $i "${g}e6" $((1700000000 + i * 20)) "" 6.1
			a+=${a:+,}r$i.json
		fi
		i=$((i + 1))
	done
	weir compare "$a" "$b"
	[ "$status" -eq 0 ]
	[[ "$(words)" == *"Better: goodput of B is 3.8 % higher than of A"*"6 pairs"* ]]
	[[ "$output" == *"near.kernel: 6.1 | 6.6"* ]]
	json "$a" "$b" --varied kernel
	holds '.design == "blocked" and .sides[1].undeclared == [] and .metric == "goodput"'
	weir compare "$a" "$a"
	[[ "$output" == *"No verdict: "*"one run"* ]]
	jq -c '.events = [{code: "overlap", severity: "warning"}]' r12.json >r12.new
	mv r12.new r12.json
	weir compare "$a" "$b"
	[[ "$output" == *"1 of the 6 runs of A overlapped with other tests on the server."* ]]
	json "$a" "$b"
	holds '[.sides[].overlapped] == [1, 0]'
	run_file other.json 40 9e8 1700009000 ',"parallel":8' 6.1
	weir compare "$a" other.json
	[[ "$(words)" == *"No verdict: the sides did not measure the same"* ]]
	weir compare "$a" "$b" --metric tcp.rtt
	[ "$status" -eq 2 ]
}

@test "a file with several runs gives them all" {
	make() { run_file "$@" "" 6.1; }
	maker=make sides 931 918 940 902 925 911 / 962 955 971 949 958 940
	json "$a" "$b"
	cp out.json want.json
	cat a*.json >a.all
	jq -s . b*.json >b.all
	json a.all b.all
	[ "$(jq -c '[.n, .effect, [.sides[].runs]]' out.json)" = "$(jq -c '[.n, .effect, [.sides[].runs]]' want.json)" ]
	holds '.n == [6, 6]'
	jq -c . a*.json >a.lines
	run bash -c "'$WEIR' compare --json - b.all <a.lines | jq -c .n"
	[ "$output" = "[6,6]" ]
	head -c 500 a10.json >>a.all
	weir compare a.all b.all
	[ "$status" -eq 1 ]
	[[ "$output" == "weir compare: a.all: run 7: "* ]]
	weir compare b.all,b10.json a10.json
	[ "$status" -eq 1 ]
	weir compare "$a,a10.json" b.all
	[ "$status" -eq 2 ]
	[[ "${lines[0]}" == *": run 00000010 is in it twice" ]]
}

# report RATE: what iperf3 prints, in short.
report()
{
	cat <<-TEXT
		Connecting to host 192.0.2.1, port 5201
		[  5] local 192.0.2.2 port 50000 connected to 192.0.2.1 port 5201
		[ ID] Interval           Transfer     Bitrate         Retr
		[  5]   0.00-10.00  sec  1.10 GBytes   $1 Mbits/sec    0             sender
		[  5]   0.00-10.00  sec  1.09 GBytes   $1 Mbits/sec                  receiver

		iperf Done.
	TEXT
}

@test "other tools' reports are runs, a file each" {
	make_report() { report "$3" >"$1"; }
	maker=make_report sides 931 918 940 902 / 962 955 971 949
	json "$a" "$b"
	holds '.metric == "goodput" and .n == [4, 4] and .values_a == [931e6, 918e6, 940e6, 902e6]'
	weir compare a10.json a10.json
	[[ "$output" == *"No verdict: "*"both sides come from one run"* ]]
}

@test "boots are sessions: one each is no replication, several are the unit" {
	make_boot() { run_file "$@" "" 6.1 ",\"boot\":\"$(($2 / each))\""; }
	each=6 maker=make_boot sides 931 918 940 902 925 911 931 / 962 955 971 949 958 940
	json "$a" "$b"
	holds '.design == "unordered" and .outcome == "differs-between-sessions"'
	holds '[.sides[].undeclared[]] == []'
	each=2 maker=make_boot sides 931 918 940 902 925 911 / 962 955 971 949 958 940
	json "$a" "$b"
	holds '.design == "sessions" and .units == 3 and .n == [6, 6]'
	# a floor that was taken between sessions makes one each enough
	each=6 maker=make_boot sides 931 918 940 902 925 911 931 / 962 955 971 949 958 940
	json "$a" "$b" --noise-floor 1% --across-sessions
	holds '.outcome == "better" and .noise_floor == 0.01'
}

@test "the link's ceiling is taken from the interface's speed" {
	wire=',"iface":"eth0","speed_bps":1000000000,"mtu":1500'
	make_wire() { run_file "$@" "" 6.1 "$wire"; }
	maker=make_wire sides 941e6 940e6 941e6 941e6 / 940e6 941e6 940e6 941e6
	json "$a" "$b"
	holds '.reasons | index("line-rate") != null'
	maker=make_wire sides 841e6 840e6 842e6 843e6 / 940e6 941e6 940e6 941e6
	json "$a" "$b"
	holds '.reasons | index("bound-by-line") != null'
	maker=make_wire sides 841e6 840e6 842e6 843e6 / 840e6 841e6 840e6 841e6
	json "$a" "$b"
	holds '.reasons | index("line-rate") == null and index("bound-by-line") == null'
	json "$a" "$b" --ceiling 850M
	holds '.reasons | index("line-rate") != null'
	# a veth's speed is a fancy, and what is faster than its link does not go through it
	wire+=',"driver":"veth"' maker=make_wire sides 941e6 940e6 941e6 941e6 / 940e6 941e6 940e6 941e6
	json "$a" "$b"
	holds '.reasons | index("line-rate") == null'
	wire=${wire/1000000000/100000000} maker=make_wire sides 941e6 940e6 941e6 941e6 / 940e6 941e6 940e6 941e6
	json "$a" "$b"
	holds '.reasons | index("line-rate") == null'
}

@test "stalls and changes of level inside the runs" {
	dead=9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,0,9,9,9,9,9,9,9,9,9,9
	make_dead() { run_file "$@" "" 6.1 "" "$samples"; }
	samples=${dead/0/9} maker=make_dead sides 931 918 940 902 925 911 / 962 955 971 949 958 940
	json "$a" "$b"
	holds '.stalled_runs == [0, 0] and .p.stalls == null and (.reasons | index("change-point")) == null'
	samples=$dead make_dead a10.json 10 931 1700000200
	json "$a" "$b"
	holds '.stalled_runs == [1, 0] and .p.stalls > 0.999 and (.reasons | index("stalls"))'
	samples=$dead,0,0,0 maker=make_dead sides 931 918 940 902 925 911 / 962 955 971 949 958 940
	weir compare "$a" "$b"
	[[ "$(words)" == *"No verdict: over 5 %"*"6 of the 6 runs of A and 6 of the 6 of B stood still"* ]]
	samples=4,5,6,5,4,5,6,5,4,5,6,5,4,5,6,5,9,8,7,8,9,8,7,8,9,8,7,8,9,8,7,8 make_dead a10.json 10 931 1700000200
	samples=$dead maker=true
	json a10.json,a11.json "$b"
	holds '.reasons | index("change-point") != null'
}

@test "mixed units, and a metric that one side or some runs lack" {
	rate() { echo ",{\"metric\":\"ext.rate\",\"stat\":\"value\",\"state\":\"known\",\"bound\":\"eq\",\"provenance\":\"measured\",\"value\":$1}"; }
	with() { # UNIT FILE…
		local unit=$1 f
		shift
		for f; do
			jq -c ".metrics = [{name: \"ext.rate\", unit: \"$unit\", kind: \"gauge\", better: \"higher\",
				column: \"f64\"}]" "$f" >"$f.new"
			mv "$f.new" "$f"
		done
	}
	make_rate() { run_file "$@" "" 6.1 "" "" "$(rate "$3")"; }
	maker=make_rate sides 931 918 940 902 925 911 / 962 955 971 949 958 940
	with packet/s a*.json b*.json
	json "$a" "$b" --primary ext.rate
	holds '.metric == "ext.rate" and .unit == "packet/s" and .n == [6, 6] and .lacking == [0, 0]'
	# several that nobody declared count alike
	json "$a" "$b" --metric goodput --metric ext.rate
	holds '[.comparisons[] | .primary, (.p.adjusted / .p.t | round)] == [false, 2, false, 2]'
	json "$a" "$b" --metric goodput --metric ext.rate --primary ext.rate
	holds '[.comparisons[] | .primary, (.p.adjusted / .p.t | round)] == [true, 1, false, 1]'
	json "$a" "$b" --metric ext.rate
	holds '[.comparisons[].primary] == [true]'
	with bit/s b*.json
	weir compare "$a" "$b" --primary ext.rate
	[ "$status" -eq 0 ]
	[[ "$output" == *"No verdict: the sides have different units"* ]]
	make() { run_file "$@" "" 6.1; }
	make a10.json 10 931 1700000200
	weir compare "$a" "$b" --primary ext.rate --require not-worse
	[ "$status" -eq 3 ]
	[[ "$output" == *"1 of the 6 runs of A has no ext.rate."* ]]
	maker=make sides 931 918 940 902 925 911
	weir compare "$a" b16.json,b17.json --primary ext.rate --require not-worse
	[ "$status" -eq 3 ]
	[[ "$output" == *"No verdict: one side has no values"* ]]
	weir compare "$a" "$a" --primary ext.rate
	[ "$status" -eq 2 ]
	[ "${#lines[@]}" -le 2 ]
}

@test "stored runs and tags" {
	cp "$data/store/v1.db" "$WEIR_DB"
	"$WEIR" list >/dev/null 2>err ||
		{ grep -q 'without SQLite' err && skip "built without SQLite"; }
	weir compare last last
	[ "$status" -eq 0 ]
	[[ "$output" == *"No verdict: "*"both sides come from one run"* ]]
	weir compare tag:link=dsl tag:room
	[[ "$output" == *"both sides come from one run"* ]]
	weir compare tag:nothing last
	[ "$status" -eq 1 ]
	[ "$output" = "weir compare: no complete run has the tag nothing" ]
}
