"""Deletes status queues that nobody needs: made from a model, empty, and not open.

Each name has a status queue that stays when its program ends. A name is a role, not a run; but names with a date or a run's
identifier leave a queue each.
"""

from __future__ import annotations

from mqgroups.connection.holder import ConnectionHolder, connection_of
from mqgroups.connection.retry import OWNER_ACTIVE
from mqgroups.errors import MQIError, QueueMissing
from mqgroups.mqi import constants as mq
from mqgroups.names import checked_queue_name

_OPEN_OPTIONS = mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_INQUIRE


def delete_unused(q_mgr: ConnectionHolder, status_queue: str, *, check: bool = False) -> bool:
    """Delete a status queue if it was made from a model queue, is empty, and no program has it open.

    The next start of its name makes it again. Authorities that were granted for the queue by name go with it. If a unit of work
    still has a message of the queue, the queue manager refuses (2055; IBM MQ, topic q041250).

    Args:
        q_mgr: a connected queue manager (``mqgroups.connect``, ``mqgroups.wrap``).
        status_queue: its name.
        check: return what would be done, and change nothing.

    Returns:
        Whether it was deleted.

    Raises:
        ConfigurationError: the name is not valid.
        MQIError: a call failed, for example because this user may not delete the queue.
    """
    checked_queue_name("status_queue", status_queue)
    try:
        queue = connection_of(q_mgr).open_queue(status_queue, _OPEN_OPTIONS)
    except QueueMissing:
        return False
    except MQIError as error:
        if error.reason in OWNER_ACTIVE:
            return False
        raise
    try:
        is_made = queue.inquire(mq.MQIA_DEFINITION_TYPE) == mq.MQQDT_PERMANENT_DYNAMIC
        if not is_made or queue.inquire(mq.MQIA_CURRENT_Q_DEPTH):
            return False
        if not check:
            queue.close(mq.MQCO_DELETE)
        return True
    except MQIError as error:
        if error.reason != mq.MQRC_Q_NOT_EMPTY:
            raise
        return False
    finally:
        queue.close()
