#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir lab: topologies beyond the pair, what shapes them, and labs that run.
# shellcheck disable=SC2154,SC2016,SC2312 # variables of the tests; jq

load helpers

setup()
{
	need_lab
}

routed()
{
	"$WEIR" tcp "$WEIR_LAB_PEER" -J --no-store -t 0.5 >run.json
	holds 'no faster than the narrow link' '.summaries | map(select(.metric == "goodput" and .stat == "value")) |
		length > 0 and all(.[]; .value < 40e6)'
	nsenter -t "$WEIR_LAB_PID_ROUTER" -n tc qdisc show >qdiscs
	is 'the router shapes both ways' "$(grep -c 'tbf' qdiscs)" 2
	is 'with the queue that was asked for' "$(grep -c 'pfifo .*limit 33p' qdiscs)" 2
	nsenter -t "$WEIR_LAB_PID_NEAR" -n ip -br address >addresses
	has addresses 198.18.1.1/24 fd00:18:1::1/64
	"$WEIR" tcp "$WEIR_LAB_PEER6" -J --no-store -t 0.2 >run.json
	holds 'IPv6 is routed too' '.outcome == "complete"'
}
@test "weir lab --topology router: rate and queue at the router" {
	need tc
	lab --topology=router --rate=20M '--queue=pfifo limit 33' routed
}

crossed()
{
	local p
	is 'far hosts' "$(wc -w <<<"$WEIR_LAB_PEERS")" 2
	for p in $WEIR_LAB_PEERS; do
		"$WEIR" tcp "$p" -J --no-store -t 0.2 >run.json
		holds "from left1 to $p" '.outcome == "complete"'
	done
	nsenter -t "$WEIR_LAB_PID_LEFT2" -n "$WEIR" tcp "$WEIR_LAB_PEER" -J --no-store -t 0.2 >run.json
	holds 'from left2 to right1' '.outcome == "complete"'
}
@test "weir lab --topology dumbbell:2: everybody reaches everybody" {
	lab --topology=dumbbell:2 crossed
}

@test "weir lab: delay where the kernel has it, and said so where not" {
	run "$WEIR" lab --no-serve --delay 10ms --loss 1% -- sh -c 'ping -c 1 $WEIR_LAB_PEER'
	if [ "$status" = 77 ]; then
		[[ $output == *'this kernel has no netem (CONFIG_NET_SCH_NETEM)'* ]]
		[[ $output == *'--delay and --loss need it'* ]]
	else
		[[ $output == *'time=2'* || $output == *'100% packet loss'* ]]
	fi
	run "$WEIR" lab --no-serve --queue nonsense -- true
	[ "$status" = 2 ]
	run "$WEIR" lab --topology ring -- true
	[ "$status" = 2 ]
	run "$WEIR" lab true
	[ "$status" = 2 ]
	[[ $output == *'behind --'* ]]
}

running()
{
	"$WEIR" lab ls | grep -q "^$1 "
}
not_running()
{
	! running "$1"
}
seen()
{
	local lab
	mount -t tmpfs none /run
	[ -z "$("$WEIR" lab ls)" ] || fail 'there is no lab yet'
	spawn one "$WEIR" lab --no-serve --topology router -- sleep 300
	lab=$pid
	until_true 5 running "$lab"
	"$WEIR" lab ls >out
	has out router 'near router far'
	"$WEIR" lab shell "$lab" router -- ip -br address >out
	has out 198.18.1.254 198.18.2.254
	status=0
	"$WEIR" lab shell "$lab" nobody -- true 2>said || status=$?
	is 'no such host' "$status" 2
	has said 'near router far'
	# A record that a stranger could have left is not believed: nobody holds it.
	printf 'weir-lab 1\ntopology pair\nhost near %d\n' $$ >"/run/weir/lab-$$"
	chmod 600 "/run/weir/lab-$$"
	status=0
	"$WEIR" lab rm $$ 2>said || status=$?
	is 'no such lab' "$status" 2
	"$WEIR" lab rm "$lab"
	ended 5 "$lab"
	is 'none is left' "$("$WEIR" lab ls)" ''
	# Killed, it leaves a record that the next look removes.
	spawn one "$WEIR" lab --no-serve -- sleep 300
	lab=$pid
	until_true 5 running "$lab"
	kill -9 "$lab"
	until_true 5 not_running "$lab"
	until_true 5 no_record "$lab"
}
no_record()
{
	[ ! -e "/run/weir/lab-$1" ]
}
@test "weir lab ls, shell, rm" {
	lab --no-serve seen
}
