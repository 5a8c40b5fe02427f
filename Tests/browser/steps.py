"""Where somebody who joins waits: a trace of each join by step, of what the page does and of what goes over the wire.

The page is watched from within (`STEPS`), so the same is known of any server. What the wire carries is read beside it (`Wire`): STUN, DTLS
and the heads of RTP and RTCP are not encrypted. That takes a right which root has in a network of its own (scripts/private-network).
"""

import socket
import statistics
import struct
import threading
import typing

# To be run before any script of a page. `marks.at`: milliseconds of `performance.now()` by step.
STEPS = """(() => {
  const marks = (window.marks = { at: {}, pictures: [] });
  const mark = (step) => (marks.at[step] ??= performance.now());
  const methods = new Map();
  const answers = { "session.hello": "hello answered", "room.join": "join answered" };
  // Those of our protocol and of Janus'.
  const arrived = ({ id, method, janus, jsep, plugindata }) => {
    if (janus === "success") mark("hello answered");
    if (plugindata?.data.videoroom === "joined") mark("join answered");
    if (method === "pc.offer" || jsep?.type === "offer") mark("offer arrived");
    if (answers[methods.get(id)]) mark(answers[methods.get(id)]);
  };
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      mark("scripts run");
      this.addEventListener("open", () => mark("socket open"));
      this.addEventListener("message", ({ data }) => arrived(JSON.parse(data)));
    }
    send(text) {
      const { id, method, body } = JSON.parse(text);
      methods.set(id, method);
      if (method === "pc.answer" || body?.request === "start") mark("answer sent");
      super.send(text);
    }
  };
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...given) {
      super(...given);
      mark("connection made");
      this.addEventListener("iceconnectionstatechange", () => this.iceConnectionState === "connected" && mark("page: ICE connected"));
      this.addEventListener("connectionstatechange", () => this.connectionState === "connected" && mark("page: DTLS done"));
    }
    async setRemoteDescription(given) {
      await super.setRemoteDescription(given);
      mark("offer set");
    }
    async setLocalDescription(...given) {
      await super.setLocalDescription(...given);
      mark("answer set");
    }
  };
})()"""

# What is known of a page when its pictures are there; `epoch` makes the wire's times of its own.
FOUND = """() => {
  // The clock of the system ticks in milliseconds: the end of one is looked for.
  const tick = Date.now();
  while (Date.now() === tick);
  const epoch = Date.now() - performance.now();
  const [{ responseEnd, domInteractive }] = performance.getEntriesByType("navigation");
  return { ...marks, epoch, page: responseEnd, ready: domInteractive };
}"""

# In milliseconds since the page was asked for; then, since `join` was called.
BEFORE = ("page arrived", "page read", "scripts run", "socket open", "hello answered")
STEPS_OF_JOIN = (
    "connection made", "join answered", "offer arrived", "offer set", "answer set", "answer sent",
    "wire: first check", "wire: check answered", "page: ICE connected", "wire: DTLS begins", "wire: DTLS done", "page: DTLS done",
    "wire: keyframe asked for", "wire: first RTP", "wire: first of the picture", "picture received", "picture decoded", "picture shown",
)
HOST = 0


class Packet(typing.NamedTuple):
    """The head of one that arrived: `at` in seconds since 1970, `source` and `target` with their ports."""

    at: float
    source: tuple[bytes, int]
    target: tuple[bytes, int]
    head: bytes

    @property
    def is_request(self) -> bool:
        return self.head[:2] == b"\x00\x01"

    @property
    def is_success(self) -> bool:
        return self.head[:2] == b"\x01\x01"

    @property
    def is_dtls(self) -> bool:
        return 20 <= self.head[0] <= 63

    @property
    def is_rtcp(self) -> bool:
        return 128 <= self.head[0] <= 191 and 192 <= self.head[1] <= 223

    @property
    def is_rtp(self) -> bool:
        return 128 <= self.head[0] <= 191 and not self.is_rtcp

    @property
    def asks_for_a_keyframe(self) -> bool:
        """A PLI that stands first (RFC 4585 section 6.3.1)."""
        return self.head[0] & 0x1F == 1 and self.head[1] == 206

    @property
    def timestamp(self) -> int:
        return struct.unpack_from("!I", self.head, 4)[0]


class Wire:
    """All UDP of this network's loopback while it is open, by a socket that sees what others get."""

    def __init__(self) -> None:
        self.packets: list[Packet] = []
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        self.socket.bind(("lo", 0x0800))
        self.socket.setsockopt(socket.SOL_SOCKET, getattr(socket, "SO_TIMESTAMPNS", 35), 1)
        self.socket.settimeout(0.2)
        self.is_open = True
        self.thread = threading.Thread(target=self.read, daemon=True)

    def __enter__(self) -> "Wire":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_open = False
        self.thread.join()
        self.socket.close()

    def read(self) -> None:
        while self.is_open:
            try:
                data, more, _, address = self.socket.recvmsg(64, 64)
            except TimeoutError:
                continue
            front = (data[0] & 15) * 4
            if address[2] != HOST or data[9] != socket.IPPROTO_UDP or len(data) < front + 20:
                continue
            seconds, nanoseconds = struct.unpack("qq", more[0][2])
            source, target = struct.unpack_from("!HH", data, front)
            self.packets.append(Packet(seconds + nanoseconds / 1e9, (data[12:16], source), (data[16:20], target), data[front + 8:]))

    def since(self, epoch: float) -> list[Packet]:
        """Those that came since a time, in seconds since 1970; all are forgotten."""
        found, self.packets = self.packets, []
        return [packet for packet in found if packet.at >= epoch]


def trace(found: dict[str, typing.Any], times: list[float], packets: list[Packet]) -> list[dict[str, float]]:
    """The steps of a join for each of its pictures, of what the page (FOUND) and the wire know. `times`: of the pictures, since `join`."""
    at, pictures = found["at"], found["pictures"]
    started = min(picture["now"] for picture in pictures) - min(times)
    before = {"page arrived": found["page"], "page read": found["ready"], **{step: at[step] for step in BEFORE if step in at}}
    common = {step: at[step] - started for step in STEPS_OF_JOIN if step in at}
    wire = [packet._replace(at=packet.at * 1000 - found["epoch"] - started) for packet in packets]
    # The newcomer's are the lines on which nothing went before: publishers check theirs as well, as long as they are there.
    before_join = {lines(packet) for packet in wire if packet.at < 0}
    wire = [packet for packet in wire if packet.at >= 0]
    mine = [packet for packet in wire if lines(packet) not in before_join]
    asking = {packet.source for packet in mine if packet.is_request}
    others = [packet for packet in wire if packet.is_rtcp and packet.asks_for_a_keyframe and lines(packet) in before_join]
    out = [packet for packet in mine if packet.is_rtp and packet.target in asking]
    handshake = [packet.at for packet in mine if packet.is_dtls]
    first = lambda packets: next((packet.at for packet in packets), None)  # noqa: E731
    until = first(out)
    common |= {step: when for step, when in {
        "wire: first check": first(packet for packet in mine if packet.is_request),
        "wire: check answered": first(packet for packet in mine if packet.is_success),
        "wire: DTLS begins": min(handshake, default=None),
        "wire: DTLS done": max((when for when in handshake if until is None or when <= until), default=None),
        "wire: keyframe asked for": first(others),
        "wire: first RTP": until,
    }.items() if when is not None}
    return [{**before, **common, **of_picture(picture, started, out)} for picture in pictures]


def lines(packet: Packet) -> frozenset[tuple[bytes, int]]:
    """Both ends of it, whichever way it goes."""
    return frozenset((packet.source, packet.target))


def of_picture(picture: dict[str, float], started: float, out: list[Packet]) -> dict[str, float]:
    steps = {"picture shown": picture["now"] - started}
    if "receiveTime" in picture:
        steps["picture received"] = picture["receiveTime"] - started
        steps["picture decoded"] = steps["picture received"] + picture.get("processingDuration", 0) * 1000
    sent = next((packet.at for packet in out if packet.timestamp == picture.get("rtpTimestamp")), None)
    return steps if sent is None else {**steps, "wire: first of the picture": sent}


def table(name: str, found: list[dict[str, float]]) -> list[str]:
    """Median, the time within which nine of ten are through, and the slowest picture."""
    slowest = max(found, key=lambda steps: steps["picture shown"])
    lines = [f"{name}: ms since …".ljust(41) + "median      p90  slowest"]
    for title, steps in (("the page was asked for", BEFORE), ("the join began", STEPS_OF_JOIN)):
        lines.append(f"  {title}")
        for step in steps:
            every = sorted(picture[step] for picture in found if step in picture)
            if every:
                lines.append(line(step, every, slowest.get(step)))
    whole = sorted(map(since_asked, found))
    return [*lines, "  both together", line("picture shown", whole, since_asked(slowest))]


def line(step: str, every: list[float], slowest: float | None) -> str:
    last = "       –" if slowest is None else f"{slowest:8.1f}"
    return f"    {step:34} {statistics.median(every):8.1f} {every[int(len(every) * 0.9)]:8.1f} {last}"


def since_asked(steps: dict[str, float]) -> float:
    """From the moment at which the page was asked for: the join follows the hello."""
    return steps["hello answered"] + steps["picture shown"]
