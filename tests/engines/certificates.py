"""Roots, certificates and enrolments for tests, as FLARE's provisioning makes them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from folkmoot.engines.enrolment import Charter, Enrolment, Registrar, RosterBook, Statement, digest_names
from tests.engines.crowds import make_identities

NOW = datetime(2026, 5, 1, tzinfo=UTC)
MOMENT = NOW.timestamp()
PARTIES = ("north", "south", "east", "west", "middle")
ITEMS = tuple(f"item {number}" for number in range(12))
CHARTER = Charter("a" * 64, PARTIES, len(ITEMS), digest_names(ITEMS))


@lru_cache
def make_key(name: str) -> rsa.RSAPrivateKey:  # noqa: ARG001 - one key per name
    return rsa.generate_private_key(65537, 2048)


def write_name(name: str, role: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
    return x509.Name([*parts, *([x509.NameAttribute(NameOID.UNSTRUCTURED_NAME, role)] if role else [])])


def issue(
    name: str,
    root: str = "root",
    *,
    role: str | None = None,
    hosts: tuple[str, ...] | None = None,
    ca: bool = False,
    begin: datetime = NOW - timedelta(days=10),
    key: Any = None,
) -> x509.Certificate:
    """A certificate in this name. hosts: other names of it, as a server has; None: its own."""
    names = [x509.DNSName(host) for host in hosts or (name,)]
    builder = x509.CertificateBuilder(write_name(root), write_name(name, role), (key or make_key(name)).public_key())
    builder = builder.serial_number(7).not_valid_before(begin).not_valid_after(begin + timedelta(days=360))
    builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    if ca:
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return builder.sign(make_key(f"{root}!"), hashes.SHA256())


@lru_cache
def make_root(root: str = "root") -> x509.Certificate:
    return issue(root, root, ca=True, key=make_key(f"{root}!"))


def write_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def write_kit(folder: Path, name: str, certificate: x509.Certificate | None = None, key: Any = None) -> Path:
    """The part of a kit that FLARE makes."""
    startup = folder / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    own = make_key(name) if key is None else key
    how = serialization.PrivateFormat.TraditionalOpenSSL
    pem = own.private_bytes(serialization.Encoding.PEM, how, serialization.NoEncryption())
    (startup / "client.key").write_bytes(pem)
    (startup / "client.crt").write_bytes(write_pem(issue(name) if certificate is None else certificate))
    (startup / "rootCA.pem").write_bytes(write_pem(make_root()))
    return folder


def state(party: str, **changes: Any) -> Statement:
    """What a party says when all is well; its key is that of its number."""
    key = public(PARTIES.index(party) if party in PARTIES else 99)
    usual = Statement(party, CHARTER.digest, 4, CHARTER.items, True, 5.0, None, key)
    return replace(usual, **changes)


def public(number: int) -> bytes:
    return identity(number).public_key().public_bytes_raw()


def identity(number: int) -> Ed25519PrivateKey:
    return make_identities(number + 1)[number]


def enrol(
    folder: Path, statement: Statement, certificate: x509.Certificate | None = None, key: Any = None
) -> Enrolment:
    kit = write_kit(folder / statement.party, statement.party, certificate, key)
    return statement.sign(kit / "startup/client.key", kit / "startup/client.crt")


def enrol_all(folder: Path, **changes: Any) -> list[Enrolment]:
    return [enrol(folder, state(party, **changes)) for party in PARTIES]


def make_registrar(charter: Charter = CHARTER) -> Registrar:
    return Registrar(charter, make_root())


def make_book(folder: Path) -> RosterBook:
    return RosterBook(CHARTER, tuple(enrol_all(folder)))
