"""What clients have from the answer, in units that people know: kilometres, stars, and how many have nothing."""

from folkmoot.report.document import Fact, Form, Paragraph, Quantity, Tone
from folkmoot.report.facts import find_known, is_estimated
from folkmoot.report.story import Benefit, Story
from folkmoot.report.text import count_many

SAME = 1e-9  # shares that differ by less are the same


def list_benefits(story: Story) -> list[Fact]:
    """Nothing where the kind of the data has no units of its own."""
    value = find_known(story.result).value
    if value is None:
        return []
    if story.kind in ("places", "distances") and story.reach:
        return [_measure_distance(story, value, story.reach), *_count_within(story, story.reach), *_count_empty(story)]
    if story.kind == "ratings":
        return [*_average_best(story, value), *_count_empty(story)]
    return _count_empty(story) if story.kind == "memberships" else []


def explain_benefits(story: Story) -> list[Paragraph]:
    """Who counted: a server that learns only sums cannot."""
    if story.benefit is None or story.secure == "none" or not list_benefits(story):
        return []
    told = f"How many {story.clients_called} have something was counted in the data, which a simulation has and a "
    return [Paragraph(f"{told}server does not.", Tone.FINE)]


def _write_distance(story: Story, distance: float) -> str:
    return f"{distance:g} km" if story.kind == "places" else f"{distance:g}"


def _measure_distance(story: Story, value: float, reach: float) -> Fact:
    """The mean of what 1 − distance/reach is made from."""
    form = Form.KILOMETRES if story.kind == "places" else Form.NUMBER
    far = _write_distance(story, reach)
    about = "estimated; " if is_estimated(story.result) else ""
    mean = Quantity(reach * (1 - value), form, "story.mean_distance", digits=3)
    return Fact("Mean distance", mean, f"to the nearest chosen one ({about}beyond {far} counts as {far})")


def _count_within(story: Story, reach: float) -> list[Fact]:
    if story.benefit is None:
        return []
    note = f"of the {story.clients_called} have one within {_write_distance(story, reach)}"
    return [Fact("Within reach", Quantity(story.benefit.share, Form.SHARE, "story.benefit.share"), note)]


def _average_best(story: Story, value: float) -> list[Fact]:
    if story.benefit is None or not story.benefit.share:
        return []
    mean = Quantity(value / story.benefit.share, field="story.mean_best")
    note = f"over {count_many(story.benefit.clients, story.clients_called)} with one"
    return [Fact("Mean best", mean, f"{note}, by their weights" if _is_weighted(story, story.benefit) else note)]


def _count_empty(story: Story) -> list[Fact]:
    if story.benefit is None:
        return []
    within = " within reach" if story.reach else ""
    if _is_weighted(story, story.benefit):
        note = f"of the {story.clients_called} have none of the chosen{within}"
        return [Fact("With nothing", Quantity(1 - story.benefit.share, Form.SHARE, "story.share_without"), note)]
    without = story.n_clients - story.benefit.clients
    called = count_many(without, story.clients_called).partition(" ")[2]
    have = "has" if without == 1 else "have"
    note = f"{called} {have} none of the chosen{within}"
    return [Fact("With nothing", Quantity(without, Form.COUNT, "story.without"), note)]


def _is_weighted(story: Story, benefit: Benefit) -> bool:
    """Whether clients count differently: then what is said of them counts weights, and not some of it rows."""
    return abs(benefit.share * story.n_clients - benefit.clients) > SAME * story.n_clients
