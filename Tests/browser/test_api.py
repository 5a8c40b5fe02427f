"""The server's API against its own document: Schemathesis makes requests of it, good ones and bad ones, and reads the answers by it."""

import json
import pathlib
import re
import subprocess
import sys

import pytest
from http_sessions import ask
from server import ROOT, Server, free_port

SECRET = "0123456789abcdefghijklmnopqrstuvwxyz"
# Names in the document are any text; the server has a rule of its own for them (NameForm), and rooms, users and calls that were made up
# are not there: valid requests may be refused for both. 403 is for other realms. 412 is for settings that are others. 422 is for an `Idempotency-Key` that another request had. Methods that the server
# has nowhere get 501 (RFC 9110, section 9.1). Where `If-Match` is missing it is 428 (RFC 6585); a query of too many parts is 414, before anybody reads it.
CONFIGURATION = """
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "403", "404", "409", "412", "422"]
missing_required_header.expected-statuses = ["401", "428"]
negative_data_rejection.expected-statuses = ["400", "401", "403", "404", "405", "406", "409", "414", "415", "422", "428", "429", "5xx"]

[phases.coverage]
unexpected-methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
"""
# Wrong secrets are bounded, and so looked at below; nobody has a second identity here. A configured room is there still when it was closed.
SKIPPED = "ignored_auth,object_level_authorization,use_after_free"


class API(Server):
    """A server with the API, and a key of it."""

    def __init__(self, folder: pathlib.Path) -> None:
        (folder / "secret").write_text(SECRET + "\n")
        self.api_port = free_port(0x1)  # SOCK_STREAM
        keys = f"{{name: shop, secret_file: {folder / 'secret'}}}"
        nobody = "http://127.0.0.1:9/"  # Where nobody takes events: they are kept.
        events = f"webhooks: {{events: {{url: {nobody!r}, secret: {SECRET}}}}}\n"
        super().__init__(folder, more=f"api: {{port: {self.api_port}, keys: [{keys}]}}\n{events}")
        self.api = f"http://127.0.0.1:{self.api_port}/api/v1"

    def ask(self, method: str, path: str, body: str | None = None, **headers: str):
        headers = {"Authorization": f"Bearer {SECRET}", **headers}
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        return ask(method, self.api + path, headers, body)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with API(tmp_path_factory.mktemp("api")) as server:
        yield server


def run(folder: pathlib.Path, server: API, document: str, *further: str) -> subprocess.CompletedProcess:
    (folder / "schemathesis.toml").write_text(CONFIGURATION)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", folder / "schemathesis.toml", "run", document]
    options = ["--url", server.api, "--header", f"Authorization: Bearer {SECRET}", "--seed", "1", "--no-color", *further]
    # A connection that was not used for a while may end just when it is (RFC 9112, section 9.3.1).
    options += ["--request-retries", "2"]
    return subprocess.run([*command, *options], capture_output=True, text=True, timeout=600, cwd=folder)


def test_all_that_schemathesis_asks_is_answered_as_the_document_says(server, tmp_path):
    done = run(tmp_path, server, f"{server.api}/openapi.json", "--max-examples", "15", "--exclude-checks", SKIPPED)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    operations = len(re.findall(r'"operationId"', (ROOT / "docs/openapi.json").read_text()))
    assert re.search(rf"Tested: +{operations}\b|{operations} / {operations}", done.stdout), done.stdout[-3000:]


def test_a_field_that_is_renamed_is_found(server, tmp_path):
    """The control."""
    document = json.loads((ROOT / "docs/openapi.json").read_text())
    room = document["components"]["schemas"]["RoomEntry"]
    room["properties"]["seats"] = room["properties"].pop("limit")
    room["required"] = ["seats" if name == "limit" else name for name in room["required"]]
    (tmp_path / "renamed.json").write_text(json.dumps(document))
    done = run(tmp_path, server, str(tmp_path / "renamed.json"), "--max-examples", "5", "--include-operation-id", "listRooms")
    assert done.returncode == 1 and "'seats' is a required property" in done.stdout.replace('"', "'"), done.stdout[-3000:] + done.stderr[-2000:]


def test_nothing_is_done_without_a_key(server):
    document = json.loads((ROOT / "docs/openapi.json").read_text())
    for path, methods in document["paths"].items():
        for method in methods:
            body = None if method in ("get", "delete") else "{}"
            url = server.api + re.sub(r"\{\w+\}", "demo", path)
            refused = ask(method.upper(), url, {"Content-Type": "application/json"}, body)
            assert refused.status == 401 and json.loads(refused.body)["title"] == "Unauthorized", (method, path)


def test_who_shows_no_key_reads_the_document_alone(server):
    document = ask("GET", server.api + "/openapi.json")
    assert document.status == 200 and json.loads(document.body) == json.loads((ROOT / "docs/openapi.json").read_text())
    refused = ask("GET", server.api + "/rooms")
    assert refused.status == 401 and refused.headers["Content-Type"] == "application/problem+json"
    assert refused.headers["WWW-Authenticate"] == "Bearer" and json.loads(refused.body)["status"] == 401
    assert ask("GET", server.api + "/rooms", {"Authorization": "Bearer " + SECRET[:-1]}).status == 401
    assert server.ask("GET", "/rooms").status == 200, "the control"


def test_the_examples_of_the_document_work(server, tmp_path):
    text = (ROOT / "docs/api.md").read_text().split("```sh\n", 1)[1].split("```", 1)[0]
    assert text.count("$API/") >= 10
    (tmp_path / "key").write_text(SECRET + "\n")
    done = examples(text, server, tmp_path / "key")
    assert done.returncode == 0 and '"room":"demo"' in done.stdout, done.stdout + done.stderr
    (tmp_path / "key").write_text("x" * 32)
    assert examples(text, server, tmp_path / "key").returncode != 0, "the control"


def examples(text: str, server: API, key: pathlib.Path) -> subprocess.CompletedProcess:
    text = text.replace("curl --silent", "curl --fail-with-body --silent")
    environment = {"PATH": "/usr/bin:/bin", "API": server.api, "SECRET_FILE": str(key), "CALL": "none"}
    return subprocess.run(["bash", "-euo", "pipefail", "-c", text], capture_output=True, text=True, env=environment)


def test_a_room_is_changed_in_parts(server):
    room = json.loads(server.ask("PATCH", "/rooms/demo", '{"locked": true}').body)
    assert room["locked"] and room["limit"] == 3
    assert json.loads(server.ask("PATCH", "/rooms/demo", '{"locked": false, "media": "audio"}').body)["media"] == "audio"
    assert not json.loads(server.ask("GET", "/rooms/demo").body)["locked"]
    for body, field in [("{}", "body"), ('{"lokced": true}', "lokced"), ('{"locked": null}', "locked"), ('{"locked": 1}', "locked")]:
        refused = server.ask("PATCH", "/rooms/demo", body)
        problem = json.loads(refused.body)
        assert refused.status == 400 and (problem["code"], problem["field"]) == (-32602, field), body
    missing = json.loads(server.ask("GET", "/rooms/nowhere").body)
    assert (missing["status"], missing["code"], missing["name"]) == (404, 2001, "ROOM_NOT_FOUND")


def test_a_call_needs_a_caller_who_is_there(server):
    wish = {"from": "anna", "to": ["ben"], "extra": {"order": 7}}
    refused = server.ask("POST", "/calls", json.dumps(wish))
    problem = json.loads(refused.body)
    assert (refused.status, problem["code"], problem["name"]) == (409, 3003, "INVALID_STATE"), problem
    wrong = json.loads(server.ask("POST", "/calls", json.dumps({**wish, "ringTimeoutMs": 1})).body)
    assert (wrong["status"], wrong["field"]) == (400, "ringTimeoutMs")
    assert server.ask("POST", "/calls/none/invitations", '{"users": ["ben"]}').status == 404
    assert json.loads(server.ask("GET", "/calls").body) == {"calls": []}
    assert json.loads(server.ask("GET", "/users/anna").body) == {"user": "anna", "online": False, "reachable": False, "devices": 0, "missed": 0}
    assert json.loads(server.ask("GET", "/users/anna/calls?before=x").body) == {"records": []}
    assert json.loads(server.ask("DELETE", "/users/anna/missed").body) == {"seen": 0}


def test_the_server_moderates_and_writes(server):
    done = server.ask("POST", "/rooms/radio/moderation", '{"action": "lobby"}')
    assert (done.status, json.loads(done.body)) == (200, {"action": "lobby", "room": "radio"})
    assert json.loads(server.ask("GET", "/rooms/radio").body)["lobby"]
    assert server.ask("POST", "/rooms/radio/moderation", '{"action": "unlock"}').status == 200
    assert not json.loads(server.ask("GET", "/rooms/radio").body)["lobby"]
    for body, field in [('{"action": "kick"}', "user"), ('{"action": "role", "user": "a"}', "role"), ('{"action": "dance"}', "action")]:
        refused = server.ask("POST", "/rooms/radio/moderation", body)
        assert (refused.status, json.loads(refused.body)["field"]) == (400, field), body
    said = json.loads(server.ask("POST", "/rooms/radio/messages", '{"text": "Hello", "displayName": "House"}').body)
    assert said["delivered"] == 0 and said["msgId"]
    assert json.loads(server.ask("POST", "/rooms/radio/messages", '{"text": "", "displayName": "House"}').body)["field"] == "text"


def test_two_who_change_a_room_hear_of_each_other(server):
    made = server.ask("POST", "/rooms", '{"room": "standup", "kind": "group", "videoLimit": 8, "locked": true}')
    tag = made.headers["ETag"]
    assert made.status == 201 and json.loads(made.body)["version"] == tag.strip('"') and json.loads(made.body)["origin"] == "made"
    assert json.loads(server.ask("GET", "/rooms/standup").body)["locked"]
    assert server.ask("PUT", "/rooms/standup/settings", '{"kind": "group"}').status == 428
    changed = server.ask("PUT", "/rooms/standup/settings", '{"kind": "group", "audioLimit": 9}', **{"If-Match": tag})
    assert changed.status == 200 and json.loads(changed.body)["settings"] == {"kind": "group", "audioLimit": 9}
    late = server.ask("PUT", "/rooms/standup/settings", '{"kind": "broadcast"}', **{"If-Match": tag})
    assert late.status == 412 and late.headers["ETag"] == changed.headers["ETag"]
    assert json.loads(server.ask("GET", "/rooms/standup/settings").body) == json.loads(changed.body), "the second changed nothing"
    for body, field in [('{"kind": "none"}', "kind"), ('{"kind": "group", "videoLimit": 0}', "videoLimit"), ('{"kind": "group", "until": 1}', "until")]:
        refused = server.ask("PUT", "/rooms/standup/settings", body, **{"If-Match": "*"})
        assert (refused.status, json.loads(refused.body)["field"]) == (400, field), body
    assert server.ask("PUT", "/rooms/standup/settings", '{"kind": "group"}', **{"If-Match": "none"}).status == 400
    assert server.ask("DELETE", "/rooms/standup/settings").status == 200
    assert server.ask("GET", "/rooms/standup/settings").status == 404


def test_a_post_with_one_key_is_done_once(server):
    body = '{"address": "203.0.113.7", "room": "demo"}'
    first = server.ask("POST", "/bans", body, **{"Idempotency-Key": "k1"})
    assert first.status == 200 and server.ask("DELETE", "/bans/203.0.113.7?room=demo").status == 200
    again = server.ask("POST", "/bans", body, **{"Idempotency-Key": "k1"})
    assert (again.status, again.body) == (200, first.body), "the answer alone"
    assert json.loads(server.ask("GET", "/bans?room=demo").body)["bans"] == [], "it was not done again"
    other = server.ask("POST", "/bans", body.replace(".7", ".8"), **{"Idempotency-Key": "k1"})
    assert other.status == 422 and json.loads(other.body)["title"] == "Unprocessable Content"
    # The control: under another name it is done.
    assert server.ask("POST", "/bans", body, **{"Idempotency-Key": "k2"}).status == 200
    assert len(json.loads(server.ask("GET", "/bans?room=demo").body)["bans"]) == 1
