"""What sums show of whoever is alone with an item: nothing hides one client in a number that only it adds to."""

from folkmoot.report.document import Cell, Form, Header, Level, Name, Paragraph, Part, Quantity, Table, Tone
from folkmoot.report.numbers import count
from folkmoot.report.story import RareNumbers, Story
from folkmoot.report.text import capitalise, count_many, name_one_of

MUCH = 0.05  # from this share of the numbers on, it is said at once
PER_CHOSEN = 10  # items on a shortlist, per item to be chosen
ENOUGH = 100  # clients, for noise to leave anything


def name_remedies(items: int, chosen: int, clients: int, everyone: int) -> str:
    """What helps, of what is possible: so many of these items are chosen, and so many of everyone are in the sum."""
    short = PER_CHOSEN * chosen
    ways = [f"fewer items (--shortlist {short})"] if 2 * short <= items else []
    ways += ["larger cohorts (--cohort)"] if clients < everyone else []
    ways += ["noise (--epsilon 1), which hides every single one"] if everyone >= ENOUGH else []
    if not ways:
        return "more clients"
    return " or ".join([", ".join(ways[:-1]), ways[-1]]) if len(ways) > 1 else ways[0]


def explain_rare(one: RareNumbers, clients_called: str, *, before: bool = True) -> str:
    """One sentence; `before` a run, it is an estimate of its first round. Next to a set, fewer clients have something
    to add to a number.
    """
    each = name_one_of(clients_called)
    about, later = ("about ", ", at first; in later rounds, usually a larger share") if before else ("", "")
    rest = f"{count(one.one)} {_rest(one.one)} on one {each} alone"
    return (
        f"Of the {count(one.numbers)} numbers other than 0 in a sum over {count_many(one.clients, clients_called)} "
        f"({one.what}), {about}{rest} and {count(one.few)} on five or fewer{later}"
    )


def describe_rare(story: Story) -> list[Part]:
    """The worst kind of sum in words, all of them in a table."""
    worst = find_worst(story.rare)
    if worst is None:
        return []
    each = name_one_of(story.clients_called)
    told = f"{explain_rare(worst, story.clients_called, before=False)}."
    if worst.one:
        helps = name_remedies(story.result.n_items, len(story.chosen), worst.clients, story.n_clients)
        told += f" Such a number is what that {each} holds; the sum hides who it is, not what. What helps: {helps}."
    grave = worst.one >= MUCH * worst.numbers
    shown = Paragraph(told, Tone.WARNING if grave else Tone.PLAIN, Level.SUMMARY if grave else Level.DETAIL)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            Name(one.what),
            *(Quantity(part, Form.COUNT) for part in (one.clients, one.numbers, one.one, one.two, one.few)),
        )
        for one in story.rare
    )
    names = ("Sum", capitalise(story.clients_called), "Numbers", f"Rest on one {each}", "On two", "On five or fewer")
    return [
        shown,
        Table("How many numbers rest on few, in the worst round that was looked at", tuple(map(Header, names)), rows),
    ]


def find_worst(rare: tuple[RareNumbers, ...]) -> RareNumbers | None:
    """The kind of sum of which the largest share rests on one client."""
    return max((one for one in rare if one.numbers), key=lambda one: one.one / one.numbers, default=None)


def list_rare_items(story: Story) -> list[str]:
    """Among what is not protected."""
    worst = find_worst(story.rare)
    if worst is None or not worst.one:
        return [
            "Rare items: a number that rests on one client is what that client holds, whatever the size of the sum."
        ]
    return [
        f"Rare items: {count(worst.one)} of {count(worst.numbers)} numbers in a sum over {count(worst.clients)} "
        f"{story.clients_called} {_rest(worst.one)} on one of them, and {'is' if worst.one == 1 else 'are'} what that "
        "one holds."
    ]


def _rest(numbers: int) -> str:
    return "rests" if numbers == 1 else "rest"
