"""What a report says in words; the page and the Markdown say the same. Plain text: whoever shows it escapes it."""

from folkmoot.conversation.result import FEW, Result
from folkmoot.report.facts import Cost, bars_of, cost_of, find_known
from folkmoot.report.numbers import NARROW, count, down, fraction, number, percent, size, up
from folkmoot.report.story import Comparison, Story, View

NO_BOUND = "no bound holds"
LOOSE = 0.8  # a ratio below this is worth a word about why


LARGEST = {  # who said how large values are
    "public": "everybody knows how large they can be",
    "everyone": "everyone was asked how large theirs are",
    "present": "everyone was asked how large theirs are; whoever did not answer is taken to hold none larger",
    "jury": "but only the jury was asked how large theirs are",
}


def confidence_of(result: Result) -> str:
    """What stands behind the ratio, in brackets."""
    e = result.estimate
    if e is None:
        return "computed from all the data"
    return "everyone was asked" if e.everyone else f"with {number(e.confidence * 100, 3)}{NARROW}% confidence"


def certificate(story: Story) -> str:
    """How good the answer is, in one paragraph."""
    return " ".join(state_certificate(story))


def state_certificate(story: Story) -> list[str]:
    """What the answer is worth, what nothing allowed exceeds, and what else is to be said of that."""
    result, known, e = story.result, find_known(story.result), story.result.estimate
    who = story.clients_called
    told = []
    if e is None:
        if known.value is not None:
            told.append(f"The chosen set is worth {number(known.value)}, computed from the data of all {who}.")
    elif e.everyone:
        told.append(
            f"The chosen set is worth {number(e.value)}, from sums over everyone: all {count(e.clients)} {who} were "
            "asked, so chance has no part in it."
        )
    else:
        interval = f"{down(known.low)} to {up(known.high)}" if known.high is not None else f"at least {down(known.low)}"
        told.append(
            f"From sums alone the chosen set is worth {number(e.value)} ({interval}, {confidence_of(result)}), as told "
            f"by {count(e.clients)} {who} who were asked after the choice was made."
        )
    if e is not None and e.clipped:
        told.append(
            f"The values of {percent(e.clipped)} of the {who} asked were cut at the public range, so {NO_BOUND}: the "
            "set may be worth more than its estimate, and how far it is from the best is not known."
        )
    elif known.bound is None or known.ratio is None:
        asked = e is not None and e.range_from == "jury"
        why = (
            f" Only {count(e.clients)} {who} were asked how large values are: say what the most is, or ask everyone."
            if asked and e is not None
            else ""
        )
        told.append(f"For this answer {NO_BOUND}: how far it is from the best is not known.{why}")
    elif known.ratio >= 1:
        sure = confidence_of(result)
        told.append(
            f"No allowed set is worth more than {number(known.bound)}: the choice is the best possible ({sure})."
        )
    else:
        told.append(
            f"No allowed set is worth more than {up(known.bound)}. So the choice is at least {fraction(known.ratio)} "
            f"of the best possible ({confidence_of(result)})."
        )
        told.append("It may well be better than that: the bound is a ceiling, and perhaps no set reaches it.")
        if e is not None and not e.everyone and known.ratio < LOOSE:
            told.append(
                f"The bound is wide because it rests on {count(e.clients)} of {count(story.n_clients)} {who}: a larger "
                "jury narrows it."
            )
    if e is not None and result.value is not None:
        told.append(
            f"This was a simulation, so the exact value over all {who} is known too: {number(result.value)}. Outside "
            "of a simulation nobody could know it."
        )
    return told


def explain_measured_and_proved(story: Story) -> list[str]:
    result, known, e = story.result, find_known(story.result), story.result.estimate
    others = " and of every other way to choose" if len(bars_of(story)) > 1 else ""
    measured = f"Measured: the value of the chosen set{others}"
    measured += (
        f", on the {story.clients_called} of this run." if e is None or result.value is not None else ", by sums."
    )
    if known.ratio is None:
        return [measured, "Proved: nothing about the distance to the best."]
    proof = (
        "Proved: the bound. It follows from diminishing returns alone (no set can add "
        "more to a point than its items add one by one), for this population and this constraint; it assumes no "
        "theorem about the method"
    )
    if e is not None and not e.everyone:
        proof += f". As it was read off a sample it holds {confidence_of(result)}, whatever the values are"
        proof += f" ({LARGEST[e.range_from]})"
    return [measured, proof + "."]


def explain_order(story: Story) -> str:
    """What the order of the items and their gains mean."""
    e, central = story.result.estimate, story.result.estimate is None
    if story.result.gains is None:
        return ""
    told = f"In the order in which {'they were taken' if central else 'the search would take them'}; "
    told += "the gain is what an item adds to those above it."
    if e is not None and not e.everyone:
        told += f" Gains are told by {count(e.clients)} {story.clients_called}, and add up to the estimate, "
        told += f"{number(e.value)}." if story.result.value is None else f"{number(e.value)}, not to the exact value."
    return told


def promise(result: Result) -> str:
    """One sentence on what theorems say before any data is seen."""
    theory = result.guarantee
    if theory is None:
        return "No theorem was evaluated for this run; the bound above is computed from the data and needs none."
    if theory.vacuous:
        return (
            f"Before seeing any data, theory promises nothing here ({theory.theorem}): its error terms are larger "
            "than the value itself, as is usual at this size; the bound above does not lean on it."
        )
    delta = next((term.value for term in theory.terms if term.symbol == "delta"), None)
    chance = "" if delta is None else f" but for a chance of {up(delta)}"
    return (
        f"Before seeing any data, theory promises a value of at least {down(theory.promised)}{chance} "
        f"({theory.theorem}: {down(theory.factor)} of the best, less {up(theory.additive)})."
    )


def silent(cost: Cost) -> str:
    return f"{percent(cost.lost)} of those asked did not answer" if cost.lost > 0 else ""


def costs(story: Story) -> str:
    cost = cost_of(story.result)
    if cost is None:
        return "No conversation took place: the method read the data where they lay, and nobody was asked anything."
    gone = f" ({silent(cost)})" if cost.lost > 0 else ""
    once = "On average a client that takes part in a round" if cost.rounds > 1 else "On average a client"
    return (
        f"{count(cost.rounds)} rounds, {count(cost.answers)} answers{gone}. {once} receives {size(cost.mean_down)} and "
        f"sends {size(cost.mean_up)}; all {story.clients_called} together sent {size(cost.up)}."
    )


def threat(story: Story) -> str:
    """Against whom, in two sentences."""
    terms = f" {story.protection.rstrip('.')}." if story.protection else ""
    if story.secure == "real":
        here = "was run, every client, the server and every byte of it (all in one process here)"
        return (
            f"Secure aggregation against a malicious server {here}: the server may break every rule and still learns "
            "sums only, never what one of them said." + terms
        )
    if story.secure == "ideal":
        here = "This run was a simulation in one process: it added the answers up in the ring that secure aggregation "
        here += "uses, and nothing was masked. "
        if not story.protection:
            return here + "Run for real it would be refused: its smallest rounds are too small for a client to hide in."
        return (
            here + "Run for real, the server would see the same sums, bit for bit, and nothing else of anyone. The "
            f"terms of its smallest round would be: {story.protection.rstrip('.')}."
        )
    if story.secure == "plain":
        return (
            "The answers were added up in the clear, without secure aggregation. Whoever ran this could read every "
            "single answer; only the method's own rounding and sampling stand between an answer and its sender." + terms
        )
    return (
        f"Nothing was hidden: the method had the data of all {story.clients_called} in one place. Whoever ran it could "
        "read all of them." + terms
    )


def smallest(story: Story) -> tuple[str, bool]:
    """The smallest sum in words, and whether that is a warning."""
    cost = cost_of(story.result)
    if cost is None or story.secure in ("none", "plain"):
        return "", False
    told = f"The smallest sum that the server learned is over {count(cost.smallest)} {story.clients_called}."
    if cost.smallest < FEW:
        more = ": ask for larger cohorts" if story.n_clients >= FEW else ""
        return f"{told} A sum over so few hides little about each of them{more}.", True
    return told, False


def difference(story: Story) -> tuple[str, bool]:
    """What subtracting two sums shows, and whether that is a warning."""
    if story.result.rounds is None or story.secure in ("none", "plain"):
        return "", False
    apart = story.result.smallest_difference
    if apart is None:
        return "No two comparable sums are over different clients: subtracting one from another isolates nobody.", False
    first, second = (count(place + 1) for place in apart.rounds)
    if apart.clients >= FEW:
        told = (
            f"Comparable sums over different clients differ by {count(apart.clients)} of them or more (rounds {first} "
        )
        return f"{told}and {second}): subtracting one from another shows no less than a sum over so many.", False
    one = apart.clients == 1
    told = (
        f"Two of the sums differ by {count(apart.clients)} client{'' if one else 's'} (rounds {first} and {second}): "
    )
    told += f"subtracting them shows what {'that client' if one else 'those few together'} answered, wherever the "
    told += "others’ answers did not change between the two. Fresh cohorts of many clients, or noise, prevent this."
    return told, True


def seen(story: Story, view: View) -> str:
    """What the table of one client's round shows."""
    told = (
        f"{'A client' if view.said is None else f'Client {view.client}'}, one of {count(view.clients)} in the round "
        f"“{view.label}”. {'Its own numbers are not shown.' if view.said is None else 'What it said is on the left.'} "
        f"What the server saw of that is noise: each of the {count(2**view.ring_bits)} numbers of the ring is as "
        "likely as any other. What the server learned is the sum over everyone in the round."
    )
    if view.rehearsed:
        told += " This round was run again for this page, with few clients"
        told += "." if story.secure == "real" else "; the run itself added up unmasked."
    return told


def warn_unprotected(story: Story) -> list[str]:
    if story.secure == "none":
        return []
    rounds = cost_of(story.result)
    many = f"these {count(rounds.rounds)} rounds" if rounds is not None and rounds.rounds > 1 else "many rounds"
    shards = ["The shards: each of them sees what its own clients hold."] if "RandGreeDi" in story.result.method else []
    if story.secure == "plain":
        return shards
    return [
        *shards,
        f"The sums themselves: secure aggregation hides answers, not sums, and those of {many} taken together may tell "
        "something about a person, above all where cohorts are small or differ by few.",
        "Differences of sums: subtracting one sum from another shows what those clients answered who are in only "
        f"one of the two, wherever nobody else’s answer changed.{_closest(story.result)} Combinations of more than two "
        "sums are not examined.",
        "The answer against lies: a client can send any numbers within its range and nobody sees them, so enough "
        "false answers move the sums (poisoning).",
        "Who took part: the server knows which clients answered, and when.",
        "No noise is added to the sums: this is not differential privacy.",
    ]


def _closest(result: Result) -> str:
    apart = result.smallest_difference
    if apart is None:
        return ""
    return f" The two closest sums of this run differ by {count(apart.clients)} client{'s' * (apart.clients > 1)}."


def seeds_of(comparison: Comparison) -> str:
    return f"{len(comparison.seeds)} seed{'s' if len(comparison.seeds) != 1 else ''}: " + ", ".join(
        str(seed) for seed in comparison.seeds
    )
