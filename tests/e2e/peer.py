#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Clients of iperf3's wire that the real ones are not: each stops, floods or lies at one place.

peer.py stages HOST PORT      a client in each stage of a test; says "ready", then waits for a line
peer.py tokens HOST PORT FILE…  clients with the tokens in the files; prints what the server answers
peer.py advisories HOST PORT  what once broke iperf3's server; prints a line each
peer.py soak HOST PORT SECONDS N  N hostile connections at a time
peer.py meter HOST PORT…      what clients of other tools say first, and changes of it
"""
import json, random, resource, select, socket, struct, sys, time

PARAMS = {"tcp": True, "omit": 0, "time": 60, "num": 0, "blockcount": 0, "parallel": 1,
          "len": 131072, "pacing_timer": 1000, "client_version": "3.12"}


def cookie(rng=random):
    return bytes(rng.choice(b"abcdefghijklmnopqrstuvwxyz234567") for _ in range(36)) + b"\0"


def connect(host, port):
    s = socket.create_connection((host, port), 10)
    s.settimeout(20)
    return s


def block(value):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return struct.pack(">I", len(text)) + text


def expect(s, byte):
    got = s.recv(1)
    assert got == bytes([byte]), (byte, got)


class Test:
    """One test as far as wanted."""

    def __init__(self, host, port, **params):
        self.at, self.params = (host, port), dict(PARAMS, **params)
        self.cookie, self.data = cookie(), []
        self.ctl = connect(*self.at)
        self.ctl.sendall(self.cookie)
        expect(self.ctl, 9)

    def agree(self):
        self.ctl.sendall(block(self.params))
        expect(self.ctl, 10)
        return self

    def stream(self):
        s = connect(*self.at)
        s.sendall(self.cookie)
        self.data.append(s)
        return self

    def datagrams(self):
        """A UDP test that runs: the hello, its answer, and from then on nothing is read."""
        del self.params["tcp"]
        self.agree()
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.settimeout(10)
        s.connect(self.at)
        s.send(b"9876")
        assert len(s.recv(4)) == 4
        self.data.append(s)
        expect(self.ctl, 1)
        expect(self.ctl, 2)
        return self

    def run(self):
        self.agree()
        for _ in range(self.params["parallel"]):
            self.stream()
        expect(self.ctl, 1)
        expect(self.ctl, 2)
        return self

    def end(self):
        self.ctl.sendall(b"\x04")
        expect(self.ctl, 13)
        return self


def results(**more):
    stream = {"id": 1, "bytes": 0, "retransmits": 0, "jitter": 0, "errors": 0, "packets": 0}
    return dict({"cpu_util_total": 0, "cpu_util_user": 0, "cpu_util_system": 0,
                 "sender_has_retransmits": 0, "streams": [stream]}, **more)


def stages(host, port):
    kept = [connect(host, port)]                       # no byte
    kept.append(connect(host, port))                   # half a cookie
    kept[-1].sendall(cookie()[:20])
    kept.append(Test(host, port))                      # no parameters
    half = Test(host, port)                            # half of them
    half.ctl.sendall(block(PARAMS)[:30])
    kept.append(half)
    kept.append(Test(host, port).agree())              # no data connection
    kept.append(Test(host, port, parallel=2).agree().stream())  # one of two
    kept.append(Test(host, port).run())                # runs, this end sends
    kept.append(Test(host, port, reverse=True).run())  # runs, the server sends
    kept.append(Test(host, port, bidirectional=True).agree().stream().stream())
    kept.append(Test(host, port, udp=True, len=1000, bandwidth=10**7, reverse=True).datagrams())
    kept.append(Test(host, port, udp=True, len=1000, bandwidth=10**7).datagrams())
    kept.append(Test(host, port).run().end())          # no results
    late = Test(host, port).run().end()                # half of them
    late.ctl.sendall(block(results())[:40])
    kept.append(late)
    print("ready", len(kept), flush=True)
    sys.stdin.readline()


def answer(s):
    got = b""
    try:
        while True:
            more = s.recv(64)
            if not more:
                return got.hex() + " end"
            got += more
    except OSError as why:
        return got.hex() + " " + type(why).__name__


def token(host, port, file):
    t = Test(host, port)
    text = open(file, encoding="ascii").read().strip()
    t.ctl.sendall(block(dict(PARAMS, authtoken=text) if text else PARAMS))
    first = t.ctl.recv(1)
    said = "0a" if first == b"\x0a" else first.hex() + answer(t.ctl)
    print(file + ":", said, flush=True)
    t.ctl.close()


def advisories(host, port):
    def params(name, value):
        t = Test(host, port)
        t.ctl.sendall(value if isinstance(value, bytes) else block(value))
        t.ctl.shutdown(socket.SHUT_WR)
        print(name, answer(t.ctl), flush=True)

    raw = json.dumps(PARAMS).encode()[:-1]
    params("CVE-2016-4303", block(raw + b', "title": "\\ud800\\u0000\\u\\uD83D\\u12"}'))
    params("CVE-2016-4303b", block(raw + b', "title": "' + b"\\uDBFF" * 900 + b'"}'))
    params("CVE-2023-38403", b"\xff\xff\xff\xff" + b"A" * 4096)
    # CVE-2023-7250: a length, then silence, while others are served
    silent = Test(host, port)
    silent.ctl.sendall(struct.pack(">I", 500) + b"{")
    other = Test(host, port).agree()
    print("CVE-2023-7250 others are served", flush=True)
    # CVE-2024-26306 and CVE-2025-54349, 54350: tokens that are none
    params("CVE-2025-54349", dict(PARAMS, authtoken="A" * 344))
    params("CVE-2025-54350", dict(PARAMS, authtoken="A"))
    params("CVE-2025-54350b", dict(PARAMS, authtoken="=" * 1000))
    for key in ("title", "congestion", "authtoken", "client_version", "extra_data"):
        params("CVE-2024-53580 " + key, dict(PARAMS, **{key: 5}))
        params("CVE-2024-53580 " + key, dict(PARAMS, **{key: {"a": [None]}}))
    for key in ("parallel", "len", "time", "num", "window", "MSS"):
        params("CVE-2024-53580 " + key, dict(PARAMS, **{key: "x"}))
    # CVE-2025-54351: received without copying, more than a block at a time
    t = Test(host, port, skip_rx_copy=1, len=1, time=1).run()
    t.data[0].setblocking(False)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        if select.select([], t.data, [], 0.1)[1]:
            try:
                t.data[0].send(b"x" * 1048576)
            except BlockingIOError:
                pass
    t.end()
    t.ctl.sendall(block(results()))
    size = struct.unpack(">I", t.ctl.recv(4, socket.MSG_WAITALL))[0]
    told = json.loads(t.ctl.recv(size, socket.MSG_WAITALL))
    print("CVE-2025-54351 counted", told["streams"][0]["bytes"] > 0, flush=True)
    silent.ctl.close()
    other.ctl.close()


# What clients of several tools say first, as recorded, without what fills up their blocks.
FIRST = {
    "iperf 2.0.5 -d": "8000000100000001000013890000000000000000ffffff38",
    "iperf 2.1.8 -d": "c001007900000001000013890000000000000000ffffff380000000000000000000000000002000100080003",
    "iperf 2.1.8 -R": "4401007800000001000013890000000000000000ffffff380000000000000000040000000002000100080003",
    "iperf 2.1.8 -X": "4601007800000001000013890000000000000000ffffff9c0000000000000000000000000002000100080003",
    "iperf 2.1.8 --full-duplex": "4401007800000001000013890000000000000000ffffff380000000000000000080000000002000100080003",
    "iperf 2.1.8 --bounceback": "00800000000000640000000180005a5a000000006b0d77550009e18effffffffffffffffffffffffffffffff000000005a5a5a5a5a5a5a5a5a5a5a5a30313233",
    "iperf 2.1.8 --trip-times": "400100a000000001000013890000000000000000ffffff3800000000000000000010000000020001000800030000000000000000000000000000000000000000",
    "iperf 2.0.5": "0000000000000001000013890000000000000000ffffff38",
    "iperf 2.0.5 -u": "000000006b0d801a0003eb960000000000000001000013890000000000100000ffffff3836373839303132333435363738393031323334353637383930313233",
    "iperf 2.1.8 -u": "000000016b0d795f000a0eef000000004801009800000001000013890000000000000000ffffff38000000000000000000000000000200010008000300000000",
    "netperf": "00000061ffffffffffffffffffffffff000000080000000000000002ffffffffffffffffffffffff000000080000000000000000ffffffff0000002000000000",
    "nuttcp": "48454c4f206e75747463702076362e312e320a",
    "iperf3": b"abcdefghijklmnopqrstuvwxyz2345672345".hex() + "00",
    "iperf3 UDP": b"9876".hex(),
    "iperf3 UDP, old": "15cd5b07",
    "weir UDP": b"WUDP0123456789abcdef".hex(),
    "irtt": "14a75b010000000000000000",
    "DNS": "000101000001000000000000076578616d706c6503636f6d0000ff0001",
    "NTP": "17000302" + "00" * 4,
    "SNMP": "302602010104067075626c6963a51902010002010002017f300e300c06082b060102010105000500",
    "HTTP": b"GET / HTTP/1.1\r\n\r\n".hex(),
}


def mutations(p):
    yield p
    for i in range(min(len(p), 32)):
        yield p[:i]
        for x in (1, 0x80, 0xff):
            yield p[:i] + bytes([p[i] ^ x]) + p[i + 1:]
    yield p.ljust(1448, b"\0")


def meter(host, *ports):
    """Every first packet to every UDP port, and as a connection's first bytes; prints bytes in and out."""
    sent = got = 0
    for port in map(int, ports):
        u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        u.connect((host, port))
        for text in FIRST.values():
            for p in mutations(bytes.fromhex(text)):
                try:
                    sent += u.send(p)
                    got += len(u.recv(65536, socket.MSG_DONTWAIT))
                except (BlockingIOError, ConnectionRefusedError):
                    pass
        u.settimeout(0.2)
        try:
            while True:
                got += len(u.recv(65536))
        except OSError:
            pass
    print("udp", sent, got)
    for name, text in FIRST.items():
        s = connect(host, int(ports[0]))
        try:
            s.sendall(bytes.fromhex(text).ljust(64, b"\0"))
            s.shutdown(socket.SHUT_WR)
        except OSError:  # it has closed already
            pass
        print(name + ":", answer(s))


def hostile(host, port, rng):
    s = socket.socket()
    if rng.random() < 0.3:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    s.connect((host, port))
    s.setblocking(False)
    kind = rng.randrange(8)
    first = [b"", b"\0" * 37, b"GET / HTTP/1.1\r\n\r\n", cookie(rng)[:rng.randrange(37)],
             cookie(rng), cookie(rng) + b"\xff\xff\xff\xff", cookie(rng) + block(PARAMS)[:50],
             cookie(rng) + block(dict(PARAMS, reverse=True, parallel=4))][kind]
    s.send(first)
    if rng.random() < 0.3:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return s


def scrap(u, rng):
    """A datagram that a server must not answer. No hello of iperf3's: behind one address it is anybody's."""
    u.send(rng.choice([b"", b"9875", b"98765", b"WUDP" + bytes(16), bytes(1448),
                       bytes(rng.randrange(256) for _ in range(rng.randrange(64)))]))


def soak(host, port, seconds, n):
    rng = random.Random(1)
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.connect((host, port))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    held, made, end = [], 0, time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            held.append(hostile(host, port, rng))
            made += 1
            scrap(u, rng)
        except OSError:
            pass
        if len(held) >= n:
            held.pop(rng.randrange(len(held))).close()
        if made % 50 == 0:
            time.sleep(0.02)
    for s in held:
        s.close()
    print(made)


def main():
    what, host, port, *rest = sys.argv[1:]
    if what == "meter":
        return meter(host, port, *rest)
    port = int(port)
    if what == "stages":
        stages(host, port)
    elif what == "tokens":
        for file in rest:
            token(host, port, file)
    elif what == "advisories":
        advisories(host, port)
    elif what == "soak":
        soak(host, port, float(rest[0]), int(rest[1]))


main()
