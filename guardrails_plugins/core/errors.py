"""The error tree: every error this package raises on purpose is a `GateError`.

No message ever quotes model text; messages name what is wrong and what would be right.
"""


class GateError(Exception):
    """Base of every error raised on purpose by this package."""


class SourceError(GateError, TypeError):
    """A source is not text, nor a `Source`, nor a `SourceIndex`."""


class LanguageError(GateError, ValueError):
    """No profile exists for a language tag; the message lists those that exist."""


class LanguageDataError(GateError, ValueError):
    """A language file is malformed; the message names the file and the entry."""


class PolicyError(GateError, ValueError):
    """A policy key or value is unknown or of the wrong type; names the nearest right one."""


class MarkerStyleError(PolicyError):
    """A marker template is not of a supported form, such as ``[S{n}]`` or ``[{n}]``."""


class BoundError(GateError, ValueError):
    """A limit is out of range: a length (`max_chars`) below 1, or a time (`timeout_s`) that is not above 0."""


class ArgumentError(GateError, TypeError):
    """An argument of a driver or a meter is of the wrong type; the message names it."""


class RecorderError(GateError, OSError):
    """The file of a recorder cannot be written; the message names it and says why."""


class StreamClosedError(GateError, RuntimeError):
    """`feed`, `flush` or `finish` was called after the stream had ended."""


class FinishReasonError(GateError, ValueError):
    """A finish reason is not known; the message lists the known ones."""


class FrameError(GateError, TypeError):
    """A provider stream yielded an object that is no known frame."""
