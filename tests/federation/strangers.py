"""Certificates that a federation's server must not take, and processes of those who are not who they say they are."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from nvflare.lighter.utils import Identity, generate_cert, serialize_cert, serialize_pri_key

from folkmoot.engines.flare.kits import AUTHORITY, ORGANISATION
from folkmoot.engines.flare.processes import end_tree, write_command

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "FOLKMOOT_THREADS": "1"}
LOG = "stranger.log"
YEAR = timedelta(days=365)


def make_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def load_key(path: Path) -> Any:
    return serialization.load_pem_private_key(path.read_bytes(), None)


def certify_by(issuer: str, signer: Any, key: rsa.RSAPrivateKey, **how: Any) -> bytes:
    """A certificate that calls its holder north."""
    made = generate_cert(Identity("north", ORGANISATION), Identity(issuer), signer, key.public_key(), **how)
    certificate: bytes = serialize_cert(made)
    return certificate


def by_another_root(_moot: Path, key: rsa.RSAPrivateKey) -> bytes:
    return certify_by("moot", make_key(), key)


def by_itself(_moot: Path, key: rsa.RSAPrivateKey) -> bytes:
    return certify_by("north", key, key)


def too_late(moot: Path, key: rsa.RSAPrivateKey) -> bytes:
    now = datetime.now(UTC)
    times = {"not_valid_before": now - 2 * YEAR, "not_valid_after": now - YEAR}
    return certify_by("moot", load_key(moot / AUTHORITY / "root.key"), key, **times)


def by_another_party(moot: Path, key: rsa.RSAPrivateKey) -> bytes:
    """The chain ends at the right root, but goes through somebody who may not issue certificates."""
    startup = moot / "south" / "startup"
    return certify_by("south", load_key(startup / "client.key"), key) + (startup / "client.crt").read_bytes()


BAD: dict[str, Callable[[Path, rsa.RSAPrivateKey], bytes]] = {
    one.__name__: one for one in (by_another_root, by_itself, too_late, by_another_party)
}


def write_pair(folder: Path, certificate: bytes, key: rsa.RSAPrivateKey) -> tuple[Path, Path]:
    (folder / "client.crt").write_bytes(certificate)
    (folder / "client.key").write_bytes(serialize_pri_key(key))
    return folder / "client.crt", folder / "client.key"


def copy_kit(kit: Path, target: Path, **client: str) -> Path:
    """A kit like this one, whose owner has changed what it says about itself, and removed what holds it back."""
    shutil.copytree(kit, target)
    path, local = target / "startup" / "fed_client.json", target / "local" / "resources.json"
    about, resources = json.loads(path.read_text()), json.loads(local.read_text())
    path.write_text(json.dumps(about | {"client": about["client"] | client}))
    kept = [one for one in resources["components"] if one["id"] != "gate"]
    local.write_text(json.dumps(resources | {"components": kept}))
    return target


class Stranger:
    """FLARE's process of a kit, started as its owner would."""

    def __init__(self, kit: Path) -> None:
        self.kit = kit
        with (kit / LOG).open("wb") as log:
            self.process = subprocess.Popen(
                write_command(kit), cwd=kit, env=ENVIRONMENT, stdout=log, stderr=log, start_new_session=True
            )

    def read_log(self) -> str:
        return (self.kit / LOG).read_text(errors="replace")

    def stop(self) -> None:
        end_tree(self.process.pid)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(10.0)
