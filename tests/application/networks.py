"""Five parties in this process, with kits and desks as on a network, and a line that tests can cut."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from folkmoot.application.federation.agreement import FILE, ROOT, Agreement, open_registrar
from folkmoot.application.folder import hash_file
from folkmoot.conversation.population import Population
from folkmoot.data import Data, load
from folkmoot.engines import MemoryStore, PartyPolicy, PooledParty
from folkmoot.engines.desk import Answerer, Desk, DeskSetup, MessageKind
from folkmoot.engines.enrolment import RosterBook, Statement, digest_names
from folkmoot.engines.keys import load_or_make_key
from tests.coins import SIMULATED

PARTIES = ("north", "south", "east", "west", "centre")
USERS = 12  # of each party
FILMS = 10
DAY = timedelta(days=1)


@cache
def make_key(_whose: str) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def make_certificate(name: str) -> x509.Certificate:
    """Issued by the root; all parties of tests have the same key."""
    now = datetime.now(UTC)
    subject, issuer = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, one)]) for one in (name, "root"))
    key = make_key("root" if name == "root" else "party")
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).not_valid_before(now - DAY).not_valid_after(now + DAY)
    return made.sign(make_key("root"), hashes.SHA256())


def write_pem(kit: Path, name: str) -> None:
    (kit / ROOT).parent.mkdir(parents=True)
    (kit / ROOT).write_bytes(make_certificate("root").public_bytes(serialization.Encoding.PEM))
    (kit / "client.crt").write_bytes(make_certificate(name).public_bytes(serialization.Encoding.PEM))
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (kit / "client.key").write_bytes(make_key("party").private_bytes(pem, form, serialization.NoEncryption()))


def write_films(path: Path) -> None:
    lines = [f"{film},Film {film},{('Drama', 'War')[film % 2]},{40 + film},{10 + film}" for film in range(FILMS)]
    path.write_text("\n".join(["movieId,title,genres,lat,lon", *lines]) + "\n")


def write_ratings(path: Path, party: int) -> None:
    users = range(party * USERS, (party + 1) * USERS)
    lines = [f"{user},{film},{1 + (user * film + film) % 5}" for user in users for film in range(user % 3, FILMS, 2)]
    path.write_text("\n".join(["userId,movieId,rating", *lines]) + "\n")


@dataclass
class Network:
    """Kits in a folder; `fault` is called with every message before it is sent, and may refuse to carry it."""

    folder: Path
    desks: dict[str, Desk]
    fault: Callable[[str, bytes], bool] = field(default=lambda _name, _sent: False)
    sent: list[tuple[str, MessageKind]] = field(default_factory=list)
    trouble: str = ""

    @property
    def kit(self) -> Path:
        return self.folder / "server"

    @property
    def names(self) -> tuple[str, ...]:
        return PARTIES

    def send(self, outbox: Mapping[str, bytes], seconds: float) -> Iterator[tuple[str, bytes]]:  # noqa: ARG002
        for name, data in outbox.items():
            self.sent.append((name, MessageKind(data[0])))
            if not self.fault(name, data):
                yield name, self.desks[name].answer(data)

    @contextmanager
    def connect(self, kit: Path, names: tuple[str, ...], *_: object) -> "Iterator[Network]":
        """In place of `networked.connect`."""
        assert (kit, names) == (self.kit, PARTIES)
        yield self


def keep(_name: str, party: PooledParty) -> Answerer:
    return party


def make_network(folder: Path, change: Callable[[str, PooledParty], Answerer] = keep) -> Network:
    """A server's kit, and a desk for every party; `change` may put somebody else in a party's place."""
    (folder / "server").mkdir(parents=True)
    write_films(folder / "server" / "items.csv")
    data = Data(kind="ratings", items="items.csv", items_id="movieId", most=5.0)
    agreement = Agreement.plan("films", PARTIES, data, hash_file(folder / "server" / "items.csv"))
    (folder / "server" / FILE).write_text(agreement.to_toml())
    write_pem(folder / "server", "server")
    return Network(folder, {name: make_desk(folder, at, agreement, change) for at, name in enumerate(PARTIES)})


def make_desk(
    folder: Path, number: int, agreement: Agreement, change: Callable[[str, PooledParty], Answerer] = keep
) -> Desk:
    kit = folder / PARTIES[number]
    kit.mkdir()
    write_pem(kit, PARTIES[number])
    write_films(kit / "items.csv")
    write_ratings(kit / "ratings.csv", number)
    (kit / FILE).write_text(agreement.to_toml())
    loaded = load(agreement.complete(kit, {"file": str(kit / "ratings.csv")}))
    clients, population = loaded.objective, Population.of(loaded.objective)
    key = load_or_make_key(kit / "keys")
    said = PARTIES[number], agreement.digest, clients.n_clients, digest_names(loaded.items.names)
    statement = Statement(*said, population.closed_form, population.most, None, key.public_key().public_bytes_raw())
    policy = PartyPolicy(agreement.terms, again=True)

    def make_party(book: RosterBook) -> Answerer:
        store = MemoryStore()
        party = PooledParty(clients, number, key, book.roster, book.census, policy, store, coins=SIMULATED)
        return change(PARTIES[number], party)

    enrolment = statement.sign(kit / "client.key", kit / "client.crt").encode()
    setup = DeskSetup(enrolment, open_registrar(kit), kit / "roster.json", make_party, lambda _: None)
    return Desk(setup, lambda _: None)
