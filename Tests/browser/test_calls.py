"""Calls between people in browsers: ringing, answering, inviting a third one, coming back, and what each of them reads."""

import signal

import pytest
from firefox import FirefoxPerson
from people import eventually
from playwright.sync_api import Page, expect
from server import Server

# Every peer connection of the page, and when each new frame of the others' videos was shown.
WATCH = """window.connections = [];
window.RTCPeerConnection = class extends RTCPeerConnection {
  constructor(...all) {
    super(...all);
    window.connections.push(this);
  }
};
window.watch = (name) => {
  const video = document.querySelector(`[data-name="${name}"] video`);
  window.watched = { video, times: [] };
  const seen = (now) => {
    window.watched.times.push(now);
    video.requestVideoFrameCallback(seen);
  };
  video.requestVideoFrameCallback(seen);
};"""

# What must stay as it is while a call becomes a group.
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

# The longest time between two frames of who is watched, in ms, since this was last asked.
GAP = """() => {
  const times = window.watched.times.splice(0, window.watched.times.length - 1);
  return Math.round(Math.max(0, ...times.slice(1).map((time, index) => time - times[index])));
}"""

SOUNDING = """async () => (await import("/tones.js")).sounding()"""


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
  await until(() => other.isOver);
  result.ended = [ben, second, cleo, dora].map(({ calls }) => calls.filter(({ isOver }) => !isOver).length);
  for (const client of [anna, ben, second, cleo, dora]) client.close();
  return result;
}"""


@pytest.fixture
def online(person):
    """Makes people who can be called, and call."""
    return lambda *names, **context: [person(name, **context).go_online() for name in names]


def outgoing(caller, callee: str):
    return caller.page.locator(f'#outgoing-people li[data-user="{callee}"]')


def talking(online):
    """Anna and Ben, who is heard and seen."""
    anna, ben = online("Anna", "Ben")
    anna.call("ben")
    ben.answer()
    anna.sees("Ben")
    return anna, ben


def test_a_video_call_from_the_ring_to_the_end(online):
    anna, ben = online("Anna", "Ben")
    anna.call("Ben")
    expect(outgoing(anna, "ben")).to_have_attribute("data-state", "ringing")
    expect(outgoing(anna, "ben")).to_contain_text("Ringing…")
    assert anna.page.evaluate(SOUNDING) == "ringback"
    expect(ben.page.locator("#ring-title")).to_have_text("Anna is calling")
    expect(ben.page.locator("#ring-title")).to_be_focused()
    expect(ben.page.locator("#ring-kind")).to_have_text("Video call")
    assert ben.page.evaluate(SOUNDING) == "ring"
    assert "Anna is calling" in ben.page.title()
    ben.answer()
    expect(anna.page.locator("#outgoing")).to_be_hidden()
    for one, other in ((anna, "Ben"), (ben, "Anna")):
        one.sees(other)
        one.hears(other)
        assert one.page.evaluate(SOUNDING) is None
        expect(one.page.locator("#timer")).to_be_visible()
        expect(one.page.locator("#quality")).to_contain_text("connection")
    anna.page.locator("#leave").click()
    expect(ben.page.locator("#phone-status")).to_have_text("Anna hung up.")
    expect(ben.page.locator("#records li").first).to_contain_text("Incoming, 0:")
    expect(anna.page.locator("#records li").first).to_contain_text("Outgoing, 0:")


def test_declining_with_a_text(online):
    anna, ben = online("Anna", "Ben")
    anna.call("ben")
    ben.page.locator("#ring-more summary").click()
    ben.page.locator("#ring-text").fill("In <b>ten</b> minutes, please.")
    ben.page.locator("#ring-text").press("Enter")
    expect(ben.page.locator("#ring")).to_be_hidden()
    expect(anna.page.locator("#phone-status")).to_have_text("Ben declined the call. “In <b>ten</b> minutes, please.”")
    assert anna.page.evaluate(SOUNDING) is None
    expect(anna.page.locator("#records li").first).to_have_attribute("data-result", "declined")


def test_a_cancelled_call_stops_ringing_and_is_listed_as_missed(online):
    anna, ben = online("Anna", "Ben")
    ben.page.locator("#tab-room").click()
    anna.call("ben")
    expect(ben.page.locator("#ring")).to_be_visible()
    anna.page.locator("#outgoing-cancel").click()
    expect(ben.page.locator("#ring")).to_be_hidden()
    assert ben.page.evaluate(SOUNDING) is None
    expect(anna.page.locator("#phone-status")).to_have_text("You cancelled the call.")
    expect(ben.page.locator("#missed")).to_have_text("1")
    ben.page.locator("#tab-calls").click()
    expect(ben.page.locator("#missed")).to_be_hidden()
    expect(ben.page.locator("#phone-status")).to_have_text("You missed a call from anna.")
    expect(ben.page.locator("#records li.missed").first).to_contain_text("anna")
    anna.call("ben")
    expect(ben.page.locator("#ring")).to_be_visible()


def test_an_ignored_call_goes_on_ringing_for_the_caller(online):
    anna, ben = online("Anna", "Ben")
    anna.call("ben")
    expect(ben.page.locator("#ring")).to_be_visible()
    ben.press("Escape")
    expect(ben.page.locator("#ring")).to_be_hidden()
    assert ben.page.evaluate(SOUNDING) is None
    expect(outgoing(anna, "ben")).to_have_attribute("data-state", "ringing")
    assert anna.page.evaluate(SOUNDING) == "ringback"


def test_who_is_in_another_call_is_busy(online):
    anna, ben, cleo = online("Anna", "Ben", "Cleo")
    anna.call("ben")
    ben.answer()
    ben.sees("Anna")
    cleo.page.locator("#dial-to").fill("ben")
    cleo.page.locator("#dial-video").click()
    expect(cleo.page.locator("#phone-status")).to_contain_text("is in another call.")
    expect(ben.page.locator("#ring")).to_be_hidden()
    ben.sees("Anna")
    ben.page.locator("#leave").click()
    expect(ben.page.locator("#records li.missed").first).to_contain_text("Missed while you were in another call")


def test_a_voice_answer_with_video_added_later(online):
    anna, ben = online("Anna", "Ben")
    anna.call("ben")
    ben.answer(voice=True)
    anna.hears("Ben")
    ben.sees("Anna")
    expect(anna.tile("Ben")).to_have_attribute("data-video", "none")
    expect(ben.page.locator("#cam")).to_have_text("Start videov")
    ben.page.locator("#cam").click()
    anna.sees("Ben")


def test_a_voice_call_becomes_a_video_call_when_both_want_it(online):
    anna, ben = online("Anna", "Ben")
    anna.call("ben", voice=True)
    expect(ben.page.locator("#ring-kind")).to_have_text("Voice call")
    expect(ben.page.locator("#ring-video")).to_be_hidden()
    ben.answer(voice=True)
    anna.hears("Ben")
    anna.page.locator("#cam").click()
    expect(ben.page.locator("#ask-text")).to_have_text("Anna asks to switch on video.")
    ben.page.locator("#ask-yes").click()
    anna.sees("Ben")
    ben.sees("Anna")


def test_a_third_one_is_invited_leaves_and_comes_back(person, capsys):
    anna, ben, cleo = (person(name) for name in ("Anna", "Ben", "Cleo"))
    for one in (anna, ben, cleo):
        one.page.add_init_script(WATCH)
        one.go_online()
    anna.call("ben")
    ben.answer()
    anna.sees("Ben")
    ben.sees("Anna")
    before = {one: (one.page.evaluate(TRANSPORTS), lost(one)) for one in (anna, ben)}
    anna.page.evaluate("window.watch('Ben')")
    ben.page.evaluate("window.watch('Anna')")
    for one, other in ((anna, "Ben"), (ben, "Anna")):
        assert one.frames_in(other, 1.5) > 0
    quiet = {one: one.page.evaluate(GAP) for one in (anna, ben)}

    invite(anna, "cleo")
    expect(ben.page.locator('#invited li[data-user="cleo"]')).to_contain_text("Ringing…")
    expect(cleo.page.locator("#ring-about")).to_contain_text("A call with Ben is going on.")
    cleo.answer()
    for one in (anna, ben):
        one.sees("Cleo")
    # A busy machine has gaps of its own: what it had before counts beside the second that must not freeze.
    gaps = {one: one.page.evaluate(GAP) for one in (anna, ben)}
    for one in (anna, ben):
        one.hears("Cleo")
        expect(one.page.locator("#invited")).to_be_hidden()
    cleo.sees("Anna")
    cleo.sees("Ben")

    for one, other in ((anna, "Ben"), (ben, "Anna")):
        transports, losses = before[one]
        assert one.page.evaluate(TRANSPORTS) == transports, "the same connections, and no new ICE or DTLS"
        assert lost(one) == losses, "nothing was lost"
        assert one.frames_in(other, 1) > 0
        still = "document.querySelector('[data-name=%s] video') === window.watched.video" % other
        assert one.page.evaluate(still), "the same element on the page"
        assert gaps[one] < 1000 + quiet[one], "no frozen second"
        with capsys.disabled():
            print(f"\nlongest gap of {other} at {one.name}: {gaps[one]} ms through the upgrade, {quiet[one]} ms before", end="")
    assert {one.page.evaluate("window.roost.call.kind") for one in (anna, ben, cleo)} == {"group"}

    cleo.page.locator("#leave").click()
    expect(anna.tile("Cleo")).to_have_count(0)
    expect(anna.page.locator('#invited li[data-user="cleo"]')).to_contain_text("Left")
    running = cleo.page.locator("#running li")
    expect(running).to_contain_text("anna and ben", ignore_case=True)
    running.locator("button").click()
    cleo.sees("Anna")
    anna.sees("Cleo")
    assert anna.page.evaluate(TRANSPORTS) == before[anna][0]
    # The one who began it may go.
    anna.page.locator("#leave").click()
    ben.sees("Cleo")


def invite(inviter, user: str) -> None:
    inviter.press("i")
    expect(inviter.page.locator("#invite-to")).to_be_focused()
    inviter.page.keyboard.type(user)
    inviter.press("Enter")
    expect(inviter.page.locator(f'#invite-members li[data-user="{user}"]')).to_contain_text("Ringing…")
    inviter.page.locator("#invite-close").click()


def lost(one) -> int:
    return sum(track.get("packetsLost", 0) for kinds in one.received().values() for track in kinds.values())


def test_everybody_who_is_called_is_shown(online):
    """A group call from a phone: who rings, who declined, who cannot be reached."""
    size = {"width": 360, "height": 700}
    (anna,) = online("Anna", viewport=size, has_touch=True, is_mobile=True, device_scale_factor=2)
    ben, cleo = online("Ben", "Cleo")
    anna.call("ben", "cleo", "nobody")
    expect(outgoing(anna, "nobody")).to_contain_text("Cannot be reached")
    expect(outgoing(anna, "cleo")).to_contain_text("Ringing…")
    assert anna.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    ben.page.locator("#ring-decline").click()
    expect(outgoing(anna, "ben")).to_contain_text("Declined")
    cleo.answer()
    anna.sees("Cleo")
    anna.page.locator("#add").click()
    again = anna.page.locator('#invite-members li[data-user="ben"]')
    again.get_by_role("button", name="Ring again: Ben").click()
    expect(ben.page.locator("#ring")).to_be_visible()
    box = ben.page.locator("#ring").bounding_box()
    assert box["height"] <= ben.page.viewport_size["height"]
    expect(again).to_contain_text("Ringing…")
    again.get_by_role("button", name="Cancel: Ben").click()
    expect(ben.page.locator("#ring")).to_be_hidden()


def test_a_call_outlives_a_lost_socket(online):
    anna, ben = talking(online)
    ben.page.evaluate("window.roost.client.session.dropSocket()")
    eventually("Ben is back", lambda: ben.page.evaluate("window.roost.client.state === 'open'"))
    anna.sees("Ben")
    ben.sees("Anna")
    assert ben.page.evaluate("window.roost.call.state") == "active"
    anna.page.locator("#leave").click()
    expect(ben.page.locator("#phone-status")).to_have_text("Anna hung up.")


def test_a_page_that_is_loaded_again_goes_on_with_its_call(online):
    anna, ben = talking(online)
    ben.page.locator("#mic").click()
    expect(ben.page.locator("#mic")).to_have_attribute("aria-pressed", "true")
    call = anna.page.evaluate("window.roost.call.callId")
    ben.page.reload()
    eventually("Ben is back", lambda: ben.page.evaluate("window.roost?.call?.callId") == call)
    ben.sees("Anna")
    anna.sees("Ben")
    expect(ben.page.locator("#mic")).to_have_attribute("aria-pressed", "true")
    assert anna.page.evaluate("window.roost.call.callId") == call
    anna.page.locator("#leave").click()
    expect(ben.page.locator("#phone-status")).to_have_text("Anna hung up.")
    ben.page.reload()
    expect(ben.page.locator("#lobby")).to_be_visible()
    ben.go_online()
    expect(ben.page.locator("#records li").first).to_contain_text("Incoming")


def test_a_page_that_is_loaded_again_and_again_goes_on_with_its_call(online):
    anna, ben = talking(online)
    ben.page.locator("#mic").click()
    expect(ben.page.locator("#mic")).to_have_attribute("aria-pressed", "true")
    call = anna.page.evaluate("window.roost.call.callId")
    # Before the script runs, before and after its hello, while it joins, while the camera opens.
    for pause in (0, 30, 60, 100, 150, 250, 400):
        ben.page.reload(wait_until="commit")
        ben.page.wait_for_timeout(pause)
    ben.page.reload()
    expect(ben.page.locator("#call")).to_be_visible()
    assert ben.page.evaluate("window.roost.call.callId") == call
    ben.sees("Anna")
    anna.sees("Ben")
    expect(ben.page.locator("#mic")).to_have_attribute("aria-pressed", "true")
    ben.page.locator("#leave").click()
    expect(anna.page.locator("#phone-status")).to_have_text("Ben hung up.")


def second_tab(person) -> Page:
    page = person.page.context.new_page()
    page.goto(f"{person.url}/?online=1&name={person.name}")
    return page


# What the server sees of a machine that crashes: no goodbye, and nothing after it.
DIE = """() => {
  window.WebSocket = class { close() {} };
  window.roost.client.session.dropSocket();
}"""


def test_a_tab_that_died_is_followed_by_another(online):
    anna, ben = talking(online)
    ben.page.evaluate(DIE)
    dead, ben.page = ben.page, second_tab(ben)
    dead.close()
    running = ben.page.locator("#running li")
    expect(running).to_contain_text("Anna")
    running.get_by_role("button", name="Join").click()
    eventually("the second tab is in", lambda: ben.page.evaluate("Boolean(window.roost?.room)"))
    ben.sees("Anna")
    anna.sees("Ben")


def test_another_tab_takes_the_call_over(online):
    anna, ben = talking(online)
    second = ben.page.context.new_page()
    second.goto(ben.page.url.split("?")[0].split("#")[0] + "?online=1&name=Ben")
    running = second.locator("#running li")
    expect(running).to_contain_text("Anna")
    running.get_by_role("button", name="Take over here").click()
    expect(ben.page.locator("#phone-status")).to_have_text("You joined from another window or device, so this one was disconnected.")
    eventually("the second tab is in", lambda: second.evaluate("Boolean(window.roost?.room)"))
    anna.sees("Ben")
    expect(anna.page.locator("#timer")).to_be_visible()
    second.locator("#leave").click()
    expect(anna.page.locator("#phone-status")).to_have_text("Ben hung up.")


def test_a_namesake_is_told(online):
    (anna,) = online("Anna")
    (other,) = online("Anna")
    expect(other.page.locator("#phone-status")).to_contain_text("If that is not you, choose another name.")
    expect(anna.page.locator("#phone-status")).not_to_contain_text("another name")


def test_two_who_call_each_other_at_once_talk(online):
    anna, ben = online("Anna", "Ben")
    for one, other in ((anna, "ben"), (ben, "anna")):
        one.page.locator("#dial-to").fill(other)
    press = "document.getElementById('dial-video').click()"
    anna.page.evaluate(press)
    ben.page.evaluate(press)
    anna.sees("Ben")
    ben.sees("Anna")
    for one in (anna, ben):
        expect(one.page.locator("#ring")).to_be_hidden()
        expect(one.page.locator("#outgoing")).to_be_hidden()


def test_firefox_is_called(online, server, tmp_path):
    fox = FirefoxPerson("Fox", server.url, tmp_path)
    try:
        fox.go_online()
        (anna,) = online("Anna")
        anna.call("fox")
        fox.click("ring-video")
        fox.sees_and_hears("Anna")
        anna.sees("Fox")
        anna.hears("Fox")
    finally:
        fox.close()


def test_answering_on_one_device_silences_the_other(online, person):
    anna, ben = online("Anna", "Ben")
    second = person("Ben").go_online()
    anna.call("ben")
    expect(second.page.locator("#ring")).to_be_visible()
    ben.answer()
    expect(second.page.locator("#ring")).to_be_hidden()
    expect(second.page.locator("#toast")).to_have_text("You answered on another device.")
    anna.sees("Ben")
    expect(second.page.locator("#missed")).to_be_hidden()


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


def test_answering_in_a_room_leaves_it_and_keeps_the_camera(online, person, room):
    cleo = person("Cleo").join(room)
    anna, ben = online("Anna", "Ben")
    ben.page.locator("#tab-room").click()
    ben.page.locator("#room").fill(room)
    ben.page.locator("#join").click()
    cleo.sees("Ben")
    camera = "[...window.roost.room.localTracks].find(({ kind }) => kind === 'video').mediaStreamTrack.id"
    before = ben.page.evaluate(camera)
    anna.call("ben")
    expect(ben.page.locator("#ring-about")).to_have_text("Answering leaves the call or room you are in.")
    ben.answer()
    anna.sees("Ben")
    ben.sees("Anna")
    expect(cleo.tile("Ben")).to_have_count(0)
    assert ben.page.evaluate(camera) == before
    ben.page.locator("#leave").click()
    expect(anna.page.locator("#phone-status")).to_have_text("Ben hung up.")


@pytest.fixture
def hasty(tmp_path):
    """A server that keeps lost seats for two seconds only."""
    server = Server(tmp_path, grace="2s")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def mortal(tmp_path):
    """A server that is killed."""
    server = Server(tmp_path)
    server.start()
    yield server
    server.stop()


def test_a_group_outlives_the_server_and_can_be_taken_over_then(mortal, online):
    anna, ben = online("Anna", "Ben", on=mortal)
    anna.call("ben", "nobody")
    ben.answer()
    anna.sees("Ben")
    mortal.stop(signal.SIGKILL)
    mortal.start()
    for person in (anna, ben):
        expect(person.page.locator("#toast")).to_have_text("Connected again.", timeout=60_000)
    anna.sees("Ben")
    second = second_tab(ben)
    running = second.locator("#running li")
    expect(running).to_contain_text("Anna")
    running.get_by_role("button", name="Take over here").click()
    eventually("the second tab is in", lambda: second.evaluate("Boolean(window.roost?.room)"))
    anna.sees("Ben")


def test_a_group_is_found_again_after_the_server_has_forgotten_the_session(hasty, online):
    anna, ben, cleo = online("Anna", "Ben", "Cleo", on=hasty)
    anna.call("ben", "cleo")
    ben.answer()
    cleo.answer()
    anna.sees("Ben")
    ben.page.evaluate("""() => {
      const { session } = window.roost.client;
      session.hello.resumeToken = "forgotten";
      session.dropSocket();
    }""")
    expect(ben.page.locator("#toast")).to_have_text("Connected again.")
    anna.sees("Ben")
    cleo.sees("Ben")
    ben.sees("Anna")
