#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir wifi: the rates of a standard, and the rate tables of a text.

bats_require_minimum_version 1.5.0

setup() {
	: "${WEIR:?set WEIR to the program}"
	own=$BATS_TEST_DIRNAME/../data/readers/own
	root=$BATS_TEST_DIRNAME/../data/wifi/tree
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
	[[ $output == *"ext.station.signal_dbm"*"-49"*"advice: HE: firmware chooses"* ]]
	run -1 "$WEIR" wifi "$own/vmstat.txt"
	[[ $output == *"no rate table and no station"* ]]
}

@test "weir wifi DEV: what the driver tells, the rate table, and what is there instead of one" {
	run "$WEIR" wifi --root "$root" wlan0
	[ "$status" -eq 0 ]
	[[ $output == *"channel 36, 5180 MHz, 80 MHz wide, 22.5 dBm"*"noise -92 dBm"*"busy 25.0 %"* ]]
	[[ $output == *"sends at 400.0 Mbit/s, VHT-MCS 9, 2 streams, 40 MHz"*"ht40_sgi_mcs15     A "* ]]
	[[ $output == *"advice: 40 MHz unused"*"advice: HE: firmware chooses"*"/htt_peer_stats ("* ]]
	run "$WEIR" wifi --root "$root" wlan0 02:00:00:00:00:0B --json
	[[ $output == *'"noise_dbm":-92,"busy":0.25,'*'"stations":[{"mac":"02:00:00:00:00:0b",'*'"mode":"HE"'* ]]
	[[ $output != *":0a"* ]]
	run -1 "$WEIR" wifi --root "$root" wlan0 02:00:00:00:00:0c
	run -1 "$WEIR" wifi --root "$root" wlan7
	[[ $output == *"no Wi-Fi device"* ]]
	run "$WEIR" wifi lo
	[ "$status" -eq 77 ] || [[ $output == *"no Wi-Fi device"* ]]
	run -2 "$WEIR" wifi "$own/station.txt" --watch 1s
}

@test "weir wifi DEV --watch: again and again, until it is stopped" {
	"$WEIR" wifi --root "$root" wlan0 --watch 100ms >"$BATS_TEST_TMPDIR/out" &
	local pid=$! i
	for ((i = 0; i < 300; i++)); do
		[ "$(grep -c '^wlan0: phy0' "$BATS_TEST_TMPDIR/out")" -ge 2 ] && break
		sleep 0.1
	done
	kill -TERM "$pid"
	wait "$pid"
	[ "$(grep -c '^wlan0: phy0' "$BATS_TEST_TMPDIR/out")" -ge 2 ]
}
