"""The mutations (``python -m tests.mutations``) name lines of code by their text: each has to be there, exactly once."""

from __future__ import annotations

import ast

import pytest

from tests.mutations import MUTATIONS, ROOT


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_changes_one_place_and_leaves_python(mutation):
    text = (ROOT / "mqgroups" / mutation.file).read_text(encoding="utf-8")
    assert text.count(mutation.old) == 1
    assert mutation.new != mutation.old
    ast.parse(text.replace(mutation.old, mutation.new))


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_tests_that_have_to_notice_a_mutation_are_there(mutation):
    paths = [word for word in mutation.tests.split(" -k ")[0].split() if word.startswith("tests/")]
    assert paths
    assert all((ROOT / path).exists() for path in paths)
