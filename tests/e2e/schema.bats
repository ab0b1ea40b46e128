#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The schema files describe what weir writes: they accept the golden documents (which the unit
# tests compare with the encoder's output byte by byte), and what it says of comparisons, and refuse
# broken ones.

root="$BATS_TEST_DIRNAME/../.."

setup()
{
	: "${WEIR:=$BATS_TEST_DIRNAME/../../build/src/cmd/weir}"
	export WEIR_DB="$BATS_TEST_TMPDIR/runs.db"
	python3 -c 'import jsonschema' 2>/dev/null ||
		skip "python3-jsonschema is not installed"
}

# check run|ndjson|comparison FILE [EXPRESSION…]: FILE is valid; with expressions, it is refused after each of
# them alone has changed its documents d.
check()
{
	python3 - "$root/schema" "$@" <<'PY'
import json, sys
from jsonschema import Draft202012Validator

folder, kind, path, *changes = sys.argv[1:]
load = lambda name: json.load(open("%s/%s.schema.json" % (folder, name), encoding="utf-8"))
schema = load("comparison" if kind == "comparison" else "run")
if kind == "ndjson":
    # one document, so that no resolver is needed
    text = open(folder + "/ndjson.schema.json", encoding="utf-8").read()
    lines = json.loads(text.replace("run.schema.json#", "#"))
    lines["$defs"].update(schema["$defs"])
    schema = lines
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)
text = open(path, encoding="utf-8").read()
bad = 0
for change in changes or [""]:
    errors = []
    for one in text.splitlines() if kind == "ndjson" else [text]:
        d = json.loads(one)
        exec(change)
        errors += validator.iter_errors(d)
    if bool(errors) != bool(change):
        bad = 1
        print("accepted: " + change if change else "refused:")
        for error in errors:
            print("%s: %s" % ("/".join(map(str, error.absolute_path)), error.message))
sys.exit(bad)
PY
}

@test "the document of a run with everything is valid" {
	run check run "$root/tests/data/model/run.json"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "every line of the same run is valid" {
	run check ndjson "$root/tests/data/model/run.ndjson"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "documents that are not so are refused" {
	local changes
	mapfile -t changes <<'END'
d["surprise"] = 1
d["schema"] = 2
del d["id"]
d["outcome"] = "splendid"
d["near"]["colour"] = "red"
d["parts"][0]["t0_ns"] = 0.5
d["parts"][0]["surprise"] = 1
d["axes"][0]["rows"][0] = [0, 1]
d["frames"][0]["columns"]["tcp.rtt"][0] = "fast"
d["frames"][0]["dims"]["dir"] = "left"
d["hists"][0]["sum"] = 5
d["summaries"][1]["value"] = 3
del d["summaries"][0]["value"]
d["events"][0]["code"] = "panic"
END
	run check run "$root/tests/data/model/run.json" "${changes[@]}"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "lines that are not so are refused" {
	local changes
	mapfile -t changes <<'END'
d["surprise"] = 1
d["type"] = "story"
d.pop("type")
d.update(rows=[[1, "2"]] if d["type"] == "tick" else d.pop("type") and [])
END
	run check ndjson "$root/tests/data/model/run.ndjson" "${changes[@]}"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "comparisons are valid: every outcome, with figures and without" {
	cd "$BATS_TEST_TMPDIR"
	printf '%s\n' 931 918 940 902 925 911 >a
	printf '%s\n' 962 955 971 949 958 940 >b
	printf '%s\n' 931 930 933 929 932 931 >c
	printf '%s\n' 0 0 0 0 0 0 >zeros
	echo 903 >one
	: >none
	for args in "a b --paired" "a b" "a c --paired" "c c --paired" "a b c --paired" "one a" "one one" "a none" \
		"a zeros" "zeros zeros"; do
		# shellcheck disable=SC2086 # several words
		"$WEIR" compare --json --values $args
	done | jq -s . >all.json
	[ "$(jq length all.json)" -eq 10 ]
	run check comparison all.json
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "calibrations and plans are valid" {
	cd "$BATS_TEST_TMPDIR"
	"$WEIR" plan --cv 90% --detect 0.01% --json >plan.json
	echo '{"schema":1,"type":"calibration","metric":"goodput","noise_floor":0.016,"experiments":12,"pairs":6,
		"largest":0.012,"across_sessions":false,"floors":[{"metric":"goodput","noise_floor":0.016,
		"experiments":12,"largest":0.012}]}' >floor.json
	for f in plan floor; do
		run check comparison $f.json
		echo "$output"
		[ "$status" -eq 0 ]
	done
}

@test "comparisons that are not so are refused" {
	local changes
	cd "$BATS_TEST_TMPDIR"
	printf '%s\n' 931 918 940 902 925 911 >a
	printf '%s\n' 962 955 971 949 958 940 >b
	"$WEIR" compare --json --values a b --paired >good.json
	mapfile -t changes <<'END'
d["surprise"] = 1
d["schema"] = 2
d["outcome"] = "splendid"
del d["interval"]
d["interval"] = [0]
d["n"] = [6]
d["reasons"] = ["bad-luck"]
d["p"]["magic"] = 0.5
d["effect"] = "large"
d["sides"] = d["sides"][:1]
d["comparisons"] = []
d["comparisons"][0]["surprise"] = 1
d["sides"][0]["side"] = "first"
END
	run check comparison good.json "${changes[@]}"
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "every reason of the code is in the schema, and no other" {
	local codes
	codes=$(sed -n 's/.*\[REASON_[A-Z_]*\] = {"\([a-z-]*\)".*/\1/p' "$root/src/model/reason.c" | sort)
	[ -n "$codes" ]
	[ "$codes" = "$(jq -r '."$defs".judgement.properties.reasons.items.enum[]' \
		"$root/schema/comparison.schema.json" | sort)" ]
}
