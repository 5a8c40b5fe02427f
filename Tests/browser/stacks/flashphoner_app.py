"""Somebody with an app for Flashphoner's SDKs, as a process: `flashphoner_app.py URL ROOM NAME SECONDS`. Publishes, plays every stream
that it is told of, and prints what stacks/gstreamer.py prints, by the logins of others."""

import collections
import pathlib
import sys
import time

from program import say

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from flashphoner import FlashphonerPerson  # noqa: E402

if __name__ == "__main__":
    url, room, name, seconds = sys.argv[1:]
    person = FlashphonerPerson(name, url, (120, 30, 120), 1200).connect()
    joined = person.join(room)
    if joined["status"] != "ACCEPTED":
        sys.exit(joined["info"])
    person.publish()
    owners: dict[str, str] = {}
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        for stream in person.streams() + person.events("PUBLISHED"):
            if stream["name"] not in owners:
                owners[stream["name"]] = stream["login"]
                person.play(stream["name"])
        received: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        for stream, counts in person.counts().items():
            received[owners[stream]].update(counts)
        say(received=received)
        for failure in person.failures():
            say(event="media.failed", info=failure)
        time.sleep(1)
    person.close()
