#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# weir knobs and weir set: in a lab, with a /run of its own, so that no other test's journal is met.
# shellcheck disable=SC2154,SC2016 # variables of the tests; jq

load helpers

setup()
{
	need_lab
}

ecn_is()
{
	[ "$(cat $ecn)" = "$1" ]
}
own_run()
{
	ecn=/proc/sys/net/ipv4/tcp_ecn
	mount -t tmpfs none /run
}
journals()
{
	find /run/weir -name 'journal-*' | wc -l
}
no_journal()
{
	[ "$(journals)" = 0 ]
}

# ---- what there is ----

listed()
{
	local user=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all
		--bounding-set=-all)
	own_run
	"$WEIR" knobs >knobs.txt
	has knobs.txt 'sysctl:net.ipv4.tcp_rmem' 'iface:eth0.mtu' 'iface:eth0.qdisc' \
		'iface:eth0.feature:rx-gro' 'boot:mitigations' 'by a reboot'
	"$WEIR" knobs -J 'iface:eth0.*' net.core.rmem_max >run.json
	holds 'each tells what it has to' '.knobs | length > 20 and
		all(.[]; .knob and .range and .reversible and .needs and .affects and (has("value")))'
	holds 'the MTU' '.knobs[] | select(.knob == "iface:eth0.mtu") | .value == "1500" and .min == 68 and
		.reversible == "run time" and .needs == "CAP_NET_ADMIN" and .scope == "interface"'
	holds 'host-wide' '.knobs[] | select(.knob == "sysctl:net.core.rmem_max") | .needs == "root"'
	! "$WEIR" knobs no.such.thing 2>said || fail 'no such knob'
	has said 'no knob here'
	[ "$(id -u)" != 0 ] || {
		"${user[@]}" "$WEIR" knobs iface:eth0.mtu >knobs.txt
		has knobs.txt 1500 'CAP_NET_ADMIN (missing)'
		status=0
		XDG_RUNTIME_DIR=/nonexistent "${user[@]}" "$WEIR" set iface:eth0.mtu=1400 -- true \
			2>said || status=$?
		[ "$status" != 0 ] || fail 'a user may not'
		mkdir -m 700 /run/user
		chown 65534:65534 /run/user
		status=0
		XDG_RUNTIME_DIR=/run/user "${user[@]}" "$WEIR" set iface:eth0.mtu=1400 -- true \
			2>said || status=$?
		is 'exit status: a privilege is missing' "$status" 77
		has said CAP_NET_ADMIN
	}
}
@test "weir knobs: what can be changed, by whom, as a user too" {
	lab --no-serve listed
}

# A user has every privilege over hosts that are made of a user namespace.
in_own_lab()
{
	"$WEIR" set net.ipv4.tcp_ecn=1 iface:eth0.mtu=1400 'iface:eth0.qdisc=pfifo limit 9' -- \
		cat /proc/sys/net/ipv4/tcp_ecn /sys/class/net/eth0/mtu
	cat /proc/sys/net/ipv4/tcp_ecn /sys/class/net/eth0/mtu
	"$WEIR" set net.core.netdev_budget=200 -- true || echo "status $?"
}
@test "weir set: as a user, in a lab of one's own" {
	local user=()
	cd "$BATS_TEST_TMPDIR"
	mkdir -m 700 user
	if [ "$(id -u)" = 0 ]; then
		user=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all)
		mv user "/tmp/weir-user-$$"
		ln -s "/tmp/weir-user-$$" user
		chown 65534:65534 "/tmp/weir-user-$$"
	fi
	export XDG_RUNTIME_DIR
	XDG_RUNTIME_DIR=$(realpath user)
	declare -f in_own_lab >functions
	run "${user[@]}" "$WEIR" lab --no-serve -- bash -c "$(cat functions); in_own_lab" 2>&1
	[ "$(id -u)" != 0 ] || rm -rf "/tmp/weir-user-$$"
	[[ $output != *'cannot make a network namespace'* ]] || skip 'no user namespaces'
	[[ $output == *'3 settings put back'* && $output == *'status 77'* ]]
	[ "$(grep -xE '1|1400|2|1500' <<<"$output" | tr '\n' ' ')" = '1 1400 2 1500 ' ]
}

# ---- set, and put back ----

changed()
{
	own_run
	status=0
	"$WEIR" set net.ipv4.tcp_ecn=1 iface:eth0.mtu=1400 'iface:eth0.qdisc=pfifo limit 50' -- \
		sh -c "cat $ecn /sys/class/net/eth0/mtu; exit 5" >out 2>said || status=$?
	is 'the exit status is the command'"'"'s' "$status" 5
	is 'as it was set' "$(tr '\n' ' ' <out)" '1 1400 '
	has said 'iface:eth0.mtu: 1500 -> 1400' '3 settings put back'
	is 'and after' "$(cat $ecn /sys/class/net/eth0/mtu | tr '\n' ' ')" '2 1500 '
	status=0
	"$WEIR" set net.ipv4.tcp_ecn=1 net.ipv4.tcp_sack=7 -- true 2>said || status=$?
	is 'a wrong value is found before the first change' "$status" 2
	! grep -q -e '->' said || fail 'changed something'
	"$WEIR" set -t 0.1 'net.ipv4.tcp_[ds]*ack=0' 2>said
	has said 'tcp_sack: 1 -> 0' 'tcp_dsack: 1 -> 0' 'the time is up' '2 settings put back'
	# One at a time; the second is told who is at it.
	spawn first "$WEIR" set net.ipv4.tcp_ecn=1
	until_true 5 ecn_is 1
	status=0
	"$WEIR" set net.ipv4.tcp_ecn=0 -- true 2>said || status=$?
	is 'the second is refused' "$status" 1
	has said "process $pid,"
	kill -HUP "$pid" # the terminal is lost
	ended 5 "$pid"
	is 'put back' "$(cat $ecn)" 2
	no_journal || fail 'a journal is left'
}
@test "weir set: put back after the command, the time, a lost terminal; one at a time" {
	lab --no-serve changed
}

guardian_of()
{
	ps -o pid= --ppid "$1" | tr -d ' '
}
killed()
{
	own_run
	spawn set "$WEIR" set net.ipv4.tcp_ecn=1
	until_true 5 ecn_is 1
	kill -9 "$pid"
	until_true 5 ecn_is 2
	until_true 5 no_journal
	# The guardian too: the next start, or --restore.
	spawn set "$WEIR" set net.ipv4.tcp_ecn=1
	until_true 5 ecn_is 1
	kill -STOP "$pid"
	kill -9 "$(guardian_of "$pid")" "$pid"
	until_true 5 gone "$pid"
	is 'nobody is there to put it back' "$(cat $ecn)" 1
	"$WEIR" knobs tcp_ecn >out # only looks
	is 'still' "$(cat $ecn)" 1
	"$WEIR" set --restore 2>said
	has said '1 left by a weir that is gone: put back'
	is 'put back' "$(cat $ecn)" 2
	no_journal || fail 'a journal is left'
	# A journal that is not one's own, and one of another boot.
	printf 'weir-journal 1\nset\t1\t%s\t0\tnet.ipv4.tcp_ecn\t\t0\t000000000000\t\t0\t2\n' \
		01234567-89ab-cdef-0123-456789abcdef >/run/weir/journal-x
	chmod 600 /run/weir/journal-x
	"$WEIR" set --restore 2>said
	has said 'another boot: void'
	ln -s /etc/passwd /run/weir/journal-y
	status=0
	"$WEIR" set --restore 2>said || status=$?
	is 'a planted link' "$status" 1
	is 'unchanged' "$(cat $ecn)" 2
}
@test "weir set: put back when it is killed, by the guardian or later" {
	lab --no-serve killed
}

# ---- at every system call ----

# try_kill CALL N: weir set, killed at the N-th call of that name; then what the next start makes of it.
try_kill()
{
	strace -qq -o /dev/null -e trace="$1" -e inject="$1:signal=KILL:when=$2" "$WEIR" set -t 0.01 \
		net.ipv4.tcp_ecn=1 iface:eth0.mtu=1400 2>/dev/null || killed=$((killed + 1))
	until_true 10 no_owner
	"$WEIR" set --restore 2>/dev/null
	is "after a kill at $1 $2" "$(cat $ecn /sys/class/net/eth0/mtu | tr '\n' ' ')" '2 1500 '
}
at_each_call()
{
	local count call n killed=0
	own_run
	strace -qq -o trace "$WEIR" set -t 0.01 net.ipv4.tcp_ecn=1 iface:eth0.mtu=1400 2>said
	sed -n 's/^\([a-z0-9_]*\)(.*/\1/p' trace | sort | uniq -c >calls
	while read -r count call; do
		[ "$call" != exit_group ] && [ "$call" != execve ] || continue
		for ((n = 1; n <= count; n++)); do
			try_kill "$call" "$n"
		done
	done <calls
	[ "$killed" -gt 150 ] || fail "only $killed kills"
}
no_owner()
{
	! pgrep -x weir-guardian --ns $$ --nslist net >/dev/null
}
@test "weir set: killed at every system call" {
	[ "${WEIR_CHECK_ALL:-0}" = 1 ] || skip 'with make check-all'
	need strace
	LAB_SECONDS=1200 lab --no-serve at_each_call
}

# ---- cut off ----

cut_off()
{
	own_run
	spawn_far listen python3 -c 'import socket, time
s = socket.create_server(("", 2222)); c = s.accept()[0]; time.sleep(300)'
	until_true 5 listens 2222
	spawn talk python3 -c 'import socket, time, os
s = socket.create_connection((os.environ["WEIR_LAB_PEER"], 2222))
print(*s.getpeername(), *s.getsockname(), flush=True)
while True: s.send(b"x"); time.sleep(0.2)'
	until_true 5 test -s talk.out
	SSH_CONNECTION=$(cat talk.out) spawn set "$WEIR" set net.ipv4.tcp_ecn=1 iface:eth0.mtu=1400
	until_true 5 ecn_is 1
	far ip link set eth0 down
	until_true 30 grep -q 'nobody answers' set.err
	ended 5 "$pid"
	is 'put back' "$(cat $ecn /sys/class/net/eth0/mtu | tr '\n' ' ')" '2 1500 '
	far ip link set eth0 up
}

# On a terminal that is full and that nobody reads; nor is the variable handed on, as by sudo.
cut_off_full()
{
	own_run
	spawn_far listen python3 -c 'import socket, time
s = socket.create_server(("", 2222)); c = s.accept()[0]; time.sleep(300)'
	until_true 5 listens 2222
	spawn talk python3 -c 'import socket, time, os, pty
s = socket.create_connection((os.environ["WEIR_LAB_PEER"], 2222))
os.environ["SSH_CONNECTION"] = " ".join(map(str, (*s.getpeername(), *s.getsockname())))
if pty.fork()[0] == 0:
    os.execlp("sh", "sh", "-c", "env -u SSH_CONNECTION $WEIR set net.ipv4.tcp_ecn=1 -- yes; exit 0")
while True: s.send(b"x"); time.sleep(0.2)'
	until_true 5 ecn_is 1
	far ip link set eth0 down
	until_true 30 ecn_is 2
	until_true 10 no_owner
	far ip link set eth0 up
}
@test "weir set: put back when who came by ssh is cut off" {
	[ "${WEIR_CHECK_ALL:-0}" = 1 ] || skip 'with make check-all'
	need python3
	lab --no-serve cut_off
}
@test "weir set: put back when the terminal is full and the variable is gone" {
	[ "${WEIR_CHECK_ALL:-0}" = 1 ] || skip 'with make check-all'
	need python3
	lab --no-serve cut_off_full
}

# ---- a terminal's keys ----

stopped()
{
	own_run
	python3 - <<-'E'
		import os, pty, signal
		pid, fd = pty.fork()
		if pid == 0: # the shell; weir is a job of it
		    job = os.fork()
		    if job:
		        os._exit(os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]))
		    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
		    os.setpgid(0, 0)
		    os.tcsetpgrp(0, os.getpid())
		    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
		    os.execlp(os.environ["WEIR"], "weir", "set", "net.ipv4.tcp_ecn=1", "--", "sh", "-c",
		              "echo up; read x; echo got $x")
		said = b""
		def until(word):
		    global said
		    while word not in said:
		        said += os.read(fd, 999)
		until(b"up")
		os.write(fd, b"\x1a")
		until(b"goes on")
		os.write(fd, b"word\n")
		until(b"got word")
		assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
	E
	is 'put back' "$(cat $ecn)" 2
}
@test "weir set: Ctrl-Z stops nothing while something is set" {
	need python3
	lab --no-serve stopped
}

# ---- below a folder ----

rooted()
{
	mkdir -p r/sys/devices/system/cpu/cpu{0,1}/cpufreq r/proc/irq/9
	echo powersave | tee r/sys/devices/system/cpu/cpu{0,1}/cpufreq/scaling_governor >/dev/null
	echo 0-1 >r/proc/irq/9/smp_affinity_list
	"$WEIR" set --root r 'cpu:*.governor=performance' irq:9.affinity=1 -- \
		cat r/sys/devices/system/cpu/cpu{0,1}/cpufreq/scaling_governor r/proc/irq/9/smp_affinity_list >out
	is 'meanwhile' "$(tr '\n' ' ' <out)" performanceperformance1
	is 'after' "$(cat r/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor)" powersave
	"$WEIR" knobs --root r governor >out
	has out cpu:0.governor cpu:1.governor powersave
}
@test "weir set --root: a folder stands for /" {
	cd "$BATS_TEST_TMPDIR"
	rooted
}
