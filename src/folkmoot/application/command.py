"""The command that asks what a problem asks: made from the problem, so that no page has to believe what was typed."""

import os
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

from folkmoot.application.origin import SECTIONS, as_keyword
from folkmoot.application.problem import Problem
from folkmoot.application.toml import as_toml

ELSEWHERE = {("data", "file"), ("output", "folder"), ("output", "png"), ("output", "markdown")}  # not what is asked


def spell_command(problem: Problem) -> str:
    """`folkmoot run` with every setting that is not its default. `problem`: as the folder of a run holds it. Files are
    named from where that folder is.
    """
    file = problem.data.file
    inner = [limit for limit in problem.limits[:-1] if limit.within is not None]  # options say this of the last alone
    values = [*problem.settings.values()]
    if file is None or inner or not all(isinstance(value, bool | int | float | str) for value in values):
        return _repeat(problem)
    words = ["folkmoot", "run", _name_file(problem, file)]
    for section, kind in SECTIONS.items():
        if section == "limit":
            words += [word for limit in problem.limits for word in _spell_limit(limit)]
            continue
        for one in fields(kind):
            value = getattr(getattr(problem, section), one.name)
            if value != one.default and (section, one.name) not in ELSEWHERE:
                shown = _name_file(problem, value) if one.name == "items" else value
                words += _spell_option(as_keyword(section, one.name), shown)
    words += [word for name, value in problem.settings.items() for word in ("--set", f"{name}={as_toml(value)}")]
    words += ["--seed", str(problem.seed)] if problem.seed else []
    return shlex.join(words)


def _repeat(problem: Problem) -> str:
    """By the problem file that the folder of the run holds."""
    folder = Path(problem.output.folder or ".").name
    return shlex.join(["folkmoot", "run", f"{folder}/run.toml", "--folder", f"{folder}-again"])


def _spell_option(name: str, value: Any) -> list[str]:
    flag = f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag if value else f"--no-{flag.removeprefix('--')}"]
    return [word for each in (value if isinstance(value, list | tuple) else [value]) for word in (flag, str(each))]


def _spell_limit(limit: Any) -> list[str]:
    within = [] if limit.within is None else ["--within", limit.within]
    return ["--at-most", str(limit.at_most), "--per", limit.per, *within]


def _name_file(problem: Problem, name: str) -> str:
    """From beside the folder of the run, where that is shorter than in full."""
    if problem.output.folder is None:
        return name
    try:
        near = os.path.relpath(name, Path(problem.output.folder).parent)
    except ValueError:  # another drive
        return name
    return min(near, name, key=len)
