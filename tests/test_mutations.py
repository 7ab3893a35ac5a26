"""The mutations (``python -m tests.mutations``) name lines of code by their text: each has to be there, exactly once."""

from __future__ import annotations

import ast

from tests.mutations import MUTATIONS, ROOT


def faults(mutation):
    """Return what is wrong with a mutation, or with the tests that have to notice it."""
    text = (ROOT / "mqgroups" / mutation.file).read_text(encoding="utf-8")
    count = text.count(mutation.old)
    if count != 1:
        yield f"{mutation.file} has it {count} times: {mutation.old!r}"
    if mutation.new == mutation.old:
        yield "it changes nothing"
    try:
        ast.parse(text.replace(mutation.old, mutation.new))
    except SyntaxError as error:
        yield f"it leaves no Python: {error}"
    named = [word.split("::") for word in mutation.tests.split(" -k ")[0].split() if word.startswith("tests/")]
    if not named:
        yield "it names no tests"
    for path, *inside in named:
        found = ROOT / path
        if not found.exists() or any(
            f"{each.split('[')[0]}(" not in found.read_text(encoding="utf-8") for each in inside
        ):
            yield f"there is no {'::'.join((path, *inside))}"


def test_each_mutation_changes_one_place_leaves_python_and_names_tests_that_are_there():
    assert [f"{mutation.name}: {fault}" for mutation in MUTATIONS for fault in faults(mutation)] == []
