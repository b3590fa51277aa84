"""`folkmoot secagg`: a look at secure aggregation."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from folkmoot.cli.flags import name_flags
from folkmoot.cli.show import Json, print_json
from folkmoot.foundation.settings import SECURITY

if TYPE_CHECKING:
    from rich.table import Table

    from folkmoot.secagg import Parameters

app = typer.Typer(
    no_args_is_help=True, help="Secure aggregation: what the server sees of one client, and what it learns."
)

Corrupt = Annotated[float, typer.Option(help="Share of the clients that may work for the server.")]
Dropout = Annotated[float, typer.Option(help="Share of the clients that may drop out.")]
Security = Annotated[int, typer.Option(help="Bits: the protection fails with probability 2^-security at most.")]


@app.command(epilog="Example: folkmoot secagg demo --clients 200 --gone 0.05")
def demo(
    clients: Annotated[int, typer.Option(help="How many people are asked.")] = 100,
    gone: Annotated[float, typer.Option(help="Share of them that drop out during the round.")] = 0.05,
    seed: Annotated[int, typer.Option(help="Draws the people's answers and who drops out.")] = 0,
    as_json: Json = False,
) -> None:
    """Sum up what people would watch: what the server saw of one person, next to the sum that it learned."""
    from folkmoot.cli.secagg_demo import run, tabulate
    from folkmoot.cli.show import console, show_work

    with (
        name_flags(clients="--clients", gone="--gone", seed="--seed"),
        show_work(f"{clients:,} people and a server run the whole protocol …", quiet=as_json),
    ):
        shown = run(clients, gone, seed)
    if as_json:
        print_json(shown.document())
        return
    for part in tabulate(shown):
        console().print(part)


@app.command(epilog="Example: folkmoot secagg parameters 1000 --corrupt 0.05 --dropout 0.05")
def parameters(
    clients: Annotated[int, typer.Argument(help="How many clients are in a round.")],
    corrupt: Corrupt = 0.1,
    dropout: Dropout = 0.1,
    security: Security = SECURITY,
    as_json: Json = False,
) -> None:
    """How many neighbours a client needs, how many of them must answer, and what that protects against."""
    from folkmoot.cli.show import console
    from folkmoot.secagg import choose

    with name_flags(clients="CLIENTS", corrupt="--corrupt", dropout="--dropout", security="--security"):
        chosen = choose(clients, corrupt=corrupt, dropout=dropout, security=security)
    if as_json:
        print_json(asdict(chosen))
        return
    console().print(_table(chosen))


def _table(chosen: "Parameters") -> "Table":
    from rich.table import Table

    from folkmoot.secagg.parameters import count_share

    table = Table(show_header=False, title=f"A round of {chosen.clients:,} clients", title_justify="left")
    for what, value in (
        ("the server is", "malicious: it may say anything to anyone"),
        ("clients that may work for it", f"{chosen.bad:,} ({chosen.corrupt:.0%}, rounded down)"),
        (
            "clients that may drop out",
            f"{count_share(chosen.dropout, chosen.clients):,} ({chosen.dropout:.0%}, rounded down)",
        ),
        ("neighbours that a client draws", f"{chosen.degree:,}"),
        ("neighbours that can reconstruct its secret", f"any {chosen.threshold:,}"),
        ("honest clients in any sum the server can learn", f"{chosen.honest:,} or more"),
        ("probability that it learns more", f"2^-{chosen.security}"),
        ("probability that dropouts prevent the sum", f"2^-{chosen.correctness}"),
    ):
        table.add_row(what, value)
    return table
