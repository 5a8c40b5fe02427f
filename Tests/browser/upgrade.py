"""What is watched while a call becomes a group: the transports of those who talk, their losses, and the gaps between frames."""

import dataclasses

from people import Person

# Every peer connection of the page, from before it makes any.
CONNECTIONS = """window.connections = [];
window.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(...all) {
    super(...all);
    window.connections.push(this);
  }
};"""

# What must stay as it is.
TRANSPORTS = """async () => {
  const of = async (pc) => {
    const stats = [...(await pc.getStats()).values()];
    const { dtlsState, selectedCandidatePairId, selectedCandidatePairChanges } = stats.find(({ type }) => type === "transport");
    const ufrag = (description) => description.sdp.match(/a=ice-ufrag:(.*)/)[1];
    return [pc.connectionState, dtlsState, selectedCandidatePairId, selectedCandidatePairChanges,
      ufrag(pc.localDescription), ufrag(pc.remoteDescription)];
  };
  return Promise.all(window.connections.filter((pc) => pc.signalingState !== "closed").map(of));
}"""

# The decoder's own count of the time between frames, looked at often. Of several frames between two looks it tells the sum of
# the squares, whose root is no less than the longest of them. So a page that is slow to look makes no gap, and hides none.
WATCH = """async (name) => {
  const video = document.querySelector(`[data-name="${name}"] video`);
  const [track] = video.srcObject.getTracks();
  const pc = window.connections.find((pc) => pc.getReceivers().some((receiver) => receiver.track === track));
  const look = async () => [...(await pc.getStats(track)).values()].find(({ type }) => type === "inbound-rtp");
  const watched = (window.watched = { video, longest: 0, frames: 0, last: await look() });
  (async () => {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const now = await look();
      if (!now || window.watched !== watched) return; // the call is over, or another one is watched
      const squares = Math.max(0, now.totalSquaredInterFrameDelay - watched.last.totalSquaredInterFrameDelay);
      watched.longest = Math.max(watched.longest, Math.sqrt(squares));
      watched.frames += now.framesDecoded - watched.last.framesDecoded;
      watched.last = now;
    }
  })();
}"""

# What was seen since this was last asked, once another frame has ended the gap that may be going on.
SEEN = """async () => {
  const { watched } = window;
  const before = watched.last.framesDecoded;
  while (watched.last.framesDecoded === before) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { longest, frames } = watched;
  Object.assign(watched, { longest: 0, frames: 0 });
  return { ms: Math.round(longest * 1000), frames };
}"""

SAME_ELEMENT = """(name) => document.querySelector(`[data-name="${name}"] video`) === window.watched.video"""


@dataclasses.dataclass(frozen=True)
class Gap:
    """The longest time between two decoded frames, among how many."""

    ms: int
    frames: int


class Watch:
    """One person watching another through an upgrade."""

    def __init__(self, person: Person, other: str) -> None:
        self.person, self.other = person, other
        self.transports = person.page.evaluate(TRANSPORTS)
        self.lost = self.losses()
        person.page.evaluate(WATCH, other)

    def gap(self) -> Gap:
        return Gap(**self.person.page.evaluate(SEEN))

    def losses(self) -> int:
        """Packets lost of all that is received."""
        return sum(track.get("packetsLost", 0) for kinds in self.person.received().values() for track in kinds.values())

    def check_transports(self) -> None:
        assert self.person.page.evaluate(TRANSPORTS) == self.transports, "the same connections, and no new ICE or DTLS"

    def check(self) -> None:
        self.check_transports()
        assert self.losses() == self.lost, "nothing was lost"
        assert self.person.page.evaluate(SAME_ELEMENT, self.other), "the same element on the page"
