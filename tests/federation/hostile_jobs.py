"""Jobs that would have a site run an attacker's code. Code that runs leaves a mark: a file of the attack's name."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from typing import Any

from folkmoot.engines.flare.hardening import ANSWERING
from folkmoot.engines.flare.leader import write_job

CLIENT, SERVER = "app/config/config_fed_client.json", "app/config/config_fed_server.json"
OTHER = "other"  # an app beside ours
EVIL = """open({mark!r}, "w").close()
from nvflare.apis.executor import Executor
class Evil(Executor):
    def execute(self, *_args): ...
"""
Alteration = Callable[[Path, str], None]


def write_hostile_job(folder: Path, attack: str, mark: Path) -> Path:
    """A job like ours, but for what the attack changes."""
    job = write_job(folder, attack, 1)
    ATTACKS[attack](job, str(mark))
    return job


def change(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def touch(mark: str) -> dict[str, Any]:
    """A component that is a process."""
    return {"id": "x", "path": "subprocess.Popen", "args": {"args": ["touch", mark]}}


def execute(path: str, args: dict[str, Any]) -> list[Any]:
    return [{"tasks": ["*"], "executor": {"path": path, "args": args}}]


def ship(job: Path, name: str, mark: str) -> None:
    path = job / "app" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(EVIL.format(mark=mark))


def ship_executor(job: Path, mark: str) -> None:
    ship(job, "custom/evil.py", mark)
    change(job / CLIENT, executors=execute("evil.Evil", {}))


def ship_our_name(job: Path, mark: str) -> None:
    """The configuration is ours; what it names is found in the job first."""
    ship(job, "custom/folkmoot/__init__.py", mark)


def ship_startup(job: Path, mark: str) -> None:
    """Python imports it by itself, if it is found."""
    ship(job, "custom/sitecustomize.py", mark)


def ship_decomposer(job: Path, mark: str) -> None:
    ship(job, "custom/decomposer_module/evil.py", mark)


def ship_elsewhere(job: Path, mark: str) -> None:
    """Not where FLARE looks for code that was shipped."""
    ship(job, "evil.py", mark)
    ship(job, "config/evil.py", mark)
    change(job / CLIENT, executors=execute("evil.Evil", {}))


def name_process(job: Path, mark: str) -> None:
    change(job / CLIENT, components=[touch(mark)])


def name_process_beside_code(job: Path, mark: str) -> None:
    """Where code may be shipped, FLARE no longer looks at what a job names."""
    ship(job, "custom/harmless.py", mark)
    change(job / CLIENT, components=[touch(mark)])


def name_process_by_reference(job: Path, mark: str) -> None:
    change(job / CLIENT, what="subprocess.Popen", components=[touch(mark) | {"path": "{what}"}])


def name_process_in_argument(job: Path, mark: str) -> None:
    change(job / CLIENT, executors=execute(ANSWERING, {"kit": touch(mark)}))


def name_process_as_filter(job: Path, mark: str) -> None:
    change(job / CLIENT, task_result_filters=[{"tasks": ["*"], "filters": [touch(mark)]}])


def name_process_at_server(job: Path, mark: str) -> None:
    """The app for parties is ours."""
    change(job / SERVER, components=[touch(mark)])
    send_apart(job, other=["server"], ours=["north"])


def give_arguments(job: Path, mark: str) -> None:
    change(job / CLIENT, executors=execute(ANSWERING, {"kit": mark}))


def send_another_app(job: Path, mark: str) -> None:
    """The app for the server is ours."""
    name_process(job, mark)
    send_apart(job, other=["north"], ours=["server"])


def send_apart(job: Path, *, other: list[str], ours: list[str]) -> None:
    """Each site can be sent an app of its own."""
    (job / "app").rename(job / OTHER)
    (write_job(job / "ours", "", 1) / "app").rename(job / "app")
    rmtree(job / "ours")
    change(job / "meta.json", deploy_map={OTHER: other, "app": ours})


def ask_for_container(job: Path, mark: str) -> None:
    image = {"image": "evil", "entrypoint": ["touch", mark]}
    change(job / "meta.json", launcher_spec={"north": {"docker": image, "k8s": image}})


ATTACKS: dict[str, Alteration] = {
    one.__name__: one
    for one in (
        *(ship_executor, ship_our_name, ship_startup, ship_decomposer, ship_elsewhere),
        *(name_process, name_process_beside_code, name_process_by_reference, name_process_in_argument),
        *(name_process_as_filter, name_process_at_server, give_arguments, send_another_app, ask_for_container),
    )
}
