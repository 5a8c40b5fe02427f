"""People in a room, each with his own picture and tone, in real browsers."""

import re
import time

import pytest
from fixtures import LOOKS
from people import eventually
from playwright.sync_api import expect


def test_three_see_and_hear_each_other_and_a_fourth_is_refused_unnoticed(person):
    three = [person(name).join("demo") for name in ("Anna", "Ben", "Cleo")]
    for one in three:
        expect(one.tiles).to_have_count(3, timeout=60_000)
        expect(one.page.locator("#room-count")).to_have_text("3 of 3")
        for other in three:
            if other is not one:
                one.sees(other.name)
                one.hears(other.name)

    for one in three:
        # What a busy machine makes of its own line is nothing that somebody else has caused.
        one.page.evaluate("""() => {
          window.heard = [];
          window.roost.client.addEventListener("notification", ({ detail: { method, params } }) => {
            const isOfTheLine = method === "room.quality" || (method.startsWith("subscription.") && params.reason !== "no_media");
            if (method !== "room.activeSpeakers" && !isOfTheLine) window.heard.push([method, params]);
          });
        }""")
    dora = person("Dora").open("demo")
    dora.page.locator("#join").click()
    expect(dora.page.locator("#join-error")).to_have_text("Room is full: 3 of 3 seats are taken.")
    expect(dora.page.locator("#call")).to_be_hidden()
    time.sleep(1)
    for one in three:
        assert one.page.evaluate("window.heard") == []
        expect(one.tiles).to_have_count(3)


def test_muted_video_stops_and_comes_back(person, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    ben.sees("Anna")
    anna.page.locator("#cam").click()
    expect(ben.tile("Anna")).to_have_attribute("data-video", "muted")
    expect(anna.page.locator("#cam")).to_have_attribute("aria-pressed", "true")
    eventually("frames stop", lambda: ben.frames_in("Anna", 1) == 0, 8)
    ben.hears("Anna")
    anna.page.locator("#cam").click()
    expect(ben.tile("Anna")).to_have_attribute("data-video", "on")
    ben.sees("Anna")


def test_the_server_holds_back_a_muted_track_that_is_still_sent(person, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    ben.sees("Anna")
    anna.page.evaluate("""async () => {
      const track = [...window.roost.room.localTracks].find(({ kind }) => kind === "video");
      await window.roost.client.request("track.mute", { trackId: track.trackId });
    }""")
    sent = """async () => [...(await window.roost.room.stats()).publish.values()]
      .filter(({ type, kind }) => type === "outbound-rtp" && kind === "video").reduce((sum, { framesSent }) => sum + framesSent, 0)"""
    before = anna.page.evaluate(sent)
    eventually("nothing is forwarded", lambda: ben.frames_in("Anna", 1) == 0, 8)
    assert anna.page.evaluate(sent) > before, "Anna went on sending"


def test_muted_sound_stops_and_comes_back(person, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    ben.hears("Anna")
    anna.page.locator("#mic").click()
    expect(ben.tile("Anna")).to_have_attribute("data-audio", "muted")
    eventually("silence", lambda: ben.tone("Anna") is None, 8)
    ben.sees("Anna")
    anna.page.locator("#mic").click()
    expect(ben.tile("Anna")).to_have_attribute("data-audio", "on")
    ben.hears("Anna")


def test_a_late_joiner_sees_hears_and_knows_who_is_muted(person, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    ben.page.locator("#cam").click()
    expect(anna.tile("Ben")).to_have_attribute("data-video", "muted")
    cleo = person("Cleo").join(room)
    expect(cleo.tile("Ben")).to_have_attribute("data-video", "muted")
    cleo.sees("Anna")
    cleo.hears("Anna")
    cleo.hears("Ben")
    anna.sees("Cleo")
    ben.page.locator("#cam").click()
    cleo.sees("Ben")


def test_who_leaves_is_gone_and_his_seat_is_free(person, room):
    anna, ben, cleo = (person(name).join(room) for name in ("Anna", "Ben", "Cleo"))
    expect(anna.tiles).to_have_count(3)
    anna.sees("Cleo")
    ben.leave()
    for one in (anna, cleo):
        expect(one.tile("Ben")).to_have_count(0)
        expect(one.tiles).to_have_count(2)
    dora = person("Dora").join(room)
    # Lines that Ben left free are used again: the right picture must come from the right person.
    for one in (anna, cleo):
        one.sees("Dora")
        one.hears("Dora")
    dora.sees("Anna")
    dora.sees("Cleo")
    anna.sees("Cleo")


def test_chat_to_all_to_one_and_history(person, room):
    anna, ben, cleo = (person(name).join(room) for name in ("Anna", "Ben", "Cleo"))
    expect(anna.tiles).to_have_count(3)
    anna.say("Hello <b>everybody</b> & all")
    for one in (anna, ben, cleo):
        expect(one.messages).to_have_count(1)
        expect(one.messages.first.locator("p")).to_have_text("Hello <b>everybody</b> & all")
        assert one.messages.first.locator("b").count() == 0, "markup stays text"
    anna.say("only for you", to="Ben")
    expect(ben.messages).to_have_count(2)
    expect(ben.messages.last).to_contain_text("only to you")
    ben.say("and an answer")
    expect(cleo.messages).to_have_count(2)
    expect(cleo.messages.last).to_contain_text("and an answer")
    anna.leave()
    expect(ben.tiles).to_have_count(2)
    dora = person("Dora").join(room)
    expect(dora.messages).to_have_count(2)
    expect(dora.messages.first).to_contain_text("Anna")
    expect(dora.page.locator("#messages")).not_to_contain_text("only for you")


def test_the_one_who_speaks_is_marked(person, room):
    # With the browser's noise suppression a tone fades away.
    anna, ben = person("Anna").join(room, music=1), person("Ben").join(room, music=1)
    ben.hears("Anna")
    for one, other in ((anna, ben), (ben, anna)):
        one.page.locator("#mic").click()
        expect(other.tile(one.name)).to_have_attribute("data-audio", "muted")
    speaking = re.compile(r"\bspeaking\b")
    expect(ben.tile("Anna")).not_to_have_class(speaking)
    anna.page.locator("#mic").click()
    expect(ben.tile("Anna")).to_have_class(speaking)
    expect(anna.tile("Anna")).to_have_class(speaking)
    expect(ben.tile("Ben")).not_to_have_class(speaking)
    anna.page.locator("#mic").click()
    expect(ben.tile("Anna")).not_to_have_class(speaking)


# A camera of some size, in somebody's colour.
CAMERA = """const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = async (wanted) => {
  const stream = await open(wanted);
  if (!wanted.video) return stream;
  const canvas = Object.assign(document.createElement("canvas"), { width: %d, height: %d });
  const context = canvas.getContext("2d");
  let frame = 0;
  setInterval(() => {
    context.fillStyle = "rgb(%d %d %d)";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.fillStyle = "white";
    context.fillRect((frame++ * 5) %% canvas.width, 20, 40, 40);
  }, 66);
  stream.getVideoTracks().forEach((track) => (track.stop(), stream.removeTrack(track)));
  stream.addTrack(canvas.captureStream(15).getVideoTracks()[0]);
  return stream;
};"""


@pytest.mark.parametrize(("size", "wanted"), [((960, 540), ["h", "l", "m"]), ((640, 360), ["h", "l"])], ids=["three", "two"])
def test_layers_give_one_clean_picture(person, room, size, wanted):
    """As many as the picture carries, without a wish; 640 × 360 is what the page asks cameras for."""
    anna = person("Anna")
    anna.page.add_init_script(CAMERA % (*size, *LOOKS["Anna"].colour))
    anna.join(room)
    ben = person("Ben").join(room)
    ben.sees("Anna")
    layers = anna.page.evaluate("""async () => [...(await window.roost.room.stats()).publish.values()]
      .filter(({ type, kind }) => type === "outbound-rtp" && kind === "video").map(({ rid }) => rid).sort()""")
    assert layers == wanted
    anna.sees("Ben")


def test_a_track_taken_back_and_published_again(person, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    ben.sees("Anna")
    anna.page.evaluate("""async () => {
      const { room } = window.roost;
      window.camera = [...room.localTracks].find(({ kind }) => kind === "video");
      await room.unpublish(window.camera);
    }""")
    expect(ben.tile("Anna")).to_have_attribute("data-video", "none")
    anna.page.evaluate("window.roost.room.publish(window.camera.mediaStreamTrack, { label: 'camera' })")
    expect(ben.tile("Anna")).to_have_attribute("data-video", "on")
    ben.sees("Anna")
    lines = anna.page.evaluate("""async () => [...(await window.roost.room.stats()).publish.values()]
      .filter(({ type, kind }) => type === "outbound-rtp" && kind === "video").length""")
    assert lines == 1, "the line is used again"


def test_audio_only_rooms_take_no_video(person):
    anna, ben = person("Anna").join("radio"), person("Ben").join("radio")
    anna.hears("Ben")
    ben.hears("Anna")
    expect(anna.page.locator("#cam")).to_be_disabled()
    expect(ben.tile("Anna")).to_have_attribute("data-video", "none")
    refusal = anna.page.evaluate("""async () => {
      const track = document.createElement("canvas").captureStream(5).getVideoTracks()[0];
      try { await window.roost.room.publish(track); } catch ({ code, name, message }) { return { code, name, message }; }
    }""")
    assert refusal == {"code": 3016, "name": "MEDIA_NOT_ALLOWED", "message": "Only audio is allowed in this room."}
    ben.hears("Anna")
