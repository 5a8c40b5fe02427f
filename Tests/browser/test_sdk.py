"""The SDK by itself: what a program sees that closes early, what another client may say, calls that go on without one."""

import functools
import http.server
import socket
import threading

import pytest
from people import eventually
from server import Server

# Six devices in one page, all through the SDK and without media: what each believes of calls that go on without it, or do not.
WITHOUT_PART = """async (name) => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const device = async (user, deviceId = "one") => {
    const client = new RoostClient(rtcUrl(), { user: `${name}-${user}`, deviceId });
    await client.connect();
    return client;
  };
  const until = async (condition) => {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const [anna, ben, second, cleo, dora] = await Promise.all(
    [device("anna"), device("ben"), device("ben", "two"), device("cleo"), device("dora")]);
  const seen = async (client, { callId }) => {
    await until(() => client.calls.some((call) => call.callId === callId && call.isRinging));
    return client.call(callId);
  };
  const result = {};

  const declined = (await anna.startCall([ben.user])).call;
  const [here, there] = [await seen(ben, declined), await seen(second, declined)];
  await here.reject();
  await until(() => here.isOver && there.isOver);
  result.declined = [here.reason, there.reason];

  const missed = (await anna.startCall([ben.user])).call;
  const ringing = [await seen(ben, missed), await seen(second, missed)];
  await missed.cancel();
  await until(() => ringing.every(({ isOver }) => isOver));
  result.missed = ringing.map(({ reason }) => reason);

  const hotline = (await anna.startCall([ben.user, cleo.user], { kind: "one_to_many" })).call;
  const other = await seen(ben, hotline);
  await (await seen(cleo, hotline)).accept();
  await until(() => other.isOver);
  result.answered = [other.reason, (await ben.availableCalls()).length];

  // Those who talk take in a third: for him who did not answer it is a group that runs, and that he may join.
  await hotline.invite([dora.user]);
  await (await seen(dora, hotline)).accept();
  await until(() => !other.isOver);
  result.group = [other.kind, other.state, (await ben.availableCalls()).map((call) => call === other)];
  await hotline.end();
  // Each is told by himself.
  const everybody = [ben, second, cleo, dora];
  await until(() => other.isOver && everybody.every(({ calls }) => calls.every(({ isOver }) => isOver)));
  result.ended = everybody.map(({ calls }) => calls.filter(({ isOver }) => !isOver).length);
  for (const client of [anna, ben, second, cleo, dora]) client.close();
  return result;
}"""


# The example of docs/web-client.md in a page that is not ours, with the SDK as the server gives it to everybody.
FOREIGN = """async ([site, name]) => {
  const { RoostClient, openMedia } = await import(`${site}/roost.js`);
  const client = new RoostClient(`${site.replace("http", "ws")}/rtc`, { displayName: "Cleo" });
  await client.connect();
  const room = await client.join(name);
  room.addEventListener("trackStarted", ({ detail: { participant, track } }) => {
    const element = document.createElement(track.kind);
    element.srcObject = new MediaStream([track.mediaStreamTrack]);
    element.autoplay = element.playsInline = element.muted = true;
    element.id = `${participant.displayName}-${track.kind}`;
    document.body.append(element);
  });
  const { audio, video } = await openMedia({ audio: true, video: true });
  const microphone = await room.publish(audio, { label: "microphone" });
  await room.publish(video, { label: "camera" });
  Object.assign(window, { client, room, microphone });
}"""


@pytest.fixture
def foreign_page(tmp_path):
    """The address of a site with one page that has nothing to do with us."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "index.html").write_text("<!doctype html><title>Not ours</title><link rel=icon href=data:,>")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{site.server_port}"
        site.shutdown()


@pytest.fixture
def mute():
    """A server that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"ws://127.0.0.1:{listener.getsockname()[1]}/rtc"


@pytest.fixture
def roomy(tmp_path):
    """A server with more rooms than one answer names."""
    server = Server(tmp_path)
    named = "".join(f"  room {number:03}:\n    kind: demo\n" for number in range(220))
    server.configuration.write_text(server.configuration.read_text().replace("rooms:\n", f"rooms:\n{named}", 1))
    with server:
        yield server


def test_the_list_of_rooms_comes_whole(roomy, person):
    names = person("Anna", on=roomy).open("demo").page.evaluate(
        """async () => {
          const { RoostClient, rtcUrl } = await import("/roost.js");
          const client = new RoostClient(rtcUrl(), { user: "lister" });
          await client.connect();
          const pages = [];
          const ask = client.request.bind(client);
          client.request = async (...words) => {
            const answer = await ask(...words);
            if (answer.rooms) pages.push(answer.rooms.length);
            return answer;
          };
          const rooms = await client.rooms();
          client.close();
          return [rooms.map(({ name }) => name), pages];
        }"""
    )
    assert names == [sorted(["demo", "radio"] + [f"room {number:03}" for number in range(220)]), [100, 100, 22]]


def test_closing_while_it_connects_ends_the_waiting(person, mute):
    anna = person("Anna").open("demo")
    refusal = anna.page.evaluate(
        """async (url) => {
          const { RoostClient } = await import("/roost.js");
          const client = new RoostClient(url);
          const connecting = client.connect().catch(({ code }) => code);
          client.close();
          return [await connecting, client.state];
        }""",
        mute,
    )
    assert refusal == [-3, "closed"]


def test_what_another_device_says_of_its_views_is_not_trusted(person, room):
    anna = person("Anna").join(room)
    views = anna.page.evaluate("""() => {
      const views = [null, 7, "view", {}, { index: 2, x: "0", y: 0, w: 1, h: 1 }, { index: 1, x: 0.5, y: 0, w: 0.5, h: 1, more: 1 }];
      const tracks = [{ kind: "video", split: { views } }, { kind: "video", split: { views: "none" }, viewIndex: 0 }, { kind: "video", split: 5 }];
      const seen = window.roost.room.views({ tracks: new Map(Object.entries(tracks)) });
      return seen.map(({ index, part }) => ({ index, part }));
    }""")
    assert views == [{"index": 0, "part": None}, {"index": 1, "part": {"x": 0.5, "y": 0, "w": 0.5, "h": 1}}]


def test_a_call_of_two_is_over_with_ones_part_in_it(person, room):
    watcher = person("Anna")
    watcher.open(room)
    assert watcher.page.evaluate(WITHOUT_PART, room) == {
        "declined": ["rejected", "rejected"],
        "missed": ["cancelled", "cancelled"],
        "answered": ["answered_by_other", 0],
        "group": ["group", "active", [True]],
        "ended": [0, 0, 0, 0],
    }


# The bit rates of a picture, of a large one on the same line, of a small one in its place: in one size, then in three.
RATES = """async (name) => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const client = new RoostClient(rtcUrl(), { user: name });
  await client.connect();
  const room = await client.join(name);
  const picture = (height) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: (height * 16) / 9, height });
    canvas.getContext("2d").fillRect(0, 0, 10, 10);
    return canvas.captureStream(5).getVideoTracks()[0];
  };
  const rates = ({ _transceiver: { sender } }) => sender.getParameters().encodings.filter(({ active }) => active).map(({ maxBitrate }) => maxBitrate);
  const result = [];
  for (const [simulcast, height] of [[false, 180], [true, 540]]) {
    const first = await room.publish(picture(height), { simulcast });
    const line = first._transceiver;
    result.push(rates(first));
    await room.unpublish(first);
    const large = await room.publish(picture(720), { simulcast });
    result.push(rates(large), large._transceiver === line);
    await large.replace(picture(180));
    result.push(rates(large));
  }
  client.close();
  return result;
}"""


def test_a_picture_has_its_own_bit_rate_whatever_was_sent_before_it(person, room):
    anna = person("Anna").open("demo")
    small, large = [250_000], [2_580_480]
    first_layers, large_layers = [145_152, 483_840, 1_451_520], [258_048, 860_160, 2_580_480]
    assert anna.page.evaluate(RATES, room) == [small, large, True, small, first_layers, large_layers, True, small]


@pytest.fixture
def hospitable(foreign_page, tmp_path):
    """A server that lets that page in."""
    with Server(tmp_path, origins=foreign_page) as server:
        yield server


def test_a_page_of_others_needs_the_sdk_alone(hospitable, foreign_page, person, room):
    anna = person("Anna", on=hospitable).join(room)
    cleo = person("Cleo", on=hospitable)
    cleo.page.goto(foreign_page)
    cleo.page.evaluate(FOREIGN, [hospitable.url, room])
    anna.sees("Cleo")
    anna.hears("Cleo")
    picture = "document.getElementById('Anna-video')?.videoWidth"
    eventually("Cleo's page shows Anna", lambda: cleo.page.evaluate(f"{picture} > 0"))
    cleo.page.evaluate("window.room.leave().then(() => window.client.close())")
    eventually("Cleo is gone", lambda: anna.tiles.count() == 1)
