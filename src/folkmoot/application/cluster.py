"""A run on a Dask cluster: its clients are put into a file, from which workers read their shards."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from signal import SIG_IGN, SIGINT, signal
from tempfile import TemporaryDirectory
from threading import current_thread, main_thread
from typing import Any

from folkmoot.engines.dask import DaskCluster
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.kernels import thread_count
from folkmoot.objectives import store
from folkmoot.objectives.objective import Objective

PREFIX = ".shards-"  # of the folder with the clients' file
LOCAL = "local"  # the address of a cluster that is started for the run, on this machine
WAITING = 10.0  # seconds for a scheduler to answer


@contextmanager
def open_cluster(address: str, clients: Objective, folder: Path | None) -> Iterator[DaskCluster]:
    """An engine for the time of a run. `folder`: where the clients' file lies meanwhile; workers must see it under the
    same name.
    """
    try:
        import distributed
    except ImportError:
        raise InputError(
            "Dask is not installed", remedy="pip install 'folkmoot[cluster]'", argument="cluster"
        ) from None
    for left in folder.glob(f"{PREFIX}*") if folder is not None else ():  # of a run that was killed
        rmtree(left, ignore_errors=True)
    with TemporaryDirectory(prefix=PREFIX, dir=folder) as room:
        file = Path(room, "clients.npz")
        try:
            store.save(clients, file)
        except InputError as error:
            raise InputError(f"is not for this kind of data ({error.problem})", argument="cluster") from None
        with _connect(distributed, address) as client:
            engine = DaskCluster(client, file, everything=clients)
            try:
                yield engine
            finally:
                engine.close()


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    if current_thread() is not main_thread():
        yield
        return
    before = signal(SIGINT, SIG_IGN)
    try:
        yield
    finally:
        signal(SIGINT, before)


@contextmanager
def _connect(distributed: Any, address: str) -> Iterator[Any]:
    if address == LOCAL:
        with _ignore_interrupts():  # workers inherit it: Ctrl-C is for this process, which ends them
            cluster = distributed.LocalCluster(
                n_workers=thread_count(),
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
        with cluster, distributed.Client(cluster) as client:
            yield client
        return
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what goes wrong is said in one sentence
    try:
        client = distributed.Client(address, timeout=WAITING)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"no scheduler answers at {address!r} ({reason})", argument="cluster") from None
    with client:
        yield client
