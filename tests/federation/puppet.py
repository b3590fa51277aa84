"""Inside FLARE's process of a site whose operator is an attacker: sends whatever a test wants to any other site.

The attacker has the site's kit, so this is part of its configuration: `possess` writes it there.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey
from nvflare.fuel.f3.cellnet.utils import new_cell_message
from nvflare.private.admin_defs import Message
from nvflare.widgets.widget import Widget

SOCKET = "puppet.sock"
READY = (EventType.SYSTEM_START, EventType.AFTER_CLIENT_REGISTER)  # of a server, of a party
SECONDS = 5.0  # that a site may take to reply


def possess(kit: Path) -> None:
    """Have the processes of this kit do what `Strings` say."""
    path = kit / "local" / "resources.json"
    resources = json.loads(path.read_text())
    resources["components"].append({"id": "puppet", "path": f"{__name__}.Puppet", "args": {}})
    path.write_text(json.dumps(resources))


class Strings:
    """The test's end: each pull sends one message from the puppet's site, and is what came back."""

    def __init__(self, kit: Path) -> None:
        self.kit = kit

    def exist(self) -> bool:
        return (self.kit / SOCKET).exists()

    def pull(self, target: str, topic: str, **message: Any) -> dict[str, Any]:
        """`payload`: what is sent; without it, an administrator's message with `body` (or `hex`) and `headers`."""
        with socket.socket(socket.AF_UNIX) as link, name_socket(self.kit) as name:
            link.connect(name)
            with link.makefile("rwb") as lines:
                lines.write(json.dumps({"target": target, "topic": topic, **message}).encode() + b"\n")
                lines.flush()
                reply: dict[str, Any] = json.loads(lines.readline())
                return reply


@contextmanager
def name_socket(kit: Path) -> Iterator[str]:
    """A short name: those of sockets may have no more than 107 bytes."""
    folder = os.open(kit, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{SOCKET}"
    finally:
        os.close(folder)


class Puppet(Widget):  # type: ignore[misc]  # nvflare has no types
    """Takes one request per line from a socket in the kit, and answers each with the reply that it got."""

    def handle_event(self, event_type: str, fl_ctx: Any) -> None:
        if event_type in READY:
            kit = Path(fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT).get_root_dir())
            if not (kit / SOCKET).exists():
                Thread(target=self._serve, args=(kit, fl_ctx.get_engine()), daemon=True).start()

    def _serve(self, kit: Path, engine: Any) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            with name_socket(kit) as name:
                server.bind(name)
            server.listen()
            while True:
                link, _ = server.accept()
                with link, link.makefile("rwb") as lines:
                    for line in lines:
                        lines.write(json.dumps(send(engine, json.loads(line)), default=repr).encode() + b"\n")
                        lines.flush()


def send(engine: Any, order: dict[str, Any]) -> dict[str, Any]:
    """Send one message as this site, and say what came back."""
    payload: Any = order.get("payload")
    if payload is None:
        payload = Message(order["topic"], bytes.fromhex(order["hex"]) if "hex" in order else order.get("body", ""))
        payload.set_headers(order.get("headers", {}))
    cell = engine.get_cell() if hasattr(engine, "get_cell") else engine.server.cell
    try:
        reply = cell.core_cell.send_request(
            channel=order.get("channel", "admin"),
            topic=order["topic"],
            target=order["target"],
            request=new_cell_message({}, payload),
            timeout=SECONDS,
            optional=True,
        )
    except Exception as error:
        return {"code": repr(error), "body": None}
    body = reply.payload
    return {
        "code": reply.get_header(MessageHeaderKey.RETURN_CODE),
        "body": body.body if isinstance(body, Message) else body,
    }
