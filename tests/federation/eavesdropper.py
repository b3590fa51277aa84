"""Inside a party's processes: writes down that a question arrived, before anything else is done with it."""

import json
from pathlib import Path
from typing import Any

from nvflare.widgets.widget import Widget

from folkmoot.engines.flare.desk_executor import DeskExecutor

HEARD = "heard"


def bug(kit: Path) -> None:
    """Have the processes of this kit write down what they are asked."""
    path = kit / "local" / "resources.json"
    resources = json.loads(path.read_text())
    others = [one for one in resources["components"] if one["id"] != "eavesdropper"]
    component = {"id": "eavesdropper", "path": f"{__name__}.Eavesdropper", "args": {"kit": str(kit)}}
    path.write_text(json.dumps(resources | {"components": [*others, component]}))


class Eavesdropper(Widget):  # type: ignore[misc]  # nvflare has no types
    """Part of a party's configuration."""

    def __init__(self, kit: str) -> None:
        super().__init__()
        answer = DeskExecutor._take_message

        def listen(self: Any, topic: str, request: Any, fl_ctx: Any) -> Any:
            with (Path(kit) / HEARD).open("a") as file:
                file.write(f"{topic}\n")
            return answer(self, topic, request, fl_ctx)

        DeskExecutor._take_message = listen  # type: ignore[method-assign]
