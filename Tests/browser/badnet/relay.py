"""Delays packets between two TUN devices, each in a namespace of its own: `relay.py NEAR NAMESPACE FAR MILLISECONDS`.

NEAR is made in the namespace that this runs in, FAR in the other. Says `ready` when both are there. No packet overtakes another.
"""

import collections
import ctypes
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI, CLONE_NEWNET = 0x400454CA, 0x0001, 0x1000, 0x40000000
# Packets on their way in one direction. What comes on top is lost; at 1,200 bytes and 100 ms this is 200 Mbit/s.
MOST = 2048


def device(name: str) -> int:
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return file


def carry(near: int, far: int, delay: float) -> None:
    others = {near: far, far: near}
    ways: dict[int, collections.deque] = {near: collections.deque(), far: collections.deque()}
    while True:
        due = min((way[0][0] for way in ways.values() if way), default=None)
        patience = None if due is None else max(0, due - time.monotonic())
        for source in select.select([near, far], [], [], patience)[0]:
            take(source, ways[source], delay)
        now = time.monotonic()
        for source, way in ways.items():
            while way and way[0][0] <= now:
                put(others[source], way.popleft()[1])


def take(source: int, way: collections.deque, delay: float) -> None:
    due = time.monotonic() + delay
    while True:
        try:
            packet = os.read(source, 65_536)
        except BlockingIOError:
            return
        if len(way) < MOST:
            way.append((due, packet))


def put(sink: int, packet: bytes) -> None:
    try:
        os.write(sink, packet)
    except OSError:
        pass  # The device is down, or its buffer is full: the packet is lost.


def main() -> None:
    near_name, namespace, far_name, milliseconds = sys.argv[1:]
    near = device(near_name)
    with open(namespace) as other:
        if ctypes.CDLL(None, use_errno=True).setns(other.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
    far = device(far_name)
    try:
        # A relay that waits for a CPU would add a delay of its own.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        pass
    print("ready", flush=True)
    carry(near, far, float(milliseconds) / 1000)


if __name__ == "__main__":
    main()
