"""Tokens at the page and the SDK: where they come from, what a refused one is told, and how a session outlives one."""

import pytest
from guarded import MODERATOR, SECRET, address, enter, guarded, refused, token
from playwright.sync_api import expect

INVITED = "This server lets in who was invited. Please open the link that you were sent."
RUN_OUT = "Your invitation has run out. Please ask for another link."


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with guarded(tmp_path_factory.mktemp("guarded")) as server:
        yield server


def test_a_token_comes_behind_the_hash_and_leaves_the_address_at_once(person, room):
    asked: list[str] = []
    one = person("Cleo")
    one.page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
    shown = token("cleo")
    one.page.goto(address(one, room, shown, mark="?"))
    refused(one, INVITED)
    assert any(shown in url for url in asked), "a query is sent, and so it counts for nothing"
    asked.clear()
    one.page.goto(address(one, room, shown))
    expect(one.page.locator("#call")).to_be_visible()
    assert not any(shown in url for url in asked) and len(asked) > 10
    assert "token" not in one.page.url and f"room={room}" in one.page.url
    assert one.page.evaluate("window.roost.client.user") == "cleo"
    one.page.reload()
    expect(one.page.locator("#call")).to_be_visible()


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (lambda: None, INVITED),
        (lambda: token("cleo", ttl=-100), RUN_OUT),
        (lambda: token("cleo", secret=SECRET[::-1]), "Your invitation was not accepted."),
        (lambda: "rubbish", "Your invitation was not accepted."),
        (lambda: token("cleo", room="elsewhere"), "Your invitation is not good for this room."),
    ],
    ids=["none", "over", "forged", "rubbish", "of another room"],
)
def test_a_refused_token_is_explained_and_another_link_helps(person, room, shown, words):
    one = person("Cleo")
    one.page.goto(address(one, room, shown(), audio=0))
    refused(one, words)
    # The next link comes into the same tab.
    one.page.evaluate("(hash) => (location.hash = hash)", address(one, room, token("cleo"), audio=0).partition("#")[2])
    expect(one.page.locator("#call")).to_be_visible()
    assert "token" not in one.page.url


@pytest.mark.alone
def test_a_token_that_runs_out_ends_it_with_a_word(person, room):
    one = person("Cleo")
    one.page.goto(address(one, room, token("cleo", ttl=-50), audio=0))
    expect(one.page.locator("#call")).to_be_visible()
    refused(one, RUN_OUT)


COUNT_OPENED = """window.opened = 0;
const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = (wanted) => {
  window.opened += 1;
  return open(wanted);
};"""


def test_who_may_only_watch_is_asked_for_no_device(person, room):
    anna, cleo = person("Anna"), person("Cleo")
    for one in (anna, cleo):
        one.page.add_init_script(COUNT_OPENED)
    enter(anna, room)
    enter(cleo, room, ["join", "subscribe"], video=1)
    cleo.hears("Anna")
    assert anna.page.evaluate("window.opened") > 0 and anna.page.locator("#mic").is_visible()
    for selector in ("#mic", "#cam", "#screen"):
        expect(cleo.page.locator(selector)).to_be_hidden()
    cleo.press("m")
    cleo.press("v")
    cleo.hears("Anna")
    assert cleo.page.evaluate("window.opened") == 0


# Two clients, whose first token is good for some seconds more; one of them has a function that gives the next.
RENEWED = """async ([soon, good, name]) => {
  const { RoostClient, rtcUrl } = await import("/roost.js");
  const [told, given] = [[], [soon, good]];
  const kept = new RoostClient(rtcUrl(), { token: async () => given.shift() ?? good });
  const lost = new RoostClient(rtcUrl(), { token: soon });
  kept.addEventListener("grants", ({ detail: { grants } }) => told.push(grants.includes("moderate")));
  const ended = new Promise((resolve) => lost.addEventListener("state", ({ detail }) => detail.state === "closed" && resolve(detail.error)));
  const before = lost.grants;
  await Promise.all([kept.connect(), lost.connect()]);
  const room = await kept.join(name);
  const role = room.self.role ?? null;
  const { code, data } = await ended;
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const result = { before, told, role, now: room.self.role, user: kept.user, state: kept.state, left: given.length, lost: [code, data.reason] };
  kept.close();
  return result;
}"""


@pytest.mark.alone
def test_the_sdk_shows_a_fresh_token_before_one_is_over(person, server, room):
    one = person("Cleo")
    one.page.goto(server.url)
    given = [token("cleo", ttl=-48), token("cleo", MODERATOR), room]
    assert one.page.evaluate(RENEWED, given) == {
        "before": None, "told": [False, True], "role": None, "now": "moderator", "user": "cleo", "state": "open", "left": 0,
        "lost": [-3, "token_expired"],
    }  # fmt: skip
