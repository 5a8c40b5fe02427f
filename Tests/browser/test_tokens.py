"""Tokens of other people's libraries, PyJWT and joserfc, at a running server; and what `roost token` makes, read by them."""

import base64
import contextlib
import hashlib
import hmac
import itertools
import json
import re
import subprocess
import time

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from joserfc import jwk
from joserfc import jwt as jose
from people import eventually
from server import Server, binary
from websockets.sync.client import ClientConnection, connect

SECRET = "kept-by-the-tests-4f1d9ab2c7e05836"
ALL = ["join", "publish:audio", "publish:video", "publish:screen", "subscribe", "chat", "call", "invite"]


def private_pem(key) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def public_pem(key) -> str:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()


PRIVATE = {"ec": ec.generate_private_key(ec.SECP256R1()), "ed": ed25519.Ed25519PrivateKey.generate()}
ALGORITHMS = {"hmac": "HS256", "ec": "ES256", "ed": "EdDSA"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A server with a key of each kind."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "hmac.key").write_text(SECRET + "\n")
    for kid, key in PRIVATE.items():
        (folder / f"{kid}.pem").write_text(public_pem(key))
        (folder / f"{kid}.private").write_text(private_pem(key))
    keys = "{kid: hmac, alg: HS256, secret_file: hmac.key}, " + ", ".join(
        f"{{kid: {kid}, alg: {ALGORITHMS[kid]}, public_key_file: {kid}.pem}}" for kid in PRIVATE
    )
    access = f"{{keys: [{keys}], issuer: app.example, audience: conf.example, revoked: [stolen]}}"
    with Server(folder, access=access) as server:
        yield server


def claims(**more) -> dict:
    now = int(time.time())
    usual = {"sub": "anna", "iss": "app.example", "aud": "conf.example", "iat": now, "exp": now + 600, "grants": ALL}
    return {**usual, **more}


def pyjwt(kid: str, said: dict, **headers) -> str:
    key = SECRET if kid == "hmac" else PRIVATE[kid]
    return jwt.encode(said, key, ALGORITHMS[kid], {"kid": kid, **headers})


def joserfc(kid: str, said: dict) -> str:
    if kid == "hmac":
        key = jwk.OctKey.import_key(SECRET)
    else:
        kind = jwk.ECKey if kid == "ec" else jwk.OKPKey
        key = kind.import_key(private_pem(PRIVATE[kid]))
    algorithm = ALGORITHMS[kid]
    return jose.encode({"alg": algorithm, "kid": kid}, said, key, algorithms=[algorithm])


class Wire:
    """One socket, and requests on it; events are kept."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.ids = itertools.count(1)
        self.events: list[dict] = []

    def request(self, method: str, **params) -> dict:
        number = next(self.ids)
        self.socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=20))
            if message.get("id") == number:
                return message
            self.events.append(message)

    def hear(self, method: str) -> dict:
        while True:
            for event in self.events:
                if event.get("method") == method:
                    self.events.remove(event)
                    return event["params"]
            self.events.append(json.loads(self.socket.recv(timeout=20)))


@pytest.fixture
def wire(guarded):
    with contextlib.ExitStack() as stack:

        def make() -> Wire:
            return Wire(stack.enter_context(connect(guarded.rtc)))

        yield make


def answer(wire, token: str | None, user: str = "anna") -> dict:
    return wire().request("session.hello", user=user, **({} if token is None else {"token": token}))


def reason(wire, token: str | None, user: str = "anna") -> str | None:
    error = answer(wire, token, user).get("error")
    if error is None:
        return None
    assert error["code"] == 1004 and error["data"]["name"] == "AUTH_FAILED"
    return error["data"]["reason"]


@pytest.mark.parametrize("kid", ALGORITHMS)
@pytest.mark.parametrize("issuer", [pyjwt, joserfc])
def test_tokens_of_every_kind_and_issuer_are_believed(wire, issuer, kid):
    said = answer(wire, issuer(kid, claims()))
    assert said["result"]["user"] == "anna", said
    assert reason(wire, issuer(kid, claims()), user="boss") == "token_user"


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def by_hand(header: dict, said: dict, key: bytes | None) -> str:
    """What no library would sign."""
    message = ".".join(base64url(json.dumps(part).encode()) for part in (header, said))
    signature = b"" if key is None else hmac.new(key, message.encode(), hashlib.sha256).digest()
    return f"{message}.{base64url(signature)}"


def forgeries() -> dict[str, str]:
    now = int(time.time())
    good = pyjwt("hmac", claims())
    head, body, signature = good.split(".")
    stolen = pyjwt("ed", claims()).split(".")
    doubled = json.dumps(claims())[:-1] + ', "sub": "boss"}'
    message = f"{head}.{base64url(doubled.encode())}"
    doubled_signature = base64url(hmac.new(SECRET.encode(), message.encode(), hashlib.sha256).digest())
    return {
        "nobody signed it": by_hand({"alg": "none", "kid": "hmac"}, claims(), None),
        "none in capitals": by_hand({"alg": "NONE", "kid": "ed"}, claims(), None),
        "a public key as a secret, EC": by_hand({"alg": "HS256", "kid": "ec"}, claims(), public_pem(PRIVATE["ec"]).encode()),
        "a public key as a secret, Ed": by_hand({"alg": "HS256", "kid": "ed"}, claims(), public_pem(PRIVATE["ed"]).encode()),
        "an empty secret": by_hand({"alg": "HS256", "kid": "hmac"}, claims(), b""),
        "a kid that is a path": by_hand({"alg": "HS256", "kid": "../../dev/null"}, claims(), b""),
        "a kid that is a question": by_hand({"alg": "HS256", "kid": "' or '1'='1"}, claims(), b""),
        "no kid": by_hand({"alg": "HS256"}, claims(), SECRET.encode()),
        "another algorithm of the secret": jwt.encode(claims(), SECRET * 2, "HS512", {"kid": "hmac"}),
        "another key of the curve": jwt.encode(claims(), ed25519.Ed25519PrivateKey.generate(), "EdDSA", {"kid": "ed"}),
        "another key's name": jwt.encode(claims(), PRIVATE["ed"], "EdDSA", {"kid": "ec"}),
        "its own key in its header": jwt.encode(
            claims(), "my own secret of more than 32 bytes", "HS256",
            {"kid": "hmac", "jwk": {"kty": "oct", "k": base64url(b"my own secret of more than 32 bytes")}},
        ),
        "another body": f"{head}.{base64url(json.dumps(claims(sub='boss')).encode())}.{signature}",
        "another head": f"{stolen[0]}.{body}.{signature}",
        "no signature": f"{head}.{body}.",
        "two parts": f"{head}.{body}",
        "half": good[: len(good) // 2],
        "padding": good + "==",
        "a line end": good + "\n",
        "doubled claims": f"{message}.{doubled_signature}",
        "somebody else's audience": pyjwt("hmac", claims(aud="other.example")),
        "somebody else's issuer": pyjwt("ec", claims(iss="evil.example")),
        "no audience": pyjwt("hmac", {key: value for key, value in claims().items() if key != "aud"}),
        "not yet": pyjwt("ed", claims(nbf=now + 300)),
        "from the future": pyjwt("ed", claims(iat=now + 300)),
        "no end": pyjwt("hmac", {key: value for key, value in claims().items() if key != "exp"}),
        "two days": pyjwt("hmac", claims(exp=now + 2 * 86_400)),
        "taken back": pyjwt("ec", claims(jti="stolen")),
        "all rooms": pyjwt("hmac", claims(room="*")),
        "a pattern": pyjwt("hmac", claims(room="team-*-a")),
        "an unknown grant": pyjwt("hmac", claims(grants=["join", "root"])),
        "a critical header": jwt.encode(claims(), SECRET, "HS256", {"kid": "hmac", "crit": ["exp"]}),
        "a nested token": pyjwt("hmac", claims(), typ="JWE"),
    }


# The check that each of them fails, as the log names it.
WHY = {
    "other algorithm": [
        "nobody signed it", "none in capitals", "a public key as a secret, EC", "a public key as a secret, Ed",
        "another algorithm of the secret", "another key's name",
    ],
    "signature": ["an empty secret", "another key of the curve", "its own key in its header", "another body", "another head", "no signature"],
    "unknown key": ["a kid that is a path", "a kid that is a question", "no kid"],
    "malformed": ["two parts", "half", "padding", "a line end", "doubled claims"],
    "audience": ["somebody else's audience", "no audience"],
    "issuer": ["somebody else's issuer"],
    "not yet valid": ["not yet", "from the future"],
    "claim exp": ["no end"],
    "valid for more than a day": ["two days"],
    "revoked": ["taken back"],
    "claim room": ["all rooms", "a pattern"],
    "claim grants": ["an unknown grant"],
    "header": ["a critical header", "a nested token"],
}


def refusals(server: Server) -> list[str]:
    """What the log says of tokens that were not accepted."""
    return re.findall(r'token_refused .*why=("[^"]*"|\S+)', server.log.read_text())


@pytest.mark.parametrize("forgery", forgeries())
def test_forged_tokens_are_refused(guarded, wire, forgery):
    before = len(refusals(guarded))
    assert reason(wire, forgeries()[forgery]) == "token_invalid"
    said = eventually("the log has it", lambda: refusals(guarded)[before:])
    assert [one.strip('"') for one in said] == [why for why, names in WHY.items() if forgery in names]


def test_a_late_token_is_told_so(wire):
    assert reason(wire, None) == "token_missing"
    assert reason(wire, pyjwt("ed", claims(exp=int(time.time()) - 61, iat=int(time.time()) - 600))) == "token_expired"
    assert reason(wire, pyjwt("ed", claims(exp=int(time.time()) - 30, iat=int(time.time()) - 600))) is None


def test_a_token_is_good_for_its_rooms(wire):
    anna = wire()
    assert "result" in anna.request("session.hello", user="anna", token=joserfc("ed", claims(room="team-*", name="Anna A.")))
    refused = anna.request("room.join", room="demo")["error"]
    assert (refused["code"], refused["data"]["reason"]) == (1005, "room")
    joined = anna.request("room.join", room="team-a", displayName="Boss")["result"]
    assert [one["displayName"] for one in joined["participants"]] == ["Anna A."]
    assert [one["name"] for one in anna.request("room.list")["result"]["rooms"]] == ["team-a"]


def test_a_further_token_changes_what_one_may_do(wire):
    anna, ben = wire(), wire()
    for one, user in ((anna, "anna"), (ben, "ben")):
        assert "result" in one.request("session.hello", user=user, token=pyjwt("ec", claims(sub=user)))
        one.request("room.join", room="changing")
    assert anna.request("session.token", token=pyjwt("hmac", claims(sub="ben")))["error"]["code"] == 1004
    assert anna.request("session.token", token="a.b.c")["error"]["code"] == 1004
    assert anna.request("session.token", token=pyjwt("hmac", claims(grants=["join", "subscribe"])))["result"] == {}
    assert anna.hear("session.grants")["grants"] == ["join", "subscribe"]
    assert anna.request("chat.send", room="changing", text="hello")["error"]["data"]["reason"] == "chat"
    assert anna.request("session.token", token=pyjwt("ed", claims(grants=[])))["result"] == {}
    assert anna.hear("room.closed")["reason"] == "removed"
    assert ben.hear("room.participantLeft")["reason"] == "removed"


@pytest.mark.parametrize("kid", ALGORITHMS)
def test_roost_token_makes_what_others_read(guarded, wire, kid):
    folder = guarded.configuration.parent
    words = ["--user", "anna", "--room", "team-*", "--grants", "join,chat", "--ttl", "15m", "--key", kid]
    if kid != "hmac":
        words += ["--private-key", str(folder / f"{kid}.private")]
    made = subprocess.run(
        [binary(), "token", "--config", guarded.configuration, *words], capture_output=True, text=True, timeout=60
    )
    assert made.returncode == 0, made.stderr
    token = made.stdout.strip()
    key = SECRET if kid == "hmac" else PRIVATE[kid].public_key()
    said = jwt.decode(token, key, [ALGORITHMS[kid]], audience="conf.example", issuer="app.example")
    assert (said["sub"], said["room"], said["grants"]) == ("anna", "team-*", ["join", "chat"])
    assert 890 < said["exp"] - time.time() <= 900 and said["jti"] in made.stderr
    assert SECRET not in made.stdout + made.stderr
    assert "result" in answer(wire, token)


def test_check_tells_of_weak_keys_and_shows_none(tmp_path):
    weak = "password-password-password-password"
    file = tmp_path / "rooms.yaml"
    file.write_text(f"access: {{keys: [{{alg: HS256, secret: {weak}}}]}}\nstorage: {{path: none}}\n")
    said = subprocess.run([binary(), "check", "--config", file], capture_output=True, text=True, timeout=60)
    assert said.returncode == 0 and "warning:       access.keys[1].secret: " in said.stdout
    file.write_text("access: {keys: [{alg: HS256, secret: hunter2}]}\n")
    refused = subprocess.run([binary(), "check", "--config", file], capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "32 bytes" in refused.stderr
    for text in (said.stdout, said.stderr, refused.stdout, refused.stderr):
        assert weak not in text and "hunter2" not in text
