"""The sample of an application's server, as Samples/Application/rooms.yaml has it beside Roost: it is asked, told, and asks."""

import ast
import hashlib
import hmac
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import typing
import urllib.request

import pytest
from http_sessions import Answer, ask
from server import ROOT, Server, free_port
from websockets.sync.client import connect

SAMPLE = ROOT / "Samples/Application"
KEY = "0123456789abcdefghijklmnopqrstuvwxyz"
OWN = "what the application's own pages show"
SECRET = "a long random text"


class Application:
    """The sample, on a port of its own; `stop` and `start` again keep what it knows."""

    def __init__(self, folder, api: str) -> None:
        self.port, self.folder, self.api = free_port(socket.SOCK_STREAM), folder, api
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> "Application":
        command = [sys.executable, SAMPLE / "application.py", "--port", str(self.port), "--api", self.api, "--store", self.folder / "application.db"]
        with open(self.folder / "application.log", "a") as log:
            self.process = subprocess.Popen(command, env={**os.environ, "ROOST_SECRET": SECRET, "ROOST_KEY": KEY, "OWN_KEY": OWN}, stdout=log, stderr=log)
        eventually(lambda: self.ask("GET", "/missed/nobody") == [])
        return self

    def stop(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def ask(self, method: str, path: str, body: typing.Any = None) -> typing.Any:
        answer = self.answer(method, path, body)
        return json.loads(answer.body) if answer and answer.body else None

    def answer(self, method: str, path: str, body: typing.Any = None) -> Answer | None:
        try:
            return ask(method, self.url + path, {"Authorization": f"Bearer {OWN}"}, None if body is None else json.dumps(body))
        except OSError:
            return None

    def seconds(self, user: str) -> float:
        return self.ask("GET", f"/bill/{user}")["seconds"]


class Phone:
    """Somebody who signals, and sends no media."""

    def __init__(self, rtc: str, user: str) -> None:
        self.connection, self.ids, self.heard = connect(rtc), itertools.count(1), []
        self.socket = self.connection.__enter__()
        self.request("session.hello", user=user, deviceId=f"{user}-phone", displayName=user)

    def request(self, method: str, **params: typing.Any) -> dict:
        number = next(self.ids)
        self.socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        return self._until(lambda message: message.get("id") == number)

    def hears(self, event: str) -> dict:
        """The next of these events, one that came before included."""
        for message in self.heard:
            if message["method"] == event:
                self.heard.remove(message)
                return message["params"]
        return self._until(lambda message: message.get("method") == event)["params"]

    def _until(self, wanted: typing.Callable[[dict], bool]) -> dict:
        while True:
            message = json.loads(self.socket.recv(timeout=20))
            if wanted(message):
                return message
            if "method" in message:
                self.heard.append(message)

    def close(self) -> None:
        self.socket.close()


def eventually(holds: typing.Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.05)


@pytest.fixture
def both(tmp_path):
    (tmp_path / "application.key").write_text(KEY + "\n")
    api = free_port(socket.SOCK_STREAM)
    application = Application(tmp_path, f"http://127.0.0.1:{api}/api/v1")
    # The sample's own configuration, but for its ports.
    sections = (SAMPLE / "rooms.yaml").read_text().split("storage:\n  path: roost.db\n")[1]
    sections = sections.replace("9091", str(api)).replace("8000", str(application.port))
    with Server(tmp_path, more=sections) as server:
        application.start()
        yield server, application
        application.stop()


def test_the_sample_of_the_document_is_a_configuration(tmp_path):
    (tmp_path / "application.key").write_text(KEY + "\n")
    (tmp_path / "rooms.yaml").write_text((SAMPLE / "rooms.yaml").read_text())
    checked = subprocess.run([ROOT / ".build/release/roost", "check", "--config", tmp_path / "rooms.yaml"], capture_output=True, text=True)
    assert checked.returncode == 0 and "hooks" not in checked.stderr, checked.stdout + checked.stderr


def test_the_sample_is_as_short_as_is_said():
    text = (SAMPLE / "application.py").read_text()
    lines = text.splitlines()[ast.parse(text).body[0].end_lineno :]
    assert len([line for line in lines if line.strip()]) <= 150


def test_it_starts_calls_and_bills_them_once(both):
    server, application = both
    anna, ben = Phone(server.rtc, "anna"), Phone(server.rtc, "ben")
    refused = application.answer("POST", "/calls", {"from": "nobody", "to": "ben"})
    assert refused.status == 409, refused
    call = application.ask("POST", "/calls", {"from": "anna", "to": "ben"})["callId"]
    for phone in (anna, ben):
        assert phone.hears("call.incoming")["call"]["callId"] == call
        assert "error" not in phone.request("call.accept", callId=call)
    begun = time.monotonic()
    time.sleep(2)
    # While the application is away the call ends.
    application.stop()
    anna.request("call.hangup", callId=call)
    lasted = time.monotonic() - begun
    assert ben.hears("call.ended")["callId"] == call
    assert "error" in anna.request("call.start", to=["dora"], kind="one_to_one", media="audio", extra={"n": 1}), "nobody to ask"
    # It comes back where nobody posts to: no webhook brings what it missed, so that it has to ask for it.
    own, application.port = application.port, free_port(socket.SOCK_STREAM)
    application.url = f"http://127.0.0.1:{application.port}"
    application.start()
    eventually(lambda: application.seconds("ben") > 0 and application.seconds("anna") > 0)
    application.stop()
    application.port, application.url = own, f"http://127.0.0.1:{own}"
    application.start()
    for user in ("anna", "ben"):
        assert abs(application.seconds(user) - lasted) < 1, (user, application.seconds(user), lasted)
    assert application.ask("GET", "/missed/ben") == []
    # They come by webhook as well, once nobody is waited for any more; nothing is billed twice.
    before = application.ask("GET", "/bill/anna")
    eventually(lambda: re.search(r'^roost_webhook_waiting\{.*endpoint="events".*\} 0$', ask("GET", server.url + "/metrics").body, re.M))
    assert application.ask("GET", "/bill/anna") == before
    # A room is billed too.
    anna.request("room.join", room="demo")
    time.sleep(1)
    anna.request("room.leave", room="demo")
    eventually(lambda: "demo" in application.ask("GET", "/bill/anna")["places"])
    assert 0.9 < application.ask("GET", "/bill/anna")["places"]["demo"] < 3
    for phone in (anna, ben):
        phone.close()


def test_it_keeps_who_was_missed_and_asks_for_credit(both):
    server, application = both
    anna = Phone(server.rtc, "anna")
    start = dict(to=["dora"], kind="one_to_one", media="audio")
    assert "error" not in anna.request("call.start", **start)
    anna.hears("call.ended")
    eventually(lambda: len(application.ask("GET", "/missed/dora")) == 1)
    missed = application.ask("GET", "/missed/dora")[0]
    assert (missed["from"], missed["reason"]) == ("anna", "unreachable")
    application.answer("PUT", "/credit/anna", {"seconds": 0})
    refused = anna.request("call.start", **start)["error"]
    assert (refused["code"], refused["message"], refused["data"]["reason"]) == (1011, "Your credit is used up.", "unpaid")
    application.answer("PUT", "/credit/anna", {"seconds": 3600})
    assert "error" not in anna.request("call.start", **start), "the control"
    anna.close()
    # What it wants itself nobody asks about.
    application.answer("PUT", "/credit/anna", {"seconds": 0})
    assert application.answer("POST", "/calls", {"from": "anna", "to": "ben"}).status == 402
    assert application.answer("PUT", "/credit/anna", {"seconds": "much"}).status == 400
    assert ask("GET", application.url + "/bill/anna", {"Authorization": "Bearer another"}).status == 401


def test_what_roost_did_not_sign_changes_nothing(both):
    _, application = both
    event = {"id": "f", "number": 7, "type": "room.joined", "at": 1000, "room": "x", "user": "eve", "participantId": "3"}
    left = {**event, "id": "g", "number": 8, "type": "room.left", "at": 61_000}

    def send(body: dict, secret: str, at: int | None = None, path: str = "/roost/events") -> int:
        content, sent = json.dumps(body).encode(), at or int(time.time())
        signature = hmac.new(secret.encode(), f"{sent}.".encode() + content, hashlib.sha256).hexdigest()
        request = urllib.request.Request(application.url + path, content, {"Roost-Signature": f"t={sent},v1={signature}"})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status
        except urllib.error.HTTPError as refusal:
            return refusal.code

    assert send(event, "another secret of the same kind") == 403
    assert send(event, SECRET, at=int(time.time()) - 400) == 403, "recorded, and sent again"
    question = {"hook": "call.start", "user": "eve"}
    assert (send(question, "no", path="/roost/ask"), send(question, SECRET, path="/roost/ask")) == (403, 200)
    # The control, and again: it counts once.
    assert (send(event, SECRET), send(left, SECRET), send(event, SECRET)) == (204, 204, 204)
    assert application.seconds("eve") == 60
    # The record file was begun anew: the same numbers are other events.
    assert send({**event, "id": "h", "at": 100_000}, SECRET) == send({**left, "id": "i", "at": 130_000}, SECRET) == 204
    assert application.seconds("eve") == 90
    # Nobody told of an end: what lies before the next beginning is not billed.
    for name, at in (("j", 200_000), ("k", 900_000)):
        assert send({**event, "id": name, "at": at}, SECRET) == 204
    assert send({**left, "id": "l", "at": 910_000}, SECRET) == 204
    assert application.seconds("eve") == 100
    # After a crash: what ended with it is not billed, whatever comes of that seat later, and what began since then is.
    started = {"id": "m", "number": 9, "type": "server.started", "at": 2_000_000}
    other = {**event, "participantId": "4"}
    for told in ({**event, "id": "n", "at": 1_000_000}, {**other, "id": "o", "at": 2_000_001}, started):
        assert send(told, SECRET) == 204
    assert send({**left, "id": "p", "at": 2_010_000}, SECRET) == send({**left, "id": "q", "at": 2_010_001, "participantId": "4"}, SECRET) == 204
    assert application.seconds("eve") == 110
