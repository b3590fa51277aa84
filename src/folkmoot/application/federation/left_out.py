"""Parties that were caught lying in secure sums: a server's kit remembers them, and later runs do not ask them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from time import time

from folkmoot.application.folder import write
from folkmoot.conversation.talk import describe_excluded
from folkmoot.engines.enrolment import RosterBook
from folkmoot.foundation.documents import read_json
from folkmoot.foundation.errors import InputError
from folkmoot.secagg.faults import Fault

FILE = "left_out.json"  # in the server's kit


@dataclass(frozen=True)
class Finding:
    """What a party did, or somebody who carries its messages, the last time that it was left out of a sum."""

    party: str
    key: str  # on the roster, in hexadecimal: a party that enrols with another one is asked again
    fault: Fault
    time: float

    @property
    def sentence(self) -> str:
        return f"{self.party} {self.fault} ({datetime.fromtimestamp(self.time):%Y-%m-%d %H:%M})"


def read_findings(kit: Path) -> tuple[Finding, ...]:
    """All that was found in runs from this kit."""
    path = kit / FILE
    if not path.exists():
        return ()
    try:
        return tuple(Finding(**{**one, "fault": Fault(one["fault"])}) for one in read_json(path.read_text()))
    except (ValueError, TypeError, KeyError):
        raise InputError("is damaged", remedy="delete it, and all parties are asked again", place=path) from None


def note_findings(kit: Path, book: RosterBook, excluded: Mapping[int, Fault]) -> None:
    """Remember the last finding about each party, or one that is certain."""
    found = {one.party: one for one in read_findings(kit)}
    for number, fault in excluded.items():
        statement = book.enrolments[number].statement
        before = found.get(statement.party)
        if before is None or before.key != statement.key.hex() or fault.is_certain >= before.fault.is_certain:
            found[statement.party] = Finding(statement.party, statement.key.hex(), fault, time())
    write(kit / FILE, json.dumps([asdict(one) for _, one in sorted(found.items())], indent=1))


def list_caught(kit: Path, book: RosterBook) -> frozenset[int]:
    """The numbers of the parties that are not asked: those that certainly lied with the key that they still have."""
    caught = {(one.party, one.key) for one in read_findings(kit) if one.fault.is_certain}
    return frozenset(
        number for number, one in enumerate(book.enrolments) if (one.statement.party, one.statement.key.hex()) in caught
    )


def describe_findings(kit: Path) -> dict[str, str]:
    """For people, as `status` shows them; what is certain and what is not apart."""
    found = read_findings(kit)
    certain = [one.sentence for one in found if one.fault.is_certain]
    unsure = [one.sentence for one in found if not one.fault.is_certain]
    facts = {}
    if certain:
        facts["Not asked"] = f"{'; '.join(certain)}. To ask again: delete {kit / FILE}"
    if unsure:
        facts["Suspected"] = f"{'; '.join(unsure)}; whoever carries messages could have done the same"
    return facts


def name_parties(problem: str, excluded: Mapping[int, Fault], names: tuple[str, ...]) -> str:
    """What is wrong with a run, with the names of the parties that it tells of."""
    return problem.replace(describe_excluded(excluded), describe_excluded(excluded, names))
