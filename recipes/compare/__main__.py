"""``python -m recipes.compare``: disturb all, print the tables, write them into the page, draw the picture."""

from __future__ import annotations

import platform
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from mqembedded import EmbeddedQueueManager
from recipes.compare import worker
from recipes.compare.campaign import EVERY, MANY, MESSAGES, MQSC, Campaign, Outcome
from recipes.compare.report import by_kind, markdown, picture, text, totals, write

_ROOT = Path(__file__).parents[2]
_PAGE, _PICTURE = _ROOT / "docs" / "explanation" / "why.md", _ROOT / "docs" / "_static" / "compare.svg"


@click.command(help=__doc__)
@click.option("--short", is_flag=True, help="Every eighth call, two random pairs; the page is left as it is.")
@click.option(
    "--random", "pairs", default=20, show_default=True, help="How many pairs of faults to draw for each approach."
)
@click.option("--seed", default=1, show_default=True, help="The first seed; the next pair has the next one.")
@click.option("--show", is_flag=True, help="Name every case that went wrong.")
def main(short: bool, pairs: int, seed: int, show: bool) -> None:
    seeds = range(seed, seed + (2 if short else pairs))
    missing = [name for name in worker.APPROACHES if name not in worker.available()]
    if missing:
        raise click.ClickException(f"{', '.join(missing)} is not installed: make compare does that")
    worker.preload()
    with tempfile.TemporaryDirectory(prefix="compare-") as folder:
        mqsc = Path(folder) / "compare.mqsc"
        mqsc.write_text(MQSC)
        with EmbeddedQueueManager("QMC", mqsc=[mqsc]) as q_mgr:
            campaign = Campaign(q_mgr, Path(folder))
            prices = campaign.prices(list(worker.APPROACHES), rounds=1 if short else 5)
            outcomes: list[Outcome] = []
            for approach in worker.APPROACHES:
                for case in campaign.cases(approach, every_nth=8 if short else 1, seeds=seeds):
                    outcome = campaign.run(case)
                    outcomes.append(outcome)
                    if show and (not outcome.found.is_right or outcome.is_wrong_statement):
                        click.echo(f"{case}: said {'done' if outcome.said_done else 'not done'}, {outcome.found}")
            campaign.close()
    told = (
        f"Calls and seconds are those of an undisturbed run, which puts {MANY[0]:,} messages in units of work of {MANY[1]}. "
        f"The {len(outcomes):,} cases put a group of {MESSAGES} messages in units of work of {EVERY}: "
        f"{'every eighth call' if short else 'every call'} is disturbed, and there are random pairs of faults with the seeds "
        f"{seeds[0]} to {seeds[-1]}. Versions: Python {platform.python_version()}, pymqi {_version('pymqi')}, faststream-mq "
        f"{_version('faststream-mq')} on ibmmq {_version('ibmmq')}, tenacity {_version('tenacity')}."
    )
    click.echo(f"{text(totals(outcomes, prices))}\n\n{text(by_kind(outcomes))}\n\n{told}")
    if not short:
        write(_PAGE, f"{markdown(totals(outcomes, prices))}\n\n{told}\n\n{markdown(by_kind(outcomes))}")
        _PICTURE.write_text(picture(outcomes), encoding="utf-8")
        click.echo(f"written into {_PAGE} and {_PICTURE}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


if __name__ == "__main__":
    main()
