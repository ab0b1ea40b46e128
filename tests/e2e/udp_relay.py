#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# A path that does exactly what it is told: relays a control connection and UDP flows from PORT to
# TO:5201, and loses, doubles and delays datagrams by their place in the flow towards the server.
#   udp_relay.py PORT TO [drop=N,N-M,…] [dup=N,…] [delay=N:K,…] [police=BITS_PER_SECOND] [queue=BITS_PER_SECOND]
# delay=N:K lets K later datagrams pass datagram N. Hellos are not counted. queue= is a link of that rate
# behind a queue that nothing is too long for.
import select
import socket
import sys
import time

port, to = int(sys.argv[1]), sys.argv[2]
words = dict(w.split("=") for w in sys.argv[3:])


def places(text):
    out = set()
    for part in filter(None, text.split(",")):
        a, _, b = part.partition("-")
        out.update(range(int(a), int(b or a) + 1))
    return out


drop, dup = places(words.get("drop", "")), places(words.get("dup", ""))
delay = {int(n): int(k) for n, k in (p.split(":") for p in words.get("delay", "").split(",") if p)}
police = float(words.get("police", "0"))
link = float(words.get("queue", "0"))


class Flow:
    def __init__(self, source):
        self.source = source
        self.out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.out.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.out.connect((to, 5201))
        self.n = 0
        self.held = []  # [datagrams that have yet to pass, data]
        self.tokens, self.last = police * 0.05, time.monotonic()
        self.queue, self.free = [], 0  # [when it is through, data]

    def enqueue(self, data):
        self.free = max(self.free, time.monotonic()) + len(data) * 8 / link
        self.queue.append((self.free, data))

    def dequeue(self):
        while self.queue and self.queue[0][0] <= time.monotonic():
            self.out.send(self.queue.pop(0)[1])

    def admits(self, size):
        now = time.monotonic()
        self.tokens = min(police * 0.05, self.tokens + (now - self.last) * police)
        self.last = now
        if self.tokens < size * 8:
            return False
        self.tokens -= size * 8
        return True

    def forward(self, data):
        if len(data) <= 4 or data[:4] == b"WUDP":
            self.out.send(data)
            return
        self.n += 1
        if self.n in drop or (police and not self.admits(len(data))):
            return
        if link:
            self.enqueue(data)
            return
        if self.n in delay:
            self.held.append([delay[self.n], data])
            return
        for _ in range(2 if self.n in dup else 1):
            self.out.send(data)
        for h in self.held:
            h[0] -= 1
        for h in [h for h in self.held if h[0] <= 0]:
            self.out.send(h[1])
            self.held.remove(h)


listener = socket.create_server(("127.0.0.1", port))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
udp.bind(("127.0.0.1", port))
pairs, flows = {}, {}
print("ready", flush=True)
while True:
    backs = {f.out: f for f in flows.values()}
    busy = [f for f in flows.values() if f.queue]
    soon = max(0, min((f.queue[0][0] for f in busy), default=0) - time.monotonic()) if busy else None
    ready = select.select([listener, udp, *pairs, *backs], [], [], soon)[0]
    for f in busy:
        f.dequeue()
    for s in ready:
        if s is listener:
            a = listener.accept()[0]
            b = socket.create_connection((to, 5201))
            pairs[a], pairs[b] = b, a
        elif s is udp:
            data, source = udp.recvfrom(65536)
            if source not in flows:
                flows[source] = Flow(source)
            flows[source].forward(data)
        elif s in backs:
            try:
                udp.sendto(s.recv(65536), backs[s].source)
            except ConnectionRefusedError:
                pass
        elif s in pairs:
            try:
                data = s.recv(65536)
                pairs[s].sendall(data)
            except OSError:
                data = b""
            if not data:
                other = pairs.pop(s)
                pairs.pop(other, None)
                s.close()
                other.close()
