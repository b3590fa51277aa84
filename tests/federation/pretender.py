"""A party that would like to lead: `python -m tests.federation.pretender NAME KIT ROOM` logs in with its certificate,
as FLARE lets it, tries to lead, and prints what came of it as JSON.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from nvflare.fuel.flare_api.api_spec import TargetType
from nvflare.fuel.flare_api.flare_api import new_secure_session

from folkmoot.engines.flare.kits import LEAD
from folkmoot.engines.flare.leader import write_job
from tests.federation.hostile_leader import attempt


def main(name: str, kit: Path, room: Path) -> dict[str, Any]:
    session = new_secure_session(name, str(kit / LEAD))
    job = write_job(room / "job", "ours", 1)
    return {
        "look": attempt(session.get_system_info),
        "submit": attempt(lambda: session.submit_job(str(job))),
        "read": attempt(lambda: session.cat_target("server", None, "local/resources.json")),
        "stop": attempt(lambda: session.shutdown(TargetType.SERVER)),
        "manage": attempt(lambda: session.do_command("show_config_vars server")["data"][0]["type"]),
    }


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what FLARE prints goes elsewhere
    answers.write(json.dumps(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
    answers.flush()
    os._exit(0)  # FLARE's threads would keep the process
