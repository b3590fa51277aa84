"""Who enrols, and who is refused."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from folkmoot.engines.enrolment import (
    Charter,
    Enrolment,
    RosterBook,
    join_enrolments,
    load_root,
    read_fingerprint,
    split_enrolments,
)
from folkmoot.engines.keys import FILE, load_or_make_key
from folkmoot.foundation.errors import InputError
from tests.engines.certificates import (
    CHARTER,
    MOMENT,
    NOW,
    PARTIES,
    enrol,
    enrol_all,
    issue,
    make_book,
    make_key,
    make_registrar,
    make_root,
    public,
    state,
    write_kit,
    write_pem,
)


def read(*enrolments: Enrolment, charter: Charter = CHARTER) -> RosterBook:
    return make_registrar(charter).read_book([one.encode() for one in enrolments], MOMENT)


def test_an_enrolment_survives_being_sent(tmp_path: Path) -> None:
    sent = enrol(tmp_path, state("north", weights=(1.0, 0.1, 3.0, 1e-30)))
    assert Enrolment.decode(sent.encode()) == sent
    sent.check(make_root(), CHARTER, MOMENT)


def test_requests_for_certificates_give_the_role_of_a_client(tmp_path: Path) -> None:
    enrol(tmp_path, state("north"), issue("north", role="client")).check(make_root(), CHARTER, MOMENT)


@pytest.mark.parametrize(
    ("certificate", "said"),
    [
        (lambda: issue("north", "other"), "root of this federation did not issue"),
        (lambda: issue("north", begin=NOW - timedelta(days=400)), "is valid from 2025-03-27 to 2026-03-22 only"),
        (lambda: issue("north", begin=NOW + timedelta(days=1)), "valid from"),
        (lambda: issue("south", key=make_key("north")), "somebody else"),
        (lambda: issue("north", role="lead"), "not for a party"),
        (lambda: issue("north", role="server"), "not for a party"),
        (lambda: issue("north", hosts=("moot.example.org",)), "not for a party"),
        (lambda: issue("north", hosts=("north", "moot.example.org")), "not for a party"),
        (lambda: issue("north", ca=True), "not for a party"),
    ],
)
def test_certificates_that_do_not_vouch_for_a_party(certificate: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"north has .*{said}"):
        enrol(tmp_path, state("north"), certificate()).check(make_root(), CHARTER, MOMENT)


def test_a_party_cannot_vouch_for_others(tmp_path: Path) -> None:
    """Its certificate was issued by the root, but it may not issue any itself."""
    made = issue("south", "north", key=make_key("south"))
    with pytest.raises(InputError, match="did not issue"):
        enrol(tmp_path, state("south"), made).check(make_root(), CHARTER, MOMENT)


def test_a_roster_that_was_accepted_does_not_expire(tmp_path: Path) -> None:
    enrol(tmp_path, state("north")).check(make_root(), CHARTER, None)


def test_a_party_that_claims_the_name_of_another(tmp_path: Path) -> None:
    """South signs what north would say, and sends its own certificate or north's."""
    claim, own = enrol(tmp_path, state("south")), enrol(tmp_path, state("north"))
    for certificate in (claim.certificate, own.certificate):
        stolen = Enrolment(state("north", key=public(1)), certificate, claim.signature)
        with pytest.raises(InputError, match="north has"):
            stolen.check(make_root(), CHARTER, MOMENT)


@pytest.mark.parametrize(
    "changes",
    [{"clients": 5}, {"most": 4.0}, {"closed_form": False}, {"weights": (1.0,) * 4}, {"key": public(7)}],
    ids=str,
)
def test_nothing_that_was_signed_can_be_changed(changes: dict[str, Any], tmp_path: Path) -> None:
    sent = enrol(tmp_path, state("north"))
    with pytest.raises(InputError, match="north has not signed"):
        replace(sent, statement=replace(sent.statement, **changes)).check(make_root(), CHARTER, MOMENT)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"party": "stranger"}, "stranger is not a party of the agreement"),
        ({"agreement": "b" * 64}, "another agreement"),
        ({"items": "b" * 64}, "another list of items"),
        ({"clients": 0}, "0 clients"),
        ({"clients": -4}, "-4 clients"),
        ({"clients": 10**12}, "1,000,000,000,000 clients"),
        ({"key": b"short"}, "has a key of 5 bytes, not of 32"),
        ({"most": float("nan")}, "values reach nan"),
        ({"most": -1.0}, "values reach -1"),
        ({"weights": (1.0,)}, "one weight"),
        ({"weights": (1.0, 1.0, 1.0, -1.0)}, "one weight"),
        ({"weights": (1.0, 1.0, 1.0, float("inf"))}, "one weight"),
        ({"weights": (0.0,) * 4}, "one weight"),
    ],
)
def test_statements_that_cannot_be_true(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        enrol(tmp_path, state(**{"party": "north", **changes})).check(make_root(), CHARTER, MOMENT)


@given(st.binary(max_size=200))
def test_anything_else_is_no_enrolment(data: bytes) -> None:
    for read_it in (Enrolment.decode, split_enrolments):
        try:
            read_it(data)
        except InputError:
            continue
        assert read_it is split_enrolments
        assert json.loads(data) is not None


ODD: list[Any] = [None, [], {}, "x", 1, 1.5, True, "0" * 64, [1.0], {"a": 1}, [[]]]


@pytest.mark.parametrize("name", ["party", "agreement", "clients", "items", "closed_form", "most", "weights", "keys"])
def test_odd_fields_are_refused(name: str, tmp_path: Path) -> None:
    sent = json.loads(enrol(tmp_path, state("north")).encode())
    said = json.loads(sent["statement"])
    for odd in ODD:
        if type(odd) is type(said[name]) or (name in ("most", "weights") and odd in (None, [], [1.0], 1.5)):
            continue
        text = json.dumps({**said, name: odd}, sort_keys=True, separators=(",", ":"))
        with pytest.raises(InputError, match="not an enrolment"):
            Enrolment.decode(json.dumps({**sent, "statement": text}, sort_keys=True, separators=(",", ":")).encode())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data + b" ",
        lambda data: data.replace(b'{"certificate"', b'{"certificate":"","certificate"'),
        lambda data: data.replace(b"\\n-----END", b"\\n\\n-----END"),
        lambda data: data.replace(b'"signature"', b'"more":1,"signature"'),
        lambda data: data.replace(rb"\"keys\":[", rb"\"keys\":[\"00\","),
        lambda _: b"[" * 100_000,
        lambda _: b'{"statement":' + b"9" * 5000 + b"}",
    ],
)
def test_there_is_one_way_to_write_an_enrolment(spoil: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        make_registrar().read_enrolment(spoil(enrol(tmp_path, state("north")).encode()), MOMENT)


# All parties together.


def test_a_roster_says_who_holds_which_clients(tmp_path: Path) -> None:
    enrolments = [enrol(tmp_path, state(party, clients=3 + at)) for at, party in enumerate(PARTIES)]
    book = read(*reversed(enrolments))
    assert book.names == PARTIES
    assert book.sizes == book.census.sizes == (3, 4, 5, 6, 7)
    assert dict(book.roster.keys) == {number: public(number) for number in range(5)}
    assert (book.population.n_clients, book.population.n_items, book.population.most) == (25, 12, 5.0)
    assert book.find("west") == 3
    again = make_registrar().read_book(split_enrolments(book.encode()), MOMENT)
    assert (again, again.fingerprint) == (book, book.fingerprint)


def test_weights_are_those_of_all_clients(tmp_path: Path) -> None:
    weights = [(1.0, 2.0, 3.0, 4.0), *[(1.0,) * 4] * 4]
    said = [enrol(tmp_path, state(party, weights=own)) for party, own in zip(PARTIES, weights, strict=True)]
    found = read(*said).population.weights
    assert found is not None
    assert found.tolist() == [1.0, 2.0, 3.0, 4.0, *[1.0] * 16]
    assert read(*enrol_all(tmp_path, weights=(2.0,) * 4)).population.weights is None
    with pytest.raises(InputError, match="south says how much its clients count, and north does not"):
        read(enrol(tmp_path, state("north")), *said[1:])


@pytest.mark.parametrize(
    ("choose", "said"),
    [
        (lambda all_: all_[1:], "lacks north"),
        (lambda _: [], "lacks north, south, east, west, middle"),
        (lambda all_: [*all_, all_[2]], "east is on the roster twice"),
    ],
)
def test_a_roster_holds_every_party_once(choose: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        read(*choose(enrol_all(tmp_path)))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"key": public(0)}, "north and east have the same key"),
        ({"closed_form": False}, "north and east hold functions of different kinds"),
        ({"most": 4.0}, "north and east hold functions"),
        ({"items": "c" * 64}, "east has another list of items"),
    ],
)
def test_parties_that_do_not_belong_together(changes: dict[str, Any], said: str, tmp_path: Path) -> None:
    all_ = enrol_all(tmp_path)
    all_[2] = enrol(tmp_path, state("east", **changes))
    with pytest.raises(InputError, match=said):
        read(*all_)


def test_the_fingerprint_is_of_what_parties_say(tmp_path: Path) -> None:
    """A signature is random, and certificates are renewed."""
    book, again = make_book(tmp_path / "one"), make_book(tmp_path / "two")
    assert book.enrolments != again.enrolments
    assert book.fingerprint == again.fingerprint
    other = [enrol(tmp_path, state("north", clients=5)), *book.enrolments[1:]]
    assert read(*other).fingerprint != book.fingerprint
    assert read_fingerprint(book.fingerprint) == book.fingerprint


def test_a_list_of_enrolments_is_a_list_of_texts() -> None:
    assert split_enrolments(join_enrolments([b"a", b"b"])) == [b"a", b"b"]
    for data in (b"{}", b"[1]", b'["a"', b"\xff"):
        with pytest.raises(InputError):
            split_enrolments(data)


# Files of a kit.


def test_a_kit_must_fit_together(tmp_path: Path) -> None:
    kit = write_kit(tmp_path, "north", key=make_key("south"))
    key, certificate = kit / "startup/client.key", kit / "startup/client.crt"
    with pytest.raises(InputError, match="not the RSA key of the certificate"):
        state("north").sign(key, certificate)
    with pytest.raises(InputError, match="no such file"):
        state("north").sign(key, kit / "none")
    with pytest.raises(InputError, match="in PEM"):
        state("north").sign(certificate, certificate)
    assert load_root(kit / "startup/rootCA.pem") == make_root()
    with pytest.raises(InputError, match="not a certificate"):
        load_root(key)
    with pytest.raises(InputError, match="no such file"):
        load_root(kit / "none")
    assert write_pem(make_root()) == (kit / "startup/rootCA.pem").read_bytes()


def test_a_key_is_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    first, again = load_or_make_key(folder), load_or_make_key(folder)
    assert first.private_bytes_raw() == again.private_bytes_raw()
    assert (folder / FILE).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in folder.iterdir()] == [FILE]
    (folder / FILE).chmod(0o644)
    with pytest.raises(InputError, match="can be read by others; chmod 600"):
        load_or_make_key(folder)


def test_keys_of_two_processes_that_start_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process makes the file after this one has looked for it."""
    generate = Ed25519PrivateKey.generate
    others = []

    def meanwhile() -> Ed25519PrivateKey:
        monkeypatch.setattr("folkmoot.engines.keys.Ed25519PrivateKey.generate", generate)
        others.append(load_or_make_key(tmp_path))
        return generate()

    monkeypatch.setattr("folkmoot.engines.keys.Ed25519PrivateKey.generate", meanwhile)
    assert load_or_make_key(tmp_path).private_bytes_raw() == others[0].private_bytes_raw()


@pytest.mark.parametrize("text", [b"", b"zz\n", b"00\n", b"\xff\n", (b"00" * 32 + b"\n") * 2])
def test_a_damaged_key_is_not_replaced(text: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(text)
    (tmp_path / FILE).chmod(0o600)
    with pytest.raises(InputError, match="holds no key, or is damaged"):
        load_or_make_key(tmp_path)
    assert (tmp_path / FILE).read_bytes() == text
