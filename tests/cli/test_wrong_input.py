"""Wrong files, columns, flags and values: one sentence, exit code 2, no traceback, nothing half-written."""

from pathlib import Path

import pytest

from folkmoot.version import __version__
from tests.cli.calling import films, folkmoot, is_one_sentence, ratings

RUN = ("run", "ratings.csv")
NOISY = (*RUN, "--choose", "2", "--most", "5")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("run",), "Missing argument 'path'; see folkmoot run --help"),
        (("runn", "ratings.csv"), "No such command 'runn'"),
        ((*RUN, "--chose", "2"), "No such option: --chose"),
        ((*RUN, "--choose", "two"), "--choose: a whole number is needed"),
        ((*RUN,), "--choose"),
        ((*RUN, "--choose", "0"), "--choose"),
        ((*RUN, "--choose", "-3"), "--choose"),
        ((*RUN, "--choose", "11"), "--choose"),
        ((*RUN, "--choose", "2", "--method", "fedgc"), "--method: may be auto, fedcg, fedcg+"),
        ((*RUN, "--choose", "2", "--secure", "yes"), "--secure: may be ideal, real, plain, not 'yes'"),
        ((*RUN, "--choose", "2", "--cohort", "0"), "--cohort: needs a whole number of at least 1, got 0"),
        ((*RUN, "--choose", "2", "--seed", "-1"), "--seed: needs a whole number of at least 0, got -1"),
        ((*RUN, "--choose", "2", "--dropout", "1.5"), "--dropout: needs a chance below 1"),
        ((*RUN, "--choose", "2", "--method", "greedy", "--rounds", "3"), "--rounds: the method greedy has ties"),
        ((*RUN, "--choose", "2", "--set", "bits"), "--set: needs NAME=VALUE, got 'bits'"),
        ((*RUN, "--choose", "2", "--set", "bitts=3"), "--set bitts: the method auto has"),
        ((*RUN, "--choose", "2", "--set", "polish=many"), "--set polish: needs a whole number, got 'many'"),
        ((*RUN, "--choose", "2", "--at-most", "1"), "--at-most: needs a --per beside each (1 and 0 were given)"),
        ((*RUN, "--choose", "2", "--within", "country"), "--within: needs groups to lie within it"),
        ((*RUN, "--choose", "2", "--at-most", "1", "--per", "genre"), ""),
        ((*RUN, "--choose", "2", "--items", "movies.csv", "--at-most", "1", "--per", "genre"), ""),
        ((*RUN, "--choose", "2", "--items", "nothing.csv"), "--items: there is no file nothing.csv"),
        ((*RUN, "--choose", "2", "--value", "stars"), "--value: ratings.csv has no column stars"),
        ((*RUN, "--choose", "2", "--kind", "rating"), "--kind: may be ratings"),
        ((*RUN, "--choose", "2", "--secure", "real", "--cohort", "5"), "--cohort: 5 clients are asked per round"),
        ((*RUN, "--choose", "2", "--folder", "full"), "--folder: full exists and is not empty"),
        ((*RUN, "--choose", "2", "--folder", "ratings.csv"), "--folder: ratings.csv exists and is not empty"),
        (("run", "nothing.csv", "--choose", "2"), "there is no file nothing.csv"),
        (("run", "nothing.toml"), "nothing.toml: no such file or directory"),
        (("run", ".", "--choose", "2"), ""),
        (("run", "empty.csv", "--choose", "2"), "empty.csv"),
        (("run", "holes.csv", "--choose", "2"), "holes.csv: 1 "),
        (("run", "negative.csv", "--choose", "2"), "negative.csv: 1 "),
        (("run", "twice.csv", "--choose", "2"), "twice.csv: 1 "),
        (("inspect", "nothing.csv"), "there is no file nothing.csv"),
        (("compare", "ratings.csv", "--choose", "2", "--methods", "fedcg,best"), "--methods: 'best' is not one of"),
        (
            ("compare", "ratings.csv", "--choose", "2", "--seeds", "0"),
            "--seeds: needs a whole number of at least 1",
        ),
        (("report", "nothing"), "nothing: there is no such run"),
        (("resume", "full"), "full: is not the folder of a run"),
        (("verify", "ratings.csv"), "ratings.csv: is not the folder of a run"),
        (("init", "ratings.csv"), "ratings.csv: already exists"),
        (("init", "films.txt"), "films.txt: a problem file ends in .toml"),
        ((*NOISY, "--epsilon", "0"), "--epsilon: needs a number above 0 and up to 100, got 0.0"),
        ((*NOISY, "--epsilon", "-1"), "--epsilon: needs a number above 0 and up to 100, got -1.0"),
        ((*NOISY, "--epsilon", "nan"), "--epsilon: needs a finite number, got nan"),
        ((*NOISY, "--epsilon", "1e9"), "--epsilon: needs a number above 0 and up to 100"),
        ((*NOISY, "--epsilon", "much"), "--epsilon: a number is needed"),
        ((*NOISY, "--epsilon", "9", "--delta", "2"), "--delta: needs a number from 1e-14 to below 0.5, got 2.0"),
        ((*NOISY, "--delta", "1e-6"), "--delta: is about noise; say how much: --epsilon 1.0"),
        ((*NOISY, "--adjacency", "replace-one"), "--adjacency: is about noise; say how much: --epsilon 1.0"),
        ((*NOISY, "--epsilon", "9", "--adjacency", "add"), "--adjacency: may be zero-out, replace-one, not 'add'"),
        ((*NOISY, "--epsilon", "9", "--method", "fedcg"), "--method: fedcg works without noise"),
        ((*NOISY, "--method", "private"), "--epsilon: is needed: the method private adds noise"),
        ((*NOISY, "--epsilon", "9", "--secure", "plain"), "--secure: noise is made of shares that clients add to"),
        ((*NOISY, "--epsilon", "9", "--cluster", "local"), "--cluster: noise is made of shares that clients add to"),
        ((*NOISY, "--epsilon", "9", "--jury", "9"), "--jury: with epsilon, the method is private and has centred"),
        ((*NOISY, "--epsilon", "9", "--juries", "9"), "--juries: with epsilon, the method is private"),
        ((*NOISY, "--epsilon", "9", "--rounds", "9"), "--rounds: with epsilon, the method is private"),
        ((*NOISY, "--epsilon", "9", "--set", "shortlist=9"), "--set shortlist: with epsilon, the method is private"),
        ((*NOISY, "--epsilon", "9", "--cohort", "20"), "--cohort: "),
        ((*NOISY, "--epsilon", "0.01"), "--epsilon: noise would drown the answers of 30 clients; it takes "),
        ((*RUN, "--choose", "2", "--epsilon", "9"), "--most: is needed under noise"),
        ((*RUN, "--choose", "2", "--most", "4", "--epsilon", "9"), "--most: is 4, but a set is worth 5 to a client"),
        (
            ("run", "one.csv", "--choose", "1", "--most", "5", "--epsilon", "9"),
            "one.csv: 1 user is too few: secure sums need 10, among whom each hides, and noise is added in these",
        ),
        (("inspect", "ratings.csv", "--epsilon", "0"), "--epsilon: needs a number above 0"),
        (
            ("compare", *NOISY[1:], "--epsilon", "9", "--methods", "fedcg"),
            "--methods: needs private among them",
        ),
        (("demo", "--epsilon", "0"), "--epsilon: needs a number above 0"),
        (("demo", "--people", "3"), "--people: needs 1,000 to 1,000,000, got 3"),
        (("demo", "--clinics", "100000"), ""),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_input_is_one_sentence(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    ratings(tmp_path)
    films(tmp_path)
    ratings(tmp_path, ["3,4,"], "holes.csv")
    (tmp_path / "one.csv").write_text("userId,movieId,rating\n1,1,5\n1,2,4\n")
    ratings(tmp_path, ["77,4,-2"], "negative.csv")
    ratings(tmp_path, ["0,0,2"], "twice.csv")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thing").write_text("x")
    before = sorted(tmp_path.rglob("*"))
    is_one_sentence(folkmoot(tmp_path, *words), sentence)
    assert sorted(tmp_path.rglob("*")) == before


# What was typed wrongly, beside a run that is right; and the flag that the sentence begins with.
MISTAKES = {
    "--choose 99 --items counts.csv --at-most 1 --per count": "--choose: 99 items cannot be chosen from 10",
    "--choose 99 --items counts.csv --at-most 1 --per number": "--choose: 99 items cannot be chosen from 10",
    "--items counts.csv --at-most -1 --per count": "--at-most: per count: needs a whole number of at least 0, got -1",
    "--items counts.csv --at-most 1 --per value": "--per: counts.csv has no column value",
    "--items counts.csv --at-most 1 --per count --within rating": "--within: counts.csv has no column rating",
    "--at-most 1 --per genres": "--per: there is no items file",
    "--items movies.csv --at-most 1 --per region --at-most 1 --per country": "--per: ",
    "--per genres": "--per: needs an --at-most beside each (1 and 0 were given); write --at-most 2 --per genre",
    "--target rating": "--target: a target makes ratings.csv a table, whose columns are chosen, but userId,",
    "--shortlist 1": "--shortlist: 1 items cannot contain a base of 2",
    "--set bitz=3": "--set bitz: the method auto has",
    "--method fedcg --set bits=99": "--set bits: needs a whole number between 1 and 32, got 99",
    "--method fedcg --set answer=all": "--set answer: needs",
    "--method discrete --set epsilon=0.1 --set expected_answers=5": "--set epsilon: give one of epsilon",
    "--method discrete --set epsilon=2": "--set epsilon: needs a number between",
    "--method stochastic --set epsilon=2": "--set epsilon: needs a number below 1",
    "--method greedy --set ties=best": "--set ties: needs",
    "--method exhaustive --set most=3": "--set most: there are 45 sets",
    "--method greedy --cohort 3": "--cohort: the method greedy has ties, not 'cohort'",
    "--method random --jury 3": "--jury: the method random has no settings, not 'jury'",
    "--set shortlist=1": "--shortlist: 1 items cannot contain a base of 2",
    "--set confidence=2": "--set confidence: needs",
    "--secure real --cohort 5": "--cohort: 5 clients are asked per round",
    "--secure real --method discrete --set expected_answers=5": "--set expected_answers: 5 clients are asked",
    "--secure real --cohort 12 --corrupt 0.4 --dropout 0.4": "--cohort: 12 are too few to",
    "--secure real --corrupt 0.4 --dropout 0.4": "ratings.csv: 30 are too few to",
    "--rounds 0": "--rounds: needs a whole number of at least 1, got 0",
    "--jury 0": "--jury: needs a whole number of at least 1, got 0",
    "--juries 0": "--juries: needs a whole number of at least 1, got 0",
    "--corrupt 1.5": "--corrupt: needs a share below 1, got 1.5",
    "--corrupt nan": "--corrupt: needs a finite number, got nan",
    "--dropout -0.5": "--dropout: needs a number of at least 0, got -0.5",
    "--security 0": "--security: needs a whole number of at least 1, got 0",
    "--client nobody": "--client: ratings.csv has no column nobody",
    "--weight much": "--weight: ratings.csv has no column much",
    "--target all": "--target: ratings.csv has no column all",
    "--items movies.csv --items-id isbn": "--items-id: movies.csv has no column isbn",
    "--items movies.csv --name naem": "--name: movies.csv has no column naem",
    "--items movies.csv --items-id title": "--items: none of the 10 items is in column title",
    "--kind distances": "ratings.csv: needs a reach, beyond which an item is of no use",
    "--kind distances --reach -1": "--reach: needs a number above 0, got -1",
    "--reach 3": "--reach: is for places and distances",
    "--missing category": "--missing: category is for tables",
    "--similarity same": "--similarity: may be gaussian, cosine, not 'same'",
    "--kind tables --target rating --bins 1": "--bins: needs a whole number of at least 2, got 1",
    "--kind tables": "ratings.csv: ",
    "--kind places": "--items: ratings.csv says where people are",
    "--least inf": "--least: needs a finite number, got inf",
    "--folder ratings.csv": "--folder: ratings.csv exists and is not empty",
    "--folder ratings.csv/in": "--folder: ratings.csv/in cannot be made (not a directory)",
}
PYTHON_ONLY = ("None", "Policy(", "=…", "Traceback", "['")


def prepare_files(folder: Path) -> list[Path]:
    ratings(folder)
    films(folder)
    (folder / "counts.csv").write_text("movieId,count,number\n" + "".join(f"{e},{e % 3},{e % 2}\n" for e in range(10)))
    return sorted(folder.rglob("*"))


@pytest.mark.parametrize("words", MISTAKES)
def test_the_flag_that_was_typed_is_named(tmp_path: Path, words: str) -> None:
    before = prepare_files(tmp_path)
    chosen = () if "--choose" in words else ("--choose", "2")
    said = folkmoot(tmp_path, *RUN, *chosen, *words.split())
    is_one_sentence(said, MISTAKES[words])
    assert not [word for word in PYTHON_ONLY if word in said.err]
    flags = {word.rstrip(":;,") for word in said.err.split() if word.startswith("--")}
    assert all(flag in folkmoot(tmp_path, "run", "--help-all").out for flag in flags)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("run holes.csv --choose 2", "say what to do: --missing drop"),
        ("run negative.csv --choose 2", "say what to do: --negative drop or --negative zero"),
        ("run far.csv --choose 1", "for a start, try: --reach 3"),
        ("run films.csv --choose 1", "say which are which, or what kind of file it is: --client … or --item …"),
        ("run films.csv --choose 1 --kind ratings", "say which one it is: --client …"),
        ("run p.toml", 'say what to do: missing = "drop"'),
        ("run ratings.csv --choose 2 --reach 3", "leave it out, or say what the file holds: --kind distances"),
    ],
)
def test_advice_can_be_typed(tmp_path: Path, words: str, advice: str) -> None:
    ratings(tmp_path)
    ratings(tmp_path, ["3,4,"], "holes.csv")
    ratings(tmp_path, ["77,4,-2"], "negative.csv")
    (tmp_path / "far.csv").write_text("user,film,distance\n1,1,2\n1,2,3\n2,1,1\n")
    (tmp_path / "films.csv").write_text("colour,shape\nred,round\nblue,square\n")
    (tmp_path / "p.toml").write_text('[data]\nfile = "holes.csv"\n[choose]\ncount = 2\n')
    said = folkmoot(tmp_path, *words.split())
    is_one_sentence(said, "")
    assert advice in said.err


@pytest.mark.parametrize(("flag", "kind"), [("--choose", "a whole number"), ("--reach", "a number")])
def test_what_is_no_number_is_refused_in_our_words(tmp_path: Path, flag: str, kind: str) -> None:
    ratings(tmp_path)
    is_one_sentence(
        folkmoot(tmp_path, "run", "ratings.csv", flag, "abc"), f"{flag}: {kind} is needed; see folkmoot run"
    )


def test_inspecting_advises_in_flags(tmp_path: Path) -> None:
    (tmp_path / "films.csv").write_text("colour,shape\nred,round\nblue,square\n")
    assert "--client … or --item …" in " ".join(folkmoot(tmp_path, "inspect", "films.csv").out.split())


def test_an_option_beside_a_problem_file_is_named_as_it_was_typed(tmp_path: Path) -> None:
    before = prepare_files(tmp_path)
    (tmp_path / "p.toml").write_text(PROBLEM)
    for words, sentence in (
        ("--cohort 0", "--cohort: needs a whole number of at least 1"),
        ("--rounds 0", "--rounds: needs a whole number of at least 1"),
        ("--choose 99", "--choose: 99 items cannot be chosen"),
        ("--set bitz=3", "--set bitz: the method fedcg has"),
        ("--items nothing.csv", "--items: there is no file nothing.csv"),
        ("--at-most 1 --per nothing", "--per: movies.csv has no column nothing"),
        ("--method greedy", "p.toml, line 16: rounds: the method greedy has ties, not 'rounds'"),
        ("--seed -1", "--seed: needs a whole number of at least 0"),
        ("--folder ratings.csv", "--folder: ratings.csv exists"),
    ):
        is_one_sentence(folkmoot(tmp_path, "run", "p.toml", *words.split()), sentence)
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "p.toml"])


@pytest.mark.parametrize(
    ("choice", "words"), [("missing", "drop"), ("negative", "zero"), ("negative", "drop"), ("duplicates", "last")]
)
def test_what_to_do_about_it_can_be_said(tmp_path: Path, choice: str, words: str) -> None:
    row = {"missing": "3,4,", "negative": "77,4,-2", "duplicates": "0,0,2"}[choice]
    ratings(tmp_path, [row])
    said = folkmoot(tmp_path, "run", "ratings.csv", "--choose", "2", f"--{choice}", words, "--no-report", "--json")
    assert said.code == 0, said.err


PROBLEM = """seed = 1

[data]
file = "ratings.csv"
items = "movies.csv"

[choose]
count = 2

[[limit]]
at_most = 1
per = "genres"

[method]
name = "fedcg"
rounds = 3
"""


@pytest.mark.parametrize(
    ("old", "new", "line", "sentence"),
    [
        ("count = 2", "count = ", 8, "invalid value"),
        ("count = 2", 'count = "two"', 8, "count: needs a whole number, got 'two'"),
        ("count = 2", "cuont = 2", 8, "[choose] has count, not 'cuont'; did you mean 'count'?"),
        ("count = 2", "count = 99", 8, ""),
        ("[choose]", "[chose]", 7, "a problem has"),
        ("seed = 1", "seed = -1", 1, "needs a whole number of at least 0"),
        ("seed = 1", "sead = 1", 1, "a problem has seed"),
        ('file = "ratings.csv"', 'file = "ratngs.csv"', 4, ""),
        ('file = "ratings.csv"', 'value = "rating"', 3, "[data] needs `file`"),
        ('items = "movies.csv"', 'items = "movies.csv"\nitem = "movie"', 6, ""),
        ("at_most = 1", "at_most = true", 11, "at_most: needs a whole number, got True"),
        ('per = "genres"', 'pr = "genres"', 12, "[limit] has at_most, per, within, not 'pr'"),
        ('name = "fedcg"', 'name = "fedgc"', 15, "name: may be auto"),
        ('per = "genres"', 'per = "genre"', 12, "no column"),
        ("rounds = 3", "rounds = 0", 16, "needs a whole number of at least 1"),
        ("rounds = 3", "rouns = 3", 16, "the method fedcg has"),
        ("rounds = 3", "bits = 99", 16, "needs a whole number between 1 and 32"),
    ],
)
def test_a_mistake_in_a_problem_file_is_told_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, sentence: str
) -> None:
    ratings(tmp_path)
    films(tmp_path)
    assert PROBLEM.count(old) == 1
    (tmp_path / "p.toml").write_text(PROBLEM.replace(old, new))
    said = folkmoot(tmp_path, "run", "p.toml", "--no-report")
    is_one_sentence(said, f"p.toml, line {line}")
    assert sentence in said.err


def test_the_version_and_nothing(tmp_path: Path) -> None:
    assert folkmoot(tmp_path, "--version").out == f"folkmoot {__version__}\n"
    said = folkmoot(tmp_path)
    assert (said.code, said.err) == (2, "")
    assert "demo" in said.out


def test_help_fits_a_screen_and_every_command_has_an_example(tmp_path: Path) -> None:
    said = folkmoot(tmp_path, "--help")
    assert (said.code, said.out.count("\n") <= 40) == (0, True)
    for command in ("demo", "run", "compare", "inspect", "init", "report", "resume", "verify"):
        assert command in said.out
        helped = folkmoot(tmp_path, command, "--help")
        assert f"Example: folkmoot {command}" in " ".join(helped.out.split())
