#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir watch: of a lab with traffic, as a user, and over an ssh that is a script.

load helpers

setup()
{
	need_lab
	need ip
}

# An ssh that runs the command here; what else it was told is in ssh.args.
fake_ssh()
{
	mkdir -p bin
	printf '%s\n' '#!/bin/sh' 'printf "%s\n" "$@" >ssh.args' 'for last; do :; done' \
		"${1:-exec sh -c \"\$last\"}" >bin/ssh
	chmod +x bin/ssh
	PATH=$PWD/bin:$PATH
}

carries()
{
	[ "$(ip -j -s link show dev eth0 | jq '.[0].stats64.tx.bytes')" -gt 1000000 ]
}
live()
{
	local user=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all
		--bounding-set=-all)
	spawn load "$WEIR" tcp "$WEIR_LAB_PEER" -t 60 -q --no-store -b 100M
	until_true 5 carries
	"$WEIR" watch --json-stream -i 100ms -n 3 >lines
	is 'intervals' "$(wc -l <lines)" 3
	jq -s . lines >run.json
	holds 'traffic is seen' 'any(.[].moved[]; .group == "iface" and .of == "eth0" and .name == "tx_bytes" and
		.rate > 1e6) and any(.[].moved[]; .group == "snmp" and .of == "Tcp" and .name == "OutSegs")'
	holds 'per processor' 'any(.[].moved[]; .group == "softnet" and .cpu >= 0 and .name == "processed")'
	holds 'only what moved; each once' 'all(.[]; all(.moved[]; .delta > 0) and .own_cost > 0 and
		(.moved | map([.group, .of, .cpu, .name]) | length == (unique | length)))'
	"$WEIR" watch --once -i 300ms --interface eth0 --tcp >out
	has out 'what else moved' 'eth0' 'own cost' 'TCP connection' "$WEIR_LAB_PEER:5201"
	"$WEIR" watch --once -i 300ms --tcp --json-stream >run.json
	holds 'the connection that moves most' '.tcp[0] | .bytes_acked > 0 and .rtt > 0 and
		(.peer | endswith(":5201"))'
	! "$WEIR" watch --interface none0 --once 2>err || fail 'an interface that is not there'
	has err "no interface 'none0'"
	if [ "$(id -u)" = 0 ]; then
		"${user[@]}" "$WEIR" watch --once -i 100ms >out
		has out 'what else moved' 'snmp Tcp OutSegs'
	fi
}
@test "live counters of a lab, as JSON, as a page, as a user" {
	lab live
}

listens_here()
{
	[ -n "$(ss -Hltn "sport = :5201")" ]
}
elsewhere()
{
	fake_ssh
	spawn server "$WEIR" serve
	until_true 5 listens_here
	"$WEIR" watch --observe root@gate --json-stream -i 100ms -n 2 >lines
	jq -s . lines >run.json
	holds 'the other host' 'length == 2 and all(.[]; .of == "root@gate") and
		any(.[].moved[]; .group == "cpu") and any(.[].moved[]; .group == "kernel")'
	has ssh.args -oBatchMode=yes root@gate /proc/net/softnet_stat 'tc -s qdisc' /sys/class/net/
	! sed 's/.* else :;//' ssh.args | grep -q interrupts || fail 'interrupts were not asked for'
	"$WEIR" tcp 127.0.0.1 --observe gate -t 0.4 -J --no-store >run.json
	holds 'in a run' '[.summaries[] | select(.dims.view == "device") | .metric] |
		index("cpu.core_max") and index("softnet.dropped") and index("ip.packets")'
	holds 'and what it is' '.near.facts.observed | .kernel and .sysctl and .processor.model and .interfaces'
	"$WEIR" facts --observe gate >out
	has out sysctl 'net.ipv4.tcp_rmem' "$(uname -r)"
	! "$WEIR" watch --observe -oProxyCommand=x --once 2>err || fail 'an option for ssh'
	! "$WEIR" watch --observe 'a;b' --once 2>err || fail 'a command for a shell'
	has err '--observe'
	fake_ssh 'echo refused >&2; exit 255'
	! "$WEIR" tcp 127.0.0.1 --observe gate -t 0.4 2>err || fail 'ssh failed, and it was measured'
	has err 'ssh ended'
	! "$WEIR" watch --observe gate --once 2>err || fail 'ssh failed'
	has err 'ssh ended' 'ssh gate true'
	fake_ssh 'exec cat /dev/zero'
	! "$WEIR" watch --observe gate --once -i 100ms 2>err || fail 'nothing came'
	has err 'no counters came'
	fake_ssh 'exec yes'
	! "$WEIR" watch --observe gate --once 2>err || fail 'without an end'
	has err 'too much came'
}
@test "--observe: another host by ssh, and what it must not be" {
	lab --no-serve elsewhere
}
