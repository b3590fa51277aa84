"""Inside FLARE's process of a site whose operator is an attacker: sends whatever a test wants to any other site.

The attacker has the site's kit, so this is part of its configuration: `possess` writes it there.
"""

import json
import os
import socket
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
READY = (EventType.SYSTEM_START, EventType.AFTER_CLIENT_REGISTER)


class Puppet(Widget):  # type: ignore[misc]  # nvflare has no types
    """Takes one request per line from a socket in the kit, and answers each with the reply that it got."""

    def handle_event(self, event_type: str, fl_ctx: Any) -> None:
        if event_type in READY:
            kit = Path(fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT).get_root_dir())
            Thread(target=self._serve, args=(kit, fl_ctx.get_engine()), daemon=True).start()

    def _serve(self, kit: Path, engine: Any) -> None:
        os.chdir(kit)
        Path(SOCKET).unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(SOCKET)
            server.listen()
            while True:
                link, _ = server.accept()
                with link, link.makefile("rwb") as lines:
                    for line in lines:
                        lines.write(json.dumps(_act(engine, json.loads(line)), default=repr).encode() + b"\n")
                        lines.flush()


def _act(engine: Any, order: dict[str, Any]) -> Any:
    cell = engine.get_cell() if hasattr(engine, "get_cell") else engine.server.cell
    payload: Any = order.get("payload")
    if payload is None:
        payload = Message(order["topic"], bytes.fromhex(order["hex"]) if "hex" in order else order.get("body", ""))
        payload.set_headers(order.get("headers", {}))
    try:
        reply = cell.core_cell.send_request(
            channel=order.get("channel", "admin"),
            topic=order["topic"],
            target=order["target"],
            request=new_cell_message({}, payload),
            timeout=order.get("seconds", 5.0),
            optional=True,
        )
    except Exception as error:
        return {"code": repr(error)}
    body = reply.payload
    return {
        "code": reply.get_header(MessageHeaderKey.RETURN_CODE),
        "body": vars(body) if isinstance(body, Message) else body,
    }
