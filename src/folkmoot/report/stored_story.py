"""A story as text: what a report was made from, for other programs, and to be compared with what is true."""

import json
from dataclasses import fields, is_dataclass
from typing import Any

from folkmoot.conversation.result import Result
from folkmoot.foundation.documents import read_json
from folkmoot.foundation.errors import InputError
from folkmoot.privacy.forecast import Forecast
from folkmoot.report.story import Baseline, Benefit, Item, LimitUse, PartyFacts, RareNumbers, Story, View

FORMAT = "folkmoot-story-2"


def to_json(story: Story) -> str:
    """Everything; `from_json` reads it back."""
    return json.dumps({"format": FORMAT, **_simplify(story)}, allow_nan=False, ensure_ascii=False)


def from_json(text: str) -> Story:
    try:
        document = read_json(text)
        if document.pop("format") != FORMAT:
            raise KeyError
        for name in ("chosen", "others"):
            document[name] = tuple(
                Item(**{**one, **{part: tuple((k, v) for k, v in one[part]) for part in ("details", "counted")}})
                for one in document[name]
            )
        document["baselines"] = tuple(Baseline(**one) for one in document["baselines"])
        document["parties"] = tuple(PartyFacts(**one) for one in document["parties"])
        document["limits"] = tuple(
            LimitUse(**{**one, "used": tuple((group, count) for group, count in one["used"])})
            for one in document["limits"]
        )
        document["rare"] = tuple(RareNumbers(**one) for one in document["rare"])
        if document.get("benefit") is not None:
            document["benefit"] = Benefit(**document["benefit"])
        if document.get("forecast") is not None:
            document["forecast"] = Forecast(**document["forecast"])
        if document["view"] is not None:
            view: dict[str, Any] = dict(document["view"])
            view |= {name: tuple(part) for name, part in view.items() if isinstance(part, list)}
            document["view"] = View(**view)
        document["versions"] = tuple((name, version) for name, version in document["versions"])
        for name in ("notes", "credits"):
            document[name] = tuple(document[name])
        return Story(**{**document, "result": Result.from_json(json.dumps(document["result"]))})
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError(f"is not a story in the form {FORMAT!r}", argument="text") from None


def _simplify(part: Any) -> Any:
    if isinstance(part, Result):
        return json.loads(part.to_json())
    if is_dataclass(part) and not isinstance(part, type):
        return {one.name: _simplify(getattr(part, one.name)) for one in fields(part)}
    return [_simplify(one) for one in part] if isinstance(part, tuple) else part
