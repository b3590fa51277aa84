"""Objectives in files that are mapped, not read, so that a population can be larger than memory.

A file is an uncompressed .npz, which np.load can read too. Its arrays are stored exactly as kernels need them, each at
a multiple of 64 bytes, so loading only finds out where they are. The operating system reads the parts that a kernel
touches, shares them between processes, and drops them when memory is short.
"""

import json
import os
import struct
from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NamedTuple, cast
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from folkmoot.foundation.errors import InputError
from folkmoot.foundation.inputs import as_count, as_names, as_number, as_path, as_weights
from folkmoot.foundation.registry import find_kinds, name_kind
from folkmoot.objectives.objective import Objective, as_objective, balance
from folkmoot.objectives.runs import Runs, item_type
from folkmoot.objectives.sparse import ScoredRows, SparseRows

FORMAT = "folkmoot objective 1"
FLOATS = ("scores", "run_value", "row_weight", "client_weights")
POINTERS = {"row_start": ("items", "scores"), "row_runs": ("run_end", "run_value"), "client_rows": ("row_weight",)}
ALIGNMENT, HEADER, COPIED_AT_ONCE = 64, 128, 1 << 22  # bytes

PathLike = str | os.PathLike[str]
Arrays = dict[str, NDArray[Any]]


class ArchiveMember(NamedTuple):
    """An array to be written to a file."""

    dtype: np.dtype[Any]
    length: int
    chunks: Iterable[bytes | memoryview]


def save(objective: Objective, path: PathLike) -> None:
    """Write an objective of a sparse family to one file, for `load`.

    The file gets its name when it is complete: until then, and after a crash, an older file of that name is still
    there. What was loaded from the older file stays valid.
    """
    _refuse_family(type(as_objective(objective)), "objective")
    given = cast(SparseRows, objective)
    members = {name: ArchiveMember(array.dtype, len(array), [array.data]) for name, array in _arrays(given).items()}
    with _make_folder_beside(as_path(path, "path")) as room:
        _write(Path(room), Path(path), _describe(given), members)


def save_parts(
    path: PathLike,
    family: type[SparseRows],
    parts: Iterable[Any],
    *,
    concave: str | float | None = None,
    weights: ArrayLike | None = None,
    keep_empty: bool = False,
    most: float | None = None,
    item_names: Any = None,
    client_names: Any = None,
) -> None:
    """Write a population to one file part by part, holding only one part in memory at a time.

    `parts` are matrices of rows × items over the same items, one row per client; `load` then gives what
    `family` makes of all of them stacked. `weights` and `client_names` are those of all clients together.
    While it runs, the directory of the file needs space for the population twice.
    """
    _refuse_family(family, "family")
    if weights is not None:
        weights = as_weights(weights, np.size(weights))  # checked before the work; their number is checked at the end
    options: dict[str, Any] = {"keep_empty": keep_empty, "most": most} | (
        {} if concave is None else {"concave": concave}
    )
    about: dict[str, Any] = {}
    growing: dict[str, tuple[np.dtype[Any], BinaryIO]] = {}
    ends = dict.fromkeys(POINTERS, 0)
    with _make_folder_beside(as_path(path, "path")) as room, ExitStack() as files:
        count = n_clients = 0
        for part in parts:
            try:
                made = family(part, item_names=item_names, **options)
            except InputError as error:
                problem = f"{error.argument}: {error.problem}"  # arguments of the family, not of this function
                raise InputError(problem, argument="parts", within=f"part {count}", remedy=error.remedy) from None
            arrays = _arrays(made)
            if not count:
                about, item_names = _describe(made), made.item_names
                for name in arrays:
                    growing[name] = arrays[name].dtype, files.enter_context(open(Path(room, name), "w+b"))
            elif made.n_items != about["n_items"]:
                raise InputError(
                    f"part {count} has {made.n_items} items, part 0 has {about['n_items']}", argument="parts"
                )
            for name in arrays.keys() & ends.keys():  # continue the count; the end of the part before is written
                arrays[name] = arrays[name][min(count, 1) :] + ends[name]
                ends[name] = arrays[name][-1]
            for name in arrays:
                growing[name][1].write(arrays[name].data)
            count, n_clients = count + 1, n_clients + made.n_clients
            del part, made, arrays  # free this part before the next one is made
        if not count:
            raise InputError("there are none", remedy="give at least one matrix", argument="parts")
        members = {}
        for name, (dtype, file) in growing.items():
            members[name] = ArchiveMember(
                dtype, file.tell() // dtype.itemsize, iter(partial(file.read, COPIED_AT_ONCE), b"")
            )
            file.seek(0)
        if weights is not None:
            shares = balance(as_weights(weights, n_clients))
            members["client_weights"] = ArchiveMember(shares.dtype, n_clients, [shares.data])
        about["client_names"] = as_names(client_names, n_clients, "client_names")
        _write(Path(room), Path(path), about, members)


def load(path: PathLike) -> Objective:
    """The objective in a file; its arrays are mapped from the file, read-only, and read when they are used.

    The structure of every row is checked, its entries are not: they are trusted. So load only files that you would
    also run as a program: your own, or those of people you trust. (`python -m zipfile -t FILE` reads everything
    and finds accidental damage.) Do not change a file in place while it is loaded; `save` never does.
    """
    name = os.fspath(as_path(path, "path"))
    try:
        file = open(path, "rb")  # noqa: SIM115 (closed below, where other errors are expected than here)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", place=name) from None
    try:
        with file, ZipFile(file) as archive:
            return _map(archive, mmap(file.fileno(), 0, access=ACCESS_READ))
    except InputError as error:
        problem = f"{error.argument}: {error.problem}" if error.argument else error.problem
        raise InputError(problem, remedy=error.remedy, place=name) from None
    except (BadZipFile, OSError, RuntimeError, ValueError, EOFError, OverflowError, struct.error):
        raise InputError("is not a stored objective, or is cut short or damaged", place=name) from None


def find_families() -> dict[str, type[SparseRows]]:
    """Every family that can be stored, by the name that files know it by."""
    kinds = sorted(find_kinds(SparseRows).items())
    return {name: kind for name, kind in kinds if kind.layout_kind is not None}


def _refuse_family(family: Any, name: str) -> None:
    if family not in find_families().values():
        what = getattr(family, "__name__", repr(family))
        raise InputError(f"{what} cannot be stored; these can: {', '.join(find_families())}", argument=name)


def _describe(objective: SparseRows) -> dict[str, Any]:
    """Everything that is not an array."""
    about = {"format": FORMAT, "family": name_kind(type(objective)), "owned": objective.client_rows is not None}
    about |= {name: getattr(objective, name) for name in ("n_items", "item_names", "client_names", "most")}
    return about | objective.store_settings()


def _arrays(objective: SparseRows) -> Arrays:
    arrays: Arrays = cast(Runs | ScoredRows, objective.layout)._asdict()
    for name in ("row_weight", "client_weights", "client_rows"):
        arrays[name] = getattr(objective, name)
    return {name: array for name, array in arrays.items() if array is not None}


# Writing.


def _make_folder_beside(target: Path) -> TemporaryDirectory[str]:
    """A temporary folder on the same disk, so that a finished file only needs to be renamed."""
    if not target.parent.is_dir():
        raise InputError(f"there is no directory {target.parent}", place=target)
    if target.is_dir():
        raise InputError("is a directory", remedy="give a file name", place=target)
    try:
        return TemporaryDirectory(prefix=".folkmoot-", dir=target.parent)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", place=target) from None


def _write(room: Path, target: Path, about: dict[str, Any], members: dict[str, ArchiveMember]) -> None:
    text = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    with open(room / "whole", "wb") as file:
        with ZipFile(file, "w", ZIP_STORED) as archive:
            for name, member in {"about": ArchiveMember(text.dtype, len(text), [text.data]), **members}.items():
                with archive.open(_align(f"{name}.npy", file.tell()), "w", force_zip64=True) as out:
                    out.write(_header(member.dtype, member.length))
                    for chunk in member.chunks:
                        out.write(chunk)
        file.flush()
        os.fsync(file.fileno())  # the name must not reach the disk before the content
    os.replace(room / "whole", target)


def _align(name: str, offset: int) -> ZipInfo:
    """A member of a zip file, written at this offset, whose content begins at a multiple of 64 bytes.

    The content follows 30 bytes, the name, the padding (in the extra field that Android's zipalign uses) and
    the 20 bytes of the extra field for large files.
    """
    info = ZipInfo(name)
    padding = -(offset + 30 + len(name) + 6 + 20) % ALIGNMENT
    info.extra = struct.pack("<HHH", 0xD935, 2 + padding, ALIGNMENT) + bytes(padding)
    return info


def _header(dtype: np.dtype[Any], length: int) -> bytes:
    """The header of a .npy file (version 1.0) with one dimension: 128 bytes that depend only on type and length."""
    text = f"{{'descr': '{dtype.str}', 'fortran_order': False, 'shape': ({length},), }}"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", HEADER - 10) + text.ljust(HEADER - 11).encode() + b"\n"


# Reading.


def _map(archive: ZipFile, mapped: mmap) -> Objective:
    if "about.npy" not in archive.namelist():
        raise InputError("is a zip file, but not an objective that Folkmoot stored")
    about = json.loads(archive.read("about.npy")[HEADER:])  # reading it checks its checksum
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InputError(f'is not in the format "{FORMAT}"', remedy="save it again with this version of Folkmoot")
    families = find_families()
    family = families.get(str(about.get("family")))
    if family is None:
        raise InputError(f"holds a {about.get('family')}; known are {', '.join(families)}")
    layout: type[Any] = cast(type[Any], family.layout_kind)
    n_items = as_count(about.get("n_items"), "n_items", most=2**31 - 1)
    arrays: Arrays = {}
    for name in (*layout._fields, "row_weight", "client_weights", *(("client_rows",) if about.get("owned") else ())):
        dtype: DTypeLike = np.float64 if name in FLOATS else np.int64 if name in POINTERS else np.int32
        if name == "items" and layout is Runs:
            dtype = item_type(n_items)
        arrays[name] = _view(archive, mapped, name, np.dtype(dtype))
    _check(arrays)

    objective = object.__new__(family)
    objective.layout = layout(**{name: arrays[name] for name in layout._fields})
    objective.row_weight, objective.client_rows = arrays["row_weight"], arrays.get("client_rows")
    objective.client_weights = arrays["client_weights"]
    objective.n_items, objective.n_clients = n_items, len(objective.client_weights)
    objective.item_names = as_names(about.get("item_names"), n_items, "item_names")
    objective.client_names = as_names(about.get("client_names"), objective.n_clients, "client_names")
    if about.get("most") is not None:  # trusted, as the entries are
        objective.most = as_number(about["most"], "most")
    objective.restore_settings(about)
    return objective


def _view(archive: ZipFile, mapped: mmap, name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array mapped from the file. Its header is not parsed: it must be exactly the one we write."""
    if f"{name}.npy" not in archive.namelist():
        raise InputError(f"the array {name} is missing")
    info = archive.getinfo(f"{name}.npy")
    signature, of_name, of_extra = struct.unpack_from("<4s22xHH", mapped, info.header_offset)
    start = info.header_offset + 30 + of_name + of_extra
    if info.compress_type != ZIP_STORED or start % ALIGNMENT:
        raise InputError(
            f"the array {name} is compressed or misaligned and cannot be mapped", remedy="save the objective again"
        )
    length, rest = divmod(info.file_size - HEADER, dtype.itemsize)
    whole = signature == b"PK\x03\x04" and not rest and start + info.file_size <= len(mapped)
    if not whole or mapped[start : start + HEADER] != _header(dtype, length):
        raise InputError(f"the array {name} is not a list of {dtype} numbers")
    return np.ndarray((length,), dtype, mapped, start + HEADER)


def _check(arrays: Arrays) -> None:
    """Check that lengths agree, that every row lies within its arrays, and that weights are valid."""
    rows = len(arrays["row_weight"])
    clients = len(arrays["client_rows"]) - 1 if "client_rows" in arrays else rows
    for pointer, targets in POINTERS.items():
        if pointer in arrays:
            starts, count = arrays[pointer], clients if pointer == "client_rows" else rows
            ends = {len(arrays[name]) for name in targets if name in arrays}
            if count < 1 or len(starts) != count + 1 or starts[0] != 0 or ends != {int(starts[-1])}:
                raise InputError(f"the lengths of {pointer} and {' or '.join(targets)} differ")
            falls = starts[1:] <= starts[:-1] if pointer == "client_rows" else starts[1:] < starts[:-1]
            if falls.any():
                raise InputError(f"{pointer} falls where it must rise")
    if not 0 <= arrays["row_weight"].min() <= arrays["row_weight"].max() < np.inf:
        raise InputError("row_weight holds numbers that are negative or not finite")
    as_weights(arrays["client_weights"], clients, "client_weights")
