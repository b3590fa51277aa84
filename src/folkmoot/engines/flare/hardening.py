"""What FLARE reads from a party's kit, and how it must be: with other settings the gate would be open, or not there.

Whoever makes a kit could have it load other code, listen to others, or send its logs. So all files of these folders are
compared before FLARE is started; a file that does not belong there is refused, since FLARE looks for many.
"""

import json
from pathlib import Path
from typing import Any

import nvflare.lighter.templates
from nvflare.lighter.utils import load_yaml

from folkmoot.foundation.errors import InputError

ANSWERING = "folkmoot.application.federation.answering.Answering"
LAUNCHER = "folkmoot.engines.flare.launcher.RespawningLauncher"
PARTY_GATE = "folkmoot.engines.flare.gate.PartyGate"
INSIDE = {  # between processes of one site: anybody on its machine could speak to them
    "internal": {"scheme": "stcp", "resources": {"host": "localhost", "connection_security": "mtls"}}
}
ROLES = ("project_admin", "org_admin", "lead", "member")
NOTHING = dict.fromkeys(
    (
        *("submit_job", "clone_job", "manage_job", "download_job", "operate", "shell_commands", "byoc"),
        "server-predeployed-flwr",
    ),
    "none",
)
PERMISSIONS = {role: {**NOTHING, "view": "any"} for role in ROLES}
PERMISSIONS["lead"] |= {"submit_job": "any", "manage_job": "n:submitter"}
AUTHORIZATION = {"format_version": "1.0", "permissions": PERMISSIONS}
RESOURCES = {  # FLARE's own for a client, but for the classes that jobs may name, the gate, the launcher, and logs
    "format_version": 2,
    "class_list_enforcement_mode": "enforce",
    "class_allow_list": [ANSWERING],
    "allow_log_streaming": False,
    "client": {"retry_timeout": 30, "compression": "Gzip"},
    "components": [
        {"id": "gate", "path": PARTY_GATE, "args": {}},
        {
            "id": "resource_manager",
            "path": "nvflare.app_common.resource_managers.gpu_resource_manager.GPUResourceManager",
            "args": {"num_of_gpus": 0, "mem_per_gpu_in_GiB": 0, "expiration_period": 300},
        },
        {
            "id": "resource_consumer",
            "path": "nvflare.app_common.resource_consumers.gpu_resource_consumer.GPUResourceConsumer",
            "args": {},
        },
        {"id": "process_launcher", "path": LAUNCHER, "args": {}},
    ],
}
CLIENT = {  # what startup/fed_client.json says about the party, besides its name
    **{"ssl_private_key": "client.key", "ssl_cert": "client.crt", "ssl_root_cert": "rootCA.pem"},
    **{"is_leaf": True, "connection_security": "mtls"},
}
UNREAD = ("authorization.json.default", "resources.json.default", "privacy.json.sample")  # others take their place
STARTUP = ("client.crt", "client.key", "fed_client.json", "rootCA.pem")
HALF = ".part"  # a file that was being written
REMEDY = "get the kit again from whoever made it, and ask who changed it"


def check_settings(kit: Path) -> None:
    """Refuse a party's kit in which anything is set otherwise than `init` does; where the server is may be changed."""
    expected = {
        **{"resources.json": RESOURCES, "comm_config.json": INSIDE, "authorization.json": AUTHORIZATION},
        "log_config.json.default": _read_log_settings(),
    }
    _check_names(kit / "local", (*expected, *UNREAD))
    _check_names(kit / "startup", STARTUP)
    for name, content in expected.items():
        _check_content(kit / "local" / name, content)
    path = kit / "startup" / "fed_client.json"
    _check_content(path, _expect_startup(_read(path)))


def _check_names(folder: Path, known: tuple[str, ...]) -> None:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if (path.name not in known or path.is_dir()) and path.suffix != HALF:
            raise InputError("does not belong in a kit: FLARE might load it", remedy="remove it", place=path)


def _check_content(path: Path, expected: Any) -> None:
    if where := find_difference(expected, _read(path)):
        raise InputError(
            f"was changed: {where} is not as `folkmoot federation init` sets it", remedy=REMEDY, place=path
        )


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("is missing", remedy=REMEDY, place=path) from None
    except (OSError, ValueError):
        raise InputError("cannot be read", remedy=REMEDY, place=path) from None


def find_difference(expected: Any, found: Any) -> str:
    """The name of the first setting that differs, with those around it; empty: none does."""
    if isinstance(expected, dict) and isinstance(found, dict):
        pairs = {name: (expected.get(name, ...), found.get(name, ...)) for name in (*expected, *found)}
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = {str(at): pair for at, pair in enumerate(zip(expected, found, strict=True))}
    else:
        return "" if type(expected) is type(found) and expected == found else "the whole of it"
    for name, (one, other) in pairs.items():
        if inner := find_difference(one, other):
            return name if inner == "the whole of it" else f"{name}.{inner}"
    return ""


def _expect_startup(found: Any) -> dict[str, Any]:
    """As it must be, with the names and the address that are there."""

    def take(*names: str | int) -> Any:
        part = found
        for name in names:
            try:
                part = part[name]
            except (KeyError, IndexError, TypeError):
                return "a text"
        return part if isinstance(part, str) else "a text"

    service = {"target": take("servers", 0, "service", "target"), "scheme": "tcp"}
    server = {"name": take("servers", 0, "name"), "service": service, "identity": take("servers", 0, "identity")}
    return {"format_version": 2, "servers": [server], "client": {**CLIENT, "fqsn": take("client", "fqsn")}}


def _read_log_settings() -> Any:
    """FLARE's own: which formatters and handlers there are decides which classes are loaded."""
    (folder,) = nvflare.lighter.templates.__path__
    return json.loads(load_yaml(str(Path(folder, "master_template.yml")))["log_config"])
