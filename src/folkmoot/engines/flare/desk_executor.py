"""In a party's job process: hands every message to the party's desk, and its reply back."""

import logging
from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.shareable import make_reply

from folkmoot.engines.flare.processes import end_rivals
from folkmoot.engines.flare.relay import BODY, TOPIC


class AnswersBytes(Protocol):
    def answer(self, data: bytes) -> bytes: ...


class DeskExecutor(Executor):  # type: ignore[misc]  # nvflare has no types
    """The whole of the job at a party. What it answers from lies in the party's own kit, never in a job."""

    @abstractmethod
    def open_desk(self, kit: Path, log: Callable[[str], None]) -> AnswersBytes:
        """The desk of the party whose kit this is; it must return at once and may load what it needs later."""

    def handle_event(self, event_type: str, fl_ctx: Any) -> None:
        if event_type == EventType.START_RUN:
            kit = Path(fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT).get_root_dir())
            end_rivals(kit)
            self.desk = self.open_desk(kit, logging.getLogger("folkmoot").info)
            fl_ctx.get_engine().register_aux_message_handler(TOPIC, self._take_message)

    def _take_message(self, topic: str, request: Any, fl_ctx: Any) -> Any:  # noqa: ARG002 - FLARE's signature
        data = request.get(BODY)
        reply = make_reply(ReturnCode.OK)
        reply[BODY] = self.desk.answer(bytes(data) if isinstance(data, bytes | bytearray) else b"")
        return reply

    def execute(self, task_name: str, shareable: Any, fl_ctx: Any, abort_signal: Any) -> Any:  # noqa: ARG002
        """There are no tasks."""
        return make_reply(ReturnCode.TASK_UNKNOWN)
