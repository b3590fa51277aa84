"""Start-up kits: a folder for the server and one for each party, made by FLARE's own provisioning and then locked down.

Whoever holds the root key (in `authority/`) can make certificates in any party's name.
"""

import json
import logging
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from nvflare.lighter.prov_utils import prepare_builders
from nvflare.lighter.provision import prepare_project
from nvflare.lighter.provisioner import Provisioner
from nvflare.lighter.utils import Identity, generate_cert, serialize_cert, serialize_pri_key

from folkmoot.engines.flare.hardening import AUTHORIZATION, INSIDE, RESOURCES
from folkmoot.foundation.errors import InputError

SERVER, AUTHORITY, LEAD = "server", "authority", "lead"  # folders
SERVER_FILE = "fed_server.json"
ORGANISATION = "folkmoot"
LEADER = "lead@folkmoot.local"  # who submits runs
RELAYING = "folkmoot.engines.flare.relay.Relay"
SERVER_GATE = "folkmoot.engines.flare.gate.ServerGate"
SHARED = "/tmp/nvflare/"  # where FLARE would keep its stores
STREAMING = ("site_log_streamer", "log_receiver")  # components that send logs, and take them
KEY_BITS = 2048
ROOT_DAYS = 3650  # what it issues lasts 360, and is renewed


@dataclass(frozen=True)
class Place:
    """Where the server is reached."""

    host: str
    port: int


def provision(folder: Path, name: str, parties: tuple[str, ...], place: Place) -> None:
    """Make all kits in a folder: `server/` (with `lead/` in it), one per party, and `authority/` with the root key."""
    os.chmod(folder, 0o700)
    workspace = folder / AUTHORITY
    project = _describe_project(name, parties, place)
    quiet = logging.getLogger("folkmoot.provisioning")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    done = Provisioner(str(workspace), prepare_builders(project)).provision(prepare_project(project), logger=quiet)
    made = done.get("current_prod_dir")
    if not made:
        raise InputError("FLARE could not make the kits", place=folder)
    _move(Path(made, place.host), folder / SERVER)
    _move(Path(made, LEADER), folder / SERVER / LEAD)
    for party in parties:
        _move(Path(made, party), folder / party)
    shutil.rmtree(made)
    _keep_root_alone(workspace)
    lock_down(folder / SERVER)
    for party in parties:
        lock_down(folder / party)


def _describe_project(name: str, parties: tuple[str, ...], place: Place) -> dict[str, Any]:
    builders = [
        {"path": "nvflare.lighter.impl.workspace.WorkspaceBuilder"},
        {
            "path": "nvflare.lighter.impl.static_file.StaticFileBuilder",
            "args": {"config_folder": "config", "scheme": "tcp"},
        },
        {"path": "nvflare.lighter.impl.cert.CertBuilder", "args": {"root_valid_days": ROOT_DAYS}},
        {"path": "nvflare.lighter.impl.signature.SignatureBuilder"},
    ]
    server = {"name": place.host, "type": "server", "org": ORGANISATION, "fed_learn_port": place.port}
    members = [
        {"name": party, "type": "client", "org": ORGANISATION, "allow_log_streaming": False} for party in parties
    ]
    leader = {"name": LEADER, "type": "admin", "org": ORGANISATION, "role": "lead"}
    return {
        "api_version": 3,
        "name": name,
        "description": "a federation of folkmoot",
        "participants": [server, *members, leader],
        "builders": builders,
    }


def _move(made: Path, target: Path) -> None:
    shutil.move(made, target)
    os.chmod(target, 0o700)


def _keep_root_alone(authority: Path) -> None:
    """Of what provisioning remembers, keep the root and its key; the keys of others are theirs."""
    (state,) = authority.glob("*/state/cert.json")
    known = json.loads(state.read_text())
    for file, entry in (("root.crt", "root_cert"), ("root.key", "root_pri_key")):
        _write_secret(authority / file, known[entry].encode())
    for left in authority.iterdir():
        if left.is_dir():
            shutil.rmtree(left)
    os.chmod(authority, 0o700)


def _write_secret(path: Path, content: bytes) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)


def lock_down(kit: Path) -> None:
    """Let nobody run code, read files or follow logs at this site: FLARE's defaults would.

    Jobs may name the one class of ours that belongs here, and bring no code. Stores lie in the kit, not in a temporary
    folder that all share.
    """
    local = kit / "local"
    default = json.loads((local / "resources.json.default").read_text().replace(SHARED, "stores/"))
    resources = RESOURCES
    if "servers" in default:
        kept = [one for one in default["components"] if one["id"] not in STREAMING]
        gate = {"id": "gate", "path": SERVER_GATE, "args": {}}
        limits = {"class_allow_list": [RELAYING], "class_list_enforcement_mode": "enforce"}
        resources = {**default, **limits, "components": [gate, *kept]}
    for name, content in (
        ("resources.json", resources),
        ("comm_config.json", INSIDE),
        ("authorization.json", AUTHORIZATION),
    ):
        (local / name).write_text(json.dumps(content, indent=2))
    for script in (*kit.glob("startup/*.sh"), *kit.glob("*.txt"), *kit.glob("lead/startup/*.[st][hx]*")):
        script.unlink()  # FLARE's own ways to start: ours start the same, and again when it dies


def find_stores(kit: Path) -> None:
    """Give the stores of a server their full names: a kit may have been moved since it was made."""
    path = kit / "local" / "resources.json"
    resources = json.loads(path.read_text())

    def complete(part: Any) -> None:
        for name, value in part.items() if isinstance(part, dict) else enumerate(part):
            if name in ("root_dir", "uri_root") and value != "/":
                part[name] = str(kit.absolute() / "stores" / Path(value).name)
            elif isinstance(value, dict | list):
                complete(value)

    complete(resources)
    path.write_text(json.dumps(resources, indent=2))


# Certificates for keys that never leave a party.


def request_certificate(folder: Path, party: str) -> Path:
    """Make a key, and a request to certify it; the request is sent to whoever holds the root, the key stays."""
    folder.mkdir(parents=True, mode=0o700)
    key = rsa.generate_private_key(public_exponent=65537, key_size=KEY_BITS)
    _write_secret(folder / "client.key", serialize_pri_key(key))
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, party)])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    path = folder / f"{party}.csr"
    path.write_bytes(request.public_bytes(serialization.Encoding.PEM))
    return path


def read_requests(paths: list[Path]) -> dict[str, x509.CertificateSigningRequest]:
    """Requests by the name of the party that made them."""
    found: dict[str, x509.CertificateSigningRequest] = {}
    for path in paths:
        try:
            request = x509.load_pem_x509_csr(path.read_bytes())
            (common,) = request.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
        except FileNotFoundError:
            raise InputError(
                "there is no such file", remedy="the party makes it: `folkmoot federation request`", place=path
            ) from None
        except (OSError, ValueError):
            raise InputError("is not a request for a certificate", place=path) from None
        if not request.is_signature_valid or not isinstance(request.public_key(), rsa.RSAPublicKey):
            raise InputError("is not signed with an RSA key of its own", place=path)
        name = str(common.value)
        if name in found:
            raise InputError(f"{name} made two requests", place=path)
        found[name] = request
    return found


def certify(folder: Path, requests: Mapping[str, x509.CertificateSigningRequest]) -> None:
    """Put certificates of the keys that parties keep into their kits, instead of keys that were made here."""
    for party, request in requests.items():
        startup = folder / party / "startup"
        startup.joinpath("client.key").unlink()
        startup.joinpath("client.crt").write_bytes(issue(folder / AUTHORITY, party, request.public_key()))


def issue(authority: Path, name: str, public: Any) -> bytes:
    """A party's certificate, signed with the root's key."""
    root = x509.load_pem_x509_certificate(authority.joinpath("root.crt").read_bytes())
    key = serialization.load_pem_private_key(authority.joinpath("root.key").read_bytes(), None)
    (issuer,) = root.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    made = generate_cert(
        subject=Identity(name, ORGANISATION), issuer=Identity(issuer.value), signing_pri_key=key, subject_pub_key=public
    )
    certificate: bytes = serialize_cert(made)
    return certificate


def take_key(kit: Path, key: Path) -> None:
    """Put the key that a party kept into its kit, if it is the one that was certified."""
    try:
        private = serialization.load_pem_private_key(key.read_bytes(), None)
    except FileNotFoundError:
        raise InputError("there is no such file", place=key) from None
    except (OSError, ValueError, TypeError):
        raise InputError("is not a private key", place=key) from None
    certificate = x509.load_pem_x509_certificate((kit / "startup" / "client.crt").read_bytes())
    if private.public_key() != certificate.public_key():
        raise InputError(f"is not the key that {kit.name} asked to certify", place=key)
    _write_secret(kit / "startup" / "client.key", key.read_bytes())
