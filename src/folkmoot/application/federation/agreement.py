"""What all parties of a federation agree on before anybody is asked anything: a public file, the same in every kit."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from math import ceil
from pathlib import Path
from typing import Any

from folkmoot.application.federation.papers import Fields, Paper, write_comment, write_settings
from folkmoot.application.folder import hash_file
from folkmoot.application.toml import as_toml
from folkmoot.data import Items, load_items
from folkmoot.engines.enrolment import HEX_DIGEST, PARTY_NAME, Charter, Registrar, digest_names, load_root
from folkmoot.engines.pooling import check_parties
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import SECURITY, Data, setting
from folkmoot.secagg import Policy

FILE, ROOT = "agreement.toml", "startup/rootCA.pem"
RESERVED = ("server", "authority", "lead")  # folders beside those of the parties
FEWEST_PARTIES = 5  # with the terms that are planned unless others are given
SHARE = 0.1  # of parties that may be corrupt, or gone; at least one
# Settings of the data that must be the same everywhere: otherwise sums would add up different things.
PUBLIC = (
    *("kind", "items", "items_id", "name", "reach", "least", "most", "target", "bins", "smoothing", "similarity"),
    *("category", "merge_rare", "best"),
)
LATER = ("category", "merge_rare", "best")  # agreements from before they existed keep their digest
UNRANGED = {"ratings": 5.0, "tables": 1.0}  # kinds of data whose values have no limit of their own; an example of one
PUBLIC_FIELDS: Fields = {one.name: one for one in fields(Data) if one.name in PUBLIC}


@dataclass(frozen=True, kw_only=True)
class TermSettings:
    """The terms of an agreement, as its file has them."""

    fewest: int = setting("Parties that must be in a sum.")
    corrupt: float = setting("Share of those asked that may work for the server.")
    dropout: float = setting("Share of those asked that may drop out.")
    security: int = setting("Bits: a round breaks its promises with probability 2^-security at most.", SECURITY)


TERM_FIELDS: Fields = {one.name: one for one in fields(TermSettings)}


@dataclass(frozen=True)
class Agreement:
    """Who takes part, on which terms, and how data is read.

    data: the settings that are the same everywhere; its file is empty. items_sha256: of the items file.
    """

    name: str
    parties: tuple[str, ...]
    terms: Policy
    data: Data
    items_sha256: str

    def __post_init__(self) -> None:
        _check_names(self.name, self.parties)
        _check_data(self.data)
        if not HEX_DIGEST.fullmatch(self.items_sha256):
            raise InputError("needs a SHA-256 in hexadecimal", argument="items_sha256")
        check_parties(self.terms, len(self.parties))

    @classmethod
    def plan(
        cls,
        name: str,
        parties: Sequence[str],
        data: Data,
        items_sha256: str,
        *,
        corrupt: float | None = None,
        dropout: float | None = None,
        fewest: int | None = None,
        security: int = SECURITY,
    ) -> "Agreement":
        """An agreement with terms that protect everybody; what cannot be safe is refused, with what could be."""
        _check_names(name, tuple(parties))
        _check_range(data)
        terms = plan_terms(len(parties), corrupt, dropout, fewest, security)
        public = Data(file="", **{one: getattr(data, one) for one in PUBLIC})
        if data.most is None and (data.kind == "similarity" or data.best == "lowest"):
            public = replace(public, most=1.0)  # of a cosine, or 1 / rank; a party's matrix could hold anything
        return cls(name, tuple(parties), terms, public, items_sha256)

    @classmethod
    def load(cls, kit: Path) -> "Agreement":
        """The agreement of a kit, if it is whole and the items file beside it is the one that was agreed on."""
        path = kit / FILE
        agreement = cls._read(Paper.read(path))
        if hash_file(agreement.find_items(kit)) != agreement.items_sha256:
            raise InputError(
                f"is not the file that {FILE} is about",
                place=agreement.find_items(kit),
                remedy="copy it again from where the kits were made",
            )
        return agreement

    @classmethod
    def _read(cls, paper: Paper) -> "Agreement":
        top = paper.take_table("", ("name", "parties", "per_client", "terms", "data"))
        if not isinstance(top.get("name"), str):
            paper.refuse("needs a text", "", "name")
        if top.get("per_client", False) is not False:  # older versions wrote it
            paper.refuse(
                "the clients of a party are now always heard together, through their party",
                "",
                "per_client",
                remedy="found the federation anew with `folkmoot federation init`",
            )
        parties = paper.take_texts("", "parties")
        terms = paper.fill("terms", TERM_FIELDS)
        data = paper.fill("data", PUBLIC_FIELDS, also=("items_sha256",))
        digest = paper.document.get("data", {}).get("items_sha256")
        if not isinstance(digest, str):
            paper.refuse("needs a SHA-256 in hexadecimal", "data", "items_sha256")
        try:
            public = Data(file="", **data)
            return cls(top["name"], parties, Policy(**terms), public, digest)
        except InputError as error:
            section = next((one for one in ("terms", "data") if error.argument in top.get(one, {})), "")
            raise paper.locate(error, section) from None

    @cached_property
    def digest(self) -> str:
        """Of everything that is agreed on, the items file included."""
        terms = {name: getattr(self.terms, name) for name in TERM_FIELDS}
        later = [name for name in LATER if getattr(self.data, name) == getattr(Data, name)]
        public = {name: value for name, value in self._list_public().items() if name not in later}
        one_by_one = False  # what older versions call `per_client`: their agreements keep their digest
        said = [self.name, self.parties, one_by_one, terms, public, self.items_sha256]
        return sha256(b"folkmoot agreement 1\0" + json.dumps(said, sort_keys=True).encode()).hexdigest()

    @property
    def quorum(self) -> int:
        """The fewest parties that must be there for a round to have a sum."""
        return self.terms.quorum(len(self.parties))

    def _list_public(self) -> Mapping[str, Any]:
        return {name: getattr(self.data, name) for name in PUBLIC}

    def find_items(self, kit: Path) -> Path:
        """The items file in a kit."""
        return kit / str(self.data.items)

    def load_items(self, kit: Path) -> Items:
        """The items, in the order of their numbers."""
        return load_items(self.data, kit)

    def make_charter(self, items: Items) -> Charter:
        """What enrolments must fit."""
        return Charter(self.digest, self.parties, len(items), digest_names(items.names))

    def complete(self, kit: Path, own: Mapping[str, Any]) -> Data:
        """How a party reads its data: as agreed, and by settings of its own. Where nothing was agreed about ranks, the
        highest value is the best.
        """
        best = self.data.best or ("highest" if self.data.kind == "ratings" else None)
        return replace(self.data, items=str(self.find_items(kit)), best=best, **own)

    def to_toml(self) -> str:
        """The file, with comments."""
        names = dict.fromkeys(TERM_FIELDS)
        given = {name: value for name, value in self._list_public().items() if value is not None}
        lines = [
            *write_comment(
                "What all parties of this federation agree on. It is public, and the same at every party: whoever "
                "changes it is no longer understood by the others."
            ),
            "",
            f"name = {as_toml(self.name)}",
            "# The parties, in the order of their numbers.",
            f"parties = {as_toml(self.parties)}",
            *("", "# What everyone requires of a round of secure aggregation.", "[terms]"),
            *write_settings(TERM_FIELDS, {name: getattr(self.terms, name) for name in names}),
            *("", "# How data is read at every party.", "[data]"),
            *write_settings(PUBLIC_FIELDS, given),
            "# SHA-256 of the items file.",
            f"items_sha256 = {as_toml(self.items_sha256)}",
        ]
        return "\n".join(lines) + "\n"


def plan_terms(parties: int, corrupt: float | None, dropout: float | None, fewest: int | None, security: int) -> Policy:
    """Terms for parties that are heard as one client each; unless given, one may be corrupt while another is gone."""
    if corrupt is None and dropout is None and parties < FEWEST_PARTIES:
        raise InputError(
            f"{parties} parties are too few if one of them may be corrupt while another is gone; {FEWEST_PARTIES} are "
            "enough",
            argument="parties",
        )
    least = max(SHARE, ceil(10_000 / parties) / 10_000)  # at least one party
    bad, gone = (least if share is None else share for share in (corrupt, dropout))
    quorum = Policy(0, bad, gone, security).quorum(parties)
    return Policy(quorum if fewest is None else fewest, bad, gone, security)


def open_registrar(kit: Path, agreement: Agreement | None = None) -> Registrar:
    """What checks enrolments, from a kit: its agreement, its items and its root."""
    known = Agreement.load(kit) if agreement is None else agreement
    return Registrar(known.make_charter(known.load_items(kit)), load_root(kit / ROOT))


def _check_names(name: str, parties: tuple[str, ...]) -> None:
    for argument, one in [("name", name), *(("parties", party) for party in parties)]:
        if not isinstance(one, str) or not PARTY_NAME.fullmatch(one):
            raise InputError(
                f"{one!r} is no name here: up to 40 letters, digits and hyphens, a letter or a digit first",
                argument=argument,
            )
    if not parties:
        raise InputError("needs at least one", argument="parties")
    if set(RESERVED).intersection(one.lower() for one in parties):
        raise InputError(f"{', '.join(RESERVED)} are not names of parties here", argument="parties")
    twice = {one.lower() for one in parties if sum(other.lower() == one.lower() for other in parties) > 1}
    if twice:
        raise InputError(f"{', '.join(sorted(twice))} is there twice", argument="parties")


def _check_data(data: Data) -> None:
    if data.kind is None:
        raise InputError("is needed: parties could take their files for different things", argument="kind")
    if data.items is None or Path(data.items).name != data.items:
        raise InputError("needs the name of a file beside the agreement", argument="items")
    if data.kind == "ratings":  # agreements on tables from before they needed a range still open
        _check_range(data)
    if data.kind == "similarity" and data.similarity == "gaussian":
        raise InputError(
            "gaussian measures how far rows are from items by each party's own rows, so that no two parties mean the "
            "same",
            remedy="agree on",
            settings=[("similarity", "cosine")],
            argument="similarity",
        )
    if data.kind in ("places", "distances") and data.reach is None:
        raise InputError("is needed: beyond it an item is of no use, for all parties alike", argument="reach")


def _check_range(data: Data) -> None:
    if data.most is None and data.kind in UNRANGED and data.best != "lowest":
        raise InputError(
            f"is needed for {data.kind}: without a range that everybody knows, one party's false value would outweigh "
            "all others",
            settings=[("most", UNRANGED[data.kind])],
            remedy="say what the largest value can be, such as",
            argument="most",
        )
