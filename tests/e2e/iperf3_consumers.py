#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""
How people's programs read iperf3: the ways of a dozen public scripts, exporters and test plans, each
told in a few lines here. TEXT files are a client's output (TCP with -P 2, TCP alone with -f m, UDP's
server), JSON is a client's -J, STREAM its --json-stream.

  iperf3_consumers.py TCP-P2 TCP-M UDP-SERVER JSON STREAM
"""
import json
import re
import sys

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


@check
def awk_fields_of_receiver_rows(t):
    # kata-containers: grep receiver | awk -F ']' '{print $2}' | awk '{print $5, $6}'
    row = next(line for line in t.tcp_m.splitlines() if "receiver" in line).split("]")[1].split()
    assert float(row[4]) > 0 and row[5] == "Mbits/sec", row


@check
def sender_rows_by_first_rate(t):
    rows = [line for line in t.tcp_m.splitlines() if re.search(".*sender", line)]
    speeds = [float(re.match(r".*?(?P<speed>[\d.]+)\s+Mbits/sec", r).group("speed")) for r in rows]
    assert len(speeds) == 1 and speeds[0] > 0


@check
def all_triples(t):
    found = re.findall(r"\b([0-9.\-]+)\s+sec\s+([0-9.]+\s+[A-Z]?Bytes)\s+([0-9.]+\s+[A-Z]?bits/sec)\b",
                       t.tcp_p2)
    assert len(found) >= 9 and all(len(f) == 3 for f in found), found


@check
def nine_columns(t):
    pattern = (r"\[\s*(\d+)]\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+(\S*)\s+(\S+)")
    hits = [m for m in (re.fullmatch(pattern, l) for l in t.tcp_m.splitlines()) if m]
    assert [m.group(9) for m in hits][-1] == "sender" or hits, hits


@check
def sums_with_a_unit(t):
    assert re.findall(r"\[SUM\].*?(\d+\.?\d*)\s[KMG]bits/sec", t.tcp_p2)
    last = [l for l in t.tcp_p2.splitlines() if "SUM" in l and "receiver" in l]
    assert len(last) == 1 and re.search(r"([-+]?\d*\.\d+|\d+) [KMG]bits/sec", last[0])


@check
def table_between_headings(t):
    # The block between the lines without a digit: interval rows with eight words.
    text = re.sub(r"\[.*\]", "", t.tcp_m.strip())
    blocks, block = [], []
    for line in text.split("\n"):
        if re.search(r"^\D*$", line):
            blocks.append(block)
            block = []
        else:
            block.append(re.split(r"\s+", line.strip()))
    assert len(blocks[1]) >= 1 and len(blocks[1][0]) >= 8, blocks


@check
def thirteen_fields_of_a_udp_server(t):
    # openthread: the row of `iperf3 -s -1` that ends in "receiver" and has 13 words.
    rows = [l.split() for l in t.udp_server.splitlines()]
    rows = [r for r in rows if len(r) == 13 and r[-1] == "receiver"]
    assert len(rows) == 1, t.udp_server
    lost, total = re.match(r"(\d+)/(\d+)", rows[0][10]).groups()
    assert int(total) > 0 and rows[0][11].startswith("(") and rows[0][9] == "ms"


@check
def server_is_ready(t):
    assert re.search(r"^Server listening on \d+", t.udp_server, re.M)


@check
def one_document_with_keys_of_exporters(t):
    d = json.loads(t.document)
    assert d.get("error", "") == ""
    sent, got = d["end"]["sum_sent"], d["end"]["sum_received"]
    assert isinstance(sent["bytes"], int) and isinstance(sent["retransmits"], int)
    assert got["bits_per_second"] > 0 and got["seconds"] > 0
    assert isinstance(d["start"]["timestamp"]["timesecs"], int)
    assert isinstance(d["start"]["tcp_mss_default"], int)
    assert re.match(r"iperf 3\.\d+", d["start"]["version"])
    for interval in d["intervals"]:
        assert {"start", "end", "seconds", "bytes", "bits_per_second", "omitted"} <= interval["sum"].keys()
        for s in interval["streams"]:
            assert isinstance(s["rtt"], int) and isinstance(s["snd_cwnd"], int)


@check
def average_of_omitted_free_intervals(t):
    d = json.loads(t.document)
    rates = [i["sum"]["bits_per_second"] for i in d["intervals"] if not i["sum"]["omitted"]]
    mean = sum(rates) / len(rates)
    assert abs(mean - d["end"]["sum_sent"]["bits_per_second"]) < 0.5 * mean


@check
def only_numbers_and_no_key_twice(t):
    def once(pairs):
        names = [k for k, _ in pairs]
        assert len(names) == len(set(names)), names
        return dict(pairs)

    def refuse(text):
        raise AssertionError(text)

    json.loads(t.document, object_pairs_hook=once, parse_constant=refuse)


@check
def events_a_line(t):
    events = [json.loads(line) for line in t.stream.splitlines()]
    names = [e["event"] for e in events]
    assert names[0] == "start" and names[-1] == "end" and "interval" in names, names
    assert events[-1]["data"]["sum_received"]["bits_per_second"] > 0


class Texts:
    pass


def main(args):
    texts, failed = Texts(), 0
    for name, path in zip(("tcp_p2", "tcp_m", "udp_server", "document", "stream"), args):
        setattr(texts, name, open(path, encoding="utf-8").read())
    for function in CHECKS:
        try:
            function(texts)
        except Exception as error:  # pylint: disable=broad-except
            print("%s: %s: %s" % (function.__name__, type(error).__name__, str(error)[:400]))
            failed += 1
    return failed


sys.exit(1 if main(sys.argv[1:]) else 0)
