"""Runs a command on a loopback of its own whose packets are short: `unshare --net python3 narrow.py MTU COMMAND…`."""

import fcntl
import os
import socket
import struct
import sys

SIOCSIFFLAGS, SIOCSIFMTU, IFF_UP = 0x8914, 0x8922, 1

with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    fcntl.ioctl(any_socket, SIOCSIFMTU, struct.pack("16si", b"lo", int(sys.argv[1])))
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
os.execv(sys.argv[2], sys.argv[2:])
