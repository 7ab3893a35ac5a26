"""Makes metrics of the lag (``mqgroups/telemetry/lag.py``), which each source reports in the progress of its query."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql.streaming import StreamingQueryListener

from mqgroups.telemetry.guard import guarded
from mqgroups.telemetry.lag import REPORTS

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import (
        QueryIdleEvent,
        QueryProgressEvent,
        QueryStartedEvent,
        QueryTerminatedEvent,
    )


def _read(report: str | None) -> object:
    """Return a source's report; ``None`` if it is not JSON. Other sources and older versions of Spark report other texts."""
    try:
        return json.loads(report or "null")
    except ValueError:
        return None


class LagListener(StreamingQueryListener):
    """A listener that keeps the last report of each query that reads queues."""

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        """Do nothing, because there is no report yet."""

    @guarded
    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Keep the reports of the query's sources. If Spark repeats a micro-batch, the progress has no reports."""
        told = [_read(source.latestOffset) for source in event.progress.sources]
        if ours := [
            each for each in told if isinstance(each, dict) and {"queue", "oldest", "incomplete"} <= each.keys()
        ]:
            REPORTS[str(event.progress.runId)] = ours

    @guarded
    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - Spark's name
        """Report that no group waits and that the first message is unknown. Spark calls this after ten idle seconds."""
        nothing = {"oldest": None, "waiting": 0, "incomplete": None}
        run = str(event.runId)
        REPORTS[run] = [each | nothing for each in REPORTS.get(run, ())]

    @guarded
    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        """Forget the reports of the query."""
        REPORTS.pop(str(event.runId), None)
