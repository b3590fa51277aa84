"""The few facts that stand above everything else."""

from folkmoot.report.document import Fact, Form, Quantity
from folkmoot.report.facts import central_share, cost_of, find_known, is_estimated, was_simulated
from folkmoot.report.sections.noise import summarise_spending
from folkmoot.report.sections.quality import describe_confidence, describe_interval, explain_no_bound
from folkmoot.report.story import Story
from folkmoot.report.text import capitalise


def describe_headline(story: Story) -> tuple[Fact, ...]:
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
        note = "whose data was read" if cost is None else "who could be asked"
        many = Quantity(story.n_clients, Form.COUNT, "story.n_clients")
        facts.append(Fact(capitalise(story.clients_called), many, note))
    if cost is not None:
        sent = Quantity(cost.mean_up, Form.SIZE, "cost.mean_up")
        facts.append(Fact(f"Sent per {cost.sender}", sent, "per round, on average"))
    if result.privacy is not None:
        epsilon = Quantity(result.privacy.epsilon, field="privacy.epsilon")
        facts.append(Fact("ε", epsilon, summarise_spending(story, result.privacy)))
    elif cost is not None:
        fewest = Quantity(cost.smallest, Form.COUNT, "cost.smallest")
        facts.append(Fact("Smallest sum", fewest, f"{story.clients_called} in the sum over the fewest"))
    else:
        chosen = Quantity(len(result.selected), Form.COUNT, "story.chosen")
        facts.append(Fact("Chosen", chosen, f"of {result.n_items:,} {story.items_called}"))
    return tuple(facts)


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
