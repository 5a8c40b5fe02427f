"""What tests of calls share: people who are shown as called, two who talk, an invitation."""

from playwright.sync_api import Locator, expect


# Which tone goes on and on at somebody's: `ring`, `ringback`, `waiting` or none.
SOUNDING = """async () => (await import("/tones.js")).sounding()"""


def outgoing(caller, callee: str) -> Locator:
    """How it stands with somebody, on the panel of who calls."""
    return caller.page.locator(f'#outgoing-people li[data-user="{callee}"]')


def invited(one, user: str) -> Locator:
    """How it stands with somebody who is being called into the call that `one` is in."""
    return one.page.locator(f'#invited li[data-user="{user}"]')


def talking(online, **context):
    """Anna and Ben, who is heard and seen."""
    anna, ben = online("Anna", "Ben", **context)
    anna.call("ben")
    ben.answer()
    anna.sees("Ben")
    return anna, ben


def invite(inviter, user: str) -> None:
    """By keyboard alone."""
    inviter.press("i")
    expect(inviter.page.locator("#invite-to")).to_be_focused()
    inviter.page.keyboard.type(user)
    inviter.press("Enter")
    expect(inviter.page.locator(f'#invite-members li[data-user="{user}"]')).to_contain_text("Ringing…")
    inviter.page.locator("#invite-close").click()
