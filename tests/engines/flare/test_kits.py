"""Kits: what is in them, who may read it, and what FLARE is not allowed to do at a site."""

import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from folkmoot import InputError
from folkmoot.engines.flare.hardening import ANSWERING, LAUNCHER, PARTY_GATE, RESOURCES, check_settings, find_difference
from folkmoot.engines.flare.kits import (
    AUTHORITY,
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


# Kits that were changed on their way.


def test_what_a_party_is_given_is_flares_own_but_for_what_is_hardened(folder: Path) -> None:
    """If FLARE provisions something else some day, look at it before RESOURCES are changed."""
    default = read(folder / "north" / "local" / "resources.json.default")
    named = {one["id"]: one for one in default["components"]}
    own = {one["id"]: one for one in RESOURCES["components"]}  # type: ignore[attr-defined]
    assert set(named) - set(own) == {"site_log_streamer"}
    assert set(own) - set(named) == {"gate"}
    assert {name for name in own if name in named and own[name] != named[name]} == {"process_launcher"}
    changed = ("components", "class_allow_list", "allow_log_streaming")
    assert {name: one for name, one in default.items() if name not in changed} == {
        name: one for name, one in RESOURCES.items() if name not in changed
    }


def copy(folder: Path, room: Path) -> Path:
    shutil.copytree(folder / "north", room / "north")
    return room / "north"


def rewrite(path: Path, change: Callable[[Any], Any]) -> None:
    found = read(path)
    change(found)
    path.write_text(json.dumps(found))


def test_a_kit_as_it_was_made_is_in_order(folder: Path, tmp_path: Path) -> None:
    kit = copy(folder, tmp_path)
    rewrite(kit / "startup/fed_client.json", lambda one: one["servers"][0]["service"].update(target="10.0.0.7:9000"))
    (kit / "startup" / ".client.crt.part").touch()
    check_settings(kit)


CHANGES: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "no gate": ("local/resources.json", lambda one: one["components"].pop(0), "components"),
    "other gate": (
        "local/resources.json",
        lambda one: one["components"][0].update(path="os.system"),
        r"components\.0\.path",
    ),
    "more parts": ("local/resources.json", lambda one: one["components"].append({"id": "spy"}), "components"),
    "any class": ("local/resources.json", lambda one: one["class_allow_list"].append("*"), "class_allow_list"),
    "no limits": (
        "local/resources.json",
        lambda one: one.update(class_list_enforcement_mode="off"),
        "class_list_enforcement_mode",
    ),
    "logs leave": ("local/resources.json", lambda one: one.update(allow_log_streaming=True), "allow_log_streaming"),
    "logs as number": ("local/resources.json", lambda one: one.update(allow_log_streaming=0), "allow_log_streaming"),
    "added": ("local/resources.json", lambda one: one.update(snapshot_persistor={"path": "x"}), "snapshot_persistor"),
    "shell": (
        "local/authorization.json",
        lambda one: one["permissions"]["lead"].update(shell_commands="any"),
        r"permissions\.lead\.shell_commands",
    ),
    "plain inside": (
        "local/comm_config.json",
        lambda one: one["internal"]["resources"].update(connection_security="clear"),
        r"internal\.resources\.connection_security",
    ),
    "formatter": (
        "local/log_config.json.default",
        lambda one: one["formatters"]["baseFormatter"].update({"()": "os.system"}),
        r"formatters\.baseFormatter\.\(\)",
    ),
    "plain outside": (
        "startup/fed_client.json",
        lambda one: one["client"].update(connection_security="clear"),
        r"client\.connection_security",
    ),
    "second server": ("startup/fed_client.json", lambda one: one["servers"].append(one["servers"][0]), "servers"),
    "parts at startup": ("startup/fed_client.json", lambda one: one.update(components=[]), "components"),
    "no address": ("startup/fed_client.json", lambda one: one["servers"][0].pop("service"), r"servers\.0\.service"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_kit_that_was_changed_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    file, change, where = CHANGES[name]
    kit = copy(folder, tmp_path)
    rewrite(kit / file, change)
    with pytest.raises(InputError, match=rf"{file}: was changed: {where} is not as .*; get the kit again"):
        check_settings(kit)


@pytest.mark.parametrize(
    "file",
    [
        "local/custom/x.py",
        "local/log_config.json",
        "local/spy__resources.json",
        "startup/spy__p_resources.json",
        "local/privacy.json",
    ],
)
def test_a_file_that_flare_might_load_is_refused(folder: Path, tmp_path: Path, file: str) -> None:
    kit = copy(folder, tmp_path)
    (kit / file).parent.mkdir(exist_ok=True)
    (kit / file).write_text("{}")
    with pytest.raises(InputError, match="does not belong in a kit: FLARE might load it; remove it"):
        check_settings(kit)


def test_a_file_that_is_missing_or_none_is_refused(folder: Path, tmp_path: Path) -> None:
    kit = copy(folder, tmp_path)
    (kit / "local" / "authorization.json").write_text("no JSON")
    with pytest.raises(InputError, match=r"authorization\.json: cannot be read; get the kit again"):
        check_settings(kit)
    (kit / "local" / "authorization.json").unlink()  # FLARE would take its default, which allows much
    with pytest.raises(InputError, match=r"authorization\.json: is missing; get the kit again"):
        check_settings(kit)


def test_differences_are_named() -> None:
    assert find_difference({"a": [1, {"b": True}]}, {"a": [1, {"b": True}]}) == ""
    assert find_difference({"a": [1, {"b": True}]}, {"a": [1, {"b": 1}]}) == "a.1.b"
    assert find_difference({"a": 1}, {"a": 1, "c": 2}) == "c"
    assert find_difference([1], "x") == "the whole of it"
