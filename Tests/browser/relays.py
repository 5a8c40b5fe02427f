"""What stands between people and a server in a bad network: a TCP path that can be cut, a UDP path that can move."""

import contextlib
import pathlib
import select
import socket
import struct
import threading
import typing

from server import Server


class Thread:
    """A loop in a thread of its own, ended by `stop`."""

    def __init__(self) -> None:
        self.running = True
        self.thread = threading.Thread(target=self.run, daemon=True)

    def start(self) -> None:
        self.thread.start()

    def run(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        self.running = False
        self.thread.join(5)


class TCPRelay(Thread):
    """Carries connections to the server; `cut` resets them all and refuses new ones until `mend`. `hush` leaves those of now open, and
    nothing passes on them any more, as when an address is gone."""

    def __init__(self, target: int) -> None:
        super().__init__()
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.lock = threading.Lock()
        self.pairs: dict[socket.socket, socket.socket] = {}
        self.hushed: list[socket.socket] = []
        self.is_cut = False
        self.start()

    def run(self) -> None:
        while self.running:
            with self.lock:
                sockets = [self.listener, *self.pairs]
            for ready in select.select(sockets, [], [], 0.05)[0]:
                with self.lock, contextlib.suppress(OSError):
                    if ready is self.listener:
                        self.accept()
                    elif ready in self.pairs:
                        self.carry(ready)
        self.cut()
        for end in (self.listener, *self.hushed):
            end.close()

    def accept(self) -> None:
        client = self.listener.accept()[0]
        if self.is_cut:
            return reset(client)
        server = socket.create_connection(("127.0.0.1", self.target))
        self.pairs[client], self.pairs[server] = server, client

    def carry(self, source: socket.socket) -> None:
        sink = self.pairs[source]
        try:
            data = source.recv(65536)
            sink.sendall(data)
        except OSError:
            data = b""
        if not data:
            for end in (source, sink):
                self.pairs.pop(end, None)
                end.close()

    def cut(self) -> None:
        with self.lock:
            self.is_cut = True
            for end in self.pairs:
                reset(end)
            self.pairs.clear()

    def mend(self) -> None:
        self.is_cut = False

    def hush(self) -> None:
        with self.lock:
            self.hushed += self.pairs
            self.pairs.clear()


class UDPRelay(Thread):
    """Stands where the server says its media address is. `move` gives every client another source port, as a NAT that
    forgot its bindings does; while `deaf`, nothing passes; with `loses` n, every nth datagram is lost."""

    def __init__(self, address: str, port: int, target: str) -> None:
        super().__init__()
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind((address, port))
        self.target = (target, port)
        self.backs: dict[tuple[str, int], socket.socket] = {}
        self.moves = 0
        self.moved = 0
        self.deaf = False
        self.loses = 0
        self.arrived = 0
        self.carried = 0
        self.start()

    def run(self) -> None:
        while self.running:
            if self.moved != self.moves:
                self.moved = self.moves
                for back in self.backs.values():
                    back.close()
                self.backs.clear()
            clients = {back: client for client, back in self.backs.items()}
            for ready in select.select([self.front, *clients], [], [], 0.05)[0]:
                with contextlib.suppress(OSError):
                    data, source = ready.recvfrom(2048)
                    self.arrived += 1
                    if self.deaf or (self.loses and self.arrived % self.loses == 0):
                        continue
                    self.carried += 1
                    if ready is self.front:
                        self.back(source).sendto(data, self.target)
                    else:
                        self.front.sendto(data, clients[ready])
        for end in (self.front, *self.backs.values()):
            end.close()

    def back(self, client: tuple[str, int]) -> socket.socket:
        if client not in self.backs:
            self.backs[client] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.backs[client].bind(("127.0.0.1", 0))
        return self.backs[client]

    def move(self) -> None:
        self.moves += 1


def reset(end: socket.socket) -> None:
    """Closes with RST instead of FIN."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    end.close()


@contextlib.contextmanager
def server_behind_relay(folder: pathlib.Path) -> typing.Iterator[Server]:
    """A server whose media goes by `server.relay`, and that keeps a lost person's seat for four seconds."""
    server = Server(folder, grace="4s", advertise="127.0.0.2")
    server.relay = UDPRelay("127.0.0.2", server.media, "127.0.0.1")
    with server:
        yield server
    server.relay.stop()
