"""Bad lines between a server and Chromiums: a network namespace for each client, and a line from it to the server.

     server 10.77.0.1 ── s1 ═══════ line ── client 10.77.1.2
                         │                │
       tbf: rate and queue toward      nftables: loss in both directions
       the client, or back (on `line`)

The line is a veth pair. With a delay it is two TUN devices with a relay between them (relay.py), as kernels without `netem` have no
other way. All of it lives in the namespaces of one process (`enter_private_network`), and ends with that process.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import typing

SERVER = "10.77.0.1"
CLONE_NEWNET = 0x40000000
# What a line without a limit carries, bits per second: more than anybody here sends.
UNLIMITED = 200_000_000
# How long a packet may wait in the queue of a line, seconds; what does not fit is dropped.
QUEUE = 0.3
# What leaves at once, bytes: two packets. With more, the queue would be shorter than it is said to be.
BURST = 3_100
libc = ctypes.CDLL(None, use_errno=True)


class NetworkNotApplied(Exception):
    """A line did not do what it was told, so that nothing follows from what was measured on it."""


def enter_private_network() -> None:
    """Starts this program anew in namespaces of its own: network, mounts, processes. All processes in there end with the first."""
    if os.environ.get("ROOST_BADNET") == "inside":
        prepare_server_side()
        return
    # Propagation stays as it is, since a chroot whose root is no mount point can change none; of `/proc` this makes it private anyway.
    own = ["unshare", "--net", "--mount", "--propagation", "unchanged", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"]
    if os.geteuid() != 0:
        own[1:1] = ["--user", "--map-root-user"]
    os.environ["ROOST_BADNET"] = "inside"
    os.execvp(own[0], [*own, sys.executable, *sys.argv])


def prepare_server_side() -> None:
    """The server's address. Not on the loopback, which Janus leaves out."""
    if os.getpid() != 1:
        raise NetworkNotApplied("this is not the first process of a PID namespace")
    # The first process of a PID namespace is spared signals that it has no handler for.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    run("ip", "link", "set", "lo", "up")
    # Kernels have the one or the other.
    if run("ip", "link", "add", "server", "type", "dummy", check=False).returncode:
        run("ip", "link", "add", "server", "type", "veth", "peer", "name", "server-peer")
        run("ip", "link", "set", "server-peer", "up")
    run("ip", "address", "add", f"{SERVER}/32", "dev", "server")
    run("ip", "link", "set", "server", "up")
    # For a call without a server: from one line to the other.
    pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def run(*command: str, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise NetworkNotApplied(f"{' '.join(command)}: {done.stderr.strip()}")
    return done


class Line:
    """A client's namespace and its line. `down` is toward the client, `up` from it."""

    count = 0

    def __init__(self, name: str, delay_ms: float = 0) -> None:
        """`delay_ms`: one way; with 0 the line is a veth pair."""
        Line.count += 1
        self.name, self.index, self.delay_ms = name, Line.count, delay_ms
        self.near, self.address, self.gateway = f"s{self.index}", f"10.77.{self.index}.2", f"10.77.{self.index}.1"
        self.relay: subprocess.Popen | None = None
        # A process that sleeps keeps the namespace, since no name in the file system shall.
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.namespace = f"/proc/{self.holder.pid}/ns/net"
        wait_until(lambda: os.stat(self.namespace).st_ino != os.stat("/proc/self/ns/net").st_ino, "a namespace of its own")
        # An IPv6 address that comes by itself a second later is a change of network to a browser, which then breaks requests off.
        self.inside("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")
        self.inside("ip", "link", "set", "lo", "up")
        self.connect_delayed() if delay_ms else self.connect()
        run("ip", "address", "add", f"{self.gateway}/24", "dev", self.near)
        run("ip", "link", "set", self.near, "up")
        self.settle(self.address)
        self.limit(None)
        self.limit_up(None)

    def connect(self) -> None:
        run("ip", "link", "add", self.near, "type", "veth", "peer", "name", "line", "netns", str(self.holder.pid))
        # One packet is one packet: a segmented send would pass, or be lost, as a whole.
        run("ip", "link", "set", self.near, "gso_max_segs", "1")
        self.inside("ip", "link", "set", "line", "gso_max_segs", "1")

    def connect_delayed(self) -> None:
        relay = pathlib.Path(__file__).with_name("relay.py")
        self.relay = subprocess.Popen([sys.executable, relay, self.near, self.namespace, "line", str(self.delay_ms)],
                                      stdout=subprocess.PIPE, text=True)
        if self.relay.stdout.readline() != "ready\n":
            raise NetworkNotApplied("the relay between two TUN devices did not start")

    def settle(self, address: str) -> None:
        """Gives the client its address and the way to the server."""
        self.address = address
        self.inside("ip", "address", "add", f"{address}/24", "dev", "line")
        self.inside("ip", "link", "set", "line", "up")
        self.inside("ip", "route", "replace", "default", "via", self.gateway)

    def move(self) -> None:
        """The client is in another network from now on: its address is gone, and it has another one."""
        gone, self.gateway = self.address, f"10.77.{self.index + 100}.1"
        run("ip", "address", "add", f"{self.gateway}/24", "dev", self.near)
        self.inside("ip", "address", "del", f"{gone}/24", "dev", "line")
        self.settle(f"10.77.{self.index + 100}.2")

    def close(self) -> None:
        for process in (self.relay, self.holder):
            if process:
                process.kill()
                process.wait()
        run("ip", "link", "del", self.near, check=False)

    def inside(self, *command: str, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess:
        return run("nsenter", f"--net={self.namespace}", *command, check=check, text=text)

    # What is done to it.

    def limit(self, rate: int | None) -> None:
        """Bits per second toward the client, from now on."""
        run("tc", "qdisc", "replace", "dev", self.near, "root", *bucket(rate))

    def limit_up(self, rate: int | None) -> None:
        """Bits per second from the client, from now on."""
        self.inside("tc", "qdisc", "replace", "dev", "line", "root", *bucket(rate))

    def lose(self, down: float = 0, up: float = 0) -> None:
        """Shares of IPv4 packets that are lost, each by itself, from now on; counts from 0 again. After the bottleneck."""
        def chain(name: str, hook: str, share: float) -> str:
            # nftables takes no comparison that is always true.
            dice = "" if share >= 1 else f"numgen random mod 100000 < {round(share * 100_000)}"
            rule = f"meta protocol ip {dice} counter drop" if share else ""
            return (f"chain {name} {{ type filter hook {hook} device \"line\" priority 0;\n"
                    f"meta protocol ip counter comment \"all\"\n{rule}\n}}\n")

        rules = chain("down", "ingress", down) + chain("up", "egress", up)
        self.inside("nft", "-f", "-", text=f"table netdev loss\ndelete table netdev loss\ntable netdev loss {{\n{rules}}}\n")

    # What it did.

    def state(self, up: bool = False) -> dict[str, int]:
        """Toward the client so far, or from it: bytes and packets that left the queue, packets that did not fit; bytes that wait;
        bits per second that it is set to."""
        command = ("tc", "-s", "-j", "qdisc", "show", "dev", "line" if up else self.near, "root")
        found = json.loads((self.inside(*command) if up else run(*command)).stdout)[0]
        return {"bytes": found["bytes"], "packets": found["packets"], "dropped": found["drops"], "waiting": found["backlog"],
                "rate": found["options"]["rate"] * 8}

    def lost(self, chain: str = "down") -> dict[str, int]:
        """Packets since `lose`: all that came, and those that were dropped."""
        found = json.loads(self.inside("nft", "-j", "list", "chain", "netdev", "loss", chain).stdout)["nftables"]
        rules = [entry["rule"]["expr"] for entry in found if "rule" in entry]
        counts = [part["counter"]["packets"] for rule in rules for part in rule if "counter" in part]
        return {"all": counts[0], "lost": counts[1] if len(counts) > 1 else 0}

    # Sockets that belong to the client's side.

    @contextlib.contextmanager
    def entered(self) -> typing.Iterator[None]:
        """Sockets made by this thread in here are the client's; a socket stays where it was made."""
        with open("/proc/thread-self/ns/net") as own, open(self.namespace) as other:
            set_namespace(other.fileno())
            try:
                yield
            finally:
                set_namespace(own.fileno())

    def socket(self) -> socket.socket:
        """A UDP socket of the client's, bound to a free port."""
        with self.entered():
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.bind(("0.0.0.0", 0))
        return made


def bucket(rate: int | None) -> list[str]:
    rate = rate or UNLIMITED
    size = BURST if rate < UNLIMITED else 64_000
    return ["tbf", "rate", f"{rate}bit", "burst", str(size), "limit", str(size + round(rate * QUEUE / 8))]


def set_namespace(file: int) -> None:
    if libc.setns(file, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def wait_until(look: typing.Callable[[], typing.Any], what: str, timeout: float = 20) -> None:
    deadline = time.monotonic() + timeout
    while not look():
        if time.monotonic() > deadline:
            raise NetworkNotApplied(f"not within {timeout} s: {what}")
        time.sleep(0.02)
