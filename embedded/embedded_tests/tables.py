"""A table in one case: each row asks the test once, and the row that fails is named.

    @table(("length", "reason"), [(0, 2513), (1, None)])
    def test_the_length_of_a_name(length, reason): ...

It has the form of ``pytest.mark.parametrize``, but its rows share the fixtures, which cost more than most rows do. New for each
row are ``queue`` and ``tmp_path``, and what ``anew`` names: for each of these there is a fixture ``make_`` that makes one. What a
row leaves in a unit of work of ``connection`` is backed out. Use ``parametrize`` where rows depend on what else is left.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def table(
    names: str | Sequence[str], rows: Iterable[Any], ids: Sequence[str] = (), anew: Sequence[str] = ()
) -> Callable[[Any], Any]:
    """Make one case of a test that is asked of each row; ``ids`` say what the rows are, where the values do not."""
    made_anew = {"queue", *anew}
    columns = [names] if isinstance(names, str) else list(names)
    rows = [(row,) if isinstance(names, str) else tuple(row) for row in rows]
    assert rows
    assert all(len(row) == len(columns) for row in rows)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def ask_each(**given: Any) -> None:
            __tracebackhide__ = True
            for number, row in enumerate(rows):
                values = dict(zip(columns, row, strict=True))
                try:
                    fixtures = {name: given[f"make_{name}"]() if name in made_anew else given[name] for name in wanted}
                    if "tmp_path" in fixtures:
                        fixtures["tmp_path"] /= f"row-{number}"
                        fixtures["tmp_path"].mkdir()
                    test(**fixtures, **values)
                except BaseException as error:
                    error.add_note(f"row {number}: {ids[number] if ids else values}")
                    raise
                if "connection" in given:
                    given["connection"].back_out()

        wanted = [name for name in inspect.signature(test).parameters if name not in columns]
        asked_for = dict.fromkeys(f"make_{name}" if name in made_anew else name for name in wanted)
        parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in asked_for]
        ask_each.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what pytest asks for fixtures
        return ask_each

    return decorate
