"""A federation in which a party lies inside secure aggregation: it is named, remembered, and asked no more."""

from pathlib import Path

import pytest

import folkmoot as fm
from folkmoot.application.federation import networked
from folkmoot.application.federation.left_out import FILE, describe_findings, read_findings
from folkmoot.engines import PooledParty
from folkmoot.engines.desk import Answerer
from folkmoot.foundation.errors import InputError
from folkmoot.report import markdown
from folkmoot.secagg.faults import Fault
from tests.application.networks import Network, make_network
from tests.application.test_networked_runs import PROBLEM, begin
from tests.engines.test_saboteurs import Twist, Twisted, deal_another_secret, return_wrong_shares

LIAR = "east"


def open_network(folder: Path, monkeypatch: pytest.MonkeyPatch, twist: Twist, *liars: str) -> Network:
    def change(name: str, party: PooledParty) -> Answerer:
        return Twisted(party, twist) if name in liars else party

    made = make_network(folder, change)
    monkeypatch.setattr(networked, "connect", made.connect)
    (folder / "films.toml").write_text(PROBLEM)
    return made


def count_asked(network: Network, name: str) -> int:
    party = network.desks[name]._party
    assert isinstance(party, Twisted)
    return party.asked


def test_later_runs_do_not_ask_who_was_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = open_network(tmp_path, monkeypatch, deal_another_secret, LIAR)
    run = begin(network)
    assert list(run.result.excluded.values()) == [Fault.SECRET]
    assert f"{LIAR} dealt shares of a secret that is not its own. Nobody else" in markdown(run.story())
    assert count_asked(network, LIAR) == 1
    assert describe_findings(network.kit)["Not asked"].startswith(f"{LIAR} dealt shares of a secret")
    assert not begin(network, "again").result.excluded
    assert count_asked(network, LIAR) == 1
    (network.kit / FILE).unlink()
    assert begin(network, "third").result.excluded
    assert count_asked(network, LIAR) == 2


def test_what_is_not_certain_is_only_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = open_network(tmp_path, monkeypatch, return_wrong_shares, LIAR)
    begin(network)
    asked = count_asked(network, LIAR)
    begin(network, "again")
    assert count_asked(network, LIAR) == 2 * asked
    told = describe_findings(network.kit)
    assert "Not asked" not in told
    assert "whoever carries messages" in told["Suspected"]


def test_a_run_that_ends_names_the_parties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = open_network(tmp_path, monkeypatch, deal_another_secret, LIAR, "west")
    with pytest.raises(fm.RoundFailed, match=r"east dealt shares of .*; west dealt shares of "):
        begin(network)
    assert [one.party for one in read_findings(network.kit)] == [LIAR, "west"]


@pytest.mark.parametrize("text", ["{", "[1]", '[{"party": "east", "key": "", "fault": "was rude", "time": 1.0}]'])
def test_a_file_that_cannot_be_read_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(InputError, match=r"left_out\.json: is damaged; delete it"):
        read_findings(tmp_path)
