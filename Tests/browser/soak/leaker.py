"""A server that keeps something of each request, for the controls of the soak: `leaker.py nothing|descriptor|memory|thread|seat`.
Says its port on the output."""

import http.server
import os
import sys
import threading

from figures import GAUGES

kept: list = []
seats = 0


def keep(what: str) -> None:
    global seats
    if what == "descriptor":
        kept.append(os.dup(1))
    elif what == "memory":
        kept.append(bytearray(os.urandom(64 << 10)))
    elif what == "thread":
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    elif what == "seat":
        seats += 1


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path != "/metrics":
            keep(sys.argv[1])
        body = "".join(f"{name} {seats if name == 'roost_participants' else 0}\n" for name in GAUGES).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
