"""A network that can be cut: a proxy between one party and the server."""

import socket
from contextlib import suppress
from threading import Event, Lock, Thread

BLOCK = 1 << 16


class Cable:
    """Passes bytes on to a port of this machine, unless it is cut; existing connections break then."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self._cut, self._lock, self._open = Event(), Lock(), set[socket.socket]()
        Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._cut.set()
        with self._lock:
            left, self._open = self._open, set()
        for one in left:
            _drop(one)

    def mend(self) -> None:
        self._cut.clear()

    def close(self) -> None:
        self.cut()
        _drop(self.listener)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self.listener.accept()
                if self._cut.is_set():
                    _drop(here)
                    continue
                try:
                    there = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    _drop(here)
                    continue
                with self._lock:
                    self._open |= {here, there}
                for one, other in ((here, there), (there, here)):
                    Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(BLOCK):
                target.sendall(data)
        for one in (source, target):
            with self._lock:
                self._open.discard(one)
            _drop(one)


def _drop(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
