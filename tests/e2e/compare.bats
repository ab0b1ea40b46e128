#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir compare on bare numbers, on the examples of docs/verdict.md, on stored runs and on files.

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
	[[ "$(words)" == *"Better: B is 3.8 % higher than A (95 % interval +3.0 % to +4.6 %; 6 pairs)."* ]]
	[[ "$output" == *"  A |"*"  B |"* ]]
	weir compare --values a b --order $pairs --better lower
	[[ "$(words)" == *"Worse: B is 3.8 % higher than A"* ]]
	weir compare --values a b --paired
	[[ "$(words)" == *"Better: B is 3.8 % higher than A (95 % interval +3.0 % to +4.6 %; 6 pairs)."* ]]
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
	weir compare --values a b --order $pairs --markdown
	[[ "$output" == *"| metric | A     | B     |"*"|---|---|---|---|---|"*"| better |"* ]]
}

# run_file FILE ID GOODPUT START_S EXTRA: a result file with one figure.
run_file()
{
	cat >"$1" <<JSON
{"schema":1,"type":"run","id":"01a22d2d-0000-7000-8000-0000000000$2","kind":"tcp","weir":"0.1.0",
"start_real_ns":${4}000000000,"outcome":"complete","request":{"host":"x"$5},"protocol":"weir",
"near":{"name":"pc","facts":{"kernel":"$6"}},"far":{},"tags":{},"parts":[],"clocks":[],"axes":[],
"frames":[],"events":[],"hists":[],"verdicts":[],"summaries":[
{"metric":"goodput","dims":{"dir":"up","view":"receiver"},"stat":"value","state":"known","bound":"eq","provenance":"measured","value":$3},
{"metric":"duration","stat":"value","state":"known","bound":"eq","provenance":"measured","value":10}]}
JSON
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
	run_file other.json 40 9e8 1700009000 ',"parallel":8' 6.1
	weir compare "$a" other.json
	[[ "$(words)" == *"No verdict: the sides did not measure the same"* ]]
	weir compare "$a" "$b" --metric tcp.rtt
	[ "$status" -eq 2 ]
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
