"""In every process of a party: what FLARE's server, and whoever speaks through it, can make the party do.

FLARE trusts its server, which lets every member speak to every other. A party's permissions count only in requests that
ask for them to be looked at; without that, each member can read the files of the others, delete them, and stop them. So
a party hears little, obeys less, and runs no job but its own.
"""

from collections.abc import Callable
from functools import cache, wraps
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID
from zipfile import ZipFile

from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import AdminCommandNames, ReservedTopic
from nvflare.apis.job_def import JobMetaKey
from nvflare.fuel.f3.cellnet.core_cell import CoreCell
from nvflare.fuel.f3.cellnet.defs import CellChannel, MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.cellnet.fqcn import FQCN, FqcnInfo
from nvflare.fuel.f3.cellnet.utils import make_reply
from nvflare.fuel.f3.streaming.byte_receiver import ByteReceiver
from nvflare.fuel.f3.streaming.stream_const import STREAM_CHANNEL
from nvflare.lighter.tool_consts import NVFLARE_SIG_FILE, NVFLARE_SUBMITTER_CRT_FILE
from nvflare.private.admin_defs import error_reply
from nvflare.private.aux_runner import AuxRunner
from nvflare.private.defs import RequestHeader, TrainingTopic
from nvflare.private.fed.client.admin import RequestProcessor
from nvflare.private.fed.client.admin_commands import AdminCommands
from nvflare.private.fed.client.client_req_processors import ClientRequestProcessors

from folkmoot.engines.flare.leader import write_job
from folkmoot.engines.flare.relay import TOPIC

MANAGEMENT = "_net_manager"  # the channel on which FLARE's processes can be examined, redirected and stopped
CHANNELS = (
    *(CellChannel.CLIENT_MAIN, CellChannel.CLIENT_COMMAND, CellChannel.AUX_COMMUNICATION),
    *(CellChannel.RETURN_ONLY, CellChannel.CELLNET, STREAM_CHANNEL),
)
JOBS = (TrainingTopic.DEPLOY, TrainingTopic.START_JOB)  # requests that describe a job
NAMED = (*JOBS, TrainingTopic.ABORT, TrainingTopic.NOTIFY_JOB_STATUS)  # requests that name one
REQUESTS = (*NAMED, TrainingTopic.CHECK_RESOURCE, TrainingTopic.CANCEL_RESOURCE)
COMMANDS = (AdminCommandNames.ABORT, AdminCommandNames.SHUTDOWN)  # to a job process
QUESTIONS = (TOPIC, ReservedTopic.END_RUN)  # to a job process; the first is for the desk
SIGNATURES = (NVFLARE_SIG_FILE, NVFLARE_SUBMITTER_CRT_FILE)
PLAIN = (JobMetaKey.RESOURCE_SPEC.value, JobMetaKey.JOB_LAUNCHER_SPEC.value)  # how else a job could be started
MOST_BYTES, MOST_FILES = 1 << 20, 20  # of a job: ours has a few kilobytes


class PartyGate(FLComponent):  # type: ignore[misc]  # nvflare has no types
    """Part of a party's own settings, so it is there before a process connects to anything."""

    def __init__(self) -> None:
        super().__init__()
        _hear_less(lambda channel: channel in CHANNELS, from_others=False)
        kept = [one for one in ClientRequestProcessors.request_processors if set(one.get_topics()) <= set(REQUESTS)]
        ClientRequestProcessors.request_processors[:] = [CheckedRequest(one) for one in kept]
        AdminCommands.commands[:] = [one for one in AdminCommands.commands if one.get_command_name() in COMMANDS]
        _keep_only(AuxRunner, "register_aux_message_handler", lambda topic: topic in QUESTIONS)


class ServerGate(FLComponent):  # type: ignore[misc]
    """Parties cannot examine the server or stop it."""

    def __init__(self) -> None:
        super().__init__()
        _hear_less(lambda channel: channel != MANAGEMENT, from_others=True)


class CheckedRequest(RequestProcessor):  # type: ignore[misc]
    """Does what FLARE would, if the request is one that a run needs."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def get_topics(self) -> list[str]:
        topics: list[str] = self.inner.get_topics()
        return topics

    def process(self, req: Any, app_ctx: Any) -> Any:
        fault = find_fault(req)
        return error_reply(fault) if fault else self.inner.process(req, app_ctx)


def find_fault(request: Any) -> str:
    """What is wrong with a request; empty if nothing is."""
    job, meta = request.get_header(RequestHeader.JOB_ID), request.get_header(RequestHeader.JOB_META)
    if request.topic in NAMED and not _is_name(job):
        return "this is not the name of a job"  # FLARE makes it part of paths and of a command
    if request.topic in JOBS and not _is_plain(meta, job):
        return "this party starts jobs in its own way only"
    if request.topic == TrainingTopic.DEPLOY and not is_own_job(request.body):
        return "this party runs no job but its own"
    return ""


def _is_plain(meta: Any, job: str) -> bool:
    return isinstance(meta, dict) and meta.get(JobMetaKey.JOB_ID.value) == job and not any(map(meta.get, PLAIN))


def _is_name(job: Any) -> bool:
    try:
        return bool(str(UUID(job)) == job)
    except (ValueError, TypeError, AttributeError):
        return False


def is_own_job(data: Any) -> bool:
    """Whether this is the job that names our two classes, and nothing else."""
    if not isinstance(data, bytes) or len(data) > MOST_BYTES:
        return False
    try:
        with ZipFile(BytesIO(data)) as archive:
            files = [one for one in archive.infolist() if not one.is_dir()]
            if len(files) > MOST_FILES or any(one.file_size > MOST_BYTES for one in files):
                return False
            found = {one.filename: archive.read(one) for one in files if Path(one.filename).name not in SIGNATURES}
            return found == _read_own_job()
    except Exception:  # whatever is wrong with it
        return False


@cache
def _read_own_job() -> dict[str, bytes]:
    with TemporaryDirectory() as room:
        app = write_job(Path(room, "job"), "", 0) / "app"
        return {str(one.relative_to(app)): one.read_bytes() for one in app.rglob("*") if one.is_file()}


# FLARE has no settings for what follows.


def _hear_less(keeps: Callable[[str], bool], *, from_others: bool) -> None:
    """Keep processes from listening on other channels, to other parties, and from connecting where they are told to."""
    register = CoreCell.register_request_cb

    def register_request_cb(self: Any, channel: str, topic: str, cb: Any, *args: Any, **named: Any) -> None:
        if keeps(channel):
            known = cb if from_others else _answer_known(self.my_info.root, cb)
            register(self, channel, topic, known, *args, **named)

    CoreCell.register_request_cb = register_request_cb
    CoreCell._add_adhoc_connector = lambda *_args: None
    _keep_only(ByteReceiver, "register_callback", keeps)


def _answer_known(own: str, answer: Callable[..., Any]) -> Callable[..., Any]:
    """Answer the server and the party's own processes."""

    @wraps(answer)
    def answer_known(message: Any, *args: Any, **named: Any) -> Any:
        origin = FqcnInfo(str(message.get_header(MessageHeaderKey.ORIGIN, ""))).root
        if origin not in (FQCN.ROOT_SERVER, own):
            return make_reply(ReturnCode.UNAUTHENTICATED)
        return answer(message, *args, **named)

    return answer_known


def _keep_only(owner: type, name: str, keeps: Callable[[str], bool]) -> None:
    """Have a method that registers listeners register only some, by its first argument."""
    register = getattr(owner, name)

    @wraps(register)
    def register_some(self: Any, *args: Any, **named: Any) -> None:
        if keeps(args[0] if args else next(iter(named.values()))):
            register(self, *args, **named)

    setattr(owner, name, register_some)
