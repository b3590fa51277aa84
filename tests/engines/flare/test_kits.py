"""Kits: what is in them, who may read it, and what FLARE is not allowed to do at a site."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from folkmoot import InputError
from folkmoot.engines.flare.kits import (
    ANSWERING,
    AUTHORITY,
    LAUNCHER,
    PARTY_GATE,
    RELAYING,
    SERVER,
    SERVER_GATE,
    Place,
    certify,
    find_stores,
    provision,
    read_requests,
    request_certificate,
    take_key,
)
from folkmoot.engines.flare.processes import is_server, read_name, write_command

PARTIES = ("north", "south", "east")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("moot")
    provision(made, "moot", PARTIES, Place("localhost", 18999))
    return made


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_each_site_has_a_folder_that_only_its_owner_can_read(folder: Path) -> None:
    assert {one.name for one in folder.iterdir()} == {*PARTIES, SERVER, AUTHORITY}
    for one in (folder, *folder.iterdir()):
        assert stat.S_IMODE(one.stat().st_mode) == 0o700
    for key in (*folder.glob("*/startup/*.key"), *folder.glob("*/*.key"), folder / "server/lead/startup/client.key"):
        assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_the_authority_keeps_the_root_and_nobody_elses_key(folder: Path) -> None:
    assert {one.name for one in (folder / AUTHORITY).iterdir()} == {"root.crt", "root.key"}
    keys = [path.read_bytes() for path in folder.rglob("*.key")]
    assert len(keys) == len(set(keys)) == len(PARTIES) + 3  # the root's, the server's and the leader's


@pytest.mark.parametrize("name", [*PARTIES, SERVER])
def test_jobs_may_name_one_class_and_bring_no_code(folder: Path, name: str) -> None:
    local = folder / name / "local"
    resources, permissions = read(local / "resources.json"), read(local / "authorization.json")["permissions"]
    assert resources["class_allow_list"] == [RELAYING if name == SERVER else ANSWERING]
    assert resources["class_list_enforcement_mode"] == "enforce"
    assert not {"site_log_streamer", "log_receiver"} & {one["id"] for one in resources["components"]}
    assert set(permissions) == {"project_admin", "org_admin", "lead", "member"}
    for role in permissions.values():
        for what in ("byoc", "shell_commands", "operate", "download_job", "clone_job"):
            assert role[what] == "none"
    assert resources["components"][0]["path"] == (SERVER_GATE if name == SERVER else PARTY_GATE)
    if name != SERVER:
        assert resources["allow_log_streaming"] is False
        assert [one["path"] for one in resources["components"] if one["id"] == "process_launcher"] == [LAUNCHER]


def test_nothing_is_kept_in_a_temporary_folder_that_all_share(folder: Path) -> None:
    find_stores(folder / SERVER)
    text = (folder / SERVER / "local" / "resources.json").read_text()
    assert "/tmp/nvflare" not in text
    assert f'"{folder / SERVER / "stores" / "jobs-storage"}"' in text
    for name in PARTIES:
        assert "/tmp/nvflare" not in (folder / name / "local" / "resources.json").read_text()


def test_connections_are_encrypted_and_both_ends_are_checked(folder: Path) -> None:
    server = read(folder / SERVER / "startup" / "fed_server.json")["servers"][0]
    client = read(folder / "north" / "startup" / "fed_client.json")
    assert server["connection_security"] == client["client"]["connection_security"] == "mtls"
    assert server["service"]["scheme"] == client["servers"][0]["service"]["scheme"] == "tcp"
    for name in (*PARTIES, SERVER):  # between processes of one site, too
        inside = read(folder / name / "local" / "comm_config.json")["internal"]
        assert (inside["scheme"], inside["resources"]["connection_security"]) == ("stcp", "mtls")
    assert server["admin_port"] == 18999  # one port is enough for a firewall


def test_commands_name_their_kit(folder: Path) -> None:
    assert is_server(folder / SERVER)
    assert not is_server(folder / "north")
    assert read_name(folder / "south") == "south"
    assert {str(folder / "south"), "uid=south"} <= set(write_command(folder / "south"))


def test_a_key_can_stay_at_its_party(tmp_path: Path) -> None:
    request = request_certificate(tmp_path / "at-north", "north")
    kits = tmp_path / "kits"
    kits.mkdir()
    provision(kits, "moot", PARTIES, Place("localhost", 18998))
    certify(kits, read_requests([request]))
    startup = kits / "north" / "startup"
    assert not (startup / "client.key").exists()
    other = serialization.load_pem_private_key((kits / "south/startup/client.key").read_bytes(), None)
    assert other.public_key() != x509.load_pem_x509_certificate((startup / "client.crt").read_bytes()).public_key()
    with pytest.raises(InputError, match="is not the key that north asked to certify"):
        take_key(kits / "north", kits / "south/startup/client.key")
    take_key(kits / "north", tmp_path / "at-north" / "client.key")
    root = x509.load_pem_x509_certificate((startup / "rootCA.pem").read_bytes())
    x509.load_pem_x509_certificate((startup / "client.crt").read_bytes()).verify_directly_issued_by(root)


def test_requests_that_are_none_are_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.csr"
    bad.write_text("not a request")
    with pytest.raises(InputError, match="is not a request for a certificate"):
        read_requests([bad])
    one = request_certificate(tmp_path / "one", "north")
    two = request_certificate(tmp_path / "two", "north")
    with pytest.raises(InputError, match="north made two requests"):
        read_requests([one, two])
