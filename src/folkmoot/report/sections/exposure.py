"""What was revealed: what the server learned, what one client looks like to it, and what is not protected."""

from folkmoot.conversation.result import FEW
from folkmoot.foundation.settings import FEDERATION
from folkmoot.report.document import (
    Bullets,
    Cell,
    Fact,
    Form,
    Halves,
    Header,
    Level,
    Name,
    Paragraph,
    Part,
    Quantity,
    Section,
    Table,
    Tone,
)
from folkmoot.report.facts import cost_of, is_by_party, list_speakers
from folkmoot.report.numbers import count, raise_powers
from folkmoot.report.sections.rarity import describe_rare, list_rare_items
from folkmoot.report.story import Story, View
from folkmoot.report.text import capitalise, count_many

ALONE = "A number that only one client adds to is that client’s value"


def describe_exposure(story: Story) -> Section:
    words: list[Part] = [*_list_facts(story)]
    if threat := explain_threat(story):
        words.append(Paragraph(threat, Tone.LEAD))
    words += [
        *explain_smallest_sum(story),
        *describe_rare(story),
        *explain_difference(story),
        *list_parties(story),
        *explain_excluded(story),
    ]
    if unprotected := list_unprotected(story):
        words.append(Section("What is not protected", (Bullets(tuple(unprotected)),)))
    parts: tuple[Part, ...] = tuple(words)
    if story.view is not None and story.secure != "none":
        parts = (Halves(parts, (describe_view(story, story.view),)),)
    return Section("What was revealed", parts, gist=summarise_exposure(story), folded=True)


def summarise_exposure(story: Story) -> str:
    """What the server knows now, in one sentence; nothing where it is not known how answers were added up."""
    cost = cost_of(story.result)
    sums = "sums" if cost is None else f"sums over {count_many(cost.smallest, story.clients_called)} or more"
    sums += f". {ALONE}" if story.result.privacy is None else " with noise"
    if story.secure in ("real", FEDERATION):
        return f"The server learned {sums}."
    if story.secure == "ideal":
        here = "This was a simulation: all data was in one place."
        return f"{here} Run for real, the server would learn {sums}."
    if story.secure == "plain":
        return "Every answer could be read by whoever ran this: there was no secure aggregation."
    return "Everything: the method had all data in one place." if story.secure == "none" else ""


def _list_facts(story: Story) -> list[Fact]:
    apart, facts = story.result.smallest_difference, []
    if story.parties:
        parties = Quantity(len(story.parties), Form.COUNT, "story.parties")
        facts.append(Fact("Parties", parties, "each a client of the secure sum"))
    speakers = [len(known) for one in story.result.rounds or () if (known := list_speakers(one)) is not None]
    if speakers:
        fewest = Quantity(min(speakers), Form.COUNT, "story.fewest_parties")
        facts.append(Fact("Fewest parties", fewest, "in the sum over the fewest of them"))
    if apart is None or story.result.privacy is not None:
        return facts
    clients = Quantity(apart.clients, Form.COUNT, "smallest_difference.clients")
    first, second = (count(place + 1) for place in apart.rounds)
    who = "client" if apart.clients == 1 else "clients"
    note = f"{who} by which the two closest sums differ (rounds {first} and {second})"
    return [*facts, Fact("Smallest difference", clients, note)]


def explain_threat(story: Story) -> str:
    """Who could have learned what, in two sentences; nothing where it is not known how answers were added up."""
    protection = raise_powers(story.protection).rstrip(".")
    terms = f" {protection}." if protection else ""
    if story.secure == "real":
        return (
            "Secure aggregation against a malicious server was run in full: every client, the server and every byte "
            "(all in one process here). The server may break every rule and still learns only sums." + terms
        )
    if story.secure == FEDERATION:
        return _explain_federation(story) + terms
    if story.secure == "ideal":
        here = (
            "This run was a simulation in one process. It added up the answers in the ring that secure aggregation "
            "uses, but masked nothing. "
        )
        if not story.protection:
            return here + "Run for real it would be refused: its smallest rounds are too small for a client to hide in."
        same = "sums like these, with as much noise," if story.result.privacy else "sums like these"
        return (
            here + f"Run for real, the server would see {same} and no single answer. The "
            f"terms of the smallest round would be: {protection}."
        )
    if story.secure == "plain":
        return (
            "The answers were added up in the clear, without secure aggregation. Whoever ran this could read every "
            "single answer; only the method's own rounding and sampling protect the clients." + terms
        )
    if story.secure == "none":
        return (
            f"Nothing was hidden: the method had the data of all {story.clients_called} in one place, and whoever ran "
            "it could read all of it." + terms
        )
    return ""


def _explain_federation(story: Story) -> str:
    many = f"{count(len(story.parties))} parties" if story.parties else "parties"
    return (
        f"The data stayed at {many}, and secure aggregation against a malicious server was run in full between them. "
        "Each party is one client of the secure sum: its own process, which sees its clients' data anyway, adds "
        "up their answers, and only a masked vector leaves it. A server that breaks every rule, together with a share "
        "of the parties, learns only sums over several parties."
    )


def list_parties(story: Story) -> list[Table]:
    """Who took part, and in how many sums they are."""
    if not story.parties:
        return []
    counted = all(one.asked is not None for one in story.parties)
    rows: list[tuple[Cell, ...]] = []
    for one in story.parties:
        sums = (f"{count(one.answered or 0)} of {count(one.asked)}",) if one.asked is not None and counted else ()
        rows.append((Name(one.name), Quantity(one.clients, Form.COUNT), *sums))
    missed = any(one.answered != one.asked for one in story.parties)
    headers = (Header("Party"), Header(capitalise(story.clients_called)), *((Header("In sums"),) if counted else ()))
    return [Table("Parties", headers, tuple(rows), level=Level.SUMMARY if missed else Level.DETAIL)]


def explain_excluded(story: Story) -> list[Paragraph]:
    """Who was left out of sums for a fault: what is certain, and what somebody on the way could have done."""
    told, each = [], "Party" if is_by_party(story.result) else "Client"
    for number, fault in story.result.excluded.items():
        name = story.parties[number].name if story.parties else f"{each} {count(number)}"
        if fault.is_certain:
            rest = "Nobody else could have done that, so it was not asked again."
        else:
            rest = "Whoever carries its messages could have done the same."
        told.append(Paragraph(f"{name} {fault}. {rest}", Tone.WARNING, Level.SUMMARY))
    return told


def explain_smallest_sum(story: Story) -> list[Paragraph]:
    cost = cost_of(story.result)
    if cost is None or story.secure in ("none", "plain"):
        return []
    told = f"The smallest sum that the server learned is over {count_many(cost.smallest, story.clients_called)}."
    if story.result.privacy is not None:
        hidden = "Noise hides each of them as far as the promise above goes, also one who is alone with what it holds."
        return [Paragraph(f"{told} {hidden}")]
    if cost.smallest >= FEW:
        return [Paragraph(told)]
    more = ": ask for larger cohorts" if not story.n_clients or story.n_clients >= FEW else ""
    told += f" A sum over {count(cost.smallest)} hides little about each of them{more}."
    return [Paragraph(told, Tone.WARNING, Level.SUMMARY)]


def explain_difference(story: Story) -> list[Paragraph]:
    """What subtracting one sum from another shows."""
    if story.result.rounds is None or story.secure in ("none", "plain"):
        return []
    apart = story.result.smallest_difference
    if story.result.privacy is not None:
        differ = ""
        if apart is not None:
            differ = f"The two closest sums differ by {count_many(apart.clients, 'clients')}, but "
        told = f"{differ}subtracting sums shows nothing beyond the promise above: "
        told += "it covers all sums together, and a difference has more noise than either."
        return [Paragraph(told[:1].upper() + told[1:])]
    if apart is None:
        return [
            Paragraph(
                "No two comparable sums are over different clients, so subtracting one from another isolates nobody."
            )
        ]
    first, second = (count(place + 1) for place in apart.rounds)
    if apart.clients >= FEW:
        return [
            Paragraph(
                f"Comparable sums over different clients differ by at least {count(apart.clients)} clients (rounds "
                f"{first} and {second}), so subtracting one from another shows no less than a sum over that many."
            )
        ]
    one = apart.clients == 1
    told = (
        f"Two of the sums differ by {count_many(apart.clients, 'clients')} (rounds {first} and {second}): "
        f"subtracting them shows what {'that client' if one else 'those few together'} answered, wherever the others "
        "gave the same answer in both rounds. Fresh cohorts of many clients, or noise, prevent this."
    )
    return [Paragraph(told, Tone.WARNING, Level.SUMMARY)]


def describe_view(story: Story, view: View) -> Section:
    """One client in one round of the protocol, as the server sees it."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (Name(item), *(Quantity(value, Form.COUNT) for value in values))
        for item, *values in zip(view.items, *(numbers for _, numbers in view.columns), strict=True)
    )
    headers = [
        Header(capitalise(name.removeprefix("the ")), striking=name == "the server saw") for name, _ in view.columns
    ]
    table = Table("The server's view of one client", (Header("Item"), *headers), rows, sortable=False)
    return Section("One client, as the server sees it", (Paragraph(explain_view(story, view)), table))


def explain_view(story: Story, view: View) -> str:
    told = (
        f"{'A client' if view.said is None else f'Client {view.client}'}, one of {count(view.clients)} in the round "
        f"“{view.label}”. {'Its own numbers are not shown.' if view.said is None else 'What it said is on the left.'} "
        f"What the server saw of it is noise: each of the {count(2**view.ring_bits)} numbers of the ring is equally "
        "likely. What the server learned is the sum over everyone in the round."
    )
    if view.rehearsed:
        told += " This round was run again for this report, with few clients"
        told += "." if story.secure == "real" else "; the run itself masked nothing."
    return told


def list_unprotected(story: Story) -> list[str]:
    if story.secure in ("", "none"):
        return []
    shards = ["The shards: each of them sees what its own clients hold."] if "RandGreeDi" in story.result.method else []
    if story.secure == "plain":
        return shards
    if story.result.privacy is not None:
        return _list_against_operators(story)  # the rest is said where the promise is
    rounds, apart = cost_of(story.result), story.result.smallest_difference
    many = f"these {count(rounds.rounds)} rounds" if rounds is not None and rounds.rounds > 1 else "many rounds"
    closest = ""
    if apart is not None:
        closest = f" The two closest sums of this run differ by {count_many(apart.clients, 'clients')}."
    return [
        *shards,
        *_list_unprotected_at_parties(story),
        f"The sums themselves: secure aggregation hides answers, not sums. The sums of {many} taken together may say "
        "something about a person, above all where cohorts are small or differ by few clients.",
        *list_rare_items(story),
        "Differences of sums: subtracting one sum from another shows what the clients in only one of the two answered, "
        f"wherever nobody else’s answer changed.{closest} Combinations of more than two sums are not examined.",
        "The answer, against modified software: one client that runs something else can make every number of a sum "
        "wrong, and nobody can tell.",
        "The answer, against false data: nobody sees single answers. Within a public range a lie weighs no more than "
        "any answer; where values have none, one lie can outweigh all others.",
        *([] if story.secure == FEDERATION else ["Who took part: the server knows which clients answered, and when."]),
        "Single people in the sums: no noise was added that would hide them (--epsilon).",
    ]


def _list_unprotected_at_parties(story: Story) -> list[str]:
    if story.secure != FEDERATION:
        return []
    return [
        "Clients from their own party: its process sees what they hold, and so does whoever runs its machine.",
        "Who takes part: the server and all parties know the roster (every party's name, its keys, how many clients it "
        "holds and how much they count), and the server knows which parties answered, and when.",
        *_list_against_operators(story),
        "A party as a whole, where it is in one of two sums and not in the other: subtracting them shows what its "
        "clients answered together, wherever nobody else’s answer changed.",
    ]


def _list_against_operators(story: Story) -> list[str]:
    if story.secure != FEDERATION:
        return []
    return [
        "Against operators: whoever has a party's kit can speak for it, and whoever has the root's key can make kits. "
        "docs/deployment.md says what an operator must do."
    ]
