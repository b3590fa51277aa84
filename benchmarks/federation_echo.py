"""What runs inside FLARE while a stage is measured: all that a party does with a message except the protocol's own
step, and beside it a bare echo, which is FLARE alone.

`python -m benchmarks.federation_echo KIT` takes the place of the leader: it submits jobs of these classes.
"""

import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from time import monotonic, perf_counter, time
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.shareable import Shareable, make_reply

from folkmoot.application.federation.membership import Membership
from folkmoot.engines.desk import Desk
from folkmoot.engines.enrolment import RosterBook
from folkmoot.engines.exchange import Bundle
from folkmoot.engines.flare import gate, leader
from folkmoot.engines.flare.desk_executor import DeskExecutor
from folkmoot.engines.flare.frames import UNREACHABLE, Frame, listen, receive_frame, send_frame
from folkmoot.engines.flare.relay import Relay
from folkmoot.engines.folder_store import FolderStore
from folkmoot.engines.round_inquiry import RoundInquiry
from folkmoot.engines.speaker import Speaker, Step
from folkmoot.foundation.randomness import SYSTEM
from folkmoot.privacy.noise import SYSTEM_NOISE
from folkmoot.secagg.state import State

RELAYING, ANSWERING, GATE = (
    f"benchmarks.federation_echo.{name}" for name in ("EchoRelay", "EchoAnswering", "EchoGate")
)
TOPIC, BODY = "echo", "body"
FOLDER = "echo"  # in the server's kit: of the socket that asks for bare echoes
LONGEST = 60.0  # seconds for an echo


def take_over() -> None:
    """Let the one job that leaders submit and parties accept be that of these classes, in this process."""
    vars(leader).update(RELAYING=RELAYING, ANSWERING=ANSWERING)


class EchoGate(gate.PartyGate):
    """The gate of a party, which also lets the echo through."""

    def __init__(self) -> None:
        take_over()
        vars(gate).update(QUESTIONS=(*gate.QUESTIONS, TOPIC))
        super().__init__()


class EchoSpeaker(Speaker):
    """Sends back what it was sent. It stores all that a party does before a reply may leave."""

    def _consider(self, sent: Bundle) -> Step:
        return Step(Bundle(dict.fromkeys(sent.letters, sent.question)))

    def _take_turns(self, sent: Bundle) -> Step:
        return Step(Bundle(sent.letters), dict.fromkeys(sent.letters, State()))

    def _read_again(self, sent: Bundle, reply: Bundle) -> RoundInquiry | None:  # noqa: ARG002
        return None


class EchoMembership(Membership):
    """A party that has all that others have, and echoes."""

    def make_party(self, book: RosterBook, store: FolderStore) -> Any:
        number = book.find(self.enrolment.party)
        return EchoSpeaker(
            {number: self.key}, book.roster, self.policy, store, SYSTEM, time, monotonic, SYSTEM_NOISE, None, 1, 1
        )


class EchoAnswering(DeskExecutor):
    """The job at a party."""

    def open_desk(self, kit: Path, log: Callable[[str], None]) -> Desk:
        return Desk.open_later(lambda: EchoMembership.read(kit).prepare_desk(), log)

    def handle_event(self, event_type: str, fl_ctx: Any) -> None:
        super().handle_event(event_type, fl_ctx)
        if event_type == EventType.START_RUN:
            fl_ctx.get_engine().register_aux_message_handler(TOPIC, echo)


def echo(topic: str, request: Any, fl_ctx: Any) -> Any:  # noqa: ARG001 - FLARE's signature
    reply = make_reply(ReturnCode.OK)
    reply[BODY] = request[BODY]
    return reply


class EchoRelay(Relay):
    """The job at the server: the relay; and whoever sends bytes to the other socket is told how long all parties
    together took to send them back.
    """

    def control_flow(self, abort_signal: Any, fl_ctx: Any) -> None:
        Thread(target=self._serve_echoes, args=(fl_ctx,), daemon=True).start()
        super().control_flow(abort_signal, fl_ctx)

    def _serve_echoes(self, fl_ctx: Any) -> None:
        folder = Path(fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT).get_root_dir()) / FOLDER
        folder.mkdir(exist_ok=True)
        engine = fl_ctx.get_engine()
        names = [client.name for client in engine.get_clients()]

        def ask(name: str, body: bytes) -> bool:
            request = Shareable()
            request[BODY] = body
            reply = engine.send_aux_request([name], TOPIC, request, LONGEST, fl_ctx, optional=True)[name]
            return bool(reply.get_return_code() == ReturnCode.OK and reply[BODY] == body)

        with listen(folder) as server, ThreadPoolExecutor(len(names)) as pool, server.accept()[0] as link:
            while True:
                frame = receive_frame(link)
                start = perf_counter()
                good = all(pool.map(ask, names, [frame.body] * len(names)))
                send_frame(link, Frame(frame.tag, TOPIC, perf_counter() - start if good else UNREACHABLE))


class EchoLeader(leader.Leader):
    """Submits jobs of these classes instead of the product's."""

    def _start(self) -> subprocess.Popen[bytes]:
        with (self.kit / leader.LOG).open("ab") as log:
            command = [sys.executable, "-m", "benchmarks.federation_echo", str(self.kit)]
            self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        return self._child


if __name__ == "__main__":
    take_over()
    try:
        leader.main(Path(sys.argv[1]))
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)  # FLARE's threads would keep the process
