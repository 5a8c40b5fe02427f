"""Who only listens makes one connection, the one that receives, and is in the room by that alone. Under scripts/private-network, as
test_other_stacks.py."""

import contextlib
import time

import pytest
from aiortc import RTCPeerConnection, RTCSessionDescription
from native import NativePerson
from others import ADDRESS, NAMES, Stack
from people import eventually
from playwright.sync_api import expect
from server import Server

# Seconds after which whoever is not up is told so.
PATIENCE = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    calls = f"connect_timeout: {PATIENCE}s"
    with Server(tmp_path_factory.mktemp("roost"), address=ADDRESS, advertise=ADDRESS, unknown="group", calls=calls) as server:
        yield server


def told(stack: Stack, event: str) -> set[str]:
    """Of which of its connections the server has told it this."""
    return {said["pc"] for said in stack.events if said.get("event") == event}


@pytest.mark.parametrize("name", NAMES)
def test_a_stack_that_only_listens_is_up_by_the_one_connection(name, server, room, person, programs):
    """As the first in its room, and as one who comes when somebody publishes already."""
    with contextlib.ExitStack() as closing:

        def listen(who: str) -> Stack:
            stack = programs.in_room(name, server.rtc, room, who, 120, listens=True)
            closing.callback(print, stack)
            closing.callback(stack.stop)
            return stack

        stacks = [listen("First")]
        eventually("it is up alone", lambda: stacks[0].connected and told(stacks[0], "media.connected") == {"subscribe"})
        up = time.monotonic()
        anna = person("Anna").join(room)
        stacks.append(listen("Second"))
        for one in stacks:
            eventually(f"{one.name} hears and sees Anna", lambda: min(one.growth("Anna")) > 0)
        time.sleep(max(0, up + PATIENCE + 1 - time.monotonic()))
        for one in stacks:
            assert told(one, "media.connected") == {"subscribe"} and told(one, "media.failed") == set(), one
            assert one.said("published") == [] and one.process.poll() is None, one
            assert min(one.growth("Anna")) > 0
        # They are people of the room, of whom there is nothing to see.
        expect(anna.page.locator("#room-count")).to_contain_text("3 of")
        assert set(anna.received()) == {"First", "Second"} and not any(anna.received().values())


class Idle(NativePerson):
    """Publishes nothing, answers, and does not begin to connect: no check of it ever comes."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self.told: list[tuple] = []

    async def _publish(self) -> None:
        pass

    async def _event(self, method: str, params: dict) -> None:
        if method.startswith("media."):
            self.told.append((method, params["pc"], params.get("step")))
        await super()._event(method, params)

    async def _answer(self, offer: dict) -> None:
        idle = RTCPeerConnection()
        await idle.setRemoteDescription(RTCSessionDescription(offer["sdp"], "offer"))
        await self.request("pc.answer", offerId=offer["offerId"], sdp=(await idle.createAnswer()).sdp)
        await idle.close()


def test_who_never_checks_is_not_up(server, room):
    """The control of the above."""
    idle = Idle("Idle", server.rtc, (90, 90, 90), 500)
    try:
        idle.join(room)
        eventually("it is told so", lambda: idle.told, PATIENCE + 10)
        assert idle.told == [("media.failed", "subscribe", "ice")]
    finally:
        idle.close()
