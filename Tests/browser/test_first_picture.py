"""Somebody who comes late: one request for a keyframe to each publisher, and its answer arrives."""

import re
import urllib.request

from people import eventually


def requests(server) -> int:
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return sum(int(float(value)) for value in re.findall(r"^roost_keyframe_requests_sent_total\S* (\S+)$", text, re.M))


def test_a_join_asks_each_publisher_for_one_keyframe_and_gets_it(person, room, server):
    anna, ben = person("Anna").join(room), person("Ben").join(room)
    anna.sees("Ben")
    ben.sees("Anna")
    asked = []
    for _ in range(3):
        # Encoders settle: nothing is asked for in two seconds.
        def quiet() -> bool:
            before = requests(server)
            anna.page.wait_for_timeout(2000)
            return requests(server) == before

        eventually("nobody asks for keyframes", quiet)
        before = requests(server)
        cleo = person("Cleo").join(room)
        for name in ("Anna", "Ben"):
            cleo.sees(name)
        asked.append(requests(server) - before)
        cleo.leave()
        cleo.page.goto("about:blank")
    # One to each of the three, the newcomer included. A datagram may be lost on a busy machine, but not in most joins.
    assert sorted(asked)[1] == 3, asked
