"""A server with a key, and people who come by a link with a token."""

import pathlib
import time
import typing

import jwt
from people import Person
from playwright.sync_api import expect
from server import Server

SECRET = "kept-by-the-tests-9a07c1e2d4b85f36"
USUAL = ["join", "publish:audio", "publish:video", "subscribe", "chat"]
MODERATOR = [*USUAL, "moderate"]


def guarded(folder: pathlib.Path) -> Server:
    (folder / "token.key").write_text(SECRET)
    return Server(folder, access="{keys: [{alg: HS256, secret_file: token.key}]}", unknown="group")


def token(user: str, grants: list[str] = USUAL, ttl: int = 600, secret: str = SECRET, **more: str) -> str:
    now = int(time.time())
    return jwt.encode({"sub": user, "iat": now - 900, "exp": now + ttl, "grants": grants, **more}, secret, "HS256")


def address(one: Person, room: str, shown: str | None, mark: str = "#", **wishes: typing.Any) -> str:
    words = {"token": shown, "room": room, "name": one.name, "autojoin": 1, "video": 0, **wishes}
    return f"{one.url}/{mark}" + "&".join(f"{key}={value}" for key, value in words.items() if value is not None)


def come(one: Person, room: str, grants: list[str] = USUAL, claims: dict[str, str] | None = None, **wishes: typing.Any) -> Person:
    one.page.goto(address(one, room, token(**{"user": one.name.lower(), "grants": grants, **(claims or {})}), **wishes))
    return one


def enter(one: Person, room: str, grants: list[str] = USUAL, **wishes: typing.Any) -> Person:
    come(one, room, grants, **wishes)
    expect(one.page.locator("#call")).to_be_visible()
    return one


def refused(one: Person, words: str) -> None:
    expect(one.page.locator("#lobby")).to_be_visible()
    expect(one.page.locator("#join-error")).to_contain_text(words)
