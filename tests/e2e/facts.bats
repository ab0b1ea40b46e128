#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir facts, and that a run keeps them and a comparison tells what differs.

load helpers

setup()
{
	need_lab
}

machine()
{
	local user=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all
		--bounding-set=-all)
	"$WEIR" facts >facts.txt
	has facts.txt interfaces eth0 'netfilter' 'sysctl'
	"$WEIR" facts -J -i eth0 >run.json
	holds 'the lab interface' '.interfaces | keys == ["eth0"] and .eth0.kind == "veth" and
		.eth0.mtu == 1500 and .eth0.up and .eth0.rx_queues >= 1 and (.eth0.offloads | length > 5)'
	if [ "$(id -u)" = 0 ]; then
		"${user[@]}" "$WEIR" facts -J >run.json
		holds 'a user knows less, and says so' '.netfilter.nft_rules == null and .processor.model'
	fi
	mkdir -p gate/proc/sys/kernel
	echo gate >gate/proc/sys/kernel/hostname
	"$WEIR" facts --root gate >out
	grep -qE '^host +gate$' out || fail "of a copy: $(head -n 3 out)"
	! "$WEIR" facts -i nothing 2>err || fail 'no such interface'
	has err nothing
}
@test "weir facts: of a lab, as a user, one interface" {
	lab --no-serve machine
}

differ()
{
	sysctl -qw net.ipv4.tcp_slow_start_after_idle=1 net.ipv4.tcp_sack=1
	far sysctl -qw net.ipv4.tcp_dsack=1
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.2 -q --tag side=a
	sysctl -qw net.ipv4.tcp_slow_start_after_idle=0 net.ipv4.tcp_sack=0
	far sysctl -qw net.ipv4.tcp_dsack=0
	"$WEIR" tcp "$WEIR_LAB_PEER" -t 0.2 -q --tag side=b
	"$WEIR" compare tag:side=a tag:side=b --varied tcp_sack >out
	has out 'near.sysctl.net.ipv4.tcp_slow_start_after_idle: (default) | 0' 'far.sysctl.net.ipv4.tcp_dsack: (default) | 0'
	! grep -q tcp_sack out || fail "declared, and told: $(cat out)"
}
@test "a comparison tells the sysctl that was not declared" {
	lab differ
}
