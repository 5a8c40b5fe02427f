"""What programs choose with the SDK: codecs and bit rates, loudspeakers, a screen with its sound; and sound that a browser holds back."""

import pytest
from people import CHROMIUM, FLAGS, eventually
from server import Server
from test_sdk import foreign_page, hospitable  # noqa: F401

# A program without a page of ours: `sdk.join(name, user)` gives a room; `sdk.picture(width, height)` a picture in motion.
SDK = """async () => {
  const sdk = await import("/roost.js");
  const { RoomSound } = await import("/sound.js");
  const join = async (name, user) => {
    const client = new sdk.RoostClient(sdk.rtcUrl(), { user: `${user}-${name}`, displayName: user });
    await client.connect();
    return client.join(name);
  };
  const picture = (width, height) => {
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d");
    let frame = 0;
    setInterval(() => {
      context.fillStyle = `hsl(${(frame += 7) % 360} 60% 50%)`;
      context.fillRect(0, 0, width, height);
    }, 66);
    return canvas.captureStream(15).getVideoTracks()[0];
  };
  const tone = () => {
    const context = new AudioContext();
    const end = context.createMediaStreamDestination();
    const source = new OscillatorNode(context, { frequency: 500 });
    source.connect(end);
    source.start();
    return end.stream.getAudioTracks()[0];
  };
  window.sdk = { ...sdk, RoomSound, join, picture, tone };
}"""

# Of each layer that is sent, the codec and the pictures encoded so far; of sound its codec.
SENT = """async () => {
  const report = (await window.room.stats()).publish;
  const sent = [...report.values()].filter(({ type }) => type === "outbound-rtp");
  return sent.map(({ codecId, rid, framesEncoded }) => ({ codec: report.get(codecId)?.mimeType, rid, frames: framesEncoded }));
}"""

RATES = """(track) => track._transceiver.sender.getParameters().encodings.map(({ maxBitrate }) => maxBitrate)"""


def program(person, server):
    """A page that has the SDK alone."""
    page = person.context.new_page()
    page.goto(f"{server.url}/style.css")
    page.evaluate(SDK)
    return page


def sends(page, codec: str, layers: int) -> bool:
    active = [one for one in page.evaluate(SENT) if one["frames"]]
    return len(active) == layers and all(one["codec"] == f"video/{codec}" for one in active)


@pytest.mark.parametrize("codec, layers", [("VP9", 2), ("AV1", 1), ("H264", 1)])
def test_a_codec_and_a_bit_rate_are_chosen(person, room, server, codec, layers):
    page = program(person("Anna"), server)
    ben = person("Ben").join(room)
    publish = """async ([name, codec, layers]) => {
      window.room = await window.sdk.join(name, "Sender");
      window.track = await window.room.publish(window.sdk.picture(640, 360), { codec, simulcast: layers > 1, maxBitrate: 600_000 });
      return window.track._transceiver.sender.getParameters().encodings.map(({ maxBitrate }) => maxBitrate);
    }"""
    assert page.evaluate(publish, [room, codec, layers]) == [200_000, 600_000][-layers:]
    eventually(f"{codec} is sent", lambda: sends(page, codec, layers), 30)
    ben.sees_anything("Sender")
    # The line is used again, for what the server likes best, at the bit rate that suits the picture.
    again = f"""async (simulcast) => {{
      const line = window.track._transceiver;
      await window.room.unpublish(window.track);
      window.track = await window.room.publish(window.sdk.picture(640, 360), {{ simulcast }});
      return [window.track._transceiver === line, ({RATES})(window.track)];
    }}"""
    assert page.evaluate(again, layers > 1) == [True, [215_040, 645_120][-layers:]]
    eventually("VP8 is sent", lambda: sends(page, "VP8", layers), 30)
    ben.sees_anything("Sender")


def test_sound_has_a_bit_rate_too(person, room, server):
    page = program(person("Anna"), server)
    rates = page.evaluate(
        f"""async (name) => {{
          window.room = await window.sdk.join(name, "Sender");
          const usual = await window.room.publish(window.sdk.tone());
          const screen = await window.room.publish(window.sdk.tone(), {{ source: "screen_audio", maxBitrate: 128_000 }});
          return [usual, screen].map({RATES});
        }}""",
        room,
    )
    assert rates == [[48_000], [128_000]]


def test_a_codec_that_is_not_to_be_had_is_refused(person, room, tmp_path):
    with Server(tmp_path, media="video_codecs: [VP8]") as server:
        page = program(person("Anna", on=server), server)
        codes = page.evaluate(
            """async (name) => {
              window.room = await window.sdk.join(name, "Sender");
              const refusal = (codec) => window.room.publish(window.sdk.picture(320, 180), { codec }).then(() => null, ({ code }) => code);
              return [await refusal("VP9"), await refusal("MPEG2"), await refusal("VP8"), window.room.localTracks.size];
            }""",
            room,
        )
    # Of the server, of the browser, and of neither.
    assert codes == [4004, 4004, None, 1]


def test_loudspeakers_are_chosen(person, room, server):
    ben = person("Ben").join(room)
    page = program(person("Anna"), server)
    page.evaluate(
        """async (name) => {
          await window.sdk.openMedia({ audio: true }); // without it the names of devices are secret
          window.room = await window.sdk.join(name, "Listener");
          window.sound = new window.sdk.RoomSound(window.room);
        }""",
        room,
    )
    sinks = "() => window.sound.elements.map(({ sinkId }) => sinkId)"
    eventually("Ben is heard", lambda: page.evaluate(sinks) == [""])
    outputs = page.evaluate("async () => (await window.sdk.listDevices()).output.map(({ deviceId }) => deviceId)")
    chosen = next(one for one in outputs if one not in ("", "default"))
    choose = "(id) => window.sound.setOutput(id).then(() => window.sound.output, ({ code, name }) => [code, name])"
    assert page.evaluate(choose, chosen) == chosen
    assert page.evaluate(sinks) == [chosen]
    assert page.evaluate(choose, "no such device") == [-8, "OUTPUT_UNAVAILABLE"]
    assert page.evaluate(sinks) == [chosen] and page.evaluate("window.sound.output") == chosen
    # Who comes later is heard there too; who leaves is not.
    person("Cleo").join(room)
    eventually("Cleo is heard", lambda: page.evaluate(sinks) == [chosen, chosen])
    playing = "() => window.sound.elements.every(({ paused, currentTime }) => !paused && currentTime > 0)"
    eventually("both play", lambda: page.evaluate(playing))
    ben.leave()
    eventually("Ben is gone", lambda: page.evaluate(sinks) == [chosen])
    page.evaluate("() => window.room.leave()")
    eventually("all is over", lambda: page.evaluate(sinks) == [])


@pytest.mark.parametrize("way", ["room.leave", "call.hangup", "nothing"])
def test_who_closes_keeps_no_connection(way, person, room, server):
    """Also where they have just said that they leave: what stays for the server to hear it ends with the socket."""
    page = program(person("Anna"), server)
    ms = page.evaluate(
        """async ([name, way]) => {
          const made = [];
          const Plain = globalThis.RTCPeerConnection;
          globalThis.RTCPeerConnection = class extends Plain {
            constructor(...all) {
              super(...all);
              made.push(this);
            }
          };
          const { RoostClient, rtcUrl } = await import("/roost.js");
          const [anna, ben] = ["anna", "ben"].map((user) => new RoostClient(rtcUrl(), { user: `${name}-${user}` }));
          await Promise.all([anna.connect(), ben.connect()]);
          const room = way === "call.hangup" ? null : await anna.join(name);
          const call = way === "call.hangup" ? (await anna.startCall([ben.user])).call : null;
          if (way === "room.leave") room.leave();
          const ends = call?.hangup().catch(() => {});
          const since = performance.now();
          anna.close();
          while (made.some(({ signalingState }) => signalingState !== "closed")) await new Promise((resolve) => setTimeout(resolve, 5));
          await ends;
          ben.close();
          return made.length ? performance.now() - since : null;
        }""",
        [room, way],
    )
    assert ms is not None and ms < 1000


@pytest.fixture
def strict(crowd):
    """A Chromium that holds sound back until its page is touched, as people have it."""
    flags = [flag for flag in FLAGS if not flag.startswith("--autoplay-policy")]
    browser = crowd.playwright.chromium.launch(
        executable_path=CHROMIUM, args=[*flags, "--autoplay-policy=document-user-activation-required"]
    )
    yield browser
    browser.close()


LISTENER = """<!doctype html><title>Listener</title><link rel=icon href=data:,><button style="position: fixed; inset: 0">Listen</button>
<script type="module">
  const [site, room] = decodeURIComponent(location.hash.slice(1)).split(" ");
  const { RoostClient, rtcUrl } = await import(`${site}/roost.js`);
  const { RoomSound } = await import(`${site}/sound.js`);
  const client = new RoostClient(rtcUrl(new URL(site)), { displayName: "Listener" });
  await client.connect();
  const sound = new RoomSound(await client.join(room));
  const state = () => sound.elements.map(({ paused }) => paused);
  sound.addEventListener("blocked", ({ detail }) => console.log("blocked", detail.blocked, ...state()));
  document.querySelector("button").onclick = async () => console.log("started", await sound.start(), ...state());
</script>"""


def test_sound_that_is_held_back_plays_when_the_page_is_touched(person, room, strict, hospitable, foreign_page, tmp_path):  # noqa: F811
    person("Ben", on=hospitable).join(room)
    (tmp_path / "foreign" / "listener.html").write_text(LISTENER)
    page = strict.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{foreign_page}/listener.html#{hospitable.url}%20{room}")

    def says(text: str) -> bool:
        # Not by evaluating anything, which counts as a touch.
        page.wait_for_timeout(100)
        return text in said

    eventually("sound is held back", lambda: says("blocked true true"))
    page.wait_for_timeout(1_000)
    assert said == ["blocked true true"], "it is said once, and nothing plays"
    page.mouse.click(50, 50)
    eventually("it plays", lambda: says("started true false"))
    assert said == ["blocked true true", "blocked false false", "started true false"]


def test_a_screen_is_shared_with_its_sound(person, room, server):
    ben = person("Ben").join(room)
    page = program(person("Anna"), server)
    # Headless browsers have no sound of a screen: what the browser would give.
    page.evaluate(
        """() => {
          navigator.mediaDevices.getDisplayMedia = async (wanted) => {
            window.wanted = wanted;
            return new MediaStream([window.sdk.picture(640, 360), ...(wanted.audio ? [window.sdk.tone()] : [])]);
          };
        }"""
    )
    shared = page.evaluate(
        """async (name) => {
          window.room = await window.sdk.join(name, "Sharer");
          const alone = await window.sdk.openScreen();
          const without = await window.sdk.openScreenMedia();
          const { video, audio } = await window.sdk.openScreenMedia({ audio: true });
          await window.room.publish(video, { source: "screen", simulcast: false });
          await window.room.publish(audio, { source: "screen_audio" });
          return [alone.kind, without.audio, window.wanted.audio, video.contentHint];
        }""",
        room,
    )
    assert shared == ["video", None, {"echoCancellation": False, "noiseSuppression": False, "autoGainControl": False}, "detail"]
    sources = """() => [...window.roost.room.participants.values()].filter(({ isSelf }) => !isSelf)
      .flatMap(({ tracks }) => [...tracks.values()]).map(({ source }) => source).sort()"""
    eventually("Ben knows what it is", lambda: ben.page.evaluate(sources) == ["screen", "screen_audio"])
    ben.sees_anything("Sharer")
    ben.hears("Sharer")


def test_who_only_receives_makes_one_connection(person, room, server):
    """A second one takes a browser time, in which no picture comes; who publishes later makes it then."""
    ben = person("Ben")
    ben.join(room)
    anna = person("Anna")
    page = anna.context.new_page()
    page.add_init_script("""window.made = 0;
      window.RTCPeerConnection = class extends RTCPeerConnection { constructor(...given) { super(...given); window.made++; } };
      window.WebSocket = class extends WebSocket {
        constructor(...given) {
          super(...given);
          this.addEventListener("message", ({ data }) => { if (JSON.parse(data).result?.participants) window.madeBefore ??= window.made; });
        }
      };""")
    page.goto(f"{server.url}/style.css")
    page.evaluate(SDK)
    page.evaluate("async (room) => { window.room = await window.sdk.join(room, 'Anna'); }", room)
    eventually("pictures arrive", lambda: page.evaluate("window.room.mediaStates.subscribe") == "connected")
    assert page.evaluate("[window.madeBefore, window.made, window.room.mediaStates.publish]") == [1, 1, "new"], "it waits for no answer"
    assert page.evaluate("async () => (await window.room.stats()).publish") is None
    page.evaluate("async () => { await window.room.publish(window.sdk.picture(320, 180)); }")
    eventually("pictures are sent", lambda: page.evaluate("window.room.mediaStates.publish") == "connected")
    assert page.evaluate("window.made") == 2
    # And one that was never made is closed like any other.
    states = """async (room) => {
      await window.room.leave();
      const again = await window.sdk.join(room, "Anna");
      await again.leave();
      await new Promise((resolve) => setTimeout(resolve, 500));
      return Object.values(again.mediaStates);
    }"""
    assert page.evaluate(states, room) == ["closed", "closed"]
