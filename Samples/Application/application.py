#!/usr/bin/env python3
"""An application's own server beside Roost, in Python's standard library alone. It answers Roost's questions (docs/hooks.md), takes its events (docs/webhooks.md)
and asks its API (docs/api.md): it starts calls, keeps a list of missed calls, and bills the minutes that each user sits in rooms and calls.

    ROOST_SECRET=… ROOST_KEY=… Samples/Application/application.py [--port 8000] [--api http://127.0.0.1:9091/api/v1] [--store application.db]

`ROOST_SECRET` signs what Roost sends, `ROOST_KEY` is the secret of a key of the API; rooms.yaml beside this file says where they go. For your own pages:

    POST /calls {"from": "anna", "to": "ben"}       GET /missed/ben       GET /bill/anna       PUT /credit/anna {"seconds": 600}
"""
import argparse, hashlib, hmac, http.server, json, os, sqlite3, threading, time, urllib.error, urllib.parse, urllib.request

TABLES = """
CREATE TABLE IF NOT EXISTS event (number INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS caught_up (number INTEGER);
CREATE TABLE IF NOT EXISTS seat (place TEXT, user TEXT, since INTEGER, until INTEGER, PRIMARY KEY (place, user, since));
CREATE TABLE IF NOT EXISTS missed (user TEXT, call TEXT, caller TEXT, at INTEGER, reason TEXT, PRIMARY KEY (user, call));
CREATE TABLE IF NOT EXISTS credit (user TEXT PRIMARY KEY, seconds INTEGER);
"""
MISSED = {"no_answer", "busy", "cancelled", "unreachable", "caller_lost", "disconnected"}


class Application:
    def __init__(self, store: str, api: str, key: str) -> None:
        self.db = sqlite3.connect(store, check_same_thread=False)
        self.db.executescript(TABLES)
        self.lock = threading.RLock()
        self.api, self.key = api, key

    def rows(self, query: str, *values: object) -> list:
        with self.lock:
            return self.db.execute(query, values).fetchall()

    def answer(self, question: dict) -> dict:
        """Whoever has used up their credit starts no call. All else is allowed."""
        user = question["user"]
        credit = self.rows("SELECT seconds FROM credit WHERE user = ?", user)
        if question["hook"] == "call.start" and credit and self.bill(user)["seconds"] >= credit[0][0]:
            return {"allow": False, "reason": "Your credit is used up.", "code": "unpaid"}
        return {"allow": True}

    def take(self, event: dict) -> None:
        """Does once what an event says, however often it comes: what it changes is written with its number, in one transaction."""
        with self.lock, self.db:
            if event["type"] == "lost":
                return print("lost for good:", event["from"], "to", event["to"], flush=True)
            if self.db.execute("INSERT OR IGNORE INTO event VALUES (?)", (event["number"],)).rowcount == 0:
                return
            place, user, at = event["room"], event.get("user"), event["at"]
            match event["type"]:
                case "room.opened":  # After a crash nobody was told who had left: those stays are not billed.
                    self.db.execute("UPDATE seat SET until = since WHERE place = ? AND until IS NULL", (place,))
                case "room.joined":
                    self.db.execute("INSERT OR REPLACE INTO seat VALUES (?, ?, ?, NULL)", (place, user, at))
                case "room.left":
                    self.db.execute("UPDATE seat SET until = ? WHERE place = ? AND user = ? AND until IS NULL", (at, place, user))
            if "call" in event:
                self.take_call(event["call"], at)

    def take_call(self, call: dict, at: int) -> None:
        for member in call["members"]:
            user, since, until = member["user"], member.get("joinedAt"), member.get("leftAt")
            if since and until:
                self.db.execute("INSERT OR REPLACE INTO seat VALUES (?, ?, ?, ?)", (call["room"], user, since, until))
            if not since and user != call["caller"] and member.get("reason") in MISSED:
                self.db.execute("INSERT OR IGNORE INTO missed VALUES (?, ?, ?, ?, ?)", (user, call["callId"], call["caller"], at, member["reason"]))

    def catch_up(self) -> None:
        """Asks for the events that were told while nobody listened here: all since it did so before."""
        after = self.rows("SELECT max(number) FROM caught_up")[0][0] or 0
        while True:
            _, page = self.ask("GET", f"/events?after={after}")
            if "lost" in page:
                self.take({"type": "lost", **page["lost"]})
            for event in page.get("events", []):
                self.take(event)
                after = event["number"]
            if not page.get("events"):
                break
        with self.lock, self.db:
            self.db.execute("INSERT INTO caught_up VALUES (?)", (after,))

    def ask(self, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
        content, headers = json.dumps(body).encode() if body else None, {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.api + path, content, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.load(refusal)

    def missed(self, user: str) -> list[dict]:
        rows = self.rows("SELECT call, caller, at, reason FROM missed WHERE user = ? ORDER BY at DESC LIMIT 100", user)
        return [dict(zip(("callId", "from", "at", "reason"), row)) for row in rows]

    def bill(self, user: str) -> dict:
        rows = self.rows("SELECT place, sum(until - since) FROM seat WHERE user = ? AND until IS NOT NULL GROUP BY place", user)
        places = {place: milliseconds / 1000 for place, milliseconds in rows}
        return {"seconds": sum(places.values()), "places": places}


def is_from_roost(secret: str, header: str, body: bytes) -> bool:
    parts = [part.partition("=")[::2] for part in header.split(",")]
    sent = next((value for name, value in parts if name == "t"), "")
    expected = hmac.new(secret.encode(), sent.encode() + b"." + body, hashlib.sha256).hexdigest()
    is_right = any(name == "v1" and hmac.compare_digest(expected.encode(), value.encode()) for name, value in parts)
    return is_right and sent.isdigit() and abs(time.time() - int(sent)) < 300


class Handler(http.server.BaseHTTPRequestHandler):
    application: Application
    secret: str
    protocol_version = "HTTP/1.1"

    def reply(self, status: int, body: object = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def content(self) -> bytes:
        return self.rfile.read(min(int(self.headers.get("Content-Length", 0)), 1 << 20))

    def do_POST(self) -> None:
        body = self.content()
        if self.path == "/calls":  # Your own pages: look who asks, before you do what they say.
            wish = json.loads(body)  # Roost rings the caller, and once they have picked up the callee.
            return self.reply(*self.application.ask("POST", "/calls", {"from": wish["from"], "to": [wish["to"]], "media": "audio"}))
        if not is_from_roost(self.secret, self.headers.get("Roost-Signature", ""), body):
            return self.reply(403)
        if self.path == "/roost/ask":
            return self.reply(200, self.application.answer(json.loads(body)))
        self.application.take(json.loads(body))
        self.reply(204)

    def do_GET(self) -> None:
        what, _, user = urllib.parse.unquote(self.path[1:]).partition("/")
        shown = {"missed": self.application.missed, "bill": self.application.bill}.get(what)
        self.reply(200, shown(user)) if shown else self.reply(404)

    def do_PUT(self) -> None:
        user = urllib.parse.unquote(self.path).removeprefix("/credit/")
        with self.application.lock, self.application.db as db:
            db.execute("INSERT OR REPLACE INTO credit VALUES (?, ?)", (user, json.loads(self.content())["seconds"]))
        self.reply(204)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for option, default in (("--port", "8000"), ("--api", "http://127.0.0.1:9091/api/v1"), ("--store", "application.db")):
        parser.add_argument(option, default=default)
    options = parser.parse_args()
    Handler.secret = os.environ["ROOST_SECRET"]
    Handler.application = Application(options.store, options.api, os.environ["ROOST_KEY"])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(options.port)), Handler)
    threading.Thread(target=Handler.application.catch_up, daemon=True).start()
    server.serve_forever()
