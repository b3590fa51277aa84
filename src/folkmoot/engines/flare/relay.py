"""In FLARE's server: carries bytes between a run, which is another process, and the parties' job processes.

It holds no state. If it dies, the run submits another job, and sends again what was not answered.
"""

import select
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable

from folkmoot.engines.flare.frames import STOP, UNREACHABLE, Closed, Frame, listen, receive_frame, send_frame
from folkmoot.engines.flare.streams import Forgetting, forget_together

TOPIC, BODY = "folkmoot", "body"
IDLE = 60.0  # seconds without a run after which the job ends
GLANCE = 0.5  # seconds between looks at whether the job is to end
THREADS = 64


class Relay(Controller):  # type: ignore[misc]  # nvflare has no types
    """The whole of the job at the server."""

    def start_controller(self, fl_ctx: Any) -> None:
        """Nothing has to be prepared."""

    def stop_controller(self, fl_ctx: Any) -> None:
        """Nothing has to be cleared away."""

    def process_result_of_unknown_task(self, *_args: Any, **_named: Any) -> None:
        """There are no tasks."""

    def control_flow(self, abort_signal: Any, fl_ctx: Any) -> None:
        kit = Path(fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT).get_root_dir())
        engine = fl_ctx.get_engine()
        forgetting = Forgetting()
        forgetting.start()
        forget_together(forgetting)
        server, idle = listen(kit), monotonic()
        with server, ThreadPoolExecutor(THREADS) as pool:
            while not abort_signal.triggered and monotonic() - idle < IDLE:
                if not _has_news(server):
                    continue
                link, _ = server.accept()
                with link:
                    if self._serve(link, pool, engine, fl_ctx, abort_signal):
                        return
                idle = monotonic()

    def _serve(self, link: socket.socket, pool: ThreadPoolExecutor, engine: Any, fl_ctx: Any, abort: Any) -> bool:
        """Carry messages for one run until it goes away; whether it said that it is over."""
        writing = Lock()

        def carry(frame: Frame) -> None:
            reply = _ask(engine, fl_ctx, frame)
            with writing, suppress(OSError):
                send_frame(link, reply)

        while not abort.triggered:
            if not _has_news(link):
                continue
            try:
                frame = receive_frame(link)
            except (Closed, OSError):
                return False
            if frame.name == STOP:
                return True
            pool.submit(carry, frame)
        return True


def _has_news(link: socket.socket) -> bool:
    return bool(select.select([link], [], [], GLANCE)[0])


def _ask(engine: Any, fl_ctx: Any, frame: Frame) -> Frame:
    """One party's reply."""
    request = Shareable()
    request[BODY] = frame.body
    replies = engine.send_aux_request([frame.name], TOPIC, request, max(frame.seconds, 0.1), fl_ctx, optional=True)
    reply = (replies or {}).get(frame.name)
    if reply is None or reply.get_return_code() != ReturnCode.OK or BODY not in reply:
        return Frame(frame.tag, frame.name, UNREACHABLE)
    return Frame(frame.tag, frame.name, 0.0, bytes(reply[BODY]))
