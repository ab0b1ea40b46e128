#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
How a test ends otherwise than well: Debian's iperf3 at both ends is the model for weir as the client and
as the server. Exit codes, standard error and the error of the JSON document have to be the same, but
for what docs/iperf3.md tells. In a lab: WEIR, WEIR_LAB_PEER, WEIR_LAB_FAR_PID.
"""
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

FAR = ["nsenter", "-t", os.environ["WEIR_LAB_FAR_PID"], "-n", "--"]
THEIRS, OURS = ["iperf3"], [os.environ["WEIR"], "iperf3"]
WAIT = 30

# name, server's options, client's options, (whom, signal) once data flows, ends not compared
CASES = (
    ("refused", "--server-bitrate-limit 1M", "-b 8M", None, "c"),  # the client is told why
    ("refused, JSON", "--server-bitrate-limit 1M -J", "-b 8M -J", None, "c"),
    ("flow label", "", "-L 5", None, "s"),  # 3.12 says that in one case of two
    ("fragments", "", "-u -l 60000 -b 8M -t 1", None, ""),
    ("buffers", "", "-w 400M -t 1", None, "s"),  # it is the server that fails
    ("too large to leave", "", "-u --dont-fragment -l 2000 -b 1M -t 9", None, "s"),
    ("one report", "-i 0", "-i 0 -t 1 -b 8M", None, ""),
    ("client killed", "", "-t 20 -b 1M", ("c", signal.SIGKILL), ""),
    ("client killed, JSON", "-J", "-t 20 -b 1M -J", ("c", signal.SIGKILL), ""),
    ("server told, JSON", "-J", "-t 20 -b 1M -J", ("s", signal.SIGTERM), ""),
    ("server told, UDP", "", "-u -R -t 20 -b 8M", ("s", signal.SIGINT), ""),
)


def sockets(port, extra):
    return subprocess.run(FAR + ["ss", "-Hn"] + extra + ["sport = :%d" % port],
                          capture_output=True, text=True, check=True).stdout


def until(what, condition):
    end = time.monotonic() + WAIT
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("never so: " + what)
        time.sleep(0.02)


def moved(port):
    seen = re.findall(r"bytes_(?:received|acked):(\d+)", sockets(port, ["-tieo", "state", "established"]))
    return any(int(n) > 20000 for n in seen)


def started(command):
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def run(case, server, client, port):
    """{end: (exit code, standard error, errors of its documents or rows of its text)}"""
    _, there, here, cut, _ = case
    udp = "-u" in here
    own = [] if client is THEIRS else ["--no-store"]
    s = started(FAR + server + ["-s", "-1", "-p", str(port)] + shlex.split(there))
    until("it listens", lambda: s.poll() is not None or sockets(port, ["-tl"]))
    c = started(client + ["-c", os.environ["WEIR_LAB_PEER"], "-p", str(port)] + shlex.split(here) + own)
    if cut:
        until("data flows", lambda: sockets(port, ["-u"]).strip() if udp else moved(port))
        (c if cut[0] == "c" else s).send_signal(cut[1])
    found = {"c": (c, here) + c.communicate(timeout=WAIT),
             "s": (s, there) + s.communicate(timeout=WAIT)}
    return {end: (p.returncode, mask(err), said(out, "-J" in options))
            for end, (p, options, out, err) in found.items()}


def mask(text):
    return re.sub(r"\d+", "#", text)


def said(out, is_json):
    """A document's error; of a text how often each kind of row is there."""
    if not is_json:
        return out.count("receiver"), out.count("sender"), out.count("[ ID]") if "-i 0" in out else 0
    return json.loads(out).get("error") if out.strip() else None


def check(case, runs):
    try:
        model, client, server = [r.result() for r in runs]
    except (RuntimeError, ValueError, subprocess.SubprocessError) as error:
        return ["%s: %s" % (case[0], error)]
    pairs = (("c", client["c"], model["c"]), ("s", server["s"], model["s"]))
    return ["%s, %s: %r, not %r" % (case[0], end, ours, theirs)
            for end, ours, theirs in pairs if end not in case[4] and ours != theirs]


def main():
    ends = ((THEIRS, THEIRS), (THEIRS, OURS), (OURS, THEIRS))
    with ThreadPoolExecutor(3 * len(CASES)) as pool:
        runs = [[pool.submit(run, case, *pair, 5300 + 3 * i + k) for k, pair in enumerate(ends)]
                for i, case in enumerate(CASES)]
        bad = [line for case, r in zip(CASES, runs) for line in check(case, r)]
    print("\n".join(bad))
    return bool(bad)


sys.exit(main())
