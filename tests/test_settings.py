"""A setting is said once: whatever shows or checks it is made of its field."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import pytest
from click.testing import CliRunner

import mqgroups
from mqgroups.cli.options import setting_options
from mqgroups.errors import ConfigurationError
from mqgroups.setting import Settings, Whole, method_of, settings_of, table
from mqgroups.settings import Connecting, Consuming, Piping, Producing

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
FACTORIES: dict[Callable[..., Any], type[Settings]] = {
    mqgroups.connect: Connecting,
    mqgroups.QueueManager.group_producer: Producing,
    mqgroups.QueueManager.group_consumer: Consuming,
    mqgroups.QueueManager.group_pipe: Piping,
}


@dataclass(frozen=True, kw_only=True)
class Greeting(Consuming):
    """The settings of a consumer, and two more.

    Attributes:
        greetings: how often the consumer greets. Nobody has
            asked for it.
        tone: of the greeting.
    """

    greetings: Annotated[int, Whole(0, 9)] = 3
    tone: Literal["kind", "cool"] = "kind"


class Host:
    @method_of(Greeting)
    def consumer(self, settings: Greeting) -> Greeting:
        """Return the settings.

        Raises:
            ConfigurationError: one is invalid.
        """
        return settings


def test_a_setting_that_is_added_is_found_everywhere():
    shown = inspect.signature(Host.consumer).parameters["greetings"]
    assert (shown.default, shown.annotation, shown.kind) == (3, int, inspect.Parameter.KEYWORD_ONLY)
    help_ = inspect.getdoc(Host.consumer) or ""
    assert "    greetings: how often the consumer greets. Nobody has asked for it.\n" in help_
    assert help_.index("Args:") < help_.index("greetings") < help_.index("Raises:")
    assert Host().consumer("Q", name="N", greetings=4) == Greeting("Q", name="N", greetings=4)
    with pytest.raises(ConfigurationError, match="greetings must be a whole number, 0 to 9, got 10"):
        Host().consumer("Q", name="N", greetings=10)
    with pytest.raises(ConfigurationError, match="tone must be 'kind' or 'cool', got 'loud'"):
        Host().consumer("Q", name="N", tone="loud")  # type: ignore[arg-type]  # neither word
    assert "| `greetings` | `3` | greeting | how often the consumer greets. Nobody has asked for it. |" in table(
        ("greeting", Greeting), ("consumer", Consuming)
    )
    command = click.command(context_settings={"show_default": True})(
        setting_options(Greeting, "greetings", "tone")(lambda greetings, tone: print(greetings, tone))
    )
    options = CliRunner().invoke(command, ["--help"]).output
    assert "How often the consumer greets.  [default: 3" in options
    assert "--tone [kind|cool]" in options
    assert CliRunner().invoke(command, ["--greetings", "5", "--tone", "cool"]).output == "5 cool\n"


def test_a_name_that_is_none_of_a_functions_settings_is_told_with_the_functions_name(owner):
    for wrong, said in (
        ({"name": "N", "commit_evry": 5}, r"group_producer\(\): got an unexpected keyword argument 'commit_evry'"),
        ({}, r"group_producer\(\): missing a required .*argument: 'name'"),
    ):
        with pytest.raises(TypeError, match=said):
            owner.qmgr.group_producer("Q", **wrong)
    with pytest.raises(TypeError, match=r"connect\(\): too many positional arguments"):
        mqgroups.connect("QM1", "C", "h(1)", "more")  # type: ignore[call-arg]  # at most three


def test_each_factory_shows_its_settings_and_each_of_them_is_documented():
    for factory, settings in FACTORIES.items():
        fields = settings_of(settings)
        given = [name for name in inspect.signature(factory).parameters if name != "self"]
        assert given == [each.name for each in fields]
        assert [each.name for each in fields if not each.help.endswith(".")] == []


def test_the_page_has_the_tables_of_the_fields():
    text = PAGE.read_text(encoding="utf-8")
    for expected in (
        table(("producer", Producing), ("consumer", Consuming), ("pipe", Piping)),
        table(("connection", Connecting)),
    ):
        assert expected in text, f"mqgroups.setting.table(...) is a table of {PAGE}:\n{expected}"
