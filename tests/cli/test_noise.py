"""Noise on the command line: what is forecast, run, stored, verified and compared."""

import json
from pathlib import Path

from folkmoot.conversation.result import Result
from folkmoot.report.stored_story import from_json
from tests.cli.calling import films, folkmoot, ratings

NOISY = ("run", "ratings.csv", "--items", "movies.csv", "--choose", "2", "--most", "5", "--epsilon", "9")


def test_a_run_says_what_to_expect_and_what_it_promised(tmp_path: Path) -> None:
    ratings(tmp_path)
    films(tmp_path)
    said = folkmoot(tmp_path, *NOISY)
    assert said.code == 0, said.err
    assert said.out.startswith("Forecast for ε = 9, δ = 0.0033: ")
    assert "by 100 trials on this data with other noise" in said.out.replace("\n", " ")
    for told in ("What noise promises to each one", "nothing to say", "This was a simulation"):
        assert told in said.out.replace("\n", " "), told
    result = Result.from_json((tmp_path / "ratings-run" / "result.json").read_text())
    account = result.privacy
    assert account is not None
    assert (account.epsilon, account.adjacency) == (9.0, "zero-out")
    assert account.spent <= account.mu * (1 + 1e-12)
    assert Result.from_json(result.to_json()) == result
    assert json.loads(result.to_json())["privacy"]["spendings"][-1]["label"] == "appraisal"
    page = (tmp_path / "ratings-run" / "report.html").read_text()
    assert "What noise does not hide" in page
    assert "this is not differential privacy" not in page


def test_noisy_sums_are_replayed_and_that_is_said(tmp_path: Path) -> None:
    ratings(tmp_path)
    films(tmp_path)
    run = folkmoot(tmp_path, *NOISY, "--adjacency", "replace-one", "--delta", "0.01", "--json")
    assert run.code == 0, run.err
    assert run.json["result"]["privacy"]["adjacency"] == "replace-one"
    assert run.json["result"]["privacy"]["delta"] == 0.01
    for more in ((), ("--sums-only",)):
        said = folkmoot(tmp_path, "verify", "ratings-run", *more)
        assert said.code == 0, said.err
        assert "they were replayed, not computed again" in said.out
        assert folkmoot(tmp_path, "verify", "ratings-run", *more, "--json").json["from"] == "sums"
    folder = tmp_path / "ratings-run"
    (folder / "result.json").unlink()
    again = folkmoot(tmp_path, "resume", "ratings-run", "--json")
    assert again.code == 0, again.err
    assert again.json["result"]["selected"] == run.json["result"]["selected"]  # the stored sums are replayed
    assert again.json["result"]["privacy"] == run.json["result"]["privacy"]


def test_whole_protocols_carry_noise(tmp_path: Path) -> None:
    ratings(tmp_path)
    films(tmp_path)
    said = folkmoot(tmp_path, *NOISY, "--secure", "real", "--show-client", "--json")
    assert said.code == 0, said.err
    assert all(one["measured"] for one in said.json["result"]["rounds"])
    assert said.json["result"]["privacy"]["honest"] > 1


def test_what_noise_costs_is_shown_before_anybody_is_asked(tmp_path: Path) -> None:
    ratings(tmp_path)
    words = ("inspect", "ratings.csv", "--choose", "2", "--epsilon", "0.7")
    said = folkmoot(tmp_path, *words)
    assert said.code == 0, said.err
    assert "What noise would cost: 2 items, 30 clients" in said.out
    assert "← asked for" in said.out
    assert "such as --most 5" in said.out
    assert "--method" not in said.out.partition("Next:")[2]
    found = folkmoot(tmp_path, *words, "--json").json["noise"]
    curve = [(one["epsilon"], one["low"]) for one in found["curve"]]
    assert curve == sorted(curve)
    assert (0.7, found["low"]) in curve
    assert folkmoot(tmp_path, *words[:4], "--json").json["noise"] is None


def test_noise_is_compared_with_methods_that_have_none(tmp_path: Path) -> None:
    ratings(tmp_path)
    said = folkmoot(tmp_path, "compare", *NOISY[1:2], *NOISY[4:], "--seeds", "1", "--json")
    assert said.code == 0, said.err
    entries = {one["name"]: one for one in said.json["comparison"]["entries"]}
    assert list(entries) == ["private", "auto", "greedy", "popularity", "random"]
    assert entries["private"]["about"] == "ε = 9"
    assert entries["auto"]["about"] == ""
    assert (entries["private"]["epsilon"], entries["auto"]["epsilon"]) == (9.0, None)
    page = (tmp_path / "ratings-compare" / "comparison.html").read_text()
    assert "only if you could pass on the data" in page
    assert "δ = 0.0034" in page


def test_a_promise_that_is_none_is_told_to_be(tmp_path: Path) -> None:
    ratings(tmp_path)
    said = folkmoot(tmp_path, *NOISY[:2], *NOISY[4:], "--delta", "0.49", "--corrupt", "0.05")
    assert said.code == 0, said.err
    told = " ".join(said.out.replace("\u202f", " ").split())
    for part in ("δ = 0.49 is no promise: as good as one in 2 may be exposed", "5 % of the clients that it asks"):
        assert part in told
    assert "hides every single one" not in told
    assert folkmoot(tmp_path, "verify", "ratings-run").code == 0


def test_a_problem_file_has_lines_for_noise(tmp_path: Path) -> None:
    ratings(tmp_path)
    text = '[data]\nfile = "ratings.csv"\n\n[choose]\ncount = 2\n\n[privacy]\nepsilon = 9.0\n'
    (tmp_path / "films.toml").write_text(text)
    said = folkmoot(tmp_path, "run", "films.toml")
    assert said.code == 2
    assert said.err.startswith("folkmoot: films.toml, line 1: most: is needed under noise"), said.err
    assert said.err.rstrip().endswith("such as: most = 5.0")
    (tmp_path / "films.toml").write_text(text.replace("9.0", "0.01").replace("\n\n[choose]", "\nmost = 5\n\n[choose]"))
    said = folkmoot(tmp_path, "run", "films.toml")
    assert said.err.startswith("folkmoot: films.toml, line 9: epsilon: noise would drown"), said.err
    assert not (tmp_path / "ratings-run").exists()


def test_the_list_of_items_is_not_hidden_if_it_comes_from_the_data(tmp_path: Path) -> None:
    ratings(tmp_path)
    films(tmp_path)
    with_file = folkmoot(tmp_path, *NOISY, "--no-report")
    without = folkmoot(tmp_path, *NOISY[:2], *NOISY[4:], "--no-report")
    assert "Noise does not hide it" not in with_file.out.replace("\n", " ")
    assert "was read from ratings.csv. Noise" in " ".join(without.out.split())


def test_the_demo_can_have_noise(tmp_path: Path) -> None:
    said = folkmoot(tmp_path, "demo", "--people", "1000", "--clinics", "4", "--epsilon", "2")
    assert said.code == 0, said.err
    assert "adds a share of noise" in " ".join(said.out.split())
    assert "one round counted who is nearest to which place" in " ".join(said.out.split())
    assert "Server saw" not in said.out  # a round that is run to be looked at would have no noise
    story = from_json((tmp_path / "folkmoot-demo" / "run" / "story.json").read_text())
    assert story.result.privacy is not None
    assert story.result.privacy.epsilon == 2.0
    assert story.view is None
    assert folkmoot(tmp_path, "verify", "folkmoot-demo/run").code == 0
