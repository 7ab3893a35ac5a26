"""What commands print with ``-o json``: each has a schema, which is narrow. ``fix_cli`` compares all that tests have printed."""

from __future__ import annotations

import click
import jsonschema
import pytest

from tests.cli.test_main import commands
from tests.fix_cli import OF_LINES, schema

PRINTING = [
    " ".join(path)
    for path, command in commands()
    if any("-o" in option.opts for option in command.params if isinstance(option, click.Option))
]


def test_each_command_that_prints_json_has_a_schema():
    known = schema("groups").schema["$defs"]
    assert set(PRINTING) <= set(known)
    assert set(OF_LINES) <= set(PRINTING)


def test_a_schema_refuses_what_the_page_does_not_tell():
    said = {"q_mgr_name": "QM1", "owners": [], "exit_code": 0}
    schema("owners").validate(said)
    for wrong in ({**said, "more": 1}, {**said, "exit_code": 2}, {"exit_code": 0}, {**said, "owners": [{"name": "N"}]}):
        with pytest.raises(jsonschema.ValidationError):
            schema("owners").validate(wrong)
