"""For ``__repr__``: an object whose constructor has not ended has a representation too.

It is ``self`` in the frames of an error of its constructor. Whoever shows the locals of frames asks for their representation, and
an error there would hide the first one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

_T = TypeVar("_T")


def even_half_made(shown: Callable[[_T], str]) -> Callable[[_T], str]:
    """Return a ``__repr__`` that names the class only if something is missing."""

    @wraps(shown)
    def show(self: _T) -> str:
        try:
            return shown(self)
        except (AttributeError, LookupError):
            return f"<{type(self).__name__}, not made>"

    return show
