"""What the conversation cost: rounds, answers, bytes and time."""

from folkmoot.report.document import Fact, Fold, Form, Header, Level, Paragraph, Quantity, Section, Table
from folkmoot.report.facts import RunCost, cost_of
from folkmoot.report.numbers import number, percent, size
from folkmoot.report.story import Story
from folkmoot.report.text import count_many

TITLE = "What it cost"


def describe_costs(story: Story) -> Section:
    cost = cost_of(story.result)
    took = Fact("Time", Quantity(story.result.seconds, Form.SECONDS, "seconds"), "for the whole run")
    if cost is None:
        nobody = "There was no conversation: the method read the data directly, and nobody was asked anything."
        gist = f"{number(story.result.seconds, 3)} s. Nobody was asked anything: the method read the data directly."
        return Section(TITLE, (Paragraph(nobody), took), gist=gist, folded=True)
    silent = f"{percent(cost.lost)} of those asked did not answer" if cost.lost > 0 else "from clients, in all rounds"
    return Section(
        TITLE,
        (
            Fact("Rounds", Quantity(cost.rounds, Form.COUNT, "cost.rounds"), "one question to many clients each"),
            Fact("Answers", Quantity(cost.answers, Form.COUNT, "cost.answers"), silent),
            Fact("Received", Quantity(cost.mean_down, Form.SIZE, "cost.mean_down"), f"per {cost.sender} and round"),
            Fact("Sent", Quantity(cost.mean_up, Form.SIZE, "cost.mean_up"), f"per {cost.sender} and round"),
            Fact("In total", Quantity(cost.up + cost.down, Form.SIZE, "cost.total"), f"to and from all {cost.senders}"),
            took,
            Paragraph(explain_bytes(story), level=Level.DETAIL),
            Fold("Every round", (_list_rounds(story),)),
        ),
        gist=_summarise(story, cost),
        folded=True,
    )


def _summarise(story: Story, cost: RunCost) -> str:
    return (
        f"{count_many(cost.rounds, 'rounds')}; each {cost.sender} that is asked receives {size(cost.mean_down)} and "
        f"sends {size(cost.mean_up)} per round; {number(story.result.seconds, 3)} s in all."
    )


def explain_bytes(story: Story) -> str:
    """How the bytes are known."""
    measured = [one.measured for one in story.result.rounds or ()]
    if all(measured):
        return "Bytes were counted as they were sent."
    sizes = "computed from the sizes of the protocol's messages, for rounds in which nobody drops out"
    return (
        f"Bytes were counted in some rounds; in the others they are {sizes}."
        if any(measured)
        else f"Bytes are {sizes}."
    )


def _list_rounds(story: Story) -> Table:
    rows = tuple(
        (
            Quantity(place + 1, Form.COUNT),
            one.label,
            Quantity(one.asked, Form.COUNT),
            Quantity(one.answered, Form.COUNT, f"rounds.{place}.answered"),
            Quantity(one.down, Form.COUNT, f"rounds.{place}.down"),
            Quantity(one.up, Form.COUNT, f"rounds.{place}.up"),
            Quantity(one.seconds, Form.SECONDS),
            Quantity(one.value),
        )
        for place, one in enumerate(story.result.rounds or ())
    )
    names = ("Round", "What for", "Asked", "Answered", "Bytes down", "Bytes up", "Time", "Value")
    return Table("Every round", tuple(Header(name) for name in names), rows)
