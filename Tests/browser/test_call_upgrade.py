"""A call between two becomes a group: they notice nothing, and whoever left comes back."""

import pytest
from calls import invite, invited
from people import Person
from playwright.sync_api import expect
from upgrade import CONNECTIONS, Watch

pytestmark = pytest.mark.alone


def test_a_third_one_is_invited_leaves_and_comes_back(person, capsys):
    anna, ben, cleo = (person(name) for name in ("Anna", "Ben", "Cleo"))
    for one in (anna, ben, cleo):
        one.page.add_init_script(CONNECTIONS)
        one.go_online()
    anna.call("ben")
    ben.answer()
    anna.sees("Ben")
    ben.sees("Anna")
    watches = [Watch(anna, "Ben"), Watch(ben, "Anna")]
    anna.page.wait_for_timeout(1500)
    quiet = [watch.gap() for watch in watches]

    invite(anna, "cleo")
    expect(invited(ben, "cleo")).to_contain_text("Ringing…")
    expect(cleo.page.locator("#ring-about")).to_contain_text("A call with Ben is going on.")
    cleo.answer()
    for one in (anna, ben):
        one.sees("Cleo")
    gaps = [watch.gap() for watch in watches]
    for watch, gap, before in zip(watches, gaps, quiet):
        with capsys.disabled():
            print(f"\nlongest gap of {watch.other} at {watch.person.name}: {gap.ms} ms among {gap.frames} frames through the upgrade, "
                  f"{before.ms} ms before", end="")
        assert 0 < gap.ms < 1000, "no frozen second"
    for one in (anna, ben):
        one.hears("Cleo")
        expect(one.page.locator("#invited")).to_be_hidden()
    cleo.sees("Anna")
    cleo.sees("Ben")
    for watch in watches:
        watch.check()
        assert watch.gap().ms < 1000, "and none afterwards"
    assert {one.page.evaluate("window.roost.call.kind") for one in (anna, ben, cleo)} == {"group"}
    leave_and_come_back(cleo, anna)
    watches[0].check_transports()
    # The one who began it may go.
    anna.page.locator("#leave").click()
    ben.sees("Cleo")
    cleo.page.locator("#leave").click()
    expect(ben.page.get_by_text("Nobody else is in the call any more.")).to_be_visible()


def leave_and_come_back(one: Person, other: Person) -> None:
    one.page.locator("#leave").click()
    expect(other.tile(one.name)).to_have_count(0)
    expect(invited(other, one.name.lower())).to_contain_text("Left")
    running = one.page.locator("#running li")
    expect(running).to_contain_text("anna and ben", ignore_case=True)
    running.get_by_role("button", name="Join").click()
    one.sees(other.name)
    other.sees(one.name)
