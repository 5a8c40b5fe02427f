"""C5 and C6: packets that are lost by chance, and what repeats and redundant sound make of it."""

import typing

from bench import Outcome, Part, Stage, percent
from clients import SAMPLER
from halls import Roost
from lines import Line, NetworkNotApplied
from thin import PIA, SOUND

CODECS, LOSSES = ("VP8", "VP9", "H264", "AV1"), (0.03, 0.1)

# A call without a server. Each side's description is carried by whoever calls these: offer() there, answer(offer) here, accept(answer) there.
DIRECT = """() => {
  const pc = (window.pc = new RTCPeerConnection({ bundlePolicy: "max-bundle" }));
  const names = {};
  window.reports = async () => ({ publish: null, subscribe: await pc.getStats(), names });
  const complete = () => new Promise((resolve) => {
    const look = () => pc.iceGatheringState === "complete" && resolve(pc.localDescription.toJSON());
    pc.onicegatheringstatechange = look;
    look();
  });
  pc.ontrack = ({ track }) => {
    names[track.id] = "Pia";
    const element = Object.assign(document.createElement(track.kind), { autoplay: true, playsInline: true, width: 640 });
    element.srcObject = new MediaStream([track]);
    document.body.append(element);
  };
  window.offer = async ({ codec, height }) => {
    const width = Math.round((height * 16) / 9);
    const media = await navigator.mediaDevices.getUserMedia({ audio: true, video: { width, height } });
    for (const track of media.getTracks()) {
      const sendEncodings = track.kind === "video" ? [{ maxBitrate: 645000 }] : [{ maxBitrate: 48000 }];
      const transceiver = pc.addTransceiver(track, { direction: "sendonly", sendEncodings });
      if (track.kind !== "video") continue;
      const known = RTCRtpReceiver.getCapabilities("video").codecs;
      const wanted = known.filter(({ mimeType }) => mimeType === `video/${codec}`);
      transceiver.setCodecPreferences([...wanted, ...known.filter(({ mimeType }) => mimeType === "video/rtx")]);
    }
    await pc.setLocalDescription();
    return complete();
  };
  window.answer = async (offer) => {
    await pc.setRemoteDescription(offer);
    await pc.setLocalDescription();
    return complete();
  };
  window.accept = (answer) => pc.setRemoteDescription(answer);
}"""

# Takes lines out of what the other side describes: a receiver without them does not ask, or does not get.
WITHOUT = """(() => {
  const original = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function (description) {
    const lines = description.sdp.split("\\r\\n").filter((line) => !(%s));
    return original.call(this, { type: description.type, sdp: lines.join("\\r\\n") });
  };
})()"""
NO_REPEATS = WITHOUT % r"/^a=rtcp-fb:\d+ nack$/.test(line)"
# A publisher whom nobody asks for FEC sends none.
NO_FEC = """(() => {
  const original = RTCPeerConnection.prototype.setRemoteDescription;
  RTCPeerConnection.prototype.setRemoteDescription = function ({ type, sdp }) {
    return original.call(this, { type, sdp: sdp.replaceAll("useinbandfec=1", "useinbandfec=0") });
  };
})()"""
# The payload type of RED as Chromium and Roost have it stays in the list of formats, where a format without a name is left out.
NO_RED = WITHOUT % r"/^a=rtpmap:\d+ red\/48000/.test(line) || /^a=fmtp:\d+ \d+\/\d+/.test(line)"


def all_codecs(stage: Stage) -> Outcome:
    """C5, each codec under each loss, with and without a server."""
    return Outcome([cell(stage, codec, loss) for codec in CODECS for loss in LOSSES])


def without_repeats(stage: Stage) -> Outcome:
    """C5's control: the viewer asks for no repeats."""
    return Outcome([cell(stage, "VP8", 0.1, without_repeats=True)])


def cell(outer: Stage, codec: str, loss: float, without_repeats: bool = False) -> Part:
    """The share of the time that a picture was frozen: Ben's of Pia by the server and, at the same time, Dora's of Dan without one."""
    name = f"{outer.name}-{codec}-{loss * 100:.0f}"
    folder = outer.tools.out / "servers" / name
    folder.mkdir(parents=True, exist_ok=True)
    with Roost(folder, f"video_codecs: [{codec}]") as hall, Stage(outer.tools, hall, name) as stage:
        stage.publisher("Pia", stage.browser("Pia"))
        ben = stage.page("Ben", stage.browser("Ben"))
        if without_repeats:
            ben.add_init_script(NO_REPEATS)
        hall.view(ben, "Ben", stage.room)
        hall.pin(ben, "Pia")
        call(stage, "Dan", "Dora", codec)
        for who in ("Ben", "Dora"):
            stage.until(f"a picture of {who}'s", lambda who=who: stage.latest(who, PIA, "framesDecoded") > 60, 90)
            used = stage.latest(who, PIA, "codec")
            if used != f"video/{codec}":
                raise NetworkNotApplied(f"{used} is used instead of {codec}")
            stage.lines[who].lose(down=loss)
        begun = stage.wait(3)
        ended = stage.wait(60 if without_repeats else stage.tools.seconds(300, 60))
        for who in ("Ben", "Dora"):
            counted(stage.lines[who], loss)
        stage.keep(moments=[begun, ended])
        served, direct = (stage.samples(who).between(begun, ended).frozen_share(PIA) for who in ("Ben", "Dora"))
    what = f"{codec} {loss * 100:.0f} %{' without repeats' if without_repeats else ''}:"
    return Part(what, f"{percent(served)}, direct {percent(direct)}", served <= 1.2 * direct + 0.005)


def counted(line: Line, loss: float) -> None:
    """@raises NetworkNotApplied where other than the wanted share of packets was lost"""
    lost = line.lost()
    share = lost["lost"] / max(1, lost["all"])
    if not loss * 0.7 <= share <= loss * 1.3:
        raise NetworkNotApplied(f"of {percent(loss)} loss {percent(share)} were lost")


def call(stage: Stage, caller: str, callee: str, codec: str) -> None:
    """One calls another, with nobody between them but two lines."""
    pages = {}
    for name in (caller, callee):
        pages[name] = stage.page(name, stage.browser(name))
        pages[name].goto(f"{stage.hall.origin}/style.css")
        pages[name].evaluate(DIRECT)
        pages[name].evaluate(SAMPLER)
    offer = pages[caller].evaluate("(given) => window.offer(given)", {"codec": codec, "height": 360})
    answer = pages[callee].evaluate("(offer) => window.answer(offer)", offer)
    pages[caller].evaluate("(answer) => window.accept(answer)", answer)


def red(stage: Stage, without: bool) -> Outcome:
    """C6: sound alone, of which a fifth is lost on the way to Ben. `without`: Ben knows no RED, and Pia sends no FEC,
    which by itself reaches the bar now and then."""
    if without:
        stage.before_publishing = lambda page: page.add_init_script(NO_FEC)
    stage.publisher("Pia", stage.browser("Pia"), height=0)
    ben = stage.page("Ben", stage.browser("Ben"))
    if without:
        ben.add_init_script(NO_RED)
    stage.hall.view(ben, "Ben", stage.room)
    stage.until("sound", lambda: stage.latest("Ben", SOUND, "packetsReceived") > 100, 60)
    line = stage.lines["Ben"]
    line.lose(down=0.2)
    begun = stage.wait(3)
    ended = stage.wait(stage.tools.seconds(60, 20))
    counted(line, 0.2)
    stage.keep(moments=[begun, ended])
    concealed = stage.samples("Ben").between(begun, ended).concealed(SOUND)
    codec: typing.Any = stage.latest("Ben", SOUND, "codec")
    return Outcome([Part("made up", f"{percent(concealed)} ({codec})", concealed <= 0.06)])
