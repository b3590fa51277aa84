"""A party's own conditions: a file with comments in its kit, which nobody else sees or can change."""

from dataclasses import dataclass, fields
from difflib import get_close_matches
from inspect import isabstract
from pathlib import Path
from typing import Any

from folkmoot.application.federation.agreement import Agreement
from folkmoot.application.federation.papers import Fields, Paper, write_comment, write_settings
from folkmoot.application.toml import as_toml
from folkmoot.engines.folder_store import FILE as STORE_FILE
from folkmoot.engines.folder_store import open_logs
from folkmoot.engines.odometer import Mileage, Odometer
from folkmoot.engines.policy import PartyPolicy
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.registry import find_kinds
from folkmoot.foundation.settings import ADJACENCIES, setting
from folkmoot.privacy.accounting import Privacy
from folkmoot.questions import Query
from folkmoot.secagg import Policy

FILE, STORE = "policy.toml", "store"
QUESTIONS = "questions"  # a list, read by itself
TERMS = ("fewest", "corrupt", "dropout")
PER_DAY = 500
BUDGET = ("epsilon", "delta", "adjacency")


@dataclass(frozen=True, kw_only=True)
class PolicySettings:
    """The settings of a policy file; those that are left out are as in the agreement, or as shown."""

    clients: int = setting(
        "Fewest clients that must be asked, at all parties together, so that yours hide among them. Those asked must "
        "differ by as many from those asked before, or not at all.",
        PartyPolicy.clients,
    )
    largest_share: float = setting(
        "Largest share of a sum that one party may have, whoever drops out: of a party that is nearly all of a sum, "
        "the sum says nearly everything.",
        PartyPolicy.largest_share,
    )
    fewest: int | None = setting("Fewest parties in a sum; the agreement's unless given.", None, example="4")
    corrupt: float | None = setting(
        "Share of those asked that may work for the server; the agreement's unless given. If you ask for more than "
        "the agreement has, you take part in no round.",
        None,
        example="0.2",
    )
    dropout: float | None = setting(
        "Share of those asked that may be missing; the agreement's unless given.", None, example="0.2"
    )
    per_day: int = setting(
        "Most rounds that are answered in 24 hours. Every round tells the server a little; a run takes 20 to 100.",
        PER_DAY,
    )
    uneven: bool = setting(
        "Whether some clients may count more often than others. The server is then trusted with how often each does.",
        PartyPolicy.uneven,
    )
    volunteers: bool = setting(
        "Whether data may decide who answers. The server is then trusted with the chances.",
        PartyPolicy.volunteers,
    )
    again: bool = setting(
        "Whether a question of one run may be answered again in another run, by whoever is there then. Two sums over "
        "different parties show what the party in only one of them answered; without it, most second runs fail.",
        True,
    )
    singletons: bool = setting(
        "Whether questions are answered that say what single items are worth by themselves. Most methods begin with "
        "one. Refusing guards against accidents only: a server that wants to know asks beside an item that nobody "
        "wants.",
        PartyPolicy.singletons,
    )
    apart: bool = setting(
        "Whether questions are answered whose sum shows this party's answer apart from the others' (RandGreeDi).",
        PartyPolicy.apart,
    )
    epsilon: float | None = setting(
        "Budget of each of your clients, for good: nothing that leaves from now on is more than e^epsilon times as "
        "likely with its data as without, except with probability delta. Every answer is counted, in all runs. What "
        "left before without noise is not. When the budget is spent, you answer nothing "
        "more. With a budget, only questions with noise are answered (run with --epsilon). No limit unless given.",
        None,
        example="1.0",
    )
    delta: float | None = setting(
        "Budget: except with this probability. For N clients in all, the smaller of N^-1.5 and 1/(10 N) unless given. "
        "Give it where clients come and go: otherwise the budget changes with their number.",
        None,
        example="1e-6",
    )
    adjacency: str | None = setting(
        "Budget: what a client is compared with: one with nothing to say (zero-out), or any other one (replace-one), "
        "which takes more noise. Zero-out unless given.",
        None,
        choices=ADJACENCIES,
    )
    honest: int | None = setting(
        "Budget: fewest parties whose noise must be in every sum besides that of those who work for the server. "
        "2 unless given.",
        None,
        example="3",
    )


POLICY_FIELDS: Fields = {one.name: one for one in fields(PolicySettings)}


def list_questions() -> dict[str, type[Query[Any]]]:
    """All kinds of questions, by name."""
    return {name: kind for name, kind in sorted(find_kinds(Query).items()) if not isabstract(kind)}


def read_policy(kit: Path, agreement: Agreement) -> PartyPolicy:
    """The policy of a kit; without a file, the defaults on the agreement's terms."""
    path = kit / FILE
    if not path.exists():
        return PartyPolicy(agreement.terms, again=True, per_day=PER_DAY)
    paper = Paper.read(path)
    given, questions = paper.fill("", POLICY_FIELDS, also=(QUESTIONS,)), _read_questions(paper)
    try:
        terms = {name: given.pop(name, getattr(agreement.terms, name)) for name in TERMS}
        if terms["corrupt"] < agreement.terms.corrupt:
            raise InputError(
                f"is less than the {agreement.terms.corrupt:g} of the agreement: the others count on your share of the "
                "noise, which would be too small",
                argument="corrupt",
            )
        budget = _make_budget({name: given.pop(name) for name in BUDGET if name in given}, given.get("honest"))
        return PartyPolicy(
            Policy(**terms, security=agreement.terms.security),
            questions,
            budget=budget,
            **{"again": True, "per_day": PER_DAY, **given},
        )
    except InputError as error:
        raise paper.locate(error, "") from None


def _make_budget(given: dict[str, Any], honest: int | None) -> Privacy | None:
    if "epsilon" in given:
        return Privacy(**given)
    useless = next(iter(given), None if honest is None else "honest")
    if useless is not None:
        raise InputError("is about a budget, and there is none", remedy="give epsilon, too", argument=useless)
    return None


def _read_questions(paper: Paper) -> tuple[type[Query[Any]], ...] | None:
    if QUESTIONS not in paper.document:
        return None
    names, known = paper.take_texts("", QUESTIONS), list_questions()
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            paper.refuse(f"there is no question {name!r}{hint}", "", QUESTIONS)
    return tuple(known[name] for name in names)


def make_policy_template(agreement: Agreement) -> str:
    """A policy file with every option explained; all are commented out, and show their defaults."""
    lines = [
        *write_comment(
            "What this party agrees to. Nobody else sees this file. What it does not allow is not answered: to the "
            "others this party is then missing from the round, and the reason is in its own log."
        ),
        "",
    ]
    if agreement.data.kind == "tables":
        lines += [*write_comment("Each site is one client here, so clients are as few as sites."), "clients = 3", ""]
    for name, one in POLICY_FIELDS.items():
        *about, example = write_settings({name: one}, {})
        lines += [*about, f"# {name} = {getattr(agreement.terms, name)!r}" if name in TERMS else example]
    lines += write_comment(f"Kinds of questions that are answered, of {', '.join(list_questions())}; all unless given.")
    lines += [f"# {QUESTIONS} = {as_toml(('Gradient', 'Values'))}"]
    return "\n".join(lines) + "\n"


def describe_budget(kit: Path, agreement: Agreement, clients: int | None) -> dict[str, str]:
    """For people: what noisy rounds have cost this party's clients. clients: of all parties, where that is known."""
    policy, spent = read_policy(kit, agreement), Mileage()
    if (kit / STORE / STORE_FILE).exists():
        with open_logs(kit / STORE) as logs:
            spent = logs.read_mileage()
    if clients is None or (policy.budget is None and not spent.charges):
        return {} if policy.budget is None else {"Budget": f"ε = {policy.budget.epsilon:g} for each client"}
    return {"Budget": Odometer(policy.budget, clients, policy.honest or 1).describe(spent)}
