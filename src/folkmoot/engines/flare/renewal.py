"""Certificates last 360 days. Whoever holds the root issues new ones, for the same keys: everything else stays."""

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization

from folkmoot.engines.flare.kits import AUTHORITY, LEAD, SERVER
from folkmoot.foundation.errors import InputError

ISSUED, RENEWED = "certificates", "renewed"  # folders of the authority
VALID = timedelta(days=360)


def keep_certificates(folder: Path, parties: tuple[str, ...]) -> None:
    """Keep a copy of every certificate, which is public, at the authority: it needs no kit to renew them."""
    issued = folder / AUTHORITY / ISSUED
    issued.mkdir()
    for name, path in list_certificates(folder, parties).items():
        shutil.copyfile(path, issued / f"{name}.crt")


def list_certificates(folder: Path, parties: tuple[str, ...]) -> dict[str, Path]:
    """The certificate in each new kit."""
    found = {party: folder / party / "startup" / "client.crt" for party in parties}
    server = folder / SERVER
    return {SERVER: server / "startup" / "server.crt", LEAD: server / LEAD / "startup" / "client.crt", **found}


def renew_certificates(authority: Path) -> list[Path]:
    """New certificates for everybody's keys, valid from now; where they are."""
    issued, renewed = authority / ISSUED, authority / RENEWED
    if not (authority / "root.key").is_file() or not issued.is_dir():
        raise InputError("holds no root key and certificates", place=authority)
    root = x509.load_pem_x509_certificate((authority / "root.crt").read_bytes())
    if root.not_valid_after_utc < datetime.now(UTC):
        raise InputError("the root itself has expired", remedy="found the federation anew", place=authority)
    renewed.mkdir(exist_ok=True)
    made = []
    for path in sorted(issued.glob("*.crt")):
        made.append(renewed / path.name)
        made[-1].write_bytes(_issue_again(path, authority, root))
        shutil.copyfile(made[-1], path)
    return made


def _issue_again(path: Path, authority: Path, root: x509.Certificate) -> bytes:
    """The same certificate with a new number and new dates."""
    old, now = x509.load_pem_x509_certificate(path.read_bytes()), datetime.now(UTC)
    key = serialization.load_pem_private_key((authority / "root.key").read_bytes(), None)
    builder = (
        x509.CertificateBuilder()
        .subject_name(old.subject)
        .issuer_name(root.subject)
        .public_key(old.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(min(now + VALID, root.not_valid_after_utc))
    )
    for extension in old.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    made = builder.sign(key, hashes.SHA256())  # type: ignore[arg-type]  # a root's key is RSA
    return made.public_bytes(serialization.Encoding.PEM)


def take_certificate(kit: Path, path: Path) -> datetime:
    """Put a renewed certificate into the kit that it is for; until when it is valid."""
    try:
        new = x509.load_pem_x509_certificate(path.read_bytes())
    except FileNotFoundError:
        raise InputError("there is no such file", place=path) from None
    except (OSError, ValueError):
        raise InputError("is not a certificate", place=path) from None
    places = [one for one in _list_places(kit) if _is_same(one, new)]
    if not places:
        raise InputError(f"is not a certificate of {kit}", remedy="it is for another kit", place=path)
    try:
        new.verify_directly_issued_by(x509.load_pem_x509_certificate((kit / "startup" / "rootCA.pem").read_bytes()))
    except (ValueError, TypeError, InvalidSignature):
        raise InputError("was not issued by this federation's root", place=path) from None
    for one in places:
        half = one.with_name(f".{one.name}.part")
        half.write_bytes(path.read_bytes())
        os.replace(half, one)
    return new.not_valid_after_utc


def _list_places(kit: Path) -> list[Path]:
    """The certificates of a kit; that of a server holds its leader's too."""
    return [*kit.glob("startup/*.crt"), *kit.glob(f"{LEAD}/startup/*.crt")]


def _is_same(path: Path, new: x509.Certificate) -> bool:
    old = x509.load_pem_x509_certificate(path.read_bytes())
    return old.subject == new.subject and old.public_key() == new.public_key()


def read_expiry(kit: Path) -> datetime:
    """When the first certificate of a kit ends."""
    return min(x509.load_pem_x509_certificate(one.read_bytes()).not_valid_after_utc for one in _list_places(kit))
