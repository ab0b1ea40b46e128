#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The same runs, by the same script, judged: weir keeps what its iperf3 measures, and `weir compare`
# says whether the difference is more than chance, how sure that is, and what would settle it.
#
#   before-after-weir.sh HOST 'COMMAND THAT MAKES THE CHANGE' [RUNS [SECONDS]]
set -eu
here=$(dirname "$0")
WEIR=${WEIR:-weir}
TAG=$(date +%s)
export TAG
IPERF3="$WEIR iperf3" sh "$here/before-after-iperf3.sh" "$@"
echo
# Exit code 3: no improvement was shown.
"$WEIR" compare "tag:state=before-$TAG" "tag:state=after-$TAG" --require better
