"""Certificates are renewed for the same keys."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from folkmoot import InputError
from folkmoot.engines.certificates import check_certificate
from folkmoot.engines.flare.kits import AUTHORITY, SERVER, Place, provision
from folkmoot.engines.flare.renewal import keep_certificates, read_expiry, renew_certificates, take_certificate

PARTIES = ("north", "south")


def load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("moot")
    provision(made, "moot", PARTIES, Place("localhost", 18997))
    keep_certificates(made, PARTIES)
    return made


def test_everybody_gets_a_certificate_for_the_same_key(folder: Path) -> None:
    north, root = folder / "north", load(folder / AUTHORITY / "root.crt")
    before = load(north / "startup" / "client.crt")
    renewed = {path.stem: path for path in renew_certificates(folder / AUTHORITY)}
    assert set(renewed) == {"north", "south", "server", "lead"}
    until = take_certificate(north, renewed["north"])
    after = load(north / "startup" / "client.crt")
    assert (after.subject, after.public_key()) == (before.subject, before.public_key())
    assert after.serial_number != before.serial_number
    assert [one.value for one in after.extensions] == [one.value for one in before.extensions]
    assert until == after.not_valid_after_utc == read_expiry(north)
    check_certificate(after, root, "north", datetime.now(UTC))
    take_certificate(folder / SERVER, renewed["server"])
    take_certificate(folder / SERVER, renewed["lead"])


def test_the_root_outlives_what_it_issues(folder: Path) -> None:
    """Otherwise nothing could be renewed."""
    root = load(folder / AUTHORITY / "root.crt")
    assert root.not_valid_after_utc - read_expiry(folder / "south") > timedelta(days=5 * 360)


def test_certificates_of_others_are_refused(folder: Path, tmp_path: Path) -> None:
    south = folder / "south" / "startup" / "client.crt"
    with pytest.raises(InputError, match="it is for another kit"):
        take_certificate(folder / "north", south)
    other = tmp_path / "other"
    other.mkdir()
    provision(other, "moot", PARTIES, Place("localhost", 18996))
    with pytest.raises(InputError, match="is not a certificate of"):
        take_certificate(folder / "north", other / "north" / "startup" / "client.crt")
    with pytest.raises(InputError, match=r"nothing\.crt: there is no such file"):
        take_certificate(folder / "north", tmp_path / "nothing.crt")
    with pytest.raises(InputError, match="holds no root key"):
        renew_certificates(folder / "north")
