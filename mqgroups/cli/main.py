"""The command ``mqgroups``. Its commands turn words into calls, and errors into one message and an exit code.

    mqgroups recover          look at a producer's or consumer's status queue before it is started
    mqgroups salvage look     show the groups on a queue, complete or not
    mqgroups salvage rebuild  write a lost status record again, from the messages of its group
    mqgroups salvage move     move what is left of a group to another queue
    mqgroups batches list     show what batches of the Spark sink have left on a shared status queue
    mqgroups batches purge    remove what a sink has left that does not come back
    mqgroups pipeline check   check a pipeline's file, and show what would be read
    mqgroups pipeline run     run message groups through Spark
    mqgroups pipeline report  write its report again
    mqgroups embedded build   compile the client library of the embedded queue manager
    mqgroups embedded run     serve an embedded queue manager until it is told to stop
    mqgroups embedded exec    run a program on an embedded queue manager of its own
    mqgroups embedded fault   make an MQI call go wrong
    mqgroups embedded quiesce end a queue manager as endmqm does
    mqgroups embedded calls   show how many MQI calls it has answered
    mqgroups embedded channel show, stop, start or break the channels of a cluster's queue manager
    mqgroups embedded mqsc    run MQSC commands, as runmqsc does

Each command, or each family of commands, has a module. They share what is given (``connection.py``, ``secrets.py``,
``options.py``), what is printed (``report.py``, ``console.py``) and how a command ends (``exit_codes.py``).

Exit codes: 0 done; 1 failed, and standard error says why; 2 the command line is wrong. The help of a command names any others.
"""

from __future__ import annotations

import click

from mqgroups.cli.batches import batches
from mqgroups.cli.embedded import embedded
from mqgroups.cli.pipeline import pipeline
from mqgroups.cli.recover import recover
from mqgroups.cli.salvage import salvage


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="mqgroups", message="mqgroups %(version)s")
def main() -> None:
    """IBM MQ message groups that span several units of work."""


for command in (batches, embedded, pipeline, recover, salvage):
    main.add_command(command)
