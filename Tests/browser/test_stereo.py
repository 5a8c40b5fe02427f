"""Music stays what it is: in stereo, at the rate that the room allows, from one browser to another."""

import time

from people import eventually
from test_sdk_media import program

# A different chord in each ear, with noise so that an encoder needs its bits, published as music or as it comes.
PUBLISH = """async ([name, options]) => {
  const context = new AudioContext();
  const end = new MediaStreamAudioDestinationNode(context, { channelCount: 2 });
  const ears = new ChannelMergerNode(context, { numberOfInputs: 2 });
  ears.connect(end);
  const noise = context.createBuffer(1, context.sampleRate, context.sampleRate);
  noise.getChannelData(0).forEach((_, place, all) => { all[place] = Math.random() * 0.2 - 0.1; });
  for (const [ear, frequency] of [[0, 500], [1, 1500]]) {
    const tone = new OscillatorNode(context, { frequency });
    const hiss = new AudioBufferSourceNode(context, { buffer: noise, loop: true });
    for (const source of [tone, hiss]) {
      source.connect(ears, 0, ear);
      source.start();
    }
  }
  window.room = await window.sdk.join(name, "Band");
  await window.room.publish(end.stream.getAudioTracks()[0], options);
}"""

SENT = """async () => {
  const sent = [...(await window.room.stats()).publish.values()].find(({ type }) => type === "outbound-rtp");
  return [sent.bytesSent, sent.timestamp];
}"""

# How loud both tones are in each ear of a listener, in dB.
LISTEN = """async (name) => {
  window.room = await window.sdk.join(name, "Listener");
  const heard = ({ detail: { track } }) => {
    const stream = new MediaStream([track.mediaStreamTrack]);
    Object.assign(new Audio(), { srcObject: stream, muted: true }).play();
    const context = new AudioContext({ sampleRate: 48000 });
    const ears = new ChannelSplitterNode(context, { numberOfOutputs: 2 });
    new MediaStreamAudioSourceNode(context, { mediaStream: stream }).connect(ears);
    window.ears = [0, 1].map((ear) => {
      const analyser = new AnalyserNode(context, { fftSize: 4096 });
      ears.connect(analyser, ear);
      return analyser;
    });
  };
  window.room.addEventListener("trackStarted", heard);
}"""

EARS = """() => window.ears?.map((ear) => {
  const bins = new Float32Array(ear.frequencyBinCount);
  ear.getFloatFrequencyData(bins);
  return [500, 1500].map((tone) => bins[Math.round(tone * 4096 / 48000)]);
})"""


def separation(page) -> float:
    """By how many decibels each ear has its own tone louder than the other's; very little where nothing is heard."""
    ears = page.evaluate(EARS)
    if not ears or min(max(ear) for ear in ears) < -60:
        return -1000
    (left, low), (high, right) = ears
    return min(left - low, right - high)


def kilobits(page, seconds: float = 3) -> float:
    (before, begin) = page.evaluate(SENT)
    time.sleep(seconds)
    (after, end) = page.evaluate(SENT)
    return (after - before) * 8 / (end - begin)


def test_music_stays_in_stereo(person, server):
    band, listener = program(person("Anna"), server), program(person("Ben"), server)
    listener.evaluate(LISTEN, "radio")
    band.evaluate(PUBLISH, ["radio", {"music": True}])
    eventually("each ear has its own tone", lambda: separation(listener) > 30)
    # The room allows 256 kbit/s, and 48 are what speech is sent with.
    eventually("the rate is that of music", lambda: 160 < kilobits(band) < 290)
    assert separation(listener) > 30


def test_speech_stays_in_mono(person, server):
    band, listener = program(person("Anna"), server), program(person("Ben"), server)
    listener.evaluate(LISTEN, "radio")
    band.evaluate(PUBLISH, ["radio", {}])
    eventually("both ears have both tones", lambda: abs(separation(listener)) < 30)
    assert kilobits(band) < 60
