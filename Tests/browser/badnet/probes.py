"""Looks at a line from outside the browser: pings, the state of its queue over time, and whether it does what it is told."""

import math
import socket
import statistics
import struct
import threading
import time

from lines import SERVER, Line, NetworkNotApplied, wait_until

PING_EVERY, LOOK_EVERY = 0.1, 0.1


class Loop(threading.Thread):
    """Something that is done again and again, until `stop`."""

    def __init__(self, every: float) -> None:
        super().__init__(daemon=True)
        self.every, self.ended, self.failure = every, threading.Event(), None

    def run(self) -> None:
        try:
            while not self.ended.wait(self.every):
                self.step()
        except Exception as failure:  # Told by `stop`, in the thread that asks.
            self.failure = failure

    def step(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        self.ended.set()
        self.join(10)
        if self.failure:
            raise self.failure


class Echo(threading.Thread):
    """Answers pings at the server's end."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((SERVER, 0))
        self.port = self.socket.getsockname()[1]
        self.start()

    def run(self) -> None:
        while True:
            data, source = self.socket.recvfrom(2048)
            if not data:
                return
            self.socket.sendto(data, source)


class Pings(Loop):
    """Round trips over a line, ten a second, as [wall clock, seconds]. They wait in the same queue as media does."""

    def __init__(self, line: Line, echo: Echo) -> None:
        super().__init__(PING_EVERY)
        self.echo, self.socket, self.found = echo, line.socket(), []
        self.socket.setblocking(False)
        self.start()

    def step(self) -> None:
        self.collect()
        self.socket.sendto(struct.pack("d", time.time()), (SERVER, self.echo.port))

    def collect(self) -> None:
        while True:
            try:
                sent = struct.unpack("d", self.socket.recv(64))[0]
            except BlockingIOError:
                return
            self.found.append((sent, time.time() - sent))

    def run(self) -> None:
        # Looks much more often than it sends: the time of an answer is the time at which it is read.
        try:
            next_at = time.monotonic()
            while not self.ended.wait(0.002):
                self.collect()
                if time.monotonic() >= next_at:
                    next_at += PING_EVERY
                    self.step()
        except Exception as failure:
            self.failure = failure

    def between(self, start: float, end: float) -> list[float]:
        return [trip for sent, trip in self.found if start <= sent < end]


class Watch(Loop):
    """The state of a line's queue over time: [wall clock, state]."""

    def __init__(self, line: Line, up: bool = False) -> None:
        super().__init__(LOOK_EVERY)
        self.line, self.up, self.found = line, up, []
        self.start()

    def step(self) -> None:
        self.found.append((time.time(), self.line.state(self.up)))

    def applied(self, start: float, end: float, rate: int) -> float:
        """Bits per second that it carried. That a bucket holds back what is too much, `check` shows before the first scenario.
        @raises NetworkNotApplied where it was not set to `rate` all the time, or carried more"""
        states = self.between(start, end)
        if len(states) < 2 or any(state["rate"] != rate for _, state in states):
            raise NetworkNotApplied(f"the line was not set to {rate} all the time")
        carried = (states[-1][1]["bytes"] - states[0][1]["bytes"]) * 8 / (states[-1][0] - states[0][0])
        if carried > rate * 1.05:
            raise NetworkNotApplied(f"the line of {rate} carried {carried:.0f} bits a second")
        return carried

    def fits_after(self, start: float, end: float) -> float:
        """Seconds until two seconds follow in which the queue drops nothing; infinity where there are none."""
        states = self.between(start, end)
        for at, state in states:
            later = next((other for then, other in states if then >= at + 2), None)
            if later and later["dropped"] == state["dropped"]:
                return at - start
        return math.inf

    def between(self, start: float, end: float) -> list[tuple[float, dict[str, int]]]:
        return [(at, state) for at, state in self.found if start <= at < end]


def p95(values: list[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def check(echo: Echo) -> str:
    """Holds a rate, a loss and a delay against what arrives. @raises NetworkNotApplied where they are not what was asked for."""
    thin, lossy, slow = Line("thin"), Line("lossy"), Line("slow", delay_ms=50)
    try:
        thin.limit(600_000)
        carried = blast(thin, 1_500_000, 3) * 8 / 3
        lossy.lose(down=0.1)
        arrived = blast(lossy, 4_000_000, 3) / (4_000_000 / 8 * 3)
        pings = Pings(slow, echo)
        wait_until(lambda: len(pings.found) >= 10, "answers over the delayed line")
        pings.stop()
        trip = statistics.median(trip for _, trip in pings.found)
    finally:
        for line in (thin, lossy, slow):
            line.close()
    said = f"600 kbit/s carry {carried / 1000:.0f}, of 10 % loss {100 - arrived * 100:.1f} % are lost, 2 × 50 ms take {trip * 1000:.0f} ms"
    # The queue's content arrives on top of the rate.
    if not 540_000 <= carried <= 700_000 or not 0.85 <= arrived <= 0.95 or not 0.1 <= trip <= 0.13:
        raise NetworkNotApplied(said)
    return said


def blast(line: Line, rate: int, seconds: float) -> int:
    """Bytes that arrive, headers included, of packets of 1,000 bytes that are sent at `rate` bits per second."""
    sink, source = line.socket(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    size, arrived = 1000, 0
    sink.settimeout(0.5)
    received = []

    def receive() -> None:
        while True:
            try:
                received.append(len(sink.recv(2048)) + 42)
            except TimeoutError:
                return

    reader = threading.Thread(target=receive)
    reader.start()
    begun, sent = time.monotonic(), 0
    while (passed := time.monotonic() - begun) < seconds:
        while sent < passed * rate / 8:
            source.sendto(bytes(size - 42), (line.address, sink.getsockname()[1]))
            sent += size
        time.sleep(0.001)
    reader.join()
    for end in (sink, source):
        end.close()
    arrived = sum(received)
    return arrived
