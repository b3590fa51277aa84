"""Replies that arrived are forgotten in time, by one thread. It depends on FLARE's own names, which may change."""

import threading

import pytest
from nvflare.fuel.f3.streaming.byte_receiver import RxTask

from folkmoot.engines.flare.streams import Forgetting, forget_together


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still, and nothing that is changed in FLARE stays changed."""
    monkeypatch.setattr(RxTask, "_schedule_remove_task", RxTask._schedule_remove_task)
    monkeypatch.setattr(RxTask, "rx_task_map", {})
    return [0.0]


def test_what_is_due_is_called_once_and_in_order(clock: list[float]) -> None:
    forgetting, called = Forgetting(lambda: clock[0]), list[str]()
    forgetting.add(20.0, lambda: called.append("late"))
    forgetting.add(10.0, lambda: called.append("early"))
    forgetting.look()
    assert called == []
    clock[0] = 10.0
    forgetting.look()
    forgetting.look()
    assert called == ["early"]
    clock[0] = 30.0
    forgetting.look()
    assert called == ["early", "late"]


def test_streams_are_forgotten_without_a_thread_for_each(clock: list[float]) -> None:
    forgetting = Forgetting(lambda: clock[0])
    forget_together(forgetting)
    before = threading.active_count()
    tasks = [RxTask(number, "party", None, reliable=True) for number in range(20)]
    RxTask.rx_task_map.update({("party", task.sid): task for task in tasks})
    for task in tasks:
        task._schedule_remove_task()
        task._schedule_remove_task(1.0)  # it is remembered for as long as was said first
    assert threading.active_count() == before
    clock[0] = tasks[0].completed_task_ttl - 1.0
    forgetting.look()
    assert len(RxTask.rx_task_map) == len(tasks)  # a sender may still send it again
    clock[0] += 1.0
    forgetting.look()
    assert RxTask.rx_task_map == {}
    assert all(task.cleanup_timer is None for task in tasks)


def test_flare_still_starts_a_timer_for_each(clock: list[float]) -> None:  # noqa: ARG001
    """Once it does not, all of this can go."""
    task = RxTask(1, "party", None, reliable=True)
    task._schedule_remove_task()
    assert isinstance(task.cleanup_timer, threading.Timer)
    task.cleanup_timer.cancel()
    task.cleanup_timer.join()
