"""`folkmoot federation`: parties that keep their data at home, over NVIDIA FLARE."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from folkmoot.cli.federation_demo import demo, need_flare
from folkmoot.cli.federation_watch import PartyWatch, format_time
from folkmoot.cli.flags import name_flags
from folkmoot.cli.options import AtMost, Per, Seed, Settings, Within, add_settings, load_problem
from folkmoot.cli.runs import NoReport, run_problem
from folkmoot.cli.show import Json
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import SECURITY, Choose, Data, How, Output, PrivacySettings

if TYPE_CHECKING:
    from rich.table import Table

    from folkmoot.application.federation.agreement import Agreement
    from folkmoot.application.federation.membership import MembershipFacts

app = typer.Typer(
    no_args_is_help=True, help="Parties that keep their data at home: nothing leaves them but masked sums."
)
PUBLIC = (
    *("kind", "items", "items_id", "name", "reach", "least", "most", "target", "bins", "smoothing", "similarity"),
    *("category", "merge_rare"),
)
OWN = ("client", "item", "value", "weight", "latitude", "longitude", "missing", "negative", "duplicates", "drop")
ABOUT_RUN = ("epsilon", "delta", "adjacency", "patience", "wait")
Kit = Annotated[Path, typer.Argument(metavar="KIT", help="The folder of a server or a party.", show_default=False)]
SHOWN = 30  # lines of a log


@app.command(
    epilog="Example: folkmoot federation init moot --party a --party b … --items towns.csv --kind places --reach 50"
)
@add_settings(Data, only={Data: PUBLIC})
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder for all kits; its name is the federation's.")],
    *,
    party: Annotated[list[str] | None, typer.Option(help="A party's name; once for each, five or more.")] = None,
    request: Annotated[
        list[Path] | None,
        typer.Option(help="A party's request for a certificate, instead of --party: its key never leaves it."),
    ] = None,
    host: Annotated[str, typer.Option(help="The machine of the server, by the name that parties know.")] = "localhost",
    port: Annotated[int, typer.Option(help="The one port that parties must reach there.")] = 8002,
    corrupt: Annotated[
        float | None, typer.Option(help="Share that may work for the server; a tenth, at least one party.")
    ] = None,
    dropout: Annotated[float | None, typer.Option(help="Share that may be gone; a tenth, at least one party.")] = None,
    fewest: Annotated[int | None, typer.Option(help="Parties that must be in a sum; all who may not be gone.")] = None,
    security: Annotated[
        int, typer.Option(help="Bits: what is promised fails with probability 2^-security.")
    ] = SECURITY,
    as_json: Json = False,
    given: dict[str, Any],
) -> None:
    """Found a federation: make a kit for the server and one for each party."""
    need_flare()
    from folkmoot.application.federation.founding import establish
    from folkmoot.cli.show import console, print_json, show_work
    from folkmoot.engines.flare.kits import Place

    asked = {"corrupt": corrupt, "dropout": dropout, "fewest": fewest, "security": security}
    flags = {"parties": "--party", "name": "FOLDER", **{one: f"--{one.replace('_', '-')}" for one in (*PUBLIC, *asked)}}
    with name_flags(**flags, host="--host", port="--port"), show_work("making kits …", quiet=as_json):
        made = establish(
            folder,
            party or (),
            Place(host, port),
            Data(file="", **given),
            requests=request or (),
            terms=asked,
        )
    agreement = made.agreement
    if as_json:
        kits = {name: str(made.find_kit(name)) for name in agreement.parties}
        print_json({"server": str(made.server), "parties": kits, "agreement": agreement.digest})
        return
    out = console()
    out.print(_tabulate({"server": made.server, **{name: made.find_kit(name) for name in agreement.parties}}))
    out.print(
        f"{_describe_terms(agreement)}\n"
        f"Keep {made.folder / 'authority'} offline: whoever has it can make certificates in any party's name.\n"
        f"Give each party its own kit over a safe channel, and keep no copy. Then:\n"
        f"  folkmoot federation serve {made.server}\n"
        f"  folkmoot federation join {made.find_kit(agreement.parties[0])} --data FILE     (at each party)\n"
        f"  folkmoot federation run PROBLEM.toml --kit {made.server}",
        soft_wrap=True,
    )


@app.command(epilog="Example: folkmoot federation request north")
def request(
    party: Annotated[str, typer.Argument(help="The name of the party.")],
    folder: Annotated[Path | None, typer.Option(help="A new folder for the key; PARTY-key unless given.")] = None,
    as_json: Json = False,
) -> None:
    """Make a key that never leaves, and a request to certify it, for whoever founds the federation."""
    need_flare()
    from folkmoot.cli.show import console, print_json
    from folkmoot.engines.enrolment import PARTY_NAME
    from folkmoot.engines.flare.kits import request_certificate

    where = folder or Path(f"{party}-key")
    if not PARTY_NAME.fullmatch(party):
        raise InputError(f"needs up to 40 letters, digits and hyphens, got {party!r}", argument="PARTY")
    if where.exists():
        raise InputError("already exists", remedy="give another one with --folder", place=where)
    made = request_certificate(where, party)
    if as_json:
        print_json({"request": str(made), "key": str(where / "client.key")})
        return
    console().print(
        f"Send {made} to whoever founds the federation; it is not secret.\n"
        f"Keep {where / 'client.key'}. When you have your kit:\n"
        f"  folkmoot federation join KIT --key {where / 'client.key'} --data FILE",
        soft_wrap=True,
    )


@app.command(epilog="Example: folkmoot federation certify moot/authority")
def certify(
    authority: Annotated[Path, typer.Argument(help="The folder with the root key.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Renew everybody's certificates, for the same keys: they last 360 days."""
    need_flare()
    from folkmoot.cli.show import console, print_json
    from folkmoot.engines.flare.renewal import renew_certificates

    made = renew_certificates(authority)
    if as_json:
        print_json({"certificates": [str(one) for one in made]})
        return
    out = console()
    out.print("Send each site its own file (they are not secret). It stops, and starts again with --certificate FILE:")
    for one in made:
        out.print(f"  {one}", soft_wrap=True)


Certificate = Annotated[Path | None, typer.Option(help="A renewed certificate of this site: see `certify`.")]


@app.command(epilog="Example: folkmoot federation serve moot/server")
def serve(
    kit: Kit,
    certificate: Annotated[
        list[Path] | None, typer.Option(help="A renewed certificate, of the server or its leader: see `certify`.")
    ] = None,
) -> None:
    """Run the server: it relays messages between parties and runs, and learns sums."""
    need_flare()
    from folkmoot.application.federation.hosting import check_expiry, check_kit, host
    from folkmoot.cli.show import console
    from folkmoot.engines.flare.processes import make_ready, read_address
    from folkmoot.engines.flare.renewal import take_certificate

    agreement, out = check_kit(kit, server=True), console()
    for one in certificate or ():
        take_certificate(kit, one)
    check_expiry(kit, out.print)
    make_ready(kit)
    out.print(f"{agreement.name}: serving {len(agreement.parties)} parties at {read_address(kit)}. Ctrl-C stops.")
    host(kit, lambda said: out.print(said, soft_wrap=True), lambda: None)
    out.print("stopped")


@app.command(epilog="Example: folkmoot federation join moot/north --data people.csv")
@add_settings(Data, only={Data: OWN})
def join(
    kit: Kit,
    *,
    data: Annotated[Path | None, typer.Option(help="File with what this party's clients hold; it stays here.")] = None,
    key: Annotated[
        Path | None, typer.Option(help="The key that this party kept (folkmoot federation request).")
    ] = None,
    certificate: Certificate = None,
    expect: Annotated[
        str | None, typer.Option(help="Accept only the roster with this fingerprint, as read out by the others.")
    ] = None,
    renew: Annotated[
        bool, typer.Option("--renew", help="Enrol anew, with new keys: for other clients than before.")
    ] = False,
    public_weights: Annotated[
        bool, typer.Option("--public-weights", help="Let everybody know how much each of our clients counts.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Only check kit, data and policy; connect to nobody.")] = False,
    given: dict[str, Any],
) -> None:
    """Run a party: it answers questions from its own data, as far as its policy allows."""
    need_flare()
    from folkmoot.application.federation import membership
    from folkmoot.application.federation.hosting import Connection, check_expiry, check_kit, host
    from folkmoot.cli.show import console, show_work
    from folkmoot.engines.flare import hardening
    from folkmoot.engines.flare.kits import take_key
    from folkmoot.engines.flare.processes import find_running, read_address
    from folkmoot.engines.flare.renewal import take_certificate

    check_kit(kit, server=False)
    hardening.check_settings(kit)
    if (pid := find_running(kit)) is not None and not (check and data is None and not renew):
        raise InputError(f"is in use by process {pid}", remedy=f"folkmoot federation stop {kit}", place=kit)
    if key is not None:
        take_key(kit, key)
    if certificate is not None:
        take_certificate(kit, certificate)
    if not (kit / membership.KEY).exists():
        raise InputError("is missing", remedy="join with --key, the key that you kept", place=kit / membership.KEY)
    out = console()
    check_expiry(kit, out.print)
    if renew:
        membership.renew(kit)
    with name_flags(file="--data", expect="--expect", **{one: f"--{one}" for one in OWN}):
        if data is None and (given or public_weights):
            raise InputError("is needed to say how it is read", argument="--data")
        with membership.keep_if_wrong(kit):
            if data is not None:
                membership.write_data(kit, {"file": data, **given, "public_weights": public_weights or None})
            if expect is not None:
                membership.write_expectation(kit, expect)
            with show_work("reading data …", quiet=False):
                facts = membership.check_membership(kit)
    out.print(_tabulate(_describe_member(facts)))
    for note in facts.notes:
        out.print(f"  • {note}", soft_wrap=True)
    if check:
        return
    connection = Connection(kit)
    out.print(f"Looking for the server at {read_address(kit)}. Ctrl-C stops.")
    host(kit, lambda said: out.print(said, soft_wrap=True), PartyWatch(kit, connection, out.print))
    out.print("stopped")


@app.command(epilog="Example: folkmoot federation run clinics.toml --kit moot/server")
@add_settings(Choose, How, PrivacySettings, Output, only={PrivacySettings: ABOUT_RUN})
def run(
    path: Annotated[Path, typer.Argument(help="A problem file (.toml) without data.", show_default=False)],
    *,
    kit: Annotated[Path, typer.Option(help="The folder of the server.", show_default=False)],
    at_most: AtMost = None,
    per: Per = None,
    within: Within = None,
    seed: Seed = None,
    settings: Settings = None,
    no_report: NoReport = False,
    as_json: Json = False,
    given: dict[str, Any],
) -> None:
    """Choose the best set for all parties' clients, and write a report."""
    need_flare()
    from folkmoot.application.federation.hosting import check_kit

    check_kit(kit, server=True)
    if path.suffix != ".toml":
        raise InputError("a federation's data stays with its parties: give a problem file (.toml)", place=path)
    problem = load_problem(path, {**given, "federation": str(kit)}, at_most, per, within, seed, settings)
    run_problem(problem, report=not no_report, as_json=as_json)


@app.command(epilog="Example: folkmoot federation status moot/server")
def status(kit: Kit, as_json: Json = False) -> None:
    """Who is there, who has enrolled, and what this site has done."""
    need_flare()
    from folkmoot.application.federation.standing import describe_standing
    from folkmoot.cli.show import console, print_json, show_work

    with show_work("asking …", quiet=as_json):
        standing = describe_standing(kit)
    if as_json:
        print_json(standing.document())
        return
    out = console()
    out.print(_tabulate(standing.facts))
    if standing.parties:
        out.print(_tabulate_rows(("Party", "There", "Clients"), standing.parties))


@app.command(epilog="Example: folkmoot federation stop moot/north")
def stop(kit: Kit, as_json: Json = False) -> None:
    """Stop the server or the party that runs from this kit."""
    need_flare()
    from folkmoot.application.federation.hosting import check_kit
    from folkmoot.cli.show import console, print_json, show_work
    from folkmoot.engines.flare.processes import stop_parent

    check_kit(kit)
    with show_work("stopping …", quiet=as_json):
        stopped = stop_parent(kit)
    if as_json:
        print_json({"kit": str(kit), "stopped": stopped})
    else:
        console().print(f"{kit}: {'stopped' if stopped else 'was not running'}")


@app.command(epilog="Example: folkmoot federation forgive moot/north")
def forgive(kit: Kit, as_json: Json = False) -> None:
    """Begin to count broken-off rounds anew, at a party that refuses all others because of them."""
    need_flare()
    from folkmoot.application.federation.broken_rounds import forgive_broken_rounds
    from folkmoot.application.federation.hosting import check_kit
    from folkmoot.cli.show import console, print_json
    from folkmoot.engines.flare.processes import find_running

    check_kit(kit, server=False)
    if (pid := find_running(kit)) is not None:
        raise InputError(f"is in use by process {pid}", remedy=f"folkmoot federation stop {kit}", place=kit)
    before, after = forgive_broken_rounds(kit)
    if as_json:
        print_json({"kit": str(kit), "before": before.count, "after": after.count, "of": after.limit})
    else:
        console().print(f"{kit}: broken-off rounds {before} → {after}", soft_wrap=True)


@app.command(epilog="Example: folkmoot federation outbox moot/north")
def outbox(
    kit: Kit,
    everything: Annotated[bool, typer.Option("--all", help=f"All of it, not only the last {SHOWN} lines.")] = False,
    refusals: Annotated[bool, typer.Option("--refusals", help="What was refused, and why, instead.")] = False,
    as_json: Json = False,
) -> None:
    """Everything that ever left this party: when, why, how many bytes, and their hash."""
    need_flare()
    from dataclasses import asdict

    from folkmoot.application.federation.hosting import check_kit, read_activity
    from folkmoot.cli.show import console, print_json

    check_kit(kit, server=False)
    done = read_activity(kit)
    entries: list[Any] = list(done.refusals if refusals else done.outbox)
    if as_json:
        print_json([asdict(one) for one in entries])
        return
    out, last = console(), entries if everything else entries[-SHOWN:]
    if refusals:
        rows = [(format_time(one.time), one.stage, one.why) for one in last]
        out.print(_tabulate_rows(("When", "Exchange", "Why it was refused"), rows))
        out.print("1 refusal" if len(entries) == 1 else f"{len(entries):,} refusals")
        return
    sent = [(format_time(one.time), one.stage, one.why, f"{one.bytes:,}", one.digest[:16]) for one in last]
    out.print(_tabulate_rows(("When", "Exchange", "Why", "Bytes", "SHA-256"), sent))
    total = sum(one.bytes for one in done.outbox)
    out.print(
        f"{len(entries):,} messages, {total:,} bytes" + ("" if last == entries else f"; the last {SHOWN} are shown")
    )


app.command(epilog="Example: folkmoot federation demo")(demo)


def _describe_terms(agreement: "Agreement") -> str:
    from folkmoot.secagg.parameters import count_share

    terms, parties = agreement.terms, len(agreement.parties)
    bad, gone = count_share(terms.corrupt, parties), count_share(terms.dropout, parties)
    return (
        f"{bad} of the {parties} parties may work for the server while {gone} may be gone; "
        f"{terms.fewest} must be in every sum."
    )


def _describe_member(facts: "MembershipFacts") -> dict[str, str]:
    from folkmoot.engines.enrolment import arrange_fingerprint

    roster = arrange_fingerprint(facts.roster_fingerprint)
    shown = {"Party": facts.party, "Clients": f"{facts.clients:,}", "Items": f"{facts.items:,}"}
    shown["Own key"] = arrange_fingerprint(facts.key_fingerprint)
    shown["Roster"] = roster or "not yet known: it is made in the first run"
    if facts.budget:
        shown["Budget"] = facts.budget
    return shown


def _tabulate(facts: Any) -> "Table":
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    for name, value in dict(facts).items():
        table.add_row(name, str(value))
    return table


def _tabulate_rows(head: tuple[str, ...], rows: Any) -> "Table":
    from rich.table import Table

    table = Table(*head, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*map(str, row))
    return table
