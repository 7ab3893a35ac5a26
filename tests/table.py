"""A table of a pure function is one case, not one for each row.

@each_row(("text", "number"), [("one", 1), ("two", 2)])
def test_a_word_is_a_number(text, number):
    assert number_of(text) == number
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def each_row(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call a test once for each row; other arguments are fixtures, which all rows share. A failure names its row."""
    table = [(row,) if isinstance(names, str) else tuple(row) for row in rows]
    columns = (names,) if isinstance(names, str) else names

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def each(**fixtures: Any) -> None:
            for row in table:
                values = dict(zip(columns, row, strict=True))
                try:
                    test(**fixtures, **values)
                except BaseException as error:
                    shown = ", ".join(f"{name}={value!r:.200}" for name, value in values.items())
                    error.add_note(f"with {shown}")
                    raise

        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in columns]
        each.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]  # what pytest looks at
        return each

    return decorate
