#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Before and after, as it has always been done with iperf3: a few runs, a change, a few runs, and
# a look at two averages. Works with iperf3 and with weir standing in for it.
#
#   before-after-iperf3.sh HOST 'COMMAND THAT MAKES THE CHANGE' [RUNS [SECONDS]]
set -eu
host=$1 change=$2 runs=${3:-3} seconds=${4:-5}
IPERF3=${IPERF3:-iperf3} # or: IPERF3='weir iperf3'

average() {
	i=0 sum=0
	while [ "$i" -lt "$runs" ]; do
		# shellcheck disable=SC2086 # a command of words
		rate=$($IPERF3 -c "$host" -t "$seconds" -J ${1:-} |
			jq -r '.error // (.end.sum_received.bits_per_second / 1e6)')
		case $rate in *[!0-9.]*) echo "$rate" >&2; exit 1 ;; esac
		echo "  run $((i + 1)): $rate Mbit/s" >&2
		sum=$(echo "$sum $rate" | awk '{print $1 + $2}')
		i=$((i + 1))
	done
	echo "$sum $runs" | awk '{print $1 / $2}'
}

echo "before:" >&2
before=$(average "${TAG:+--tag state=before-$TAG}")
sh -c "$change"
echo "after:" >&2
after=$(average "${TAG:+--tag state=after-$TAG}")
echo "$before $after" | awk '{printf "before %.1f Mbit/s, after %.1f Mbit/s: %+.1f %%\n",
	$1, $2, 100 * ($2 / $1 - 1)}'
echo "(Is that more than these runs differ among themselves? See before-after-weir.sh.)"
