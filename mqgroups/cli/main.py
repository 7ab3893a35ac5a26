"""The command ``mqgroups`` and its subcommands.

    mqgroups demo             send flights while everything is killed
    mqgroups groups           show the groups on a queue: how complete, whose, since when nothing happens
    mqgroups doctor           check machine, connection, queues, authorities, records and groups, and say what mends them
    mqgroups owners           show the producers and consumers with a status queue, and what they do
    mqgroups recover          inspect a producer's or consumer's status queue before it is started
    mqgroups salvage rebuild  write a lost status record again, from the messages of its group
    mqgroups salvage move     move the rest of a group to another queue
    mqgroups batches list     show the records that the Spark sink has left on a shared status queue
    mqgroups batches purge    remove the records of a sink that does not come back
    mqgroups pipeline check   check a pipeline's file, and show what would be read
    mqgroups pipeline run     run message groups through Spark
    mqgroups pipeline report  write its report again
    mqgroups embedded build   compile the client library of the embedded queue manager
    mqgroups embedded run     serve an embedded queue manager until SIGTERM or Ctrl-C
    mqgroups embedded exec    run a program on an embedded queue manager of its own
    mqgroups embedded fault   make an MQI call fail
    mqgroups embedded quiesce end a queue manager as endmqm does
    mqgroups embedded calls   show how many MQI calls it has answered
    mqgroups embedded channel show, stop, start or break the channels of a cluster's queue manager
    mqgroups embedded mqsc    run MQSC commands, as runmqsc does

Each command, or each family of commands, has a module. All of them share the modules for options (``connection.py``,
``secrets.py``, ``options.py``), output (``report.py``, ``console.py``) and exit codes (``exit_codes.py``). Each turns an error
into one message and an exit code.

Exit codes: 0 done; 1 failed, and standard error says why; 2 the command line is wrong. The help of a command names any others.
"""

from __future__ import annotations

import click

from mqgroups.cli.batches import batches
from mqgroups.cli.demo import demo
from mqgroups.cli.doctor import doctor
from mqgroups.cli.embedded import embedded
from mqgroups.cli.groups import groups
from mqgroups.cli.owners import owners
from mqgroups.cli.pipeline import pipeline
from mqgroups.cli.recover import recover
from mqgroups.cli.salvage import salvage


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="mqgroups", message="mqgroups %(version)s")
def main() -> None:
    """IBM MQ message groups that span several units of work."""


for command in (batches, demo, doctor, embedded, groups, owners, pipeline, recover, salvage):
    main.add_command(command)
