#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
What iperf3 prints, as one set of patterns, blank by blank, and one set of JSON key paths with
their types; a recording of iperf3 and what weir prints both have to fit.

  lines FILE...             every line of every file fits one pattern
  same RECORDED FILE ...    and the patterns follow each other in the same order, pair by pair
  keys RECORDED FILE ...    every key path of the recordings (a pattern of names) is in FILE, with a
                            type that they have, pair by pair
"""
import glob
import json
import re
import sys

TIME = r" (?=.{6,7}-) *\d+\.\d\d-(?=.{6,7} sec)\d+\.\d\d *? sec"
NUMBER = r"(?=[ \d.]{4,} ) {0,3}\d+(?:\.\d+)?"
TRANSFER = "  " + NUMBER + r" [KMGT]?Bytes"
RATE = "  " + NUMBER + r" [KMGT]?(?:bits|Bytes)/sec"
ROLE = r"(?:\[[RT]X-[CS]\])?"
ID = r"\[ {0,2}\d+\]" + ROLE
SUM = r"\[SUM\]" + ROLE
ROW = TIME + TRANSFER + RATE
RETR = r"  (?=[ \d]{3,} ) {0,2}\d+"
JITTER = r"  \d+\.\d{3} ms"
LOST = r"  -?\d+/-?\d+ \(-?[\d.e+-]+%\)"
UNKNOWN = r"  Unknown/\d+"
OMITTED = r"(?:\(omitted\))?"
HEAD = r"\[ ID\](?:\[Role\])? Interval           Transfer     Bitrate"
HOST = r"[\w.:%-]+"

PATTERNS = [
    ("command", r"\$ iperf3 .*"),
    ("exit", r"exit=\d+"),
    ("empty", r""),
    ("done", r"iperf Done\."),
    ("version", r"iperf \d+\.\d+\+?"),
    ("system", r"Linux \S+ .+"),
    ("connecting", "Connecting to host " + HOST + r", port \d+"),
    ("reverse", "Reverse mode, remote host " + HOST + " is sending"),
    ("stream", r"\[ {0,2}\d+\] local " + HOST + r" port \d+ connected to " + HOST + r" port \d+"),
    ("listening", r"Server listening on \d+ \(test #\d+\)"),
    ("line", "-" * 59),
    ("accepted", "Accepted connection from " + HOST + r", port \d+"),
    ("mss", r"Control connection MSS \d+"),
    ("udp-size", r"Setting UDP block size to \d+"),
    ("time", r"Time: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d (?:GMT|UTC)"),
    ("cookie", r"      Cookie: [\x21-\x7e]{36}"),
    ("tcp-mss", r"      TCP MSS: \d+(?: \(default\))?"),
    ("target", r"      Target Bitrate: \d+"),
    ("starting", r"Starting Test: protocol: (?:TCP|UDP), \d+ streams, \d+ byte blocks, omitting "
                 r"\d+ seconds, (?:\d+ second test|\d+ bytes to send|\d+ blocks to send), tos \d+"),
    ("head-tcp", HEAD + "         Retr  Cwnd"),
    ("head-tcp-end", HEAD + "         Retr"),
    ("head", HEAD),
    ("head-udp-send", HEAD + "         Total Datagrams"),
    ("head-udp", HEAD + "         Jitter    Lost/Total Datagrams"),
    ("rule", r"- " * 24 + "-"),
    ("tcp-send", ID + ROW + RETR + "   " + NUMBER + r" [KMGT]?Bytes {7}" + OMITTED),
    ("tcp-send-sum", SUM + ROW + RETR + r" {13}" + OMITTED),
    ("receive", ID + ROW + r" {18}" + OMITTED),
    ("receive-sum", SUM + ROW + r" {18}" + OMITTED),
    ("udp-send", ID + ROW + r"  (?: {10})?\d+  " + OMITTED),
    ("udp-send-sum", SUM + ROW + r"  (?: {10})?\d+  " + OMITTED),
    ("udp-receive", ID + ROW + JITTER + LOST + "  " + OMITTED),
    ("udp-receive-sum", SUM + ROW + JITTER + LOST + "  " + OMITTED),
    ("tcp-sender", ID + ROW + RETR + r" {12,13}sender"),
    ("tcp-sender-sum", SUM + ROW + RETR + r" {13}sender"),
    ("receiver", ID + ROW + r" {18}receiver"),
    ("receiver-sum", SUM + ROW + r" {18}receiver"),
    ("udp-sender", ID + ROW + JITTER + LOST + "  sender"),
    ("udp-sender-sum", SUM + ROW + JITTER + LOST + "  sender"),
    ("udp-receiver", ID + ROW + JITTER + "(?:" + LOST + "|" + UNKNOWN + ")  receiver"),
    ("udp-receiver-sum", SUM + ROW + JITTER + "(?:" + LOST + "|" + UNKNOWN + ")  receiver"),
    ("out-of-order", SUM + r" {1,2}\d+\.\d- *\d+\.\d sec  \d+ datagrams received out-of-order"),
    ("complete", r"Test Complete\. Summary Results:"),
    ("not-available", r"\[(?:SUM| {0,2}\d+)\] \((?:sender|receiver) statistics not available\)"),
    ("cpu", r"CPU Utilization: local/(?:sender|receiver) [\d.]+% \([\d.]+%u/[\d.]+%s\), "
            r"remote/(?:sender|receiver) [\d.]+% \([\d.]+%u/[\d.]+%s\)"),
    ("congestion", r"(?:snd|rcv)_tcp_congestion \w+"),
    ("server-output", r"Server output:"),
    ("file", r" {8}(?:Sent|Received) +" + NUMBER + r" [KMGT]?Bytes / +" + NUMBER +
             r" [KMGT]?Bytes \(\d+%\) of .+"),
]
COMPILED = [(name, re.compile(p)) for name, p in PATTERNS]
# --timestamps and -T
PREFIX = re.compile(r"^(?:\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4} )?(?:\w+:  )?")


def kind(line):
    for text in (line, PREFIX.sub("", line)):
        for name, pattern in COMPILED:
            if pattern.fullmatch(text):
                return name
    return None


def kinds(path):
    found, bad = [], 0
    for number, line in enumerate(open(path, encoding="utf-8").read().splitlines(), 1):
        name = kind(line)
        if name is None:
            print("%s:%d: fits no pattern: %r" % (path, number, line))
            bad += 1
        found.append(name)
    return found, bad


INTERVAL = re.compile(r"(?:tcp-send|udp-send|receive|udp-receive)(?:-sum)?")


def shape(path):
    """Without what only the recording has, and of all intervals each kind of row once: how many
    there are is the clock's matter."""
    found, bad = kinds(path)
    out, seen = [], []
    for name in found:
        if name in ("command", "exit"):
            continue
        if INTERVAL.fullmatch(name or ""):
            if name not in seen:
                seen.append(name)
                out.append(name)
            # A rule between two intervals.
            if out[-1] == "rule":
                out.pop()
            continue
        if name == "head":
            seen = []
        out.append(name)
    return out, bad


def paths(value, at=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, at + "." + key if at else key)
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, at + "[]")
    else:
        yield at, type(value).__name__


# Whole by chance in the recordings.
REAL = re.compile(r"(bits_per_second|seconds|start|end|jitter_ms|lost_percent|host_\w+|remote_\w+)$")


def key_types(path):
    found = {}
    text = open(path, encoding="utf-8").read()
    documents = [json.loads(line) for line in text.splitlines()] \
        if path.endswith(".ndjson") else [json.loads(text)]
    for document in documents:
        for at, name in paths(document):
            found.setdefault(at, set()).add(name)
    return found


def keys(recorded, ours):
    want, have, bad = {}, key_types(ours), 0
    for path in recorded:
        for at, names in key_types(path).items():
            want.setdefault(at, set()).update(names)
    for at, names in sorted(want.items()):
        allowed = names | ({"int", "float"} if REAL.search(at) else set())
        if at not in have:
            print("%s: no %s" % (ours, at))
            bad += 1
        elif not have[at] <= allowed:
            print("%s: %s is %s, not %s" % (ours, at, have[at], names))
            bad += 1
    return bad


def main(args):
    if args[0] == "lines":
        return sum(kinds(path)[1] for path in args[1:])
    bad = 0
    for recorded, ours in zip(args[1::2], args[2::2]):
        if args[0] == "same":
            (want, a), (have, b) = shape(recorded), shape(ours)
            bad += a + b + (want != have)
            if want != have:
                print("%s:\n  %s\n%s:\n  %s" % (recorded, " ".join(map(str, want)), ours,
                                                      " ".join(map(str, have))))
        else:
            bad += keys(sorted(glob.glob(recorded)), ours)
    return bad


sys.exit(1 if main(sys.argv[1:]) else 0)
