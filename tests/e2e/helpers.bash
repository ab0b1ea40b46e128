# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# What the end-to-end tests share. Each test runs one function in a lab of its own (weir lab), so
# that no port, address or process of the machine matters; the other host is reached by nsenter.
# shellcheck disable=SC2154,SC2034,SC2016 # variables of bats and for the tests; jq

: "${WEIR:=${BATS_TEST_DIRNAME:-.}/../../build/src/cmd/weir}"
SCHEMAS=${BATS_TEST_DIRNAME:-.}/../../schema
export WEIR SCHEMAS

# ---- in the test ----

# need PROGRAM…: skips the test when one is missing.
need()
{
	local p
	for p in "$@"; do
		[ -n "$(type -P "$p")" ] || skip "$p is not installed"
	done
}

need_lab()
{
	local why
	need jq nsenter ss
	[ -x "$WEIR" ] || { echo "there is no $WEIR" >&2; return 1; }
	why=$("$WEIR" lab --no-serve -- true 2>&1) || skip "no lab: ${why%%$'\n'*}"
}

# lab [OPTION… of weir lab] FUNCTION [ARG…]: runs a function of the test file in the near host.
lab()
{
	local options=()
	while [[ $1 == -* ]]; do
		options+=("$1")
		shift
	done
	declare -f >"$BATS_TEST_TMPDIR/functions"
	cd "$BATS_TEST_TMPDIR" || return
	WEIR_DB=$PWD/runs.db timeout -k 5 "${LAB_SECONDS:-120}" "$WEIR" lab "${options[@]}" -- \
		bash -euo pipefail -c '. ./functions; pids=(); trap end_all EXIT; "$@"' bash "$@"
}

# ---- inside ----

fail()
{
	printf '%s\n' "$*" >&2
	exit 1
}

# is WHAT GOT WANTED
is()
{
	[ "$2" = "$3" ] || fail "$1: $2, not $3"
}

# within WHAT GOT WANTED PERCENT
within()
{
	jq -en --argjson a "$2" --argjson b "$3" --argjson p "$4" \
		'(($a - $b) | fabs) <= ($b | fabs) * $p / 100' >/dev/null ||
		fail "$1: $2 is not within $4 % of $3"
}

# is_true JQ-EXPRESSION [FILE]
is_true()
{
	jq -e "$jq_lib $1" "${2:-run.json}" >/dev/null
}

# holds WHAT JQ-EXPRESSION [FILE]
holds()
{
	is_true "$2" "${3:-run.json}" ||
		fail "$1: not so: $2 in $(head -c 600 "${3:-run.json}")"
}

# has FILE TEXT…: the file holds each text.
has()
{
	local file=$1 text
	shift
	for text in "$@"; do
		grep -qF -e "$text" "$file" || fail "no \"$text\" in $file: $(head -c 2000 "$file")"
	done
}

# until_true SECONDS COMMAND…: a busy machine is given four times as long.
until_true()
{
	local end=$((${EPOCHREALTIME/[.,]/} + $1 * 4000000))
	shift
	until "$@" 2>/dev/null; do
		((${EPOCHREALTIME/[.,]/} < end)) || fail "never so: $*"
		sleep 0.02
	done
}

ms()
{
	echo $((${EPOCHREALTIME/[.,]/} / 1000))
}

far()
{
	nsenter -t "$WEIR_LAB_FAR_PID" -n -- "$@"
}

# spawn NAME COMMAND…: in the background; output in NAME.out and NAME.err, its process in $pid.
spawn()
{
	local name=$1
	shift
	"$@" >"$name.out" 2>"$name.err" </dev/null &
	pid=$!
	pids+=("$pid")
}
spawn_far()
{
	local name=$1
	shift
	spawn "$name" nsenter -t "$WEIR_LAB_FAR_PID" -n -- "$@"
}


end_all()
{
	local p
	for p in ${pids[@]+"${pids[@]}"}; do
		kill -9 "$p" 2>/dev/null || true
	done
}

listens()
{
	[ -n "$(far ss -Hltn "sport = :$1")" ]
}

# server [ARG…]: weir serve in the far host, with a log in server.out; its process in $server.
server()
{
	spawn_far server "$WEIR" serve --log json "$@"
	server=$pid
	until_true 5 listens 5201
}

# iperf3_server [ARG…]: one test of Debian's iperf3 in the far host; what it saw is in server.out.
iperf3_server()
{
	spawn_far server iperf3 -s -1 -J "$@"
	server=$pid
	until_true 5 listens 5201
}

# weir_json [ARG…]: a run of weir tcp, its document in run.json.
weir_json()
{
	"$WEIR" tcp "$WEIR_LAB_PEER" -J --no-store "$@" >run.json
}

# ended SECONDS PROCESS: it ends by then; its exit status in $status.
ended()
{
	until_true "$1" gone "$2"
	status=0
	wait "$2" || status=$?
}
gone()
{
	! kill -0 "$1" || [[ $(ps -o stat= -p "$1") == Z* ]]
}

# stop_server: it ends properly.
stop_server()
{
	kill "$server"
	ended 8 "$server"
	is 'exit status of weir serve' "$status" 0
}

# validate SCHEMA FILE…: run, comparison (whole files) or ndjson (each line).
validate()
{
	python3 - "$SCHEMAS" "$@" <<'PY'
import json, sys
from jsonschema import Draft202012Validator

folder, kind, *paths = sys.argv[1:]
read = lambda name: open("%s/%s.schema.json" % (folder, name), encoding="utf-8").read()
schema = json.loads(read(kind).replace("run.schema.json#", "#"))
if kind == "ndjson":
    schema["$defs"].update(json.loads(read("run"))["$defs"])
check = Draft202012Validator(schema)
bad = 0
for path in paths:
    text = open(path, encoding="utf-8").read()
    for n, one in enumerate(text.splitlines() if kind == "ndjson" else [text], 1):
        for error in check.iter_errors(json.loads(one)):
            bad = 1
            print("%s:%d: %s: %s" % (path, n, "/".join(map(str, error.absolute_path)),
                                     error.message[:300]), file=sys.stderr)
sys.exit(bad)
PY
}

# log_lines N: the server's log has so many lines.
log_lines()
{
	[ "$(wc -l <server.out)" -ge "$1" ]
}

# total DIR VIEW METRIC [STAT] of a run: the whole direction's figure, once.
export jq_lib='
def total($dir; $view; $metric): [.summaries[] | select(.metric == $metric and .dims.dir == $dir
	and .dims.view == $view and .dims.flow == null)] | if length == 1 then .[0].value
	else error("\(length) times \($metric) \($dir) \($view)") end;
def of_end($a; $b; $metric; $stat): .summaries[] | select(.metric == $metric and .stat == $stat
	and (.dims.end == $a or .dims.end == $b));
def codes: [.events[].code];
'
figure()
{
	jq -er "$jq_lib total(\"$1\"; \"$2\"; \"$3\")" "${4:-run.json}"
}
