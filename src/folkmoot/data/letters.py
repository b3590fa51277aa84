"""Which letters the bytes of a text file are: UTF-8, or one byte per letter, as older programs write them.

Nothing in a file says it, but UTF-8 is hardly ever met by chance: a letter beyond ASCII is two to four bytes that fit
together. A file in which most of them do is UTF-8; where a few do not, the line is named. A file in which most do not
has one byte per letter, and the few that fit all the same (Ã©) are what they seem.
"""

from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray

from folkmoot.data.findings import say_count
from folkmoot.foundation.errors import InputError

BLOCK = 1 << 22
LONGEST = 1 << 25  # bytes of a line; more is not text
MARK = b"\xef\xbb\xbf"  # begins some files in UTF-8
ESCAPED = 0xDC00  # where Python puts bytes that are not UTF-8
UNUSED = (0x81, 0x8D, 0x8F, 0x90, 0x9D)  # by Windows-1252, which has letters such as “ and € from 0x80 to 0x9F
CALLED = {"latin-1": "Latin-1", "cp1252": "Windows-1252"}


@dataclass(frozen=True)
class Letters:
    """How a file writes letters beyond ASCII."""

    encoding: str = "utf-8"
    note: str = ""  # what people should know of it

    def convert(self, text: bytes) -> bytes:
        """The same text in UTF-8."""
        if self.encoding == "utf-8":
            return text
        try:
            return text.decode(self.encoding).encode()
        except UnicodeDecodeError:  # a byte that Windows-1252 does not use
            return text.decode("latin-1").encode()


@dataclass
class LetterCount:
    """Letters of one kind, and the line of the first."""

    count: int = 0
    line: int = 0

    def add(self, count: int, line: int) -> None:
        if count:
            self.line = self.line or line
            self.count += count


def find_letters(stream: IO[bytes], file: str) -> Letters:
    """What the letters of a whole file are; a file that mixes both ways is refused, with the line."""
    fit, odd, used = LetterCount(), LetterCount(), np.zeros(256, dtype=bool)
    marked, line, rest = False, 1, b""
    while True:
        more = stream.read(BLOCK)
        marked = marked or (line == 1 and (rest + more).startswith(MARK))
        text = rest + more
        cut = text.rfind(b"\n") + 1 if more and len(text) < LONGEST else len(text)
        text, rest = text[:cut], text[cut:]
        if not text.isascii():
            _count_letters(text, line, fit, odd, used)
        line += text.count(b"\n")
        if not more:
            break
    if not odd.count:
        return Letters()
    if marked or odd.count <= fit.count:
        raise InputError(
            f"begins as UTF-8 but is not UTF-8 throughout: line {odd.line:,} is not",
            remedy="correct that line, or save the file as UTF-8",
            place=file,
        )
    windows = used[0x80:0xA0].any() and not used[list(UNUSED)].any()
    encoding = "cp1252" if windows else "latin-1"
    note = f"{file} is not UTF-8 and was read as {CALLED[encoding]}."
    if fit.count:
        places = say_count(fit.count, "letter", "letters")
        note += f" (For {places} either would do, first in line {fit.line:,}.)"
    return Letters(encoding, note)


def _count_letters(text: bytes, line: int, fit: LetterCount, odd: LetterCount, used: NDArray[np.bool_]) -> None:
    try:
        text.decode()
    except UnicodeDecodeError:
        pass
    else:
        raw = np.frombuffer(text, dtype=np.uint8)
        begins = raw >= 0xC0
        fit.add(int(np.count_nonzero(begins)), line + text.count(b"\n", 0, int(begins.argmax())))
        return
    letters = np.frombuffer(text.decode("utf-8", "surrogateescape").encode("utf-32-le", "surrogatepass"), np.uint32)
    strange = (letters >= ESCAPED) & (letters < ESCAPED + 256)
    used[letters[strange] - ESCAPED] = True
    for kind, here in ((odd, strange), (fit, (letters >= 0x80) & ~strange)):
        first = int(here.argmax())
        kind.add(int(np.count_nonzero(here)), line + int(np.count_nonzero(letters[:first] == ord("\n"))))
