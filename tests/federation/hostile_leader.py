"""A leader who wants more than to lead: `python -m tests.federation.hostile_leader KIT ROOM MARKS` tries all that FLARE
has for a leader, and prints what came of it as JSON. FLARE's client needs a process of its own.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from nvflare.fuel.flare_api.api_spec import TargetType
from nvflare.fuel.flare_api.flare_api import new_secure_session

from folkmoot.engines.flare.kits import LEAD, LEADER
from folkmoot.engines.flare.leader import write_job
from tests.federation.hostile_jobs import write_hostile_job

LONGEST, GLANCE = 30.0, 0.3  # seconds for a job to begin or to end, and between looks at it
VICTIM, SECRET = "north", "secret.json"
AT_SERVER = "name_process_at_server"  # the job goes on for half a minute, without a relay
LED = (  # all others would be refused at the same place
    *("ship_executor", "ship_startup", "name_process", "name_process_beside_code"),
    *("give_arguments", AT_SERVER),
)
COMMANDS: dict[str, Callable[[Any, str], Any]] = {
    "cat": lambda session, _job: session.cat_target(VICTIM, None, SECRET),
    "ls": lambda session, _job: session.ls_target(VICTIM, "-a", "keys"),
    "grep": lambda session, _job: session.grep_target(VICTIM, "-n", "e", SECRET),
    "head": lambda session, _job: session.head_target(VICTIM, None, SECRET),
    "tail": lambda session, _job: session.tail_target_log(VICTIM),
    "pwd": lambda session, _job: session.get_working_directory(VICTIM),
    "download": lambda session, job: session.download_job_result(job),
    "clone": lambda session, job: session.clone_job(job),
    "logs": lambda session, job: session.get_job_logs(job, VICTIM),
    "job log": lambda session, job: session.configure_job_log(job, "DEBUG"),
    "configure log": lambda session, _job: session.configure_site_log("DEBUG"),
    "environment": lambda session, _job: session.get_client_env([VICTIM]),
    "resources": lambda session, _job: session.report_resources(TargetType.CLIENT, [VICTIM]),
    "sys_info": lambda session, _job: session.do_command(f"sys_info client {VICTIM}"),
    "app command": lambda session, job: session.do_app_command(job, "folkmoot", {}),
}
DISTURBANCES: dict[str, Callable[[Any, str], Any]] = {  # FLARE refuses them to everybody while a job runs
    "shutdown all": lambda session, _job: session.shutdown(TargetType.ALL),
    "shutdown": lambda session, _job: session.shutdown(TargetType.CLIENT, [VICTIM]),
    "restart": lambda session, _job: session.restart(TargetType.CLIENT, [VICTIM]),
    "remove": lambda session, _job: session.remove_client(VICTIM),
    "disable": lambda session, _job: session.disable_client(VICTIM),
}


def attempt(act: Callable[[], Any]) -> dict[str, str]:
    try:
        return {"done": str(act())}
    except Exception as error:
        return {"refused": f"{type(error).__name__}: {error}"}


def submit_all(session: Any, room: Path, marks: Path) -> dict[str, dict[str, str]]:
    """What came of each job: refused at once, or how it ended."""
    outcomes = {}
    for attack in LED:
        job = write_hostile_job(room / attack, attack, marks / attack)
        outcomes[attack] = attempt(lambda job=job: session.submit_job(str(job)))  # type: ignore[misc]
    for attack, one in outcomes.items():
        if "done" in one:
            one["status"] = await_status(session, one["done"], "RUNNING" if attack == AT_SERVER else "FINISHED")
    return outcomes


def await_status(session: Any, job: str, status: str) -> str:
    """The status of a job, once it is this one or an end."""
    end = monotonic() + LONGEST
    while monotonic() < end:
        known = str(session.get_job_meta(job).get("status"))
        if known.startswith((status, "FINISHED")):
            return known
        sleep(GLANCE)
    session.abort_job(job)
    return f"never {status}"


def main(kit: Path, room: Path, marks: Path) -> dict[str, Any]:
    session = new_secure_session(LEADER, str(kit / LEAD))
    commands = try_all(session, "", DISTURBANCES)
    jobs = submit_all(session, room, marks)
    ours = session.submit_job(str(write_job(room / "ours", "ours", 1)))
    running = await_status(session, ours, "RUNNING")
    commands |= try_all(session, ours, COMMANDS)
    session.abort_job(ours)
    return {"jobs": jobs, "ours": running, "commands": commands}


def try_all(session: Any, job: str, commands: dict[str, Callable[[Any, str], Any]]) -> dict[str, dict[str, str]]:
    return {name: attempt(lambda act=act: act(session, job)) for name, act in commands.items()}  # type: ignore[misc]


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what FLARE prints goes elsewhere
    answers.write(json.dumps(main(*map(Path, sys.argv[1:4]))))
    answers.flush()
    os._exit(0)  # FLARE's threads would keep the process
