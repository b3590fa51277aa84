"""A party's place in a federation: from its kit, its data and its policy to a desk that answers.

A kit holds `agreement.toml` and the items file (the same at every party), `policy.toml` and `data.toml` (its own),
`startup/` (FLARE's, with the certificate), and what is made here: `keys/`, `store/` and `roster.json`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from time import time
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.x509.oid import NameOID

from folkmoot.application.federation.agreement import PUBLIC, Agreement, open_registrar
from folkmoot.application.federation.papers import Fields, Paper, write_settings
from folkmoot.application.federation.party_policy import describe_budget, read_policy
from folkmoot.data import Items, Loaded, load
from folkmoot.engines.desk import RENEW, Answerer, Desk, DeskSetup, check_own, read_pin
from folkmoot.engines.enrolment import Enrolment, Registrar, RosterBook, Statement, format_fingerprint, read_fingerprint
from folkmoot.engines.folder_store import FolderStore, check_copy
from folkmoot.engines.keys import load_or_make_key, write_whole
from folkmoot.engines.policy import PartyPolicy
from folkmoot.engines.pooled_party import PooledParty
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import Data, setting
from folkmoot.objectives import Objective

DATA, KEYS, STORE, ROSTER, EXPECT = "data.toml", "keys", "store", "roster.json", "expect.txt"
KEY, CERTIFICATE = "startup/client.key", "startup/client.crt"
FORMER = "former"  # where what is no longer used is kept: former-1, former-2, …


@dataclass(frozen=True, kw_only=True)
class OwnSettings:
    """What a data file has besides settings of the data."""

    public_weights: bool = setting("Whether everybody may know how much each of your clients counts.", False)


OWN_FIELDS: Fields = {
    one.name: one for one in (*fields(Data), *fields(OwnSettings)) if one.name not in (*PUBLIC, "credit")
}


@dataclass(frozen=True)
class MembershipFacts:
    """What `join` tells a person before anything starts."""

    party: str
    clients: int
    items: int
    key_fingerprint: str  # of the public key
    roster_fingerprint: str  # of the pinned roster; empty: none is pinned yet
    notes: tuple[str, ...]  # what was read
    budget: str = ""  # what noisy rounds may cost its clients, and have cost; empty: neither is anything


@dataclass(frozen=True, eq=False)
class Membership:
    """All that is in a kit, read and checked, before anything is opened for writing."""

    kit: Path
    agreement: Agreement
    policy: PartyPolicy
    registrar: Registrar
    loaded: Loaded
    key: Ed25519PrivateKey
    enrolment: Enrolment

    @classmethod
    def read(cls, kit: Path) -> "Membership":
        agreement = Agreement.load(kit)
        party, policy = read_party(kit), read_policy(kit, agreement)
        if party not in agreement.parties:
            raise InputError(f"{party} is not a party of this agreement", place=kit / CERTIFICATE)
        registrar, own = open_registrar(kit, agreement), read_data(kit)
        public = own.pop("public_weights", False)
        if agreement.data.kind == "tables":
            own.setdefault("client", "")  # all rows are this party's, unless a column says whose they are
        loaded = load(agreement.complete(kit, own))
        check_items(loaded.items, agreement.load_items(kit))
        weights = find_weights(loaded.objective, public, kit)
        clients = loaded.objective
        key = load_or_make_key(kit / KEYS)
        most = None if clients.most is None else float(clients.most)
        about = (clients.n_clients, registrar.charter.items, bool(clients.closed_form), most, weights)
        statement = Statement(party, agreement.digest, *about, key.public_key().public_bytes_raw())
        enrolment = statement.sign(kit / KEY, kit / CERTIFICATE)
        enrolment.check(registrar.root, registrar.charter, None)
        return cls(kit, agreement, policy, registrar, loaded, key, enrolment)

    def check_pin(self) -> RosterBook | None:
        """The pinned roster; refused if it says something else of this party than this party does."""
        book = read_pin(self.kit / ROSTER, self.registrar)
        if book is not None:
            check_own(book, self.enrolment.encode(), self.kit / ROSTER)
        return book

    def describe(self) -> MembershipFacts:
        book = read_pin(self.kit / ROSTER, self.registrar)
        budget = describe_budget(self.kit, self.agreement, None if book is None else sum(book.sizes))
        return MembershipFacts(
            self.enrolment.party,
            self.loaded.objective.n_clients,
            len(self.loaded.items),
            format_fingerprint(sha256(self.enrolment.statement.key).digest()),
            "" if book is None else book.fingerprint,
            self.loaded.notes,
            budget.get("Budget", ""),
        )

    def prepare_desk(self) -> DeskSetup:
        """Open the store, which no other process may use."""
        store = open_store(self.kit)

        def make_party(book: RosterBook) -> Answerer:
            try:
                return self.make_party(book, store)
            except InputError as why:
                if why.argument != "store":
                    raise
                raise InputError(f"the store {why.problem}", place=self.kit / STORE, remedy=RENEW) from None

        return DeskSetup(
            self.enrolment.encode(),
            self.registrar,
            self.kit / ROSTER,
            make_party,
            store.note_sent,
            read_expectation(self.kit),
            store.note_refusals,
        )

    def make_party(self, book: RosterBook, store: FolderStore) -> PooledParty:
        """What answers questions, once all parties are known."""
        number = book.find(self.enrolment.party)
        return PooledParty(self.loaded.objective, number, self.key, book.roster, book.census, self.policy, store)


def open_desk(kit: Path, log: Callable[[str], None], *, clock: Callable[[], float] = time) -> Desk:
    """The desk of the party whose kit this is. It says LOADING until data is read, and FAILED if that failed."""

    def prepare() -> DeskSetup:
        return Membership.read(kit).prepare_desk()

    return Desk.open_later(prepare, log, clock=clock)


def check_membership(kit: Path, *, now: Callable[[], float] = time) -> MembershipFacts:
    """Everything that can be wrong before a party takes part, without opening its store."""
    membership = Membership.read(kit)
    membership.enrolment.check(membership.registrar.root, membership.registrar.charter, now())
    expected = read_expectation(kit)
    book = read_pin(kit / ROSTER, membership.registrar)
    if book is not None and expected in (None, book.fingerprint):
        membership.check_pin()
    check_copy(kit / STORE)
    return membership.describe()


def renew(kit: Path) -> Path | None:
    """Move keys, store and roster aside, so that the party begins anew; where they are now, if there were any.

    What was answered before is then forgotten: the party may answer the same questions again. What noisy rounds cost
    its clients is not (`open_store`).
    """
    things = [kit / name for name in (KEYS, STORE, ROSTER, EXPECT) if (kit / name).exists()]
    if not things:
        return None
    if (kit / STORE).exists():
        FolderStore(kit / STORE, restored=True).close()  # refused while a process uses it
    number = 1
    while (kit / f"{FORMER}-{number}").exists():
        number += 1
    former = kit / f"{FORMER}-{number}"
    former.mkdir(mode=0o700)
    for thing in things:
        thing.rename(former / thing.name)
    return former


def open_store(kit: Path) -> FolderStore:
    """What a party must not lose. No other process may use it.

    After `renew`, clients may be other people, or the same in another order. So all of them are taken to have paid for
    noisy rounds as much as the one who paid most, as long as the former store is in the kit.
    """
    store = FolderStore(kit / STORE)
    now = store.read_mileage()
    if not now.charges and not any(now.before):
        paid = [now.before]
        for former in kit.glob(f"{FORMER}-*/{STORE}"):
            with closing(FolderStore(former, restored=True)) as old:
                paid.append(old.read_most_paid())
        most = tuple(max(some) for some in zip(*paid, strict=True))
        if any(most):
            store.begin_mileage(most)
    return store


def read_party(kit: Path) -> str:
    """The name in the certificate of a kit."""
    path = kit / CERTIFICATE
    try:
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        (name,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        return str(name.value)
    except OSError as error:
        raise InputError(f"cannot be read ({(error.strerror or 'no reason given').lower()})", place=path) from None
    except ValueError:
        raise InputError("is not a party's certificate", place=path) from None


def read_data(kit: Path) -> dict[str, Any]:
    """The settings of a party's own data file."""
    path = kit / DATA
    if not path.exists():
        raise InputError("says where the data is, and is missing", remedy="join with --data FILE", place=path)
    given = Paper.read(path).fill("", OWN_FIELDS)
    given["file"] = str(kit / given["file"])
    return given


def write_data(kit: Path, given: Mapping[str, Any]) -> None:
    """Write a party's own data file: `file`, its columns, and what to do about faults; None: not given."""
    said = {name: value for name, value in given.items() if value is not None}
    for name in said:
        if name not in OWN_FIELDS:
            raise InputError("is settled by the agreement, for all parties alike", argument=name)
    if not isinstance(said.get("file"), str | Path):
        raise InputError("needs the name of a file", argument="file")
    said["file"] = str(Path(said["file"]).absolute())
    lines = ["# Where this party's data is, and how it is read. Nobody else sees this file.", ""]
    write_whole(kit / DATA, ("\n".join([*lines, *write_settings(OWN_FIELDS, said)]) + "\n").encode())


@contextmanager
def keep_if_wrong(kit: Path) -> Iterator[None]:
    """Put back what a kit said about its data and its roster, if what is written meanwhile turns out to be wrong."""
    paths = [kit / DATA, kit / EXPECT]
    before = {path: path.read_bytes() if path.exists() else None for path in paths}
    try:
        yield
    except InputError:
        for path, data in before.items():
            if data is None:
                path.unlink(missing_ok=True)
            else:
                write_whole(path, data)
        raise


def read_expectation(kit: Path) -> str | None:
    """The fingerprint of the only roster that the people at this party want to accept."""
    path = kit / EXPECT
    try:
        return read_fingerprint(path.read_text(encoding="ascii").strip()) if path.exists() else None
    except InputError as why:
        raise InputError(
            why.problem, place=path, remedy="join with --expect and the fingerprint as it is now"
        ) from None


def write_expectation(kit: Path, fingerprint: str) -> None:
    """Accept only the roster with this fingerprint from now on, in place of any that is pinned."""
    write_whole(kit / EXPECT, f"{read_fingerprint(fingerprint)}\n".encode())


def check_items(items: Items, agreed: Items) -> None:
    """Refuse data about other items than all agreed on."""
    if items.names == agreed.names:
        return
    own, known = set(items.names), set(agreed.names)
    strange = next((name for name in items.names if name not in known), None)
    if strange is not None:
        raise InputError(
            f"{strange!r} is not in the list of items that all agreed on",
            remedy="leave it out of the data, or agree on a list that has it",
            argument="file",
        )
    missing = next((name for name in agreed.names if name not in own), None)
    if missing is not None:
        raise InputError(f"{missing!r}, one of the items that all agreed on, is not in the data", argument="file")
    raise InputError("has the items in another order than all agreed on", argument="file")


def find_weights(clients: Objective, public: bool, kit: Path) -> tuple[float, ...] | None:
    """How much each client counts, in the units of the data, if that may be public; None: all count once."""
    if clients.weight_scale is None:
        raise InputError("how much clients count cannot be compared between parties", place=kit / DATA)
    weights = clients.client_weights * clients.weight_scale
    if not public and (weights == 1.0).all():
        return None
    if not public:
        raise InputError(
            "clients count differently, and the others must know by how much",
            remedy="join with --public-weights, or leave out the column of weights",
            place=kit / DATA,
        )
    return tuple(weights.tolist())
