"""What is written: links, and nothing else, become more than text; lines are kept; the newest message is in view."""

import json

import pytest
from people import eventually
from viewers import DESKTOP, PHONE

ALONE = {"audio": 0, "video": 0}

# Each message: its text, in how many lines it is seen, its links, and whatever else is in it.
MESSAGES = """() => [...document.querySelectorAll("#messages li p")].map((p) => ({
  text: p.textContent,
  lines: p.innerText.replace(/\\n$/, "").split("\\n").length,
  links: [...p.querySelectorAll("a")].map((a) => [a.textContent, a.href, a.target, a.rel]),
  more: p.querySelectorAll("*:not(a)").length,
}))"""

SAY = """async (texts) => {
  for (const text of texts) await window.roost.room.sendChat(text);
  return true;
}"""

RLO, ZWSP = "\u202e", "\u200b"

LINKS = {
    "see https://example.org/a?b=c#d, please": [("https://example.org/a?b=c#d", "https://example.org/a?b=c#d")],
    "http://example.org": [("http://example.org", "http://example.org/")],
    "(https://example.org/x_(y)) and https://example.org/z.": [
        ("https://example.org/x_(y)", "https://example.org/x_(y)"),
        ("https://example.org/z", "https://example.org/z"),
    ],
    "two lines\nHTTPS://example.org/Ü": [("HTTPS://example.org/Ü", "https://example.org/%C3%9C")],
}

HOSTILE = [
    "javascript:alert(1)",
    "javascript://https://example.org/%0aalert(1)",
    "data:text/html,<script>window.owned=1</script>",
    '<a href="https://example.org">here</a>',
    '<img src=x onerror="window.owned=1">',
    "&lt;b&gt;&amp; \\u003cb\\u003e",
    "https://",
    "https://user:word@example.org/",
    "https://example.org@evil.example/",
    f"https://example.org/{RLO}gpj.exe",
    f"{RLO}https://example.org/",
    f"https://exa{ZWSP}mple.org/",
    "xhttps://example.org",
    "ftp://example.org file:///etc/passwd vbscript:x",
    "https://example.org\u2044a.evil.example https://example.org\u2215a.evil.example https://example.org\u29f8a.evil.example "
    "https:///example.org\u2044a.evil.example https://ex\u0430mple.org/ https://example.org\u3002evil.example https://user:word\uff20example.org",
    "w" * 2000,
]


def messages(viewer, count: int) -> list[dict]:
    return eventually(f"{count} messages", lambda: len(seen := viewer.evaluate(MESSAGES)) == count and seen)


def test_addresses_are_links_and_hostile_texts_just_stand_there(viewer, seats, room):
    seats.enter("Ben")
    viewer.join(room, **ALONE)
    viewer.evaluate(SAY, list(LINKS))
    for (text, links), seen in zip(LINKS.items(), messages(viewer, len(LINKS))):
        assert seen["text"] == text and seen["lines"] == len(text.split("\n")), "all of it, and in its lines"
        assert seen["links"] == [[words, href, "_blank", "noopener noreferrer"] for words, href in links]
    # Five messages a second is what the server takes.
    viewer.evaluate(SAY, HOSTILE)
    for text, seen in zip(HOSTILE, messages(viewer, len(LINKS) + len(HOSTILE))[len(LINKS) :]):
        assert seen == {"text": text, "lines": 1, "links": [], "more": 0}, text
    assert viewer.evaluate("() => window.owned ?? null") is None
    for size in (DESKTOP, PHONE):
        viewer.resize(*size)
        if size == PHONE and not viewer.box("#chat"):
            viewer.click("#chat-toggle")
        chat = viewer.box("#chat")
        wide = viewer.evaluate("() => Math.max(...[...document.querySelectorAll('#messages p')].map((p) => p.getBoundingClientRect().right))")
        assert wide <= chat["x"] + chat["width"], "a word of 2,000 letters stays inside"
        assert viewer.evaluate("() => document.scrollingElement.scrollWidth <= innerWidth")


def test_a_link_opens_a_tab_that_knows_nothing_of_this_one(person, room, server):
    anna = person("Anna").join(room, **ALONE)
    anna.say(f"{server.url}/icon.svg")
    with anna.context.expect_page() as opened:
        anna.messages.locator("a").click()
    assert opened.value.url == f"{server.url}/icon.svg"
    assert opened.value.evaluate("[window.opener, document.referrer]") == [None, ""]
    assert anna.page.locator("#call").is_visible()


def test_shift_and_enter_make_a_line_and_enter_sends(viewer, room):
    viewer.join(room, **ALONE)
    viewer.click("#chat-text")
    low = viewer.box("#chat-text")["height"]
    viewer.type("one")
    viewer.press("Shift+Enter")
    viewer.type("two")
    viewer.press("Shift+Enter")
    viewer.type("three")
    assert viewer.box("#chat-text")["height"] > 1.8 * low, "all three lines are in sight"
    viewer.press("Enter")
    [said] = messages(viewer, 1)
    assert said["text"] == "one\ntwo\nthree" and said["lines"] == 3
    assert viewer.evaluate("() => document.getElementById('chat-text').value") == ""
    assert viewer.box("#chat-text")["height"] == low
    viewer.press("Shift+Enter")
    viewer.press("Enter")
    viewer.type("last")
    viewer.press("Enter")
    assert messages(viewer, 2)[1]["text"] == "last", "nothing but lines is not sent"


# Whether the last message is in view, and what is at the top of it.
VIEW = """() => {
  const list = document.getElementById("messages").getBoundingClientRect();
  const items = [...document.querySelectorAll("#messages li")].map((item) => [item.getBoundingClientRect(), item.querySelector("p").textContent]);
  return { last: items.at(-1)[0].bottom <= list.bottom + 1, top: items.find(([box]) => box.bottom > list.top + 2)[1] };
}"""


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_newest_message_is_in_view_unless_one_has_scrolled_up(viewer, seats, room, size):
    seats.enter("Ben")
    viewer.join(room, **ALONE)
    viewer.resize(*size)
    if not viewer.box("#chat"):
        viewer.click("#chat-toggle")
    seats.do("say", "Ben", [f"message {place}" for place in range(18)])
    messages(viewer, 18)
    eventually("the last is seen", lambda: viewer.evaluate(VIEW)["last"])
    viewer.evaluate("() => { document.getElementById('messages').scrollTop = 60; }")
    eventually("the first are seen", lambda: not viewer.evaluate(VIEW)["last"])
    before = viewer.evaluate(VIEW)
    seats.do("say", "Ben", ["one more"])
    messages(viewer, 19)
    viewer.evaluate("() => window.roost.room.dispatchEvent(new CustomEvent('refreshed', { detail: {} }))")
    viewer.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))")
    assert viewer.evaluate(VIEW) == before, "nothing moved"
    # What one writes oneself is seen, and from there the newest again.
    viewer.evaluate(SAY, ["mine"])
    eventually("one's own is seen", lambda: viewer.evaluate(VIEW)["last"])
    seats.do("say", "Ben", ["and this\nin\nthree lines"])
    messages(viewer, 21)
    eventually("the last is seen", lambda: viewer.evaluate(VIEW)["last"])


def test_pieces_of_a_message_give_the_text_again(person):
    """Whatever it is: 300 texts of what addresses are made of."""
    anna = person("Anna")
    anna.page.goto(anna.url)
    bad = anna.page.evaluate(
        """async (parts) => {
          const { pieces } = await import("/links.js");
          let state = 7;
          const next = (below) => (state = (state * 1103515245 + 12345) % 2147483648) % below;
          const bad = [];
          for (let round = 0; round < 300; round++) {
            const text = Array.from({ length: next(12) }, () => parts[next(parts.length)]).join("");
            const found = pieces(text);
            const isSafe = found.every(({ text, href }) => href === null || /^https?:\\/\\//i.test(text) && /^https?:\\/\\//.test(href));
            if (found.map((piece) => piece.text).join("") !== text || !isSafe) bad.push(text);
          }
          const begun = performance.now();
          pieces("https://a/" + ")".repeat(8000));
          pieces("https://a/".repeat(800));
          if (performance.now() - begun > 2000) bad.push("slow");
          return bad;
        }""",
        ["https://", "http://a.b", " ", "\n", "(", ")", "[", "]", ".", ",", "@", "x", RLO, "javascript:", "<", '"', "👍", "http://[", "%"],
    )
    assert bad == [], json.dumps(bad)
