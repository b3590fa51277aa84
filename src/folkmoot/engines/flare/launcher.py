"""At a party: a job process that dies is started again, and FLARE's server is not told of a failure.

FLARE would end the whole job for all parties, whatever else it was told. A process that is started again finds keys,
roster and the state of its round in the party's kit, and goes on.
"""

import logging
from collections.abc import Callable
from threading import Event
from time import monotonic
from typing import Any

from nvflare.apis.job_launcher_spec import JobHandleSpec, JobReturnCode
from nvflare.app_common.job_launcher.client_process_launcher import ClientProcessJobLauncher

QUICK, MOST_QUICK = 5.0, 5  # seconds; a process that dies sooner, so many times in a row, will not get better
PAUSE = 0.5


class RespawningHandle(JobHandleSpec):  # type: ignore[misc]  # nvflare has no types
    """A job process, and those that take its place."""

    def __init__(self, launch: Callable[[], Any]) -> None:
        self.launch, self.stopped = launch, Event()
        self.inner, self.start, self.quick = launch(), monotonic(), 0
        self.gave_up = False

    def terminate(self) -> None:
        self.stopped.set()
        self.inner.terminate()

    def poll(self) -> Any:
        """The code of the last process; unknown, as of one that still runs, unless nothing will take its place."""
        code = self.inner.poll()
        return code if code == JobReturnCode.SUCCESS or self._is_over else JobReturnCode.UNKNOWN

    @property
    def _is_over(self) -> bool:
        return self.gave_up or self.stopped.is_set()

    def wait(self) -> None:
        while True:
            self.inner.wait()
            self.quick = self.quick + 1 if monotonic() - self.start < QUICK else 0
            self.gave_up = self.quick >= MOST_QUICK
            if self._is_over or self.inner.poll() == JobReturnCode.SUCCESS or self.stopped.wait(PAUSE):
                return
            logging.getLogger(__name__).warning("the job process died and is started again")
            self.inner, self.start = self.launch(), monotonic()


class RespawningLauncher(ClientProcessJobLauncher):  # type: ignore[misc]
    """Starts job processes that are started again. A new job takes the place of the one before: there is one desk."""

    def __init__(self) -> None:
        super().__init__()
        self.current: RespawningHandle | None = None

    def launch_job(self, job_meta: Any, fl_ctx: Any) -> RespawningHandle:
        if self.current is not None:
            self.current.terminate()
        launch = super().launch_job
        self.current = RespawningHandle(lambda: launch(job_meta, fl_ctx))
        return self.current
