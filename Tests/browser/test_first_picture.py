"""Somebody who comes late: each publisher is asked for one keyframe, and its answer arrives."""

import pytest
from people import Person, eventually

pytestmark = pytest.mark.alone

# Keyframe requests that the browser has received, by the layer that they were about.
ASKED = """async () => Object.fromEntries([...(await window.roost.room.stats()).publish.values()]
  .filter(({ type, kind }) => type === "outbound-rtp" && kind === "video")
  .map(({ rid, pliCount, firCount = 0 }) => [rid ?? "", pliCount + firCount]))"""


def asked(person: Person) -> int:
    return sum(person.page.evaluate(ASKED).values())


def test_a_join_asks_each_publisher_for_one_keyframe_and_gets_it(person, room):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    anna.sees("Ben")
    ben.sees("Anna")
    found, newcomer, offers = [], [], []

    def listen(socket) -> None:
        socket.on("framereceived", lambda frame: offers.append(1) if '"pc.offer"' in str(frame) else None)

    for _ in range(3):
        # Encoders settle: nothing is asked for in two seconds.
        def quiet() -> bool:
            before = [asked(anna), asked(ben)]
            anna.page.wait_for_timeout(2000)
            return [asked(anna), asked(ben)] == before

        eventually("nobody asks for keyframes", quiet)
        before = [asked(anna), asked(ben)]
        offers.clear()
        cleo = person("Cleo")
        cleo.page.on("websocket", listen)
        cleo.join(room)
        for name in ("Anna", "Ben"):
            cleo.sees(name)
        assert len(offers) == 1, "all that is there comes with one offer"
        found.append([now - then for now, then in zip([asked(anna), asked(ben)], before)])
        # Those who are there ask for each of the newcomer's layers; not where it came by itself, and again where one was late.
        for one in (anna, ben):
            one.sees("Cleo")
        newcomer.append(max(cleo.page.evaluate(ASKED).values()))
        cleo.leave()
        cleo.page.goto("about:blank")
    # A datagram may be lost on a busy machine, but not in most joins.
    assert sorted(found)[1] == [1, 1], found
    assert sorted(newcomer)[1] <= 2, newcomer
