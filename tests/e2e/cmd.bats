#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# What every command owes: help, one line of error, completion from the same rows as the parser.

bats_require_minimum_version 1.5.0

setup() {
	: "${WEIR:?set WEIR to the program}"
}

commands() {
	"$WEIR" --help | awk '/^  [a-z]/ { print $1 }'
}

@test "the overview lists the commands and goes to standard output" {
	run --separate-stderr "$WEIR" --help
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[[ $output == *"weir tcp"* || $output == *"  tcp "* ]]
	[ "$(commands | wc -l)" -ge 9 ]
}

@test "without a command the overview goes to standard error, exit 2" {
	run --separate-stderr "$WEIR"
	[ "$status" -eq 2 ]
	[ -z "$output" ]
	[[ $stderr == *"usage: weir COMMAND"* ]]
}

@test "each command has help in which each option has words" {
	for command in $(commands); do
		run "$WEIR" "$command" --help
		[ "$status" -eq 0 ]
		# A drop-in has the usage of the tool that it stands for.
		[[ $output == *"usage: weir $command"* || $output == *"Usage: $command"* ]]
		run "$WEIR" help "$command"
		[ "$status" -eq 0 ]
		[ "$("$WEIR" "$command" --help | awk 'length > 80' | wc -l)" -eq 0 ]
	done
}

@test "an unknown command, an unknown option and a missing argument are named, exit 2" {
	run "$WEIR" tpc
	[ "$status" -eq 2 ]
	[[ $output == *'"tpc" is not a command'* ]]
	run "$WEIR" tcp 127.0.0.1 --tiem 3
	[ "$status" -eq 2 ]
	[[ $output == *"--tiem"*"--time"* ]]
	run "$WEIR" tcp
	[ "$status" -eq 2 ]
	[[ $output == *HOST* ]]
}

@test "control bytes in an argument do not reach the terminal" {
	run "$WEIR" "$(printf 'a\033[31mb')"
	[ "$status" -eq 2 ]
	[[ $output != *$'\033'* ]]
	run "$WEIR" tcp 127.0.0.1 --time "$(printf '\033]0;x\007')"
	[ "$status" -eq 2 ]
	[[ $output != *$'\033'* ]]
}

@test "bash completion knows every command and each long option of tcp" {
	run bash -c "source <('$WEIR' completion bash); COMP_WORDS=(weir ''); COMP_CWORD=1; _weir; printf '%s\n' \"\${COMPREPLY[@]}\""
	[ "$status" -eq 0 ]
	for command in $(commands); do
		grep -qx -- "$command" <<<"$output"
	done
	run bash -c "source <('$WEIR' completion bash); COMP_WORDS=(weir tcp --); COMP_CWORD=2; _weir; printf '%s\n' \"\${COMPREPLY[@]}\""
	for option in --time --each-way --congestion --repeat --db; do
		grep -qx -- "$option" <<<"$output"
	done
}

@test "zsh completion and the man page's options come from the same rows" {
	run "$WEIR" completion zsh
	[ "$status" -eq 0 ]
	[[ $output == *"--each-way"* ]]
	run "$WEIR" completion man tcp
	[ "$status" -eq 0 ]
	[[ $output == *"each-way"* ]]
	run "$WEIR" completion fish
	[ "$status" -eq 2 ]
}

@test "version" {
	run "$WEIR" --version
	[ "$status" -eq 0 ]
	[[ $output =~ ^weir\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "an output that cannot be written is a failure" {
	[ -c /dev/full ] || skip 'no /dev/full'
	for args in --help --version 'tcp --help' 'completion bash' 'completion man tcp'; do
		# shellcheck disable=SC2086 # words
		run bash -c '"$0" "$@" 2>&1 >/dev/full' "$WEIR" $args
		[ "$status" -eq 1 ]
		[[ $output == *"writing the output: No space left on device"* ]]
		# shellcheck disable=SC2086
		run bash -c 'set -o pipefail; "$0" "$@" 2>&1 | true' "$WEIR" $args
		[ "$status" -eq 0 ]
		[ -z "$output" ]
	done
}
