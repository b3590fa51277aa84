"""Founding a federation: kits for its server and its parties, in a new folder, all or nothing."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from folkmoot.application.federation.agreement import FILE, Agreement
from folkmoot.application.federation.party_policy import FILE as POLICY_FILE
from folkmoot.application.federation.party_policy import make_policy_template
from folkmoot.application.folder import hash_file
from folkmoot.data import pin_columns
from folkmoot.engines.flare.kits import AUTHORITY, SERVER, Place, certify, provision, read_requests
from folkmoot.engines.flare.renewal import keep_certificates
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count
from folkmoot.foundation.settings import Data

RESERVED = (SERVER, AUTHORITY)  # names of folders


@dataclass(frozen=True)
class Founding:
    """A federation that was founded."""

    folder: Path
    agreement: Agreement

    @property
    def server(self) -> Path:
        return self.folder / SERVER

    def find_kit(self, party: str) -> Path:
        return self.folder / party


def establish(
    folder: Path,
    parties: Sequence[str],
    place: Place,
    data: Data,
    *,
    requests: Sequence[Path] = (),
    terms: Mapping[str, Any] | None = None,
) -> Founding:
    """Make all kits. `requests`: of parties that keep their own keys, by which they are named too; `terms`: arguments
    of `Agreement.plan`.
    """
    certified = read_requests(list(requests))
    names = [*parties, *(name for name in certified if name not in parties)]
    agreement = plan_agreement(folder.name, names, data, terms or {})
    _check(folder, agreement, place)
    items = Path(str(data.items))
    half = Path(mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        provision(half, agreement.name, agreement.parties, place)
        certify(half, certified)
        keep_certificates(half, agreement.parties)
        for kit in (half / SERVER, *(half / party for party in agreement.parties)):
            shutil.copyfile(items, agreement.find_items(kit))
            (kit / FILE).write_text(agreement.to_toml())
        for party in agreement.parties:
            (half / party / POLICY_FILE).write_text(make_policy_template(agreement))
        half.rename(folder)
    except BaseException:
        shutil.rmtree(half, ignore_errors=True)
        raise
    return Founding(folder, agreement)


def plan_agreement(name: str, parties: Sequence[str], data: Data, terms: Mapping[str, Any]) -> Agreement:
    """What the parties will agree on; the items file is read, so that all number its rows alike."""
    if data.items is None:
        raise InputError("is needed: a public list of what can be chosen, the same for all parties", argument="items")
    pinned = pin_columns(data) if data.kind is not None else data  # an agreement refuses to have no kind
    public = replace(pinned, items=Path(data.items).name)
    return Agreement.plan(name, parties, public, hash_file(Path(data.items)), **terms)


def _check(folder: Path, agreement: Agreement, place: Place) -> None:
    if folder.exists():
        raise InputError("already exists", remedy="give another folder", place=folder)
    if not folder.absolute().parent.is_dir():
        raise InputError(f"there is no folder {folder.absolute().parent}", place=folder)
    as_count(place.port, "port", least=1, most=65_535)
    if not place.host or any(sign.isspace() or sign in ":/" for sign in place.host):
        raise InputError(f"needs the name of a machine, got {place.host!r}", argument="host")
    taken = [name for name in agreement.parties if name.lower() in RESERVED or name == place.host]
    if taken:
        raise InputError(f"{taken[0]} is the name of something else here", argument="parties")
