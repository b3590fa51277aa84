"""The run that a look at the data suggests: settings that were checked as a run checks them, on the same data."""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import fields, replace
from math import ceil, log2
from typing import Any

from folkmoot.application.job import Job, check_job, make_method
from folkmoot.application.origin import SECTIONS, as_keyword
from folkmoot.application.outlook import Outlook
from folkmoot.application.problem import Problem
from folkmoot.data import FileLook, Loaded
from folkmoot.data.records import LoadedTable
from folkmoot.foundation.errors import InputError
from folkmoot.foundation.settings import PrivacySettings
from folkmoot.matroids.matroid import Matroid

MENDED = {"missing": "drop", "negative": "zero", "duplicates": "first"}
STARS = 5.0  # the largest rating that people usually have
NOISE = ("epsilon", "delta", "adjacency")


def suggest(
    problem: Problem,
    seen: FileLook,
    loaded: Loaded,
    matroid: Matroid,
    changes: Mapping[str, Any],
    outlook: Outlook | None,
) -> Mapping[str, Any] | None:
    """Settings to add to those of the problem, by their keywords; None: nothing is known to work. Noise that a run
    would refuse is made smaller, or left out (its settings are None, or what they are without noise).
    """
    known = {**_mend_faults(problem, seen), **changes}
    for noise in _list_noise(problem, loaded, outlook):
        wanted = {**known, **noise}
        if "epsilon" not in noise and problem.privacy.epsilon is not None:  # noise has a method of its own
            wanted.pop("method", None)
        if _works(change_settings(problem, wanted), loaded, matroid):
            return wanted
    return None


def _mend_faults(problem: Problem, seen: FileLook) -> dict[str, Any]:
    """What to do about what is wrong with the file, where nobody said so."""
    mended = dict(MENDED)
    if seen.kind == "tables":
        mended["missing"] = "category"
    mended |= {fault.what: fault.mend for fault in seen.faults if fault.mend}
    faults = {fault.what for fault in seen.faults}
    wrong = {name: mended[name] for name in mended if name in faults and getattr(problem.data, name) == "refuse"}
    return {**wrong, **dict(seen.mended)}


def _list_noise(problem: Problem, loaded: Loaded, outlook: Outlook | None) -> Iterator[dict[str, Any]]:
    """Noise as it is asked for, less of it, and none."""
    if problem.privacy.epsilon is None:
        yield {}
        return
    if outlook is not None:
        most = {} if loaded.objective.most is not None else {"most": find_example(loaded)}
        yield most
        more = [(one, found) for one, found in outlook.curve if one > problem.privacy.epsilon]
        good = [one for one, found in more if not found.is_poor]
        enough = good + [one for one, found in more if found.is_poor and not found.is_hopeless]
        yield from ({"epsilon": one, **most} for one in enough)
    yield {name: getattr(PrivacySettings, name) for name in NOISE}


def find_example(loaded: Loaded) -> float:
    """What might be known to everybody of how large values are: bits of a label, or stars."""
    if isinstance(loaded, LoadedTable):
        return ceil(10 * log2(max(int(loaded.records.labels.max()) - int(loaded.records.labels.min()) + 1, 2))) / 10
    largest = float(loaded.objective.find_ceilings().max())
    return max(STARS, float(ceil(largest)))


def change_settings(problem: Problem, changes: Mapping[str, Any]) -> Problem:
    """The problem with other settings, each by its keyword."""
    parts: dict[str, Any] = {}
    for section, kind in SECTIONS.items():
        own = {one.name: as_keyword(section, one.name) for one in fields(kind)}
        mine = {name: changes[keyword] for name, keyword in own.items() if keyword in changes}
        if mine and section != "limit":
            parts[section] = replace(getattr(problem, section), **mine)
    return replace(problem, **parts)


def _works(problem: Problem, loaded: Loaded, matroid: Matroid) -> bool:
    """Whether a run would accept it."""
    if problem.data.most is not None:
        objective = copy(loaded.objective)
        objective.most = problem.data.most
        loaded = replace(loaded, objective=objective)
    try:
        check_job(Job(problem, loaded, matroid, make_method(problem)))
    except InputError:
        return False
    return True
