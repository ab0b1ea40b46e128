#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Stored runs: list, show, export, rm and tag on a copy of the golden database, which holds one
# run with every construct.

data="$BATS_TEST_DIRNAME/../data/store"

setup()
{
	: "${WEIR:=$BATS_TEST_DIRNAME/../../build/src/cmd/weir}"
	export WEIR_DB="$BATS_TEST_TMPDIR/runs.db"
	unset XDG_STATE_HOME
	cp "$data/v1.db" "$WEIR_DB"
	"$WEIR" list >/dev/null 2>"$BATS_TEST_TMPDIR/err" ||
		{ grep -q 'without SQLite' "$BATS_TEST_TMPDIR/err" && skip "built without SQLite"; }
}

weir()
{
	run "$WEIR" "$@"
	echo "weir $*: $status"
	echo "$output"
}

@test "a database that is not there yet" {
	export WEIR_DB="$BATS_TEST_TMPDIR/none.db"
	weir list
	[ "$status" -eq 0 ]
	[ "$output" = "no runs stored yet ($WEIR_DB)" ]
	weir show
	[ "$status" -eq 1 ]
	[ "$output" = "no runs stored yet ($WEIR_DB)" ]
	weir list --json
	[ "${lines[0]}" = '{"schema":1,"runs":[]}' ]
	[ ! -e "$WEIR_DB" ]
}

@test "the place: --db before WEIR_DB before XDG_STATE_HOME before HOME" {
	mkdir -p "$BATS_TEST_TMPDIR/home/.local/state/weir" "$BATS_TEST_TMPDIR/xdg/weir"
	weir list --db "$BATS_TEST_TMPDIR/a.db"
	[[ "$output" == *"($BATS_TEST_TMPDIR/a.db)"* ]]
	cp "$WEIR_DB" "$BATS_TEST_TMPDIR/:memory:"
	cd "$BATS_TEST_TMPDIR"
	[ "$("$WEIR" list --db :memory: --json | jq '.runs | length')" -eq 1 ]
	unset WEIR_DB
	export XDG_STATE_HOME="$BATS_TEST_TMPDIR/xdg" HOME="$BATS_TEST_TMPDIR/home"
	weir list
	[[ "$output" == *"($XDG_STATE_HOME/weir/runs.db)"* ]]
	unset XDG_STATE_HOME
	weir list
	[[ "$output" == *"($HOME/.local/state/weir/runs.db)"* ]]
}

@test "list keeps to a terminal's width" {
	[ -n "$(type -P script)" ] || skip "script is not installed"
	run script -qec "stty cols 64; '$WEIR' list" /dev/null
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 2 ]
	for line in "${lines[@]}"; do
		line=${line%$'\r'}
		[ "${#line}" -le 64 ]
	done
	[[ "${lines[1]}" == *..* ]]
}

@test "list has a line a run, and filters" {
	weir list
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 2 ]
	[[ "${lines[1]}" == "06070809  2026-11-30 "*"tcp   198.18.0.2  "*"link=dsl room=a=b" ]]
	for yes in "-k tcp" "-t link" "-t link=dsl -t room=a=b" "--host 198.18" "--host PC" \
		"--since 2026-11-30" "--until 2026-12-24" "-n 1"; do
		# shellcheck disable=SC2086 # several words
		weir list $yes
		[ "${#lines[@]}" -eq 2 ]
	done
	for no in "-k udp" "-t nix" "-t link=fibre" "--host nobody" "--since 2026-12-24" \
		"--until 2026-11-30"; do
		# shellcheck disable=SC2086
		weir list $no
		[ "$status" -eq 0 ]
		[ "$output" = "no stored run matches" ]
	done
	weir list --since whenever
	[ "$status" -eq 2 ]
}

@test "list --json can be read by jq" {
	[ "$("$WEIR" list --json | jq -r '.runs[0].tags.room')" = "a=b" ]
	[ "$("$WEIR" list --json | jq -r '.runs[0].outcome')" = complete ]
}

@test "show finds a run by every name, and tells wrong ones apart" {
	for name in last last:tcp 0809 06070809 01a22d2d-310b-7abb-bf03-040506070809; do
		weir show "$name"
		[ "$status" -eq 0 ]
		[[ "$output" == *"limited by"*"receiver's window"* ||
			"$output" == *"receiver's window"* ]]
	done
	weir show last-1
	[ "$status" -eq 1 ]
	weir show ffff
	[ "$status" -eq 1 ]
	weir show x
	[ "$status" -eq 2 ]
	weir show --table --json
	[ "$status" -eq 2 ]
}

@test "show --json is the run that was put in" {
	[ "$("$WEIR" show --json | jq -S .)" = "$(jq -S . "$data/v1.json")" ]
}

@test "show --table has a column a run" {
	weir show last last --table
	[ "$status" -eq 0 ]
	[[ "${lines[0]}" == *"06070809"*"06070809"* ]]
}

@test "export in every form, also to a file" {
	for form in json ndjson csv text markdown paste; do
		weir export last --format "$form"
		[ "$status" -eq 0 ]
		[ -n "$output" ]
		"$WEIR" export last --format "$form" -o "$BATS_TEST_TMPDIR/out"
		[ "$(cat "$BATS_TEST_TMPDIR/out")" = "$output" ]
	done
	"$WEIR" export last -f ndjson | jq -e . >/dev/null
	weir export
	[ "$status" -eq 2 ]
	weir export last -o /nonexistent/out
	[ "$status" -eq 1 ]
}

@test "export --anonymise names nobody" {
	for form in json ndjson csv text markdown paste; do
		weir export last --anonymise --format "$form"
		[ "$status" -eq 0 ]
		[[ "$output" != *198.18* && "$output" != *lab.example* && "$output" != */home/* ]]
	done
	[ "$("$WEIR" show --json | jq -r .far.name)" = 198.18.0.2 ]
}

@test "tag sets, removes and shows" {
	weir tag last link=fibre 'note=two words'
	[ "$status" -eq 0 ]
	weir tag last --remove room
	weir tag last
	[ "$output" = $'link=fibre\nnote=two words' ]
	weir tag last --remove room
	[ "$status" -eq 1 ]
	weir tag last nothing
	[ "$status" -eq 2 ]
	weir tag last 'a key=1'
	[ "$status" -eq 2 ]
	weir tag last "$(printf 'k%.0s' {1..65})=1"
	[ "$status" -eq 2 ]
	weir tag last "long=$(printf 'v%.0s' {1..257})"
	[ "$status" -eq 2 ]
	weir tag last "$(printf 'k%.0s' {1..64})=$(printf 'v%.0s' {1..256})"
	[ "$status" -eq 0 ]
	weir tag
	[ "$status" -eq 2 ]
}

@test "rm by name and by age; tagged runs stay unless told" {
	weir rm
	[ "$status" -eq 2 ]
	weir rm last --older 3d
	[ "$status" -eq 2 ]
	weir rm last ffff
	[ "$status" -eq 1 ]
	weir rm --older 2099-01-01
	[ "$output" = "0 runs removed" ]
	weir rm --older 2026-11-30 --tagged
	[ "$output" = "0 runs removed" ]
	cp "$WEIR_DB" "$BATS_TEST_TMPDIR/copy.db"
	weir rm last last --db "$BATS_TEST_TMPDIR/copy.db"
	[ "$output" = "1 run removed" ]
	weir rm --older 2099-01-01 --tagged
	[ "$output" = "1 run removed" ]
	weir list
	[ "$status" -eq 0 ]
	[[ "$output" == "no runs stored yet"* ]]
}

@test "a foreign, a broken and a newer database" {
	printf 'This is a letter.\n%.0s' {1..100} >"$WEIR_DB"
	weir list
	[ "$status" -eq 1 ]
	[[ "$output" == *"not a database"* ]]
	head -c 5000 "$data/v1.db" >"$WEIR_DB"
	weir show last
	[ "$status" -eq 1 ]
	weir show last --db "$BATS_TEST_TMPDIR"
	[ "$status" -eq 1 ]
}
