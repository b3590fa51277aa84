"""Agreements and policies: files that people read, and that are read strictly."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from folkmoot.application.federation.agreement import FILE, Agreement, open_registrar
from folkmoot.application.federation.papers import Paper
from folkmoot.application.federation.party_policy import FILE as POLICY
from folkmoot.application.federation.party_policy import (
    describe_budget,
    list_questions,
    make_policy_template,
    read_policy,
)
from folkmoot.engines import PartyPolicy
from folkmoot.engines.pooling import check_parties
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import Data
from folkmoot.privacy.accounting import Privacy
from folkmoot.questions import Gradient, Values
from folkmoot.secagg import Policy
from tests.application.kits import FILMS, RATINGS, make_agreement, make_party_kit, write_films
from tests.engines.certificates import PARTIES

DIGEST = "0" * 64


def plan(parties: int = 5, data: Data = RATINGS, **how: Any) -> Agreement:
    return Agreement.plan("films", [f"party-{one}" for one in range(parties)], data, DIGEST, **how)


def test_an_agreement_survives_being_written(tmp_path: Path) -> None:
    agreement = make_agreement(tmp_path)
    (tmp_path / FILE).write_text(agreement.to_toml())
    again = Agreement.load(tmp_path)
    assert again == agreement
    assert again.digest == agreement.digest
    assert all(line.startswith("# ") for line in agreement.to_toml().splitlines() if "#" in line)


@pytest.mark.parametrize("parties", range(5, 30))
def test_planned_terms_bear_one_corrupt_party_and_one_that_is_gone(parties: int) -> None:
    agreement = plan(parties)
    terms = agreement.terms
    check_parties(terms, parties)
    assert terms.quorum(parties) == terms.fewest == agreement.quorum
    assert int(terms.corrupt * parties + 1e-9) >= 1
    assert parties - terms.fewest >= 1


@pytest.mark.parametrize("parties", range(1, 5))
def test_too_few_parties(parties: int) -> None:
    with pytest.raises(InputError, match=f"{parties} parties are too few .*; 5 are enough"):
        plan(parties)


def test_terms_that_were_given() -> None:
    assert plan(4, corrupt=0.0, dropout=0.25).terms == Policy(3, 0.0, 0.25)
    assert plan(fewest=5).terms.fewest == 5
    with pytest.raises(InputError, match="5 parties are too few if 20% of them may be corrupt and 50% may drop out"):
        plan(dropout=0.5)
    with pytest.raises(InputError, match="corrupt: needs a share below 1"):
        plan(corrupt=1.5)


@pytest.mark.parametrize("name", ["", "a b", "ü", "x" * 41, "-x", "a/b", "server", "Lead"])
def test_names_that_parties_cannot_have(name: str) -> None:
    with pytest.raises(InputError, match="parties: "):
        Agreement.plan("films", ["a", "b", "c", "d", name], RATINGS, DIGEST)


def test_names_are_different() -> None:
    with pytest.raises(InputError, match="north is there twice"):
        Agreement.plan("films", ["north", "b", "c", "d", "North"], RATINGS, DIGEST)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": None}, "kind: is needed"),
        ({"items": None}, "items: needs the name of a file"),
        ({"items": "/etc/passwd"}, "items: needs the name of a file beside"),
        ({"items": "../films.csv"}, "items: needs the name of a file beside"),
        ({"most": None}, "most: is needed for ratings: .* one party's false value would outweigh .*most=5.0"),
        ({"kind": "tables", "most": None}, "most: is needed for tables: .* would outweigh .*most=1.0"),
        ({"kind": "places"}, "reach: is needed"),
    ],
)
def test_data_that_all_must_agree_on(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        plan(data=replace(RATINGS, **changes))


@pytest.mark.parametrize("kind", ["memberships", "places", "distances", "similarity"])
def test_data_with_a_range_by_what_it_is(kind: str) -> None:
    """A matrix of similarities has none: there it is that of a cosine, which parties' data must keep to."""
    data = replace(RATINGS, kind=kind, most=None, reach=1.0, similarity="cosine")
    assert plan(data=data).data.most == (1.0 if kind == "similarity" else None)


def test_agreements_on_tables_from_before_they_needed_a_range_still_open(tmp_path: Path) -> None:
    data = replace(RATINGS, kind="tables", target="sick")
    (tmp_path / FILE).write_text(re.sub(r"^most = .*", "", plan(data=data).to_toml(), flags=re.MULTILINE))
    assert Agreement._read(Paper.read(tmp_path / FILE)).data.most is None


def test_an_agreement_holds_nothing_of_one_partys_data() -> None:
    own = replace(RATINGS, file="secret.csv", client="userId", missing="drop", credit="us")
    assert plan(data=own) == plan()


def test_the_digest_is_of_everything(tmp_path: Path) -> None:
    agreement = make_agreement(tmp_path)
    changes: list[dict[str, Any]] = [
        {"name": "other"},
        {"parties": PARTIES[::-1]},
        {"terms": Policy(4, 0.2, 0.21)},
        {"data": replace(RATINGS, most=6.0)},
        {"items_sha256": DIGEST},
    ]
    digests = {replace(agreement, **change).digest for change in changes}
    assert len(digests | {agreement.digest}) == len(changes) + 1


def test_agreements_of_versions_that_could_mask_clients_one_by_one(tmp_path: Path) -> None:
    agreement = make_agreement(tmp_path)
    before = agreement.to_toml().replace("\n[terms]", "\nper_client = false\n[terms]")
    (tmp_path / FILE).write_text(before)
    assert Agreement.load(tmp_path) == agreement
    (tmp_path / FILE).write_text(before.replace("false", "true"))
    said = (
        r"agreement.toml, line \d+: per_client: the clients of a party are now always heard together, through their "
        r"party; found the federation anew with `folkmoot federation init`$"
    )
    with pytest.raises(InputError, match=said):
        Agreement.load(tmp_path)


def test_the_items_file_is_the_one_that_was_agreed_on(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(make_agreement(tmp_path).to_toml())
    write_films(tmp_path / "films.csv", FILMS + 1)
    with pytest.raises(InputError, match=r"films.csv: is not the file that agreement.toml is about"):
        Agreement.load(tmp_path)
    (tmp_path / "films.csv").unlink()
    with pytest.raises(InputError, match=r"films.csv: cannot be read \(no such file"):
        Agreement.load(tmp_path)


@pytest.mark.parametrize(
    ("find", "write", "said"),
    [
        (r"^name = .*", "", r"agreement.toml, line 1: name: needs a text"),
        (r"^name = .*", "name = 3", r"line \d+: name: needs a text"),
        (r"^parties = .*", "parties = 'a'", r"line \d+: parties: needs a list"),
        (r"^parties = .*", "parties = ['a', 'b']", r"line \d+: parties: 2 parties are too few"),
        (r"^corrupt = .*", "corupt = 0.1", r"line \d+: \[terms\] has .*, not 'corupt'; did you mean 'corrupt'"),
        (r"^corrupt = .*", "corrupt = 'x'", r"line \d+: corrupt: needs a number"),
        (r"^corrupt = .*", "corrupt = 3.0", r"line \d+: corrupt: needs a share below 1"),
        (r"^corrupt = .*", "", r"line \d+: `corrupt` is needed"),
        (r"^kind = .*", "kind = 'films'", r"line \d+: kind: may be ratings"),
        (r"^most = .*", "", r"line \d+: most: is needed"),
        (r"^items = .*", "items = '../films.csv'", r"line \d+: items: needs the name of a file beside"),
        (r"^items_sha256 = .*", "", r"line \d+: items_sha256: needs a SHA-256"),
        (r"^items_sha256 = .*", "items_sha256 = 'x'", r"line \d+: items_sha256: needs a SHA-256"),
        (r"^\[terms\]", "[[terms]]", r"line \d+: terms: must be a table"),
        (r"^\[terms\]", "[other]", r"line \d+: this file has .*, not 'other'"),
        (r"^\[terms\]", "[terms", r"agreement.toml, line \d+"),
        (r"^name = .*", "name = \x00", r"agreement.toml, line \d+"),
    ],
)
def test_mistakes_are_told_with_their_line(find: str, write: str, said: str, tmp_path: Path) -> None:
    text = make_agreement(tmp_path).to_toml()
    (tmp_path / FILE).write_text(re.sub(find, write, text, flags=re.MULTILINE))
    with pytest.raises(InputError, match=said) as told:
        Agreement.load(tmp_path)
    assert "\n" not in str(told.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"agreement.toml: no such file"):
        Agreement.load(tmp_path)
    (tmp_path / FILE).write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match=r"agreement.toml: is not text in UTF-8"):
        Agreement.load(tmp_path)


def test_a_registrar_knows_items_and_parties(tmp_path: Path) -> None:
    kit = make_party_kit(tmp_path, "north")
    charter = open_registrar(kit).charter
    assert (charter.parties, charter.n_items) == (PARTIES, FILMS)
    assert charter.digest == Agreement.load(kit).digest


# A party's policy.


def test_the_template_says_the_defaults(tmp_path: Path) -> None:
    agreement = make_agreement(tmp_path)
    assert read_policy(tmp_path, agreement) == PartyPolicy(agreement.terms, again=True, per_day=500)  # no file
    text = make_policy_template(agreement)
    assert all(line.startswith("# ") for line in text.splitlines() if line)
    (tmp_path / POLICY).write_text(text)
    assert read_policy(tmp_path, agreement) == PartyPolicy(agreement.terms, again=True, per_day=500)
    (tmp_path / POLICY).write_text(re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE))
    budget = Privacy(1.0, 1e-6, "zero-out")
    said = PartyPolicy(agreement.terms, (Gradient, Values), per_day=500, again=True, budget=budget, honest=3)
    assert read_policy(tmp_path, agreement) == said
    for name in list_questions():
        assert name in text


def test_a_policy_may_ask_for_more(tmp_path: Path) -> None:
    agreement = make_agreement(tmp_path)
    (tmp_path / POLICY).write_text("corrupt = 0.4\nfewest = 5\nclients = 100\nagain = true\nper_day = 0\n")
    said = PartyPolicy(Policy(5, 0.4, 0.2), clients=100, again=True, per_day=0)
    assert read_policy(tmp_path, agreement) == said


def test_a_policy_may_have_a_budget(tmp_path: Path) -> None:
    agreement = make_agreement(tmp_path)
    (tmp_path / POLICY).write_text("epsilon = 2.0\n")
    assert read_policy(tmp_path, agreement).budget == Privacy(2.0)
    (tmp_path / POLICY).write_text('epsilon = 2\ndelta = 1e-7\nadjacency = "replace-one"\nhonest = 4\n')
    found = read_policy(tmp_path, agreement)
    assert (found.budget, found.honest) == (Privacy(2.0, 1e-7, "replace-one"), 4)
    assert describe_budget(tmp_path, agreement, None) == {"Budget": "ε = 2 for each client"}
    assert describe_budget(tmp_path, agreement, 500) == {
        "Budget": "ε = 0 of 2 spent at most (δ = 1e-07, replace-one) in 0 rounds with noise; 100% of μ² is left"
    }
    (tmp_path / POLICY).unlink()
    assert describe_budget(tmp_path, agreement, 500) == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("corrupt = 0.1", "line 1: corrupt: is less than the 0.2 of the agreement: the others count on your share"),
        ("epsilon = 0.0", "line 1: epsilon: needs a number above 0"),
        ("epsilon = nan", "line 1: epsilon: "),
        ("epsilon = 1.0\ndelta = 0.5", "line 2: delta: needs a number from 1e-14 to below 0.5"),
        ("\ndelta = 1e-6", "line 2: delta: is about a budget, and there is none; give epsilon, too"),
        ("honest = 3", "line 1: honest: is about a budget"),
        ("epsilon = 1.0\nhonest = 0", "line 2: honest: needs a whole number of at least 1"),
        ("epsilon = 1.0\nadjacency = 'none'", "line 2: adjacency: "),
        ("clients = 0", "line 1: clients: needs a whole number of at least 1"),
        ("\nfewst = 3", "line 2: this file has .*, not 'fewst'; did you mean 'fewest'"),
        ("\n\nclients = true", "line 3: clients: needs a whole number"),
        ("uneven = 1", "line 1: uneven: needs true or false"),
        ("questions = ['Gradint']", "line 1: questions: there is no question 'Gradint'; did you mean 'Gradient'"),
        ("questions = 'Gradient'", "line 1: questions: needs a list"),
        ("[more]\nx = 1", "line 1: this file has .*, not 'more'"),
        ("corrupt = 2.0", "line 1: corrupt: needs a share below 1"),
        ("largest_share = 0.0", "line 1: largest_share: needs a share"),
        ("per_day = -1", "line 1: per_day: needs a whole number"),
        ("clients", "policy.toml, "),
    ],
)
def test_mistakes_in_a_policy(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / POLICY).write_text(text)
    with pytest.raises(InputError, match=said):
        read_policy(tmp_path, make_agreement(tmp_path))


def test_how_tables_are_read_is_agreed_on(tmp_path: Path) -> None:
    """Which columns are categories, and how rare a value may be; agreements from before there were such settings keep
    their digest, so that parties need not enrol anew.
    """
    before = plan()
    assert before.digest == "393faf38665faf3724cd65f85746bc5c8ec32f065adf6ab0aafeaea076a776c8"
    data = replace(RATINGS, kind="tables", target="sick", category=("ward", 'a "b"'), merge_rare=20)
    agreement = plan(data=data)
    assert agreement.data.merge_rare == 20
    for other in (replace(data, merge_rare=21), replace(data, category=()), replace(data, merge_rare=0)):
        assert plan(data=other).digest != agreement.digest
    (tmp_path / FILE).write_text(agreement.to_toml())
    assert Agreement._read(Paper.read(tmp_path / FILE)) == agreement


def test_ranks_are_agreed_on(tmp_path: Path) -> None:
    """Everybody knows that 1 / rank is at most 1; a party is not asked what its own agreement could not say."""
    ranks = plan(data=replace(RATINGS, best="lowest", most=None))
    assert (ranks.data.most, ranks.data.best) == (1.0, "lowest")
    assert ranks.complete(tmp_path, {}).best == "lowest"
    rated = plan(data=RATINGS)
    assert (rated.data.best, rated.complete(tmp_path, {}).best) == (None, "highest")
    assert rated.digest != plan(data=replace(RATINGS, best="lowest")).digest
    assert plan(data=replace(RATINGS, kind="memberships")).complete(tmp_path, {}).best is None
