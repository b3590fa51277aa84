"""How things stand at a site: who is there, who has enrolled, what was answered."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Any

from folkmoot.application.federation.agreement import open_registrar
from folkmoot.application.federation.broken_rounds import describe_broken_rounds
from folkmoot.application.federation.hosting import check_kit, read_activity
from folkmoot.application.federation.left_out import describe_findings
from folkmoot.application.federation.networked import ROSTER
from folkmoot.application.federation.party_policy import describe_budget
from folkmoot.engines.desk import read_pin
from folkmoot.engines.enrolment import RosterBook, arrange_fingerprint
from folkmoot.engines.flare.leader import Leader
from folkmoot.engines.flare.processes import find_running, is_server, read_address, read_name
from folkmoot.engines.flare.renewal import read_expiry

DAY = 24 * 60 * 60.0
UNKNOWN = "not yet known: it is made in the first run"


@dataclass(frozen=True)
class Standing:
    """Facts for people, some on several lines, and the parties that a server knows: name, whether there, clients."""

    facts: dict[str, str]
    parties: tuple[tuple[str, str, str], ...] = ()

    def document(self) -> dict[str, Any]:
        names = ("party", "there", "clients")
        facts = {name: fact.replace("\n", " ") for name, fact in self.facts.items()}
        return {**facts, "parties": [dict(zip(names, one, strict=True)) for one in self.parties]}


def describe_standing(kit: Path) -> Standing:
    """How things stand at the server or the party whose kit this is."""
    agreement = check_kit(kit)
    book = read_pin(kit / ROSTER, open_registrar(kit, agreement))
    process = find_running(kit)
    facts = {
        "Federation": f"{agreement.name}, {len(agreement.parties)} parties",
        "This site": "server" if is_server(kit) else read_name(kit),
        "Server": read_address(kit),
        "Certificate": describe_expiry(read_expiry(kit), datetime.now(UTC)),
        "Running": "no" if process is None else f"yes (process {process})",
        "Roster": UNKNOWN if book is None else arrange_fingerprint(book.fingerprint),
    }
    if is_server(kit):
        return Standing(facts | describe_findings(kit), _list_parties(kit, agreement.parties, book))
    budget = describe_budget(kit, agreement, None if book is None else sum(book.sizes))
    return Standing(facts | _describe_party(kit) | budget)


def describe_expiry(last: datetime, now: datetime) -> str:
    """Until when a kit can be used."""
    left = (last - now).days
    return f"expired on {last:%Y-%m-%d}" if last < now else f"valid until {last:%Y-%m-%d}, for {left:,} days"


def _list_parties(kit: Path, names: tuple[str, ...], book: RosterBook | None) -> tuple[tuple[str, str, str], ...]:
    there = dict[str, float]()
    if find_running(kit) is not None:
        leader = Leader(kit.absolute())
        try:
            there = leader.list_parties()
        finally:
            leader.close()
    sizes = (
        dict.fromkeys(names, "") if book is None else dict(zip(book.names, map("{:,}".format, book.sizes), strict=True))
    )
    return tuple((name, "yes" if name in there else "no", sizes[name]) for name in names)


def _describe_party(kit: Path) -> dict[str, str]:
    done = read_activity(kit)
    today = [one for one in done.ledger if one.time > time() - DAY]
    times = "once" if len(done.refusals) == 1 else f"{len(done.refusals):,} times"
    last = "never" if not done.ledger else datetime.fromtimestamp(done.ledger[-1].time).strftime("%Y-%m-%d %H:%M:%S")
    return {
        "Answered": f"{len(done.ledger):,} rounds, {len(today):,} of them in the last 24 hours; last: {last}",
        "Refused": times + (f"; last: {done.refusals[-1].why}" if done.refusals else ""),
        "Broken-off rounds": describe_broken_rounds(kit),
        "Sent": f"{len(done.outbox):,} messages, {sum(one.bytes for one in done.outbox):,} bytes",
    }
