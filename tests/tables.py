"""A table in one case: each row asks the test once, and the row that fails is named.

    @table(("length", "reason"), [(0, 2513), (1, None)])
    def test_the_length_of_a_name(length, reason): ...

It has the form of ``pytest.mark.parametrize``, but its rows share the fixtures, which cost more than most rows do. Two fixtures
are new for each row: ``queue``, and ``tmp_path``. What a row leaves in a unit of work of ``connection`` is backed out. So a row
must not depend on what else the rows before it have left: use ``parametrize`` where it would.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any


def table(names: str | Sequence[str], rows: Iterable[Any], ids: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Make one case of a test that is asked of each row; ``ids`` say what the rows are, where the values do not."""
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
                    test(**_of_this_row(given, number, wanted), **values)
                except BaseException as error:
                    error.add_note(f"row {number}: {ids[number] if ids else values}")
                    raise
                if "connection" in given:
                    given["connection"].back_out()

        wanted = [name for name in inspect.signature(test).parameters if name not in columns]
        fixtures = dict.fromkeys("make_queue" if name == "queue" else name for name in wanted)
        parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in fixtures]
        ask_each.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what pytest asks for fixtures
        return ask_each

    return decorate


def _of_this_row(given: dict[str, Any], number: int, wanted: list[str]) -> dict[str, Any]:
    values = {name: given[name] for name in wanted if name in given}
    if "queue" in wanted:
        values["queue"] = given["make_queue"]()
    if "tmp_path" in wanted:
        values["tmp_path"] = given["tmp_path"] / f"row-{number}"
        values["tmp_path"].mkdir()
    return values
