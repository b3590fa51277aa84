"""How parties come to know each other: each signs its public keys with the key of its kit, and all others check that.

A server collects what parties say and gives it to all of them. It cannot change it: a certificate from the root that is
in every party's own kit vouches for each party. What a server can do is to leave a party off, so a roster must hold all
parties of the agreement. People read its fingerprint to each other.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from folkmoot.conversation.population import Population
from folkmoot.engines.census import Census
from folkmoot.engines.certificates import check_certificate, read_certificate
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.sets import Array
from folkmoot.secagg import Roster
from folkmoot.secagg.primitives import KEY

# What is signed here cannot mean anything else. FLARE's client signs its own name, followed by whatever a server sends
# it: so this begins as no name does.
DOMAIN, BOOK_DOMAIN = b"\0folkmoot enrolment 1\0", b"folkmoot roster 1\0"
PSS = padding.PSS(padding.MGF1(hashes.SHA256()), hashes.SHA256.digest_size)
PARTY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,39}")
HEX_DIGEST = re.compile(r"[0-9a-f]{64}")
MOST_CLIENTS = 100_000_000  # of one party; a number costs the others memory
MOST_WEIGHT = (
    1e100  # of one client, and the inverse of the least that clients of one party may weigh: they are added up
)
GROUPS, DIGITS = 12, 5  # of a fingerprint: two rosters with the same take about 2^100 rosters to find
FORMER_DIGITS = 40  # of fingerprints up to 0.7.0, for which 2^66 rosters were enough
GROUPS_PER_ROW = 4


def digest_names(names: Sequence[str]) -> str:
    """A digest of names in their order."""
    return sha256(_as_text(list(names))).hexdigest()


def format_fingerprint(digest: bytes) -> str:
    """A digest as people read it to each other."""
    return _group_digits(f"{int.from_bytes(digest, 'big') % 10 ** (GROUPS * DIGITS):0{GROUPS * DIGITS}d}")


def read_fingerprint(text: str) -> str:
    """A fingerprint as a person typed it: spaces, line ends and hyphens do not matter."""
    digits = re.sub(r"[\s\u2010-\u2015-]", "", text)
    if re.fullmatch(rf"[0-9]{{{FORMER_DIGITS}}}", digits):
        raise InputError(
            f"is a fingerprint of an older version, with {FORMER_DIGITS} digits",
            remedy=f"let the others read theirs to you anew: it has {GROUPS * DIGITS} digits now",
            argument="expect",
        )
    if not re.fullmatch(rf"[0-9]{{{GROUPS * DIGITS}}}", digits):
        raise InputError(f"needs {GROUPS} groups of {DIGITS} digits, got {text!r}", argument="expect")
    return _group_digits(digits)


def arrange_fingerprint(fingerprint: str) -> str:
    """In rows of a few groups, to be read aloud."""
    groups = fingerprint.split()
    rows = (groups[at : at + GROUPS_PER_ROW] for at in range(0, len(groups), GROUPS_PER_ROW))
    return "\n".join(" ".join(row) for row in rows)


def _group_digits(digits: str) -> str:
    return " ".join(digits[at : at + DIGITS] for at in range(0, len(digits), DIGITS))


@dataclass(frozen=True)
class Charter:
    """What every enrolment must fit."""

    digest: str  # of the agreement, in hexadecimal
    parties: tuple[str, ...]  # in the order of their numbers
    n_items: int
    items: str  # digest of their names, in order


@dataclass(frozen=True)
class Statement:
    """What a party says about itself when it enrols. All of it is public."""

    party: str
    agreement: str
    clients: int  # how many it holds
    items: str
    closed_form: bool
    most: float | None
    weights: tuple[float, ...] | None = field(repr=False)  # as given; None: all clients count alike
    key: bytes = field(repr=False)

    @cached_property
    def text(self) -> bytes:
        """The only way to write it down."""
        weights = None if self.weights is None else list(self.weights)
        return _as_text(
            {
                **{name: getattr(self, name) for name in ("party", "agreement", "clients", "items", "closed_form")},
                **{"most": self.most, "weights": weights, "keys": [self.key.hex()]},
            }
        )

    def sign(self, key: Path, certificate: Path) -> "Enrolment":
        """Signed with the key of the party's kit; both files are in PEM."""
        try:
            private = serialization.load_pem_private_key(key.read_bytes(), None)
            issued = x509.load_pem_x509_certificate(certificate.read_bytes())
        except OSError as error:
            why = (error.strerror or "no reason given").lower()
            raise InputError(f"cannot be read ({why})", place=error.filename) from None
        except (ValueError, TypeError):
            raise InputError("needs a private key and a certificate in PEM", place=key.parent) from None
        if not isinstance(private, rsa.RSAPrivateKey) or private.public_key() != issued.public_key():
            raise InputError("is not the RSA key of the certificate beside it", place=key)
        pem = issued.public_bytes(serialization.Encoding.PEM).decode()
        return Enrolment(self, pem, private.sign(DOMAIN + self.text, PSS, hashes.SHA256()))

    def check(self, charter: Charter) -> None:
        """Refuse what does not fit the agreement, or cannot be true."""
        if self.party not in charter.parties:
            raise InputError(f"{self.party} is not a party of the agreement")
        if self.agreement != charter.digest:
            _refuse(self.party, "has enrolled under another agreement")
        if self.items != charter.items:
            _refuse(self.party, "has another list of items")
        if not 1 <= self.clients <= MOST_CLIENTS:
            _refuse(self.party, f"says that it holds {self.clients:,} clients")
        if len(self.key) != KEY:
            _refuse(self.party, f"has a key of {len(self.key)} bytes, not of {KEY}")
        if self.most is not None and not (isfinite(self.most) and self.most > 0):
            _refuse(self.party, f"says that values reach {self.most}")
        if self.weights is not None:
            good = len(self.weights) == self.clients and all(0 <= one <= MOST_WEIGHT for one in self.weights)
            if not good or sum(self.weights) * MOST_WEIGHT < 1:
                _refuse(self.party, "does not give one weight of at least 0 per client")


@dataclass(frozen=True)
class Enrolment:
    """A party's statement, the certificate of its kit, and the signature by that certificate's key."""

    statement: Statement
    certificate: str = field(repr=False)  # PEM
    signature: bytes = field(repr=False)

    @property
    def party(self) -> str:
        return self.statement.party

    def encode(self) -> bytes:
        text = self.statement.text.decode()
        return _as_text({"statement": text, "certificate": self.certificate, "signature": self.signature.hex()})

    @classmethod
    def decode(cls, data: bytes) -> "Enrolment":
        """What was encoded, byte by byte; anything else is refused."""
        try:
            outer = json.loads(data)
            inner = json.loads(outer["statement"])
            enrolment = cls(_read_statement(inner), _text(outer["certificate"]), bytes.fromhex(outer["signature"]))
            if enrolment.encode() == data:
                return enrolment
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            pass
        raise InputError("is not an enrolment", argument="data")

    def check(self, root: x509.Certificate, charter: Charter, now: float | None) -> None:
        """Refuse it unless a client's certificate, issued by this root to this party, vouches for what it says.

        now: seconds since 1970, at which the certificate must be valid; None: at any time, where it was checked before.
        """
        self.statement.check(charter)
        try:
            issued = read_certificate(self.certificate)
            at = None if now is None else datetime.fromtimestamp(now, UTC)
            key = check_certificate(issued, root, self.party, at)
            key.verify(self.signature, DOMAIN + self.statement.text, PSS, hashes.SHA256())
        except InputError as why:
            _refuse(self.party, why.problem)
        except InvalidSignature:
            _refuse(self.party, "has not signed this enrolment with the key of its kit")


@dataclass(frozen=True)
class RosterBook:
    """The statements of all parties, in the order of their numbers."""

    charter: Charter
    enrolments: tuple[Enrolment, ...] = field(repr=False)

    def __post_init__(self) -> None:
        _check_together(self.charter, self.enrolments)
        self.roster  # noqa: B018 - refuses two equal keys

    @property
    def names(self) -> tuple[str, ...]:
        return self.charter.parties

    @cached_property
    def digest(self) -> bytes:
        """Of all that parties say. Certificates and signatures are not in it: renewing them changes nobody's keys."""
        texts = [one.statement.text.decode() for one in self.enrolments]
        return sha256(BOOK_DOMAIN + _as_text([self.charter.digest, *texts])).digest()

    @cached_property
    def fingerprint(self) -> str:
        """Twelve groups of five digits."""
        return format_fingerprint(self.digest)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many clients each party holds."""
        return tuple(one.statement.clients for one in self.enrolments)

    @cached_property
    def roster(self) -> Roster:
        """The keys of all parties, by number."""
        owner: dict[bytes, str] = {}
        for one in self.enrolments:
            known = owner.setdefault(one.statement.key, one.party)
            if known != one.party:
                raise InputError(f"{known} and {one.party} have the same key", argument="roster")
        return Roster(dict(enumerate(owner)))

    @cached_property
    def population(self) -> Population:
        first = self.enrolments[0].statement
        clients = sum(self.sizes)
        return Population(
            self.charter.n_items,
            clients,
            self._collect_weights(),
            first.closed_form,
            first.most,
            missing_by_chance=False,
        )

    @cached_property
    def census(self) -> Census:
        """How many clients each party holds."""
        return Census(self.population, self.sizes)

    def _collect_weights(self) -> Array | None:
        parts = [one.statement.weights for one in self.enrolments if one.statement.weights is not None]
        if not parts:
            return None
        weights = np.concatenate([np.array(part, dtype=np.float64) for part in parts])
        return None if (weights == weights[0]).all() else weights

    def find(self, party: str) -> int:
        """The number of a party."""
        return self.names.index(party)

    def encode(self) -> bytes:
        return join_enrolments([one.encode() for one in self.enrolments])


@dataclass(frozen=True)
class Registrar:
    """Checks enrolments, at a party or at the server: they must fit the agreement, and come from its root's parties."""

    charter: Charter
    root: x509.Certificate = field(repr=False)

    def read_enrolment(self, data: bytes, now: float | None) -> Enrolment:
        """One that was checked. now: seconds since 1970; None: it was accepted before, and may have expired since."""
        enrolment = Enrolment.decode(data)
        enrolment.check(self.root, self.charter, now)
        return enrolment

    def read_book(self, encoded: Sequence[bytes], now: float | None) -> RosterBook:
        """All parties' enrolments, in any order."""
        found: dict[str, Enrolment] = {}
        for data in encoded:
            enrolment = self.read_enrolment(data, now)
            if enrolment.party in found:
                raise InputError(f"{enrolment.party} is on the roster twice", argument="roster")
            found[enrolment.party] = enrolment
        missing = [name for name in self.charter.parties if name not in found]
        if missing:
            raise InputError(f"the roster lacks {', '.join(missing)}", argument="roster")
        return RosterBook(self.charter, tuple(found[name] for name in self.charter.parties))


def join_enrolments(encoded: Sequence[bytes]) -> bytes:
    """Encoded enrolments as one message."""
    return _as_text([data.decode() for data in encoded])


def split_enrolments(data: bytes) -> list[bytes]:
    """What was joined; anything else is refused."""
    try:
        texts = json.loads(data)
        if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
            return [text.encode() for text in texts]
    except (ValueError, RecursionError):
        pass
    raise InputError("is not a list of enrolments", argument="data")


def load_root(path: Path) -> x509.Certificate:
    """The certificate of the root, from a kit."""
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read ({(error.strerror or 'no reason given').lower()})", place=path) from None
    except ValueError:
        raise InputError("is not a certificate in PEM", place=path) from None


def _check_together(charter: Charter, enrolments: tuple[Enrolment, ...]) -> None:
    """Refuse parties that cannot be in one sum."""
    if tuple(one.party for one in enrolments) != charter.parties:
        raise InputError("needs the parties of the agreement in their order", argument="enrolments")
    first = enrolments[0].statement
    for enrolment in enrolments:
        other = enrolment.statement
        if (other.closed_form, other.most) != (first.closed_form, first.most):
            raise InputError(f"{first.party} and {other.party} hold functions of different kinds or ranges")
        if (other.weights is None) != (first.weights is None):
            open_, closed = (first, other) if other.weights is None else (other, first)
            raise InputError(f"{open_.party} says how much its clients count, and {closed.party} does not")


def _read_statement(said: Any) -> Statement:
    """Only types are checked here; `Statement.check` does the rest."""
    weights, most = said["weights"], said["most"]
    (key,) = said["keys"]
    for name in ("agreement", "items"):
        if not HEX_DIGEST.fullmatch(said[name]):
            raise ValueError
    if not PARTY_NAME.fullmatch(said["party"]) or type(said["clients"]) is not int:
        raise ValueError
    if type(said["closed_form"]) is not bool or type(most) not in (float, type(None)):
        raise ValueError
    if weights is not None and not all(type(one) is float for one in weights):
        raise ValueError
    return Statement(
        party=said["party"],
        agreement=said["agreement"],
        clients=said["clients"],
        items=said["items"],
        closed_form=said["closed_form"],
        most=most,
        weights=None if weights is None else tuple(weights),
        key=bytes.fromhex(key),
    )


def _as_text(thing: Any) -> bytes:
    return json.dumps(thing, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _text(given: Any) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def _refuse(party: str, problem: str) -> NoReturn:
    raise InputError(f"{party} {problem}", argument="enrolment")
