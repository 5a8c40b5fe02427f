"""Calls that outlive what carries them: a socket, a page, a tab, a device, the server."""

import signal

import pytest
from calls import talking
from people import eventually
from playwright.sync_api import Page, expect
from server import Server


def test_a_call_outlives_a_lost_socket(online):
    anna, ben = talking(online)
    ben.page.evaluate("window.roost.client.session.dropSocket()")
    eventually("Ben is back", lambda: ben.page.evaluate("window.roost.client.state === 'open'"))
    anna.sees("Ben")
    ben.sees("Anna")
    assert ben.page.evaluate("window.roost.call.state") == "active"
    anna.page.locator("#leave").click()
    expect(ben.page.locator("#phone-status")).to_have_text("Anna hung up.")


def test_who_hangs_up_while_the_socket_is_down_is_heard_no_more(online, line):
    (anna,) = online("Anna", on=line)
    (ben,) = online("Ben")
    anna.call("ben")
    ben.answer()
    ben.sees("Anna")
    anna.page.evaluate("window.ours = window.roost.room")
    line.cut()
    expect(anna.page.locator("#banner")).to_have_text("Reconnecting…")
    anna.page.locator("#leave").click()
    expect(anna.page.locator("#lobby")).to_be_visible()
    assert anna.page.evaluate("Object.values(window.ours.mediaStates)") == ["closed", "closed"]
    line.mend()
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
        # From inside: DevTools' own reload is refused while the page before it is being put away.
        with ben.page.expect_navigation(wait_until="commit"):
            ben.page.evaluate("setTimeout(() => location.reload())")
        ben.page.wait_for_timeout(pause)
    ben.page.reload()
    expect(ben.page.locator("#call")).to_be_visible()
    assert ben.page.evaluate("window.roost.call.callId") == call
    ben.sees("Anna")
    anna.sees("Ben")
    expect(ben.page.locator("#mic")).to_have_attribute("aria-pressed", "true")
    ben.page.locator("#leave").click()
    expect(anna.page.locator("#phone-status")).to_have_text("Ben hung up.")


def test_a_page_that_the_browser_had_put_away_goes_on_with_its_call(online):
    anna, ben = talking(online)
    call = anna.page.evaluate("window.roost.call.callId")
    with ben.page.expect_navigation():
        ben.page.evaluate("for (const type of ['pagehide', 'pageshow']) dispatchEvent(new PageTransitionEvent(type, { persisted: true }))")
    eventually("Ben is back", lambda: ben.page.evaluate("window.roost?.call?.callId") == call)
    ben.sees("Anna")
    anna.sees("Ben")


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


@pytest.fixture
def hasty(tmp_path):
    """A server that keeps lost seats for two seconds only."""
    with Server(tmp_path, grace="2s") as server:
        yield server


@pytest.fixture
def mortal(tmp_path):
    """A server that is killed."""
    with Server(tmp_path) as server:
        yield server


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


# The page's own peer connections, to be closed behind its back.
OWN = """window.pcs = [];
  const Own = window.RTCPeerConnection;
  window.RTCPeerConnection = class extends Own {
    constructor(...all) {
      super(...all);
      window.pcs.push(this);
    }
  };"""
UP = "window.pcs.filter(({ connectionState }) => connectionState === 'connected').length"


def test_a_listener_who_closes_the_connection_is_missed_at_once(person, tmp_path_factory):
    """Nobody sends, and their socket lives: what tells of it is the browser's close_notify."""
    with Server(tmp_path_factory.mktemp("strict"), grace="3s", calls="media_timeout: 600s") as strict:
        anna = person("Anna", on=strict).join(audio=0, video=0)
        ben = person("Ben", on=strict)
        ben.page.add_init_script(OWN)
        ben.join(audio=0, video=0)
        eventually("Ben's connection", lambda: ben.page.evaluate(UP) == 1)
        expect(anna.tile("Ben")).to_be_visible()
        ben.page.evaluate("for (const pc of window.pcs) if (pc.connectionState === 'connected') pc.close()")
        expect(anna.tile("Ben").get_by_text("reconnecting…")).to_be_visible()
        assert ben.page.evaluate("window.roost.client.state") == "open"
        expect(anna.tile("Ben")).to_have_count(0)
