#!/usr/bin/env python3
"""An application's own server beside Roost, in Python's standard library alone. It answers Roost's questions (docs/hooks.md), takes its events (docs/webhooks.md)
and asks its API (docs/api.md): it starts calls, keeps a list of missed calls, and bills the minutes that each user sits in rooms and talks in calls.

    ROOST_SECRET=… ROOST_KEY=… OWN_KEY=… ./application.py [--port 8000] [--api http://127.0.0.1:9091/api/v1] [--store application.db]

`ROOST_SECRET` signs what Roost sends, `ROOST_KEY` is the secret of a key of the API; rooms.yaml beside this file says where they go. For your own pages, which
show `Authorization: Bearer OWN_KEY`:

    POST /calls {"from": "anna", "to": "ben"}       GET /missed/ben       GET /bill/anna       PUT /credit/anna {"seconds": 600}
"""
import argparse, hashlib, hmac, http.server, json, os, sqlite3, threading, time, urllib.error, urllib.parse, urllib.request

TABLES = """
CREATE TABLE IF NOT EXISTS event (id TEXT PRIMARY KEY, number INTEGER);
CREATE TABLE IF NOT EXISTS caught_up (one INTEGER PRIMARY KEY, number INTEGER);
CREATE TABLE IF NOT EXISTS stay (place TEXT, seat TEXT, user TEXT, since INTEGER, billed INTEGER, PRIMARY KEY (place, seat, since));
CREATE TABLE IF NOT EXISTS missed (user TEXT, call TEXT, caller TEXT, at INTEGER, reason TEXT, PRIMARY KEY (user, call));
CREATE TABLE IF NOT EXISTS credit (user TEXT PRIMARY KEY, seconds REAL);
"""
MISSED = {"no_answer", "busy", "cancelled", "unreachable", "caller_lost", "disconnected"}
UNPAID = {"allow": False, "reason": "Your credit is used up.", "code": "unpaid"}


class Application:
    def __init__(self, store: str, api: str, key: str) -> None:
        self.db = sqlite3.connect(store, check_same_thread=False)
        self.db.executescript(TABLES)
        self.lock, self.api, self.key = threading.RLock(), api, key

    def rows(self, query: str, *values: object) -> list:
        with self.lock:
            return self.db.execute(query, values).fetchall()

    def may_call(self, user: str) -> bool:
        credit = self.rows("SELECT seconds FROM credit WHERE user = ?", user)
        return not credit or self.bill(user)["seconds"] < credit[0][0]

    def answer(self, question: dict) -> dict:
        """Whoever has used up their credit starts no call. All else is allowed."""
        return UNPAID if question["hook"] == "call.start" and not self.may_call(question["user"]) else {"allow": True}

    def take(self, event: dict) -> None:
        """Does once what an event says, however often it comes: what it changes is written with its id, in one transaction."""
        if event["type"] == "lost":
            return threading.Thread(target=self.catch_up, daemon=True).start()
        with self.lock, self.db:
            if self.db.execute("INSERT OR IGNORE INTO event VALUES (?, ?)", (event["id"], event.get("number"))).rowcount == 0:
                return
            place, seat, at = event.get("room"), event.get("participantId"), event["at"]
            match event["type"]:
                case "server.started":  # After a crash nobody has said when what was open ended.
                    self.db.execute("UPDATE stay SET billed = 0 WHERE billed IS NULL AND since < ?", (at,))
                case "room.joined":
                    self.db.execute("UPDATE stay SET billed = 0 WHERE billed IS NULL AND place = ? AND seat = ?", (place, seat))  # Its end was lost.
                    self.db.execute("INSERT OR REPLACE INTO stay VALUES (?, ?, ?, ?, NULL)", (place, seat, event["user"], at))
                case "room.left":
                    self.db.execute("UPDATE stay SET billed = ? - since WHERE place = ? AND seat = ? AND billed IS NULL", (at, place, seat))
            for member in event.get("call", {}).get("members", []):
                self.take_member(event["call"], member, at)

    def take_member(self, call: dict, member: dict, at: int) -> None:
        user, joined, left = member["user"], member.get("joinedAt"), member.get("leftAt")
        begun = sorted(one["joinedAt"] for one in call["members"] if one.get("joinedAt"))[1:]
        if joined:
            self.db.execute("DELETE FROM missed WHERE user = ? AND call = ?", (user, call["callId"]))
        elif user != call["caller"] and member.get("reason") in MISSED:
            self.db.execute("INSERT OR IGNORE INTO missed VALUES (?, ?, ?, ?, ?)", (user, call["callId"], call["caller"], at, member["reason"]))
        if joined and left:  # To wait for the first who answers costs nothing.
            talked = max(left - max(joined, begun[0]), 0) if begun else 0
            self.db.execute("INSERT OR IGNORE INTO stay VALUES (?, ?, ?, ?, ?)", (call["room"], user, user, joined, talked))

    def catch_up(self) -> None:
        """Asks for the events that were told while nobody listened here: all since it did so before. It goes on until Roost answers."""
        after = self.rows("SELECT max(number) FROM caught_up")[0][0] or 0
        while True:
            status, page = self.ask("GET", f"/events?after={after}")
            if status != 200:
                time.sleep(1)
            elif page["last"] < after:
                after = 0  # The record file was begun anew, and numbers with it.
            elif not page["events"]:
                break
            else:
                for event in page["events"]:
                    self.take(event)
                after = page["events"][-1]["number"]
        with self.lock, self.db:
            self.db.execute("INSERT OR REPLACE INTO caught_up VALUES (1, ?)", (after,))

    def ask(self, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
        content, headers = json.dumps(body).encode() if body else None, {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.api + path, content, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.load(refusal)
        except OSError as error:
            return 503, {"detail": f"Roost cannot be reached: {error}"}

    def call(self, caller: str, callee: str) -> tuple[int, dict]:
        """Roost rings the caller, and once they have picked up the callee. It asks nobody about what an application wants itself."""
        if not self.may_call(caller):
            return 402, UNPAID
        return self.ask("POST", "/calls", {"from": caller, "to": [callee], "media": "audio"})

    def missed(self, user: str) -> list[dict]:
        rows = self.rows("SELECT call, caller, at, reason FROM missed WHERE user = ? ORDER BY at DESC LIMIT 100", user)
        return [dict(zip(("callId", "from", "at", "reason"), row)) for row in rows]

    def bill(self, user: str) -> dict:
        rows = self.rows("SELECT place, sum(billed) FROM stay WHERE user = ? AND billed IS NOT NULL GROUP BY place", user)
        return {"seconds": sum(billed for _, billed in rows) / 1000, "places": {place: billed / 1000 for place, billed in rows}}

    def set_credit(self, user: str, seconds: float) -> None:
        with self.lock, self.db:
            self.db.execute("INSERT OR REPLACE INTO credit VALUES (?, ?)", (user, seconds))


def is_from_roost(secret: str, header: str, body: bytes) -> bool:
    parts = [part.partition("=")[::2] for part in header.split(",")]
    sent = next((value for name, value in parts if name == "t"), "")
    expected = hmac.new(secret.encode(), sent.encode() + b"." + body, hashlib.sha256).hexdigest()
    is_right = any(name == "v1" and hmac.compare_digest(expected.encode(), value.encode()) for name, value in parts)
    return is_right and sent.isdecimal() and abs(time.time() - int(sent)) < 300


class Handler(http.server.BaseHTTPRequestHandler):
    """One request a connection, as HTTP/1.0 has it: what was not read of one cannot be taken for another."""

    application: Application
    timeout = 10

    def handle_request(self) -> None:
        length = self.headers.get("Content-Length") or "0"
        if not length.isdecimal() or int(length) > 1 << 20:
            return self.reply(413)
        body, (what, _, user) = self.rfile.read(int(length)), urllib.parse.unquote(self.path[1:]).partition("/")
        try:
            if what == "roost":
                return self.take_from_roost(user, body)
            if not hmac.compare_digest(self.headers.get("Authorization", "").encode(), f"Bearer {os.environ['OWN_KEY']}".encode()):
                return self.reply(401)
            match self.command, what:
                case "POST", "calls":
                    wish = json.loads(body)
                    self.reply(*self.application.call(wish["from"], wish["to"]))
                case "GET", "missed" | "bill":
                    self.reply(200, getattr(self.application, what)(user))
                case "PUT", "credit":
                    self.reply(204, self.application.set_credit(user, float(json.loads(body)["seconds"])))
                case _:
                    self.reply(404)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self.reply(400, {"detail": f"this is not understood: {error!r}"})

    do_GET = do_POST = do_PUT = handle_request

    def take_from_roost(self, what: str, body: bytes) -> None:
        if not is_from_roost(os.environ["ROOST_SECRET"], self.headers.get("Roost-Signature", ""), body):
            return self.reply(403)
        if what == "ask":
            return self.reply(200, self.application.answer(json.loads(body)))
        self.reply(204, self.application.take(json.loads(body)))

    def reply(self, status: int, body: object = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option, default in (("--port", "8000"), ("--api", "http://127.0.0.1:9091/api/v1"), ("--store", "application.db")):
        parser.add_argument(option, default=default)
    options = parser.parse_args()
    if not all(os.environ.get(name) for name in ("ROOST_SECRET", "ROOST_KEY", "OWN_KEY")):
        parser.error("ROOST_SECRET, ROOST_KEY and OWN_KEY have to be set")
    Handler.application = Application(options.store, options.api, os.environ["ROOST_KEY"])
    threading.Thread(target=Handler.application.catch_up, daemon=True).start()
    http.server.ThreadingHTTPServer(("127.0.0.1", int(options.port)), Handler).serve_forever()
