"""pymqi with tenacity around put and commit, and a file with the number of the last message that was committed.

This is common code against occasional failures: it repeats the call that failed, on a new connection if the old one
is gone, and a restarted program continues after the number in its file. But it repeats single calls, although the
queue manager has backed out, or committed, a whole unit of work.
"""

import pymqi
import tenacity
from pymqi import CMQC

from recipes.compare.job import Job, payload


class Putter:
    """A connection and a queue, remade when the connection is lost."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._connect()

    def put(self, data: bytes, msg_flags: int) -> None:
        """MQPUT, repeated until it works."""
        self._retrying(self._put, data, msg_flags)

    def commit(self) -> None:
        """MQCMIT, repeated until it works."""
        self._retrying(self._commit)

    def close(self) -> None:
        """Close the queue and disconnect."""
        self._queue.close()
        self._q_mgr.disconnect()

    def _put(self, data: bytes, msg_flags: int) -> None:
        md = pymqi.MD(Version=2, MsgFlags=msg_flags, Persistence=CMQC.MQPER_PERSISTENT)
        self._queue.put(data, md, pymqi.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNCPOINT))

    def _commit(self) -> None:
        self._q_mgr.commit()

    def _connect(self) -> None:
        self._q_mgr = pymqi.connect(self._job.q_mgr_name, self._job.channel, self._job.conn_name)
        self._queue = pymqi.Queue(self._q_mgr, self._job.queue, CMQC.MQOO_OUTPUT)

    def _reconnect(self, state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, pymqi.MQMIError) and error.reason == CMQC.MQRC_CONNECTION_BROKEN:
            self._connect()

    @property
    def _retrying(self) -> tenacity.Retrying:
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(pymqi.MQMIError),
            wait=tenacity.wait_fixed(0.02),
            stop=tenacity.stop_after_attempt(5),
            before_sleep=self._reconnect,
            reraise=True,
        )


def put_group(job: Job) -> None:
    """Put the group, or what is not noted as put."""
    if job.progress < job.messages:
        putter = Putter(job)
        for number in range(job.progress + 1, job.messages + 1):
            last = number == job.messages
            putter.put(payload(number), CMQC.MQMF_LAST_MSG_IN_GROUP if last else CMQC.MQMF_MSG_IN_GROUP)
            if number % job.every == 0 or last:
                putter.commit()
                job.note_progress(number)
        job.say_done()
        putter.close()
    job.say_done()
