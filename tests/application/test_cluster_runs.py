"""Whole runs on a cluster that is started for them: the same answer as without, and nothing left behind."""

from pathlib import Path
from typing import Any

import pytest

import folkmoot as fm
from folkmoot.application.cluster import PREFIX, open_cluster
from folkmoot.application.run import continue_run
from folkmoot.application.verification import verify_run
from folkmoot.conversation.transcript import Transcript

pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    lines = ["user,film,stars", *(f"{user},{film},{user * film % 5 + 1}" for user in range(40) for film in range(6))]
    (tmp_path / "ratings.csv").write_text("\n".join(lines))
    return tmp_path / "ratings.csv"


def make(ratings: Path, name: str, **settings: Any) -> fm.Problem:
    usual = {} if "method" in settings else {"cohort": 20}
    return fm.Problem.from_data(ratings, choose=2, seed=3, folder=ratings.parent / name, **usual, **settings)


def test_a_run_on_a_cluster_is_that_of_one_process(ratings: Path) -> None:
    """It is stopped after some rounds, and continued on another cluster; verified without any."""
    alone = make(ratings, "alone").run(report=False)
    run = make(ratings, "cluster", cluster="local").run(report=False)
    assert (run.result.selected, run.result.value) == (alone.result.selected, alone.result.value)
    assert run.result.estimate == alone.result.estimate
    assert verify_run(run.folder.path).estimate == run.result.estimate
    assert not list(run.folder.path.glob(f"{PREFIX}*"))
    run.folder.result.unlink()
    with Transcript.reopen(run.folder.transcript) as store, store.database:
        store.database.execute("delete from about where name = 'result'")
        store.database.execute("delete from rounds where number > 3")
    (run.folder.path / f"{PREFIX}old").mkdir()  # of a process that was killed
    again = continue_run(run.folder.path, cluster="local")
    assert again.result == run.result
    assert not list(run.folder.path.glob(f"{PREFIX}*"))
    alone.folder.result.unlink()
    with pytest.raises(fm.InputError, match=r"^cluster: the run was not begun on a cluster"):
        continue_run(alone.folder.path, cluster="local")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"secure": "real"}, "a cluster adds up in the clear"),
        ({"dropout": 0.1}, "a cluster adds up in the clear"),
        ({"method": "randgreedi"}, "randgreedi deals clients to groups"),
        ({"method": "greedy"}, "greedy asks nobody"),
        ({"cluster": "nonsense"}, "no scheduler answers at 'nonsense'"),
    ],
    ids=str,
)
def test_what_a_cluster_cannot_do_is_refused(ratings: Path, settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(fm.InputError, match=sentence):
        make(ratings, "run", **({"cluster": "local"} | settings)).run(report=False)
    assert not (ratings.parent / "run").exists()


def test_what_cannot_be_stored_cannot_be_cut_into_shards(tmp_path: Path) -> None:
    functions = fm.Functions(lambda chosen: len(chosen), 4)
    with (
        pytest.raises(fm.InputError, match=r"^cluster: is not for this kind of data \(Functions cannot be stored"),
        open_cluster("local", functions, tmp_path),
    ):
        pass
    assert not list(tmp_path.iterdir())
