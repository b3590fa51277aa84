"""Whether the choice is worth having, in one sentence: what a hurried reader takes away."""

from folkmoot.conversation.result import Estimate
from folkmoot.report.facts import PopularValue, central_share, find_known, find_popular
from folkmoot.report.numbers import NARROW, percent, round_down, round_up
from folkmoot.report.story import Story

LEAST = 0.0005  # a smaller difference is none
GOOD, SURE = 0.9, 0.5  # of what a central method finds, and of the best possible for certain: below, nothing is praised


def state_verdict(story: Story) -> str:
    """How the choice compares with the most popular items, which anybody could have chosen, or with a random choice
    where that is better; where nobody knows what these are worth, with the best possible.
    """
    popular = find_popular(story)
    if popular is None:
        return _compare_with_best(story)
    those = f"the most popular {story.items_called}{' that the limits allow' if story.limits else ''}"
    if popular.same or story.result.method == "Popularity()":
        return f"These are {those}."
    e = story.result.estimate
    doubt = e.high - e.value if _is_sampled(popular, e) and e is not None else 0.0
    if popular.random is not None and popular.random > max(popular.value, 0) * (1 + LEAST) + doubt:
        # popular items have so much in common that any others are better
        others = f"a random choice, which beats the most popular {story.items_called}"
        return _compare(story, popular, popular.random, others, ".")
    if popular.value <= 0:
        worthless = f"{those[:1].upper()}{those[1:]} are worth nothing"
        return f"{worthless}, and these are." if popular.chosen > 0 else f"{worthless}, and neither are these."
    # Under noise nobody may learn which items are the most popular: a simulation alone can name them.
    advice = ": use those." if story.result.privacy is None else " (noise hides which these are)."
    return _compare(story, popular, popular.value, those, advice)


def _compare(story: Story, popular: PopularValue, worth: float, those: str, advice: str) -> str:
    """How far the choice is above or below others that are worth so much; `advice` ends what says it is not above."""
    e, above = story.result.estimate, popular.chosen / worth - 1
    sampled = _is_sampled(popular, e)
    if above < -LEAST:
        below = f"{round_up(-100 * above, 2)}{NARROW}% below"
        if not sampled or e is None or worth > e.high:
            return f"{below} {those}{advice}"
        return f"No better than {those}, as far as sums can tell: {below}, but within the error of the estimate."
    if above <= LEAST:
        return f"No better than {those}{advice}"
    share = f"{round_down(100 * above, 2)}{NARROW}%"
    if not sampled or e is None:
        return _temper(story, f"{share} above {those}")
    if worth >= e.low:
        return f"No better than {those}, as far as sums can tell: {share} above, but within the error of the estimate."
    return _temper(story, f"{share} above {those}, by an estimate from sums")


def _is_sampled(popular: PopularValue, e: Estimate | None) -> bool:
    """Whether what is compared is known from the sums of some clients alone."""
    return popular.estimated and e is not None and not e.everyone


def _temper(story: Story, praise: str) -> str:
    """To be above the most popular items is no merit where far more was possible, or may have been."""
    central, known = central_share(story), find_known(story.result)
    if central is not None and central.share < GOOD:
        return f"Only {percent(central.share)} of what {central.name} finds, although {praise}."
    if central is None and known.ratio is not None and known.ratio < SURE:
        return f"No more than {percent(known.ratio)} of the best possible is sure, although {praise}."
    return f"{praise}."


def _compare_with_best(story: Story) -> str:
    known = find_known(story.result)
    if known.value is None:
        return "What this choice is worth is not known."
    if known.ratio is None:
        return "How far this choice is from the best possible is not known."
    e = story.result.estimate
    sure = "" if e is None or e.everyone else f" (with {round_down(100 * e.confidence, 3)}{NARROW}% confidence)"
    return f"At least {percent(known.ratio)} of the best possible{sure}."
