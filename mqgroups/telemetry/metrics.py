"""The instruments for metrics. Times of single messages are recorded only if messages are traced.

Without a provider the instruments do nothing. A provider that is set later is used from then on.
"""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry import metrics
from opentelemetry.util.types import AttributeValue

from mqgroups.mqi.constants import reason_name
from mqgroups.telemetry import semantic_conventions as sc
from mqgroups.telemetry.guard import guarded
from mqgroups.telemetry.place import Place

Attributes = dict[str, AttributeValue]

# Upper bounds of buckets. The bounds for operations are from the conventions. Groups take longer, up to days.
_OPERATION_S = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
_WAIT_S = (0.01, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_GROUP_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0)
_GROUP_MESSAGES = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1e3, 1e4, 1e5, 1e6)


class Instruments:
    """The instruments, one for each metric. One meter makes all of them."""

    def __init__(self, meter: metrics.Meter) -> None:
        counter = meter.create_counter

        def histogram(name: str, unit: str, text: str, buckets: Sequence[float]) -> metrics.Histogram:
            return meter.create_histogram(name, unit, text, explicit_bucket_boundaries_advisory=buckets)

        what = "Duration of a unit of work from its first message on, and of its commit or back out."
        self.operation_duration = histogram(sc.OPERATION_DURATION, "s", what, _OPERATION_S)
        what = "Duration of the application's processing of a message; with trace='message'."
        self.process_duration = histogram(sc.PROCESS_DURATION, "s", what, _OPERATION_S)
        what = "Messages put. Messages that were backed out have an error.type."
        self.sent_messages = counter(sc.SENT_MESSAGES, "{message}", what)
        what = "Messages got and processed. Messages that were backed out have an error.type."
        self.consumed_messages = counter(sc.CONSUMED_MESSAGES, "{message}", what)
        self.units_of_work = counter(sc.UNITS_OF_WORK, "{unit_of_work}", "Units of work by outcome.")
        what = "Logical messages of a group that has ended."
        self.group_messages = histogram(sc.GROUP_MESSAGES, "{message}", what, _GROUP_MESSAGES)
        what = "Time from this instance's first message of a group to the commit that ended the group."
        self.group_duration = histogram(sc.GROUP_DURATION, "s", what, _GROUP_S)
        self.resumes = counter(sc.RESUMES, "{group}", "Interrupted groups found at the start.")
        self.in_doubt = counter(sc.IN_DOUBT, "{commit}", "Commits without an answer, by outcome.")
        self.ownership_losses = counter(sc.OWNERSHIP_LOSSES, "{owner}", "Owners that another instance replaced.")
        what = "Poison messages, moved to a backout queue or left on their queue."
        self.poison_messages = counter(sc.POISON_MESSAGES, "{message}", what)
        what = "Tries to connect, and to reconnect. Tries that failed have an error.type."
        self.connections = counter(sc.CONNECTIONS, "{connection}", what)
        self.retries = counter(sc.RETRIES, "{try}", "Retries after a failed MQI call, by reason.")
        what = "Time until a status queue was open, a group on a shared status queue was claimed, or the wait was given up."
        self.status_queue_wait = histogram(sc.STATUS_QUEUE_WAIT, "s", what, _WAIT_S)


INSTRUMENTS = Instruments(metrics.get_meter(sc.SCOPE, schema_url=sc.SCHEMA_URL))


def reason_attributes(reason: int) -> Attributes:
    """Return the attributes for a reason code: its number, and its name as the error type."""
    return {sc.ERROR_TYPE: reason_name(reason), sc.REASON_CODE: reason}


@guarded
def connected(place: Place) -> None:
    """Count a connection that was made, or an application's own connection that was wrapped."""
    INSTRUMENTS.connections.add(1, {sc.SYSTEM: sc.IBMMQ, **place.attributes})


@guarded
def could_not_connect(place: Place, reason: int) -> None:
    """Count one MQCONNX that failed with this reason. Calls that are retried count, too."""
    INSTRUMENTS.connections.add(1, {sc.SYSTEM: sc.IBMMQ, **place.attributes, **reason_attributes(reason)})


@guarded
def retried(q_mgr_name: str, reason: int) -> None:
    """Count one retry after a call that failed with this reason."""
    attributes = {sc.SYSTEM: sc.IBMMQ, sc.QUEUE_MANAGER: q_mgr_name, **reason_attributes(reason)}
    INSTRUMENTS.retries.add(1, attributes)


@guarded
def waited_for_status_queue(status_queue: str, seconds: float) -> None:
    """Record how many seconds passed until a status queue was open, or until the wait for the queue was given up."""
    INSTRUMENTS.status_queue_wait.record(seconds, {sc.SYSTEM: sc.IBMMQ, sc.DESTINATION_NAME: status_queue})
