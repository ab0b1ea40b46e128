#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir wifi: the rates of a standard, and the rate tables of a text.

bats_require_minimum_version 1.5.0

setup() {
	: "${WEIR:?set WEIR to the program}"
	own=$BATS_TEST_DIRNAME/../data/readers/own
}

@test "weir wifi rates: text, CSV and JSON have one rate" {
	run "$WEIR" wifi rates --std ac --width 80 --gi 0.4 --streams 2
	[ "$status" -eq 0 ]
	[[ $output == *"802.11ac, 2 streams"* && $output == *"866.7"* ]]
	run "$WEIR" wifi rates --std ac --width 80 --gi 0.4 --streams 2 --csv
	[ "${lines[10]}" = "9,256-QAM,5/6,2,80,0.4,866666667" ]
	run "$WEIR" wifi rates --std ac --width 80 --gi 0.4 --streams 2 --goodput 433333333 --json
	[[ $output == *'"coding":"5/6","streams":2,"width_mhz":80,"gi_us":0.4,'*'"share":0.5'* ]]
}

@test "weir wifi rates: what a standard has not is a wrong use" {
	run -2 "$WEIR" wifi rates --std n --width 80
	[[ $output == *"802.11n has no such width"* ]]
	run -2 "$WEIR" wifi rates --std n --streams 5
	run -2 "$WEIR" wifi
}

@test "weir wifi FILE: the rates in use and a station" {
	run "$WEIR" wifi "$own/rc_stats-4.x.txt" "$own/station.txt"
	[ "$status" -eq 0 ]
	[[ $output == *"ht40_sgi_mcs15     A "*"98.5 %"* ]]
	[[ $output == *"ext.station.signal_dbm"*"-49"* ]]
	run -1 "$WEIR" wifi "$own/vmstat.txt"
	[[ $output == *"no rate table and no station"* ]]
}
