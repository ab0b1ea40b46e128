#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""nft_rules.py N: N rules that match nothing, on what comes into this network namespace."""
import os
import socket
import struct
import sys

BEGIN, END, TABLE, CHAIN, RULE = 0x10, 0x11, 0xa00, 0xa03, 0xa06
CREATE, APPEND, ACK = 0x400, 0x800, 4


def attr(kind, data):
    data = data.encode() + b"\0" if isinstance(data, str) else data
    size = 4 + len(data)
    return struct.pack("=HH", size, kind) + data + b"\0" * (-size % 4)


def be32(value):
    return struct.pack(">I", value & 0xffffffff)


def nest(kind, *parts):
    return attr(kind | 0x8000, b"".join(parts))


def message(kind, flags, seq, *attrs, family=1, res=0):
    body = struct.pack("=BB", family, 0) + struct.pack(">H", res) + b"".join(attrs)
    return struct.pack("=IHHII", 16 + len(body), kind, flags | 1, seq, 0) + body


def expression(name, *data):
    return nest(1, attr(1, name), nest(2, *data))


def main():
    count = int(sys.argv[1])
    rule = (attr(1, "weir"), attr(2, "in"), nest(
        4, expression("meta", attr(1, be32(1)), attr(2, be32(3))),
        expression("cmp", attr(1, be32(1)), attr(2, be32(0)), nest(3, attr(1, be32(0xbeef))))))
    batch = [message(BEGIN, 0, 1, family=0, res=10),
             message(TABLE, CREATE, 2, attr(1, "weir")),
             message(CHAIN, CREATE, 3, attr(1, "weir"), attr(3, "in"),
                     nest(4, attr(1, be32(1)), attr(2, be32(0))), attr(5, be32(1)),
                     attr(7, "filter"))]
    batch += [message(RULE, CREATE | APPEND, 4, *rule) for _ in range(count - 1)]
    batch += [message(RULE, CREATE | APPEND | ACK, 5, *rule), message(END, 0, 6, family=0, res=10)]
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 << 20)
    sock.bind((0, 0))
    sock.send(b"".join(batch))
    error = -struct.unpack_from("=i", sock.recv(65536), 16)[0]
    if error:
        sys.exit("nftables: " + os.strerror(error))


main()
