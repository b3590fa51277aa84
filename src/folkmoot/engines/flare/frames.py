"""Frames on the socket between a run and the relay in FLARE's server: which party, how long to wait, and bytes.

The socket is a file in the server's kit, which only its owner can open.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from struct import Struct

SOCKET = "relay.sock"
HEAD = Struct("<QQdI")  # length of the body, tag, seconds, length of the name
MOST_BYTES, MOST_NAME = 1 << 32, 256
STALLED = 20  # seconds in which a relay takes nothing: it is frozen, and sending fails
UNREACHABLE = -1.0  # instead of seconds, in a reply: the party could not be reached
STOP = ""  # instead of the name of a party: the run is over


@dataclass(frozen=True)
class Frame:
    """One message to a party, or its reply, which has the same tag."""

    tag: int
    name: str
    seconds: float
    body: bytes = b""


class Closed(OSError):
    """The other end is gone."""


def send_frame(link: socket.socket, frame: Frame) -> None:
    name = frame.name.encode()
    link.sendall(HEAD.pack(len(frame.body), frame.tag, frame.seconds, len(name)) + name)
    link.sendall(frame.body)


def receive_frame(link: socket.socket) -> Frame:
    size, tag, seconds, named = HEAD.unpack(_receive(link, HEAD.size))
    if size > MOST_BYTES or named > MOST_NAME:
        raise Closed("what arrives is no frame")
    name = bytes(_receive(link, named)).decode()
    return Frame(tag, name, seconds, bytes(_receive(link, size)))


def _receive(link: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view, done = memoryview(data), 0
    while done < size:
        got = link.recv_into(view[done:])
        if not got:
            raise Closed("the other end is gone")
        done += got
    return data


@contextmanager
def short_name(kit: Path) -> Iterator[str]:
    """A name for the socket by way of its open folder: the names of sockets may have no more than 107 bytes."""
    folder = os.open(kit, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{SOCKET}"
    finally:
        os.close(folder)


def listen(kit: Path) -> socket.socket:
    """A socket for the runs of this kit, in place of one that was left."""
    (kit / SOCKET).unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with short_name(kit) as name:
        server.bind(name)
    os.chmod(kit / SOCKET, 0o600)
    server.listen(4)
    return server


def connect(kit: Path) -> socket.socket:
    """The relay of this kit; raises OSError if there is none."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, Struct("@ll").pack(STALLED, 0))
        with short_name(kit) as name:
            link.connect(name)
    except OSError:
        link.close()
        raise
    return link
