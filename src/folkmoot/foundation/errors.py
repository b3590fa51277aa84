"""One family of errors. Each message says what was wrong, where, and what to do."""


class FolkmootError(Exception):
    """The root of everything Folkmoot raises on purpose."""


class InputError(FolkmootError, ValueError):
    """An argument cannot be used as given."""


class NotSubmodular(FolkmootError):
    """A function that was promised to be monotone and submodular is not."""


class RoundFailed(FolkmootError):
    """Too few clients answered, however often they were asked."""


class TranscriptError(FolkmootError):
    """A transcript does not belong to this run, or was changed."""
