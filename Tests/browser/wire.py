"""Between a page and its sockets: what is sent is noted, and can be refused or lost as a server or network would."""

import typing

from people import Person

# `wire.rules[method]` holds what becomes of the next requests of that method, one each: an error to be answered, or
# null for one that is lost. Those without a rule go to the server.
WIRE = """(() => {
  const wire = (window.wire = { sockets: [], sent: [], closes: [], rules: {} });
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      wire.sockets.push(this);
    }
    send(text) {
      const { id, method } = JSON.parse(text);
      wire.sent.push(method);
      if (!wire.rules[method]?.length) return super.send(text);
      const error = wire.rules[method].shift();
      if (error) queueMicrotask(() => this.onmessage?.({ data: JSON.stringify({ jsonrpc: "2.0", id, error }) }));
    }
    close(...given) {
      wire.closes.push(given[0]);
      super.close(...given);
    }
  };
})()"""


def wired(one: Person) -> Person:
    """Before the page is opened."""
    one.page.add_init_script(WIRE)
    return one


def rule(one: Person, method: str, *errors: dict[str, typing.Any] | None) -> None:
    """What becomes of his next requests of that method."""
    one.page.evaluate("([method, errors]) => { window.wire.rules[method] = errors; }", [method, list(errors)])


def sent(one: Person, method: str) -> int:
    """How many requests of that method he has sent."""
    return one.page.evaluate("(wanted) => window.wire.sent.filter((method) => method === wanted).length", method)


def refusal(code: int, **data: typing.Any) -> dict[str, typing.Any]:
    return {"code": code, "message": "", "data": data}
