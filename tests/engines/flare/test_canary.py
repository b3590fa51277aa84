"""What we use of nvflare, which is pinned to one version: if any of this changes, look before the pin is moved."""

import inspect
from importlib import metadata

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.impl.controller import Controller
from nvflare.apis.job_launcher_spec import JobHandleSpec, JobReturnCode
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.workspace import Workspace
from nvflare.app_common.job_launcher.client_process_launcher import ClientProcessJobLauncher
from nvflare.fuel.flare_api.flare_api import Session, new_secure_session
from nvflare.lighter.provision import prepare_project
from nvflare.lighter.provisioner import Provisioner
from nvflare.private.fed.app.client import client_train
from nvflare.private.fed.app.server import server_train
from nvflare.private.fed.server.server_engine import ServerEngine


def names(function: object) -> list[str]:
    return list(inspect.signature(function).parameters)  # type: ignore[arg-type]


def test_the_pinned_version_is_the_one_that_was_looked_at() -> None:
    assert metadata.version("nvflare") == "2.9.0"


def test_messages() -> None:
    assert names(ServerEngine.send_aux_request)[:7] == [
        *("self", "targets", "topic", "request", "timeout", "fl_ctx", "optional")
    ]
    reply = make_reply(ReturnCode.OK)
    assert isinstance(reply, Shareable)
    assert reply.get_return_code() == ReturnCode.OK
    reply["body"] = b"x"
    assert reply["body"] == b"x"


def test_components() -> None:
    assert names(Executor.execute) == ["self", "task_name", "shareable", "fl_ctx", "abort_signal"]
    assert names(Controller.control_flow) == ["self", "abort_signal", "fl_ctx"]
    assert EventType.START_RUN
    assert FLContextKey.WORKSPACE_OBJECT
    assert names(Workspace.get_root_dir) == ["self"]


def test_launching() -> None:
    assert names(ClientProcessJobLauncher.launch_job) == ["self", "job_meta", "fl_ctx"]
    assert JobHandleSpec.__abstractmethods__ == {"terminate", "poll", "wait"}
    assert (JobReturnCode.SUCCESS, JobReturnCode.UNKNOWN) == (0, 127)


def test_sessions() -> None:
    assert names(new_secure_session)[:2] == ["username", "startup_kit_location"]
    for method in ("get_system_info", "submit_job", "get_job_meta", "abort_job", "list_jobs", "close"):
        assert callable(getattr(Session, method))


def test_provisioning_and_starting() -> None:
    assert names(Provisioner.provision) == ["self", "project", "mode", "logger"]
    assert names(prepare_project)[0] == "project_dict"
    assert callable(server_train.main)
    assert callable(client_train.main)
