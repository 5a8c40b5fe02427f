"""Where strangers come from: addresses of the loopback, names, rooms; and the offer that they send."""

import asyncio
import collections
import random
import typing
import urllib.parse

# Of docs/protocol.md; nobody stands behind it.
OFFER = """v=0
o=- 4611731400430051336 1 IN IP4 127.0.0.1
s=-
t=0 0
a=group:BUNDLE 0 1
a=ice-ufrag:anna
a=ice-pwd:n8TqC0xW4rYpZ1sLk7uVb2Qe
a=fingerprint:sha-256 0B:30:55:7A:9F:C4:E9:0E:33:58:7D:A2:C7:EC:11:36:5B:80:A5:CA:EF:14:39:5E:83:A8:CD:F2:17:3C:61:86
a=setup:actpass
m=audio 9 UDP/TLS/RTP/SAVPF 111
c=IN IP4 0.0.0.0
a=mid:0
a=sendonly
a=rtcp-mux
a=rtpmap:111 opus/48000/2
a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
m=video 9 UDP/TLS/RTP/SAVPF 96
c=IN IP4 0.0.0.0
a=mid:1
a=sendonly
a=rtcp-mux
a=rtpmap:96 VP8/90000
a=rtcp-fb:96 nack
a=rtcp-fb:96 nack pli
a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid
""".replace("\n", "\r\n")


class Town:
    """The server under attack, and who attacks it. There are so few names, rooms and addresses that what the server keeps of them on
    purpose (chat, records of calls, counts) is there after a few minutes, or is far less than what may be left."""

    # How long a stranger waits for what must happen.
    patience = 30.0

    def __init__(self, url: str) -> None:
        self.url = url
        parts = urllib.parse.urlsplit(url)
        self.host, self.port, self.server = parts.netloc, parts.port, parts.hostname
        self.rtc = f"ws://{parts.netloc}/rtc"
        self.turns: collections.Counter[str] = collections.Counter()

    def turn(self, kind: str, choices: list) -> typing.Any:
        """One after another: in a short time each of them comes."""
        self.turns[kind] += 1
        return choices[self.turns[kind] % len(choices)]

    def address(self) -> str:
        return f"127.0.1.{random.randint(1, 250)}"

    def name(self) -> str:
        return f"stranger{random.randint(1, 300)}"

    def room(self) -> str:
        return f"soak{random.randint(1, 40)}"

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self.server, self.port, local_addr=(self.address(), 0), limit=1 << 24)
