"""In FLARE's server: replies that arrived are forgotten later by one thread.

FLARE remembers each for about a minute, in case its sender sends it again, and starts a thread that waits to forget it.
Parties reply a hundred times per second, so that is thousands of threads, more than many machines allow.
"""

from collections.abc import Callable
from sched import scheduler
from threading import Thread
from time import monotonic, sleep
from typing import Any

from nvflare.fuel.f3.streaming.byte_receiver import RxTask

GLANCE = 1.0  # seconds between looks at what is to be forgotten


class Forgetting:
    """Calls things later, all from one thread; a little later than they were to be called."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._plan = scheduler(clock)

    def start(self) -> None:
        Thread(target=self._keep_looking, daemon=True, name="folkmoot-forgetting").start()

    def add(self, seconds: float, forget: Callable[[], Any]) -> None:
        self._plan.enter(seconds, 0, forget)

    def look(self) -> None:
        """Call what is due."""
        self._plan.run(blocking=False)

    def _keep_looking(self) -> None:
        while True:
            sleep(GLANCE)
            self.look()


class Remembered:
    """Stands for FLARE's own timer. To cancel it is not needed: what is forgotten twice is forgotten."""

    def cancel(self) -> None:
        pass


def forget_together(forgetting: Forgetting) -> None:
    """Have FLARE forget streams by this, in this process."""

    def schedule(task: Any, ttl: float | None = None) -> None:
        with task.stop_lock:
            if task.cleanup_timer is None:
                task.cleanup_timer = Remembered()
                forgetting.add(task.completed_task_ttl if ttl is None else ttl, task._remove_task)

    RxTask._schedule_remove_task = schedule
