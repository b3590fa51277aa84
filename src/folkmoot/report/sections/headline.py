"""What stands above everything else: the verdict, the limits, how sums were made, and the few facts that matter."""

from folkmoot.report.document import Fact, Form, Level, Paragraph, Part, Quantity, Tone
from folkmoot.report.facts import (
    central_share,
    cost_of,
    find_known,
    find_popular,
    is_estimated,
    is_simulated_here,
    was_simulated,
)
from folkmoot.report.sections.benefit import list_benefits
from folkmoot.report.sections.noise import summarise_spending
from folkmoot.report.sections.quality import describe_confidence, describe_interval, explain_no_bound
from folkmoot.report.story import LimitUse, Story
from folkmoot.report.text import capitalise, count_many, name_one_of
from folkmoot.report.verdict import state_verdict

MOST_GROUPS = 8  # that are named; the fullest come first


def describe_headline(story: Story) -> tuple[Part, ...]:
    words: list[Part] = []
    if story.secure or find_popular(story) is not None:  # a result by itself may have nothing to be compared with
        words.append(Paragraph(state_verdict(story), Tone.LEAD, Level.SUMMARY))
    if story.unchecked:
        words.append(Paragraph(story.unchecked, Tone.WARNING, Level.SUMMARY))
    words += [Paragraph(describe_limit(limit), level=Level.SUMMARY) for limit in story.limits]
    words += list_benefits(story)
    if setting := explain_setting(story):
        words.append(Paragraph(setting, level=Level.SUMMARY))
    return (*words, *_list_facts(story))


def describe_limit(limit: LimitUse) -> str:
    """At most 2 per genre: Comedy 2 of 2, Drama 1 of 2."""
    within = f" within {limit.within}" if limit.within else ""
    told = f"At most {limit.at_most:,} per {name_one_of(limit.per)}{within}"
    if limit.several:
        told += (
            f" (of several, the first counts: {limit.example})" if limit.example else " (of several, the first counts)"
        )
    groups = _list_groups(limit)
    left = len(groups) - MOST_GROUPS
    if left > 1:
        groups[MOST_GROUPS:] = [f"and {left:,} more groups"]
    if limit.free:
        groups.append(f"{limit.free:,} without {limit.per}, which the limit does not count")
    return f"{told}: {', '.join(groups)}." if groups else f"{told}."


def _list_groups(limit: LimitUse) -> list[str]:
    """The fullest first; numbers, which say nothing by themselves, by their size and with what they number."""
    if not all(name.isdecimal() for name, _ in limit.used):
        return [f"{name} {count:,} of {limit.at_most:,}" for name, count in limit.used]
    called = name_one_of(limit.per)
    listed = sorted(limit.used, key=lambda one: (-one[1], int(one[0])))
    return [f"{called} {name}: {count:,} of {limit.at_most:,}" for name, count in listed]


def explain_setting(story: Story) -> str:
    """Whether this was a simulation, and who could read what; nothing where that is said elsewhere, or not known."""
    if story.result.privacy is not None and is_simulated_here(story):
        return ""  # the promise of noise is told with it
    if story.secure == "none":
        return f"Nothing was hidden: the method read the data of all {story.clients_called} in one place."
    if story.secure == "plain":
        return "The answers were added up in the clear: whoever ran this could read every one of them."
    if story.secure == "real":
        return (
            f"This was a simulation: secure aggregation was run in full, but all {story.clients_called} were in one "
            "process, and whoever ran it could read everything."
        )
    if story.secure == "ideal":
        return (
            f"This was a simulation: all {story.clients_called} were in one process, nothing was masked, and whoever "
            "ran it could read everything."
        )
    if not story.secure and was_simulated(story.result):
        return "This was a simulation: all the data was in one place."
    return ""


def _list_facts(story: Story) -> list[Fact]:
    result, known, cost = story.result, find_known(story.result), cost_of(story.result)
    name = "Estimated value" if is_estimated(result) else "Value"
    facts = [Fact(name, Quantity(known.value, field=known.field, missing="not known"), _meaning(story))]
    if known.ratio is not None:
        sure = f"of the best possible ({describe_confidence(result)})"
        facts.append(Fact("At least", Quantity(known.ratio, Form.SHARE, "ratio"), sure))
    else:
        facts.append(Fact("Share of the best", Quantity(None, missing="not known"), explain_no_bound(result)))
    if (central := central_share(story)) is not None:
        of = f"of {central.name} (which sees all data)"
        facts.append(Fact("Versus central", Quantity(central.share, Form.SHARE, "story.central_share"), of))
    if story.n_clients:
        note = "whose data was read" if cost is None else "could be asked"
        many = Quantity(story.n_clients, Form.COUNT, "story.n_clients")
        called = name_one_of(story.clients_called) if story.n_clients == 1 else story.clients_called
        facts.append(Fact(capitalise(called), many, note))
    if cost is not None:
        sent = Quantity(cost.mean_up, Form.SIZE, "cost.mean_up")
        facts.append(Fact(f"Sent per {cost.sender}", sent, "per round, on average"))
    if result.privacy is not None:
        epsilon = Quantity(result.privacy.epsilon, field="privacy.epsilon")
        facts.append(Fact("ε", epsilon, summarise_spending(story, result.privacy)))
    elif cost is not None:
        fewest = Quantity(cost.smallest, Form.COUNT, "cost.smallest")
        who = count_many(cost.smallest, story.clients_called).partition(" ")[2]
        facts.append(Fact("Smallest sum", fewest, f"{who} in the sum over the fewest"))
    else:
        chosen = Quantity(len(result.selected), Form.COUNT, "story.chosen")
        facts.append(Fact("Chosen", chosen, f"of {result.n_items:,} {story.items_called}"))
    return facts


def _meaning(story: Story) -> str:
    """What the value is; where nobody said so, at least where it comes from. An estimate is told with its interval."""
    if is_estimated(story.result):
        told = f"estimated from sums alone: {describe_interval(story)}"
        return f"{story.meaning}; {told}" if story.meaning else told
    if story.meaning or story.result.estimate is None:
        return story.meaning
    if was_simulated(story.result):
        return "over every client (only a simulator can know this)"
    return "over every client, all of whom answered"
