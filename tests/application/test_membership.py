"""From a party's kit to a desk that answers, and all that can be wrong with a kit."""

from dataclasses import replace
from gc import collect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import folkmoot as fm
from folkmoot.application.federation import membership
from folkmoot.application.federation.agreement import FILE, Agreement, open_registrar
from folkmoot.application.federation.membership import (
    DATA,
    KEYS,
    ROSTER,
    STORE,
    Membership,
    check_membership,
    find_weights,
    open_desk,
    renew,
    write_data,
    write_expectation,
)
from folkmoot.data import load
from folkmoot.engines import FolderStore, PooledFederation
from folkmoot.engines.desk import Code, Desk, MessageKind, read_reply, write_request
from folkmoot.engines.enrolment import RosterBook
from folkmoot.engines.gathering import PartyLine, gather
from folkmoot.foundation.errors import InputError
from tests.application.kits import FILMS, make_party_kit, write_ratings
from tests.engines.certificates import MOMENT, PARTIES, issue, write_kit
from tests.engines.crowds import crowd
from tests.engines.test_gathering import ScriptedLine, Site

PING = write_request(MessageKind.PING)


def check(kit: Path) -> Any:
    return check_membership(kit, now=lambda: MOMENT)


def open_now(kit: Path, log: list[str] | None = None) -> Desk:
    desk = open_desk(kit, (lambda _: None) if log is None else log.append, clock=lambda: MOMENT)
    desk.wait()
    return desk


def make_line(folder: Path) -> tuple[ScriptedLine, Path]:
    """All parties at their desks, and the kit of one of them."""
    kits = {name: make_party_kit(folder, name) for name in PARTIES}
    return ScriptedLine({name: Site(open_now(kit).answer) for name, kit in kits.items()}), kits["north"]


def call(line: ScriptedLine, kit: Path) -> RosterBook:
    return gather(line, open_registrar(kit), 10.0, timing=line.timing, now=lambda: MOMENT)


# What a person is told.


def test_a_kit_in_order(tmp_path: Path) -> None:
    kit = make_party_kit(tmp_path, "north")
    facts = check(kit)
    assert (facts.party, facts.clients, facts.items) == ("north", 4, FILMS)
    assert (len(facts.key_fingerprint.split()), facts.roster_fingerprint) == (12, "")
    assert any("rows were read" in note for note in facts.notes)
    assert check(kit) == facts  # the key is the same
    assert not (kit / STORE).exists()


def spoil_name(kit: Path) -> None:
    write_kit(kit, "stranger")


def spoil_root(kit: Path) -> None:
    write_kit(kit, "north", issue("north", "other"))


def spoil_items(kit: Path) -> None:
    write_ratings(kit.parent / "north.csv", 0, extra="1,77,5")


def spoil_ratings(kit: Path) -> None:
    write_ratings(kit.parent / "north.csv", 0, extra="1,0,9")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (spoil_name, "client.crt: stranger is not a party of this agreement"),
        (spoil_root, "north has a certificate that the root of this federation did not issue"),
        (spoil_items, "file: '77' is not in the list of items that all agreed on"),
        (spoil_ratings, "most: is 5, but a set is worth 9"),
        (lambda kit: (kit / DATA).unlink(), "data.toml: says where the data is, and is missing; join with --data"),
        (lambda kit: (kit / DATA).write_text("file = 3"), "data.toml, line 1: file: needs text"),
        (lambda kit: (kit / DATA).write_text("fil = 'x'"), "data.toml, line 1: this file has .*, not 'fil'"),
        (lambda kit: (kit / DATA).write_text("file = 'x'\nmost = 4.0"), "data.toml, line 2: this file has .*'most'"),
        (lambda kit: (kit.parent / "north.csv").unlink(), "north.csv"),
        (lambda kit: (kit / "startup/client.crt").unlink(), "client.crt: cannot be read"),
        (lambda kit: (kit / "startup/client.crt").write_text("x"), "client.crt: is not a party's certificate"),
        (lambda kit: (kit / "startup/rootCA.pem").unlink(), "rootCA.pem: cannot be read"),
        (lambda kit: (kit / "policy.toml").write_text("x = 1"), "policy.toml, line 1"),
        (lambda kit: (kit / FILE).write_text("x = 1"), "agreement.toml, line 1"),
        (lambda kit: (kit / "expect.txt").write_text("123"), "expect.txt: needs 12 groups of 5 digits"),
        (
            lambda kit: (kit / "expect.txt").write_text("12345 " * 8),  # by 0.7.0
            "north/expect.txt: is a fingerprint of an older version, with 40 digits; join with --expect",
        ),
    ],
)
def test_kits_that_are_not_in_order(spoil: Any, said: str, tmp_path: Path) -> None:
    kit = make_party_kit(tmp_path, "north")
    spoil(kit)
    with pytest.raises(InputError, match=said) as told:
        check(kit)
    assert "\n" not in str(told.value)


def test_a_certificate_that_has_expired(tmp_path: Path) -> None:
    kit = make_party_kit(tmp_path, "north")
    with pytest.raises(InputError, match="north has a certificate that is valid from"):
        check_membership(kit, now=lambda: MOMENT + 400 * 86_400)


def test_settings_that_the_agreement_has_are_not_a_partys_own(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="most: is settled by the agreement"):
        write_data(tmp_path, {"file": "x.csv", "most": 3.0})
    with pytest.raises(InputError, match="file: needs the name of a file"):
        write_data(tmp_path, {"file": None})
    write_data(tmp_path, {"file": "x.csv", "client": "userId", "value": None})
    text = (tmp_path / DATA).read_text()
    assert f'file = "{Path("x.csv").absolute()}"' in text
    assert 'client = "userId"' in text
    assert "\n# value = " in text


def test_weights_are_public_or_not_there(tmp_path: Path) -> None:
    equal, unequal = crowd(4), crowd(4, weights=np.arange(1, 5))
    assert find_weights(equal, False, tmp_path) is None
    assert find_weights(equal, True, tmp_path) == (1.0,) * 4
    with pytest.raises(InputError, match=r"data.toml: clients count differently.*--public-weights"):
        find_weights(unequal, False, tmp_path)
    assert find_weights(unequal, True, tmp_path) == (1.0, 2.0, 3.0, 4.0)
    assert find_weights(unequal[2:], True, tmp_path) == (3.0, 4.0)
    assert find_weights(crowd(4, weights=np.full(4, 8)), True, tmp_path) == (8.0,) * 4  # not mistaken for 1


def test_wrong_data_leaves_a_kit_as_it_was(tmp_path: Path) -> None:
    kit = make_party_kit(tmp_path, "north")
    before = (kit / "data.toml").read_bytes()

    def join_wrongly() -> None:
        with membership.keep_if_wrong(kit):
            membership.write_data(kit, {"file": tmp_path / "nowhere.csv"})
            membership.write_expectation(kit, " ".join(["12345"] * 12))
            membership.check_membership(kit)

    with pytest.raises(InputError, match="there is no file"):
        join_wrongly()
    assert (kit / "data.toml").read_bytes() == before
    assert not (kit / "expect.txt").exists()
    membership.check_membership(kit)


# Desks.


def test_parties_answer_from_their_kits(tmp_path: Path) -> None:
    """The sums are those of a simulation that sees all data."""
    line, kit = make_line(tmp_path)
    book, agreement = call(line, kit), Agreement.load(kit)
    exchange = PartyLine(line, dict(enumerate(PARTIES)), 4, fingerprint=book.fingerprint, timing=line.timing)
    engine = PooledFederation(book.census, book.roster, exchange, agreement.terms)
    method = fm.FedCG(2, polish=0)
    found = fm.solve(None, 2, method, engine=engine, seed=3)
    every = "\n".join((tmp_path / f"{name}.csv").read_text().partition("\n")[2].strip() for name in PARTIES)
    (tmp_path / "all.csv").write_text(f"userId,movieId,rating\n{every}\n")
    loaded = load(replace(agreement.complete(kit, {}), file=str(tmp_path / "all.csv")))
    assert found.estimate == fm.solve(loaded.objective, 2, method, seed=3).estimate


def test_only_one_process_uses_a_store(tmp_path: Path) -> None:
    line, kit = make_line(tmp_path)
    call(line, kit)
    log = list[str]()
    second = open_now(kit, log)
    assert read_reply(second.answer(PING))[0] == Code.FAILED
    assert "is in use by another process" in log[-1]


def test_a_restarted_desk_has_its_roster(tmp_path: Path) -> None:
    line, kit = make_line(tmp_path)
    book = call(line, kit)
    line.sites.clear()
    collect()  # as the end of a process does, this closes the store
    desk = open_now(kit)
    assert read_reply(desk.answer(PING)) == (Code.OK, book.fingerprint.encode())
    assert check(kit).roster_fingerprint == book.fingerprint


def make_copy(kit: Path) -> Path:
    """The kit without its store, which a process holds."""
    fresh = kit.with_name("copy")
    (fresh / KEYS).mkdir(parents=True)
    (fresh / "startup").mkdir()
    for path in kit.rglob("*"):
        if path.is_file() and STORE not in path.parts:
            target = fresh / path.relative_to(kit)
            target.write_bytes(path.read_bytes())
            target.chmod(0o600)
    return fresh


def test_other_clients_than_those_on_the_roster(tmp_path: Path) -> None:
    line, kit = make_line(tmp_path)
    call(line, kit)
    fresh = make_copy(kit)
    write_ratings(tmp_path / "north.csv", 0, users=6)
    said = r"roster.json: north holds 6 clients, but 4 on the roster; .*--renew"
    with pytest.raises(InputError, match=said):
        check(fresh)
    log = list[str]()
    assert read_reply(open_now(fresh, log).answer(PING))[0] == Code.FAILED
    assert "--renew" in log[0]


def test_a_party_begins_anew(tmp_path: Path) -> None:
    line, kit = make_line(tmp_path)
    call(line, kit)
    with pytest.raises(InputError, match="in use by another process"):
        renew(kit)
    fresh = make_copy(kit)
    FolderStore(fresh / STORE).close()
    before = check(fresh)
    assert renew(fresh) == fresh / "former-1"
    assert sorted(path.name for path in (fresh / "former-1").iterdir()) == [KEYS, ROSTER, STORE]
    after = check(fresh)
    assert after.key_fingerprint != before.key_fingerprint
    assert after.roster_fingerprint == ""
    assert renew(fresh) == fresh / "former-2"  # the keys that were just made
    assert renew(fresh) is None


def test_an_expected_roster_takes_the_place_of_the_pinned_one(tmp_path: Path) -> None:
    line, kit = make_line(tmp_path)
    book = call(line, kit)
    fresh = make_copy(kit)
    write_expectation(fresh, "12345 " * 12)
    write_ratings(tmp_path / "north.csv", 0, users=6)  # what the pinned one says no longer matters
    check(fresh)
    desk = open_now(fresh)
    assert read_reply(desk.answer(PING)) == (Code.OK, b"")
    assert read_reply(desk.answer(write_request(MessageKind.ROSTER, book.encode())))[0] == Code.REFUSED


def test_a_store_of_other_clients(tmp_path: Path) -> None:
    line, kit = make_line(tmp_path)
    book = call(line, kit)
    store = FolderStore(tmp_path / "used")
    store.pin("clients", "others")
    setup_error = "the store holds what other clients answered"
    fresh = make_copy(kit)
    (fresh / ROSTER).unlink()
    membership = Membership.read(fresh)
    with pytest.raises(InputError, match="holds what other clients"):
        membership.make_party(book, store)
    store.close()
    (tmp_path / "used").rename(fresh / STORE)
    log = list[str]()
    desk = open_now(fresh, log)
    assert read_reply(desk.answer(write_request(MessageKind.ROSTER, book.encode())))[0] == Code.REFUSED
    assert setup_error in log[-1]
    assert "--renew" in log[-1]
