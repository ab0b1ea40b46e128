#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""slow_path.py FAR_PID MILLISECONDS: a second path between the two hosts of a lab, 198.18.9.1 to .2,
on which every packet takes so long; prints "ready"."""
import collections
import ctypes
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)


def tunnel(address):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, 0x400454ca, struct.pack("16sH", b"slow0", 0x1001))
    for words in (["addr", "add", address + "/24", "dev", "slow0"], ["link", "set", "slow0", "up"]):
        subprocess.run(["ip"] + words, check=True)
    return fd


def main():
    delay = int(sys.argv[2]) / 1000
    near = tunnel("198.18.9.1")
    with open("/proc/%s/ns/net" % sys.argv[1], "rb") as space:
        if LIBC.setns(space.fileno(), 0x40000000):
            raise OSError(ctypes.get_errno(), "setns")
    far = tunnel("198.18.9.2")
    print("ready", flush=True)
    other = {near: far, far: near}
    waiting = collections.deque()
    while True:
        left = waiting[0][0] - time.monotonic() if waiting else None
        for fd in select.select([near, far], [], [], None if left is None else max(left, 0))[0]:
            waiting.append((time.monotonic() + delay, other[fd], os.read(fd, 65536)))
        while waiting and waiting[0][0] <= time.monotonic():
            _, fd, packet = waiting.popleft()
            try:
                os.write(fd, packet)
            except OSError:
                pass


main()
