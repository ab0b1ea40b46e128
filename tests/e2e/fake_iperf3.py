#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""One end of iperf3's dialogue that stops at a step, to see what the other end makes of it.

fake_iperf3.py server PORT STEP,... HOW,... | client HOST PORT STEP,... HOW,...

A process for every STEP and HOW; servers listen on ports that count up from PORT and print
"PORT STEP HOW"; a client prints "STEP HOW" when it stops. HOW: close (FIN), reset (RST) or hang
(until killed). STEP is one of the names that the two functions below yield, or "none" for the whole
dialogue.
"""
import ctypes
import itertools
import json
import os
import select
import socket
import struct
import sys
import time

PARAMS, CREATE, START, RUNNING, END, EXCHANGE, DISPLAY, DONE = 9, 10, 1, 2, 4, 13, 14, 16
SECONDS = 0.4
RESULTS = {"cpu_util_total": 1.5, "cpu_util_user": 0.5, "cpu_util_system": 1,
           "sender_has_retransmits": -1, "congestion_used": "cubic",
           "streams": [{"id": 1, "bytes": 1000, "retransmits": -1, "jitter": 0, "errors": 0,
                        "packets": 0, "start_time": 0, "end_time": SECONDS}]}


class End:
    """The sockets of this end."""

    def __init__(self):
        self.all = []
        self.cookie = os.urandom(18).hex().encode() + b"\0"

    def add(self, sock):
        self.all.append(sock)
        return sock

    def read(self, n):
        data = b""
        while len(data) < n:
            got = self.control.recv(n - len(data))
            if not got:
                raise EOFError
            data += got
        return data

    def state(self, *values):
        self.control.sendall(bytes(values))

    def await_state(self, value):
        while self.read(1)[0] != value:
            pass

    def put_json(self, value):
        text = json.dumps(value).encode()
        self.control.sendall(struct.pack(">I", len(text)) + text)

    def half_json(self, value):
        text = json.dumps(value).encode()
        self.control.sendall(struct.pack(">I", len(text)) + text[:len(text) // 2])

    def get_json(self):
        return json.loads(self.read(struct.unpack(">I", self.read(4))[0]))


def server(end, stop_at, listener):
    end.add(listener)
    end.control = end.add(listener.accept()[0])
    yield "accepted"
    end.read(37)
    yield "cookie"
    end.state(PARAMS)
    yield "asked-params"
    params = end.get_json()
    yield "params"
    end.state(CREATE)
    yield "create"
    data = end.add(listener.accept()[0])
    yield "streams"
    end.state(START)
    yield "start"
    end.state(RUNNING)
    stop = time.monotonic() + SECONDS / 2
    while time.monotonic() < stop and select.select([data], [], [], 0.05):
        if not params.get("reverse"):
            data.recv(1 << 16)
        else:
            data.sendall(b"x" * 1000)
    yield "running"
    data.setblocking(False)
    while not select.select([end.control], [], [], 0.01)[0]:
        try:
            while not params.get("reverse") and data.recv(1 << 16):
                pass
        except BlockingIOError:
            pass
    end.await_state(END)
    yield "end"
    end.state(EXCHANGE)
    yield "exchange"
    end.get_json()
    yield "their-results"
    end.half_json(RESULTS)
    yield "half-results"
    text = json.dumps(RESULTS).encode()
    end.control.sendall(text[len(text) // 2:])
    yield "results"
    end.state(DISPLAY)
    end.await_state(DONE)


def client(end, stop_at, host, port):
    end.control = end.add(socket.create_connection((host, port)))
    yield "connected"
    end.control.sendall(end.cookie[:20])
    yield "half-cookie"
    end.control.sendall(end.cookie[20:])
    end.await_state(PARAMS)
    yield "asked-params"
    params = {"tcp": True, "omit": 0, "time": 1, "num": 0, "blockcount": 0, "parallel": 1,
              "len": 131072, "pacing_timer": 1000, "client_version": "3.12"}
    if stop_at == "half-params":
        end.half_json(params)
    yield "half-params"
    end.put_json(params)
    end.await_state(CREATE)
    yield "create"
    data = end.add(socket.create_connection((host, port)))
    yield "half-stream"
    data.sendall(end.cookie)
    end.await_state(RUNNING)
    yield "running"
    if params.get("reverse"):
        data.recv(1 << 16)
    else:
        data.sendall(b"x" * 131072)
    end.state(END)
    yield "end"
    end.await_state(EXCHANGE)
    yield "exchange"
    if stop_at == "half-results":
        end.half_json(RESULTS)
    yield "half-results"
    end.put_json(RESULTS)
    end.get_json()
    yield "results"
    end.await_state(DISPLAY)
    end.state(DONE)


def stop(end, how):
    if how == "hang":
        time.sleep(3600)
    for sock in end.all:
        if how == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()


def play(role, stop_at, how, where):
    end = End()
    try:
        for step in role(end, stop_at, *where):
            if step == stop_at:
                break
        else:
            if stop_at != "none":
                sys.exit("no step " + stop_at)
    except (EOFError, ConnectionError):
        pass
    if role is client:
        print(stop_at, how, flush=True)
    stop(end, how)


def main():
    name, *where, steps, hows = sys.argv[1:]
    port = int(where[-1])
    for step, how in itertools.product(steps.split(","), hows.split(",")):
        if name == "server":
            place = [socket.create_server(("", port))]
            print(port, step, how, flush=True)
            port += 1
        else:
            place = [where[0], port]
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG: nobody is left behind
            play({"server": server, "client": client}[name], step, how, place)
            os._exit(0)
        if name == "server":
            place[0].close()
    time.sleep(3600)


main()
