"""What a party's terminal says while it runs."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from folkmoot.application.federation import hosting
from folkmoot.application.federation.hosting import Activity
from folkmoot.cli import federation_watch
from folkmoot.cli.federation_watch import GLANCE, ROSTER, SILENT, PartyWatch
from folkmoot.engines.store import LedgerEntry, Refusal


@dataclass
class Scene:
    """A party whose connection, roster, rounds and clock are made up."""

    kit: Path
    reached: bool = False
    now: float = 0.0
    done: Activity = field(default_factory=lambda: Activity([], [], []))
    said: list[str] = field(default_factory=list)

    def look(self) -> bool:
        return self.reached

    def pass_time(self, watch: PartyWatch, seconds: float) -> list[str]:
        self.now += seconds
        before = len(self.said)
        watch()
        return self.said[before:]


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    scene = Scene(tmp_path)
    monkeypatch.setattr(hosting, "read_activity", lambda *_: scene.done)
    monkeypatch.setattr(federation_watch, "read_roster", lambda _: "11111 22222")
    return scene


def watch(scene: Scene) -> PartyWatch:
    return PartyWatch(scene.kit, scene, scene.said.append, lambda: scene.now)


def test_a_connection_is_told_once(scene: Scene) -> None:
    watching = watch(scene)
    assert scene.pass_time(watching, 1.0) == []
    scene.reached = True
    assert scene.pass_time(watching, 1.0) == ["Connected. Waiting for questions."]
    assert scene.pass_time(watching, SILENT) == []


def test_no_connection_is_told_once_with_the_log(scene: Scene) -> None:
    watching = watch(scene)
    (told,) = scene.pass_time(watching, SILENT + 1.0)
    assert told.startswith("Not connected yet")
    assert str(scene.kit / "flare.log") in told
    assert scene.pass_time(watching, SILENT) == []


def test_a_roster_that_is_pinned_now_is_told(scene: Scene) -> None:
    watching = watch(scene)
    (scene.kit / ROSTER).touch()
    (told,) = scene.pass_time(watching, GLANCE)
    assert told.splitlines()[:2] == ["Roster:", "11111 22222"]
    assert scene.pass_time(watching, GLANCE) == []


def test_a_roster_that_was_pinned_before_is_not_told(scene: Scene) -> None:
    (scene.kit / ROSTER).touch()
    assert scene.pass_time(watch(scene), GLANCE) == []


def test_rounds_and_refusals_are_counted(scene: Scene) -> None:
    watching = watch(scene)
    entry = LedgerEntry("vector", "Gains", "", "", 1, 0.0, 10)
    scene.done = Activity([entry] * 3, [], [Refusal(0.0, "question", "too often", None)] * 4)
    answered, refused = scene.pass_time(watching, GLANCE)
    assert answered.endswith("3 rounds answered")
    assert refused.endswith("refused 4 times (question): too often")
    assert scene.pass_time(watching, GLANCE) == []
    scene.done = Activity([entry] * 3, [], [*scene.done.refusals, Refusal(0.0, "keys", "too late", None)])
    (refused,) = scene.pass_time(watching, GLANCE)
    assert refused.endswith("refused (keys): too late")
