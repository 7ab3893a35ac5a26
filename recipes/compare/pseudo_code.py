"""The pseudo-code of IBM MQ's "Putting and getting a group that spans units of work", taken literally, with unchanged pymqi.

The restart put uses GroupId and MsgSeqNumber from the status message, without plus 1, and puts the message with that
number (another message under that number would be worse). An empty STATUS queue means "proceed to normal processing".
The text does not mention failures, so an exception ends the program, and a supervisor restarts it.

With ``plus=1`` it has the correction of recipe (d). The difference shows which faults are due to the number and which are due to
the pattern. ibmmq has pymqi's classes and constants, so the program runs on it as well.
"""

import importlib

from pymqi import CMQC

from recipes.compare.job import Job, payload


def put_group(job: Job, *, binding: str, plus: int) -> None:
    """Put the group, or resume it with the number in the status message plus 0 or 1."""
    mqi = importlib.import_module(binding)
    q_mgr = mqi.connect(job.q_mgr_name, job.channel, job.conn_name)
    queue = mqi.Queue(q_mgr, job.queue, CMQC.MQOO_OUTPUT)
    status_queue = mqi.Queue(q_mgr, job.second_queue, CMQC.MQOO_INPUT_AS_Q_DEF | CMQC.MQOO_OUTPUT)
    number, status_is_there = 1, False
    try:
        status_info = status_queue.get(None, mqi.MD(), mqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
    except mqi.MQMIError as error:
        if error.reason != CMQC.MQRC_NO_MSG_AVAILABLE:
            raise
    else:
        # Group was terminated prematurely
        # "Assume this is not the last message"
        md = mqi.MD(Version=2, MsgFlags=CMQC.MQMF_MSG_IN_GROUP)
        md.GroupId, md.MsgSeqNumber = status_info[:24], int(status_info[24:]) + plus
        number = md.MsgSeqNumber
        queue.put(payload(number), md, mqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
        number += 1
    while True:
        last = number == job.messages
        md = mqi.MD(Version=2, MsgFlags=CMQC.MQMF_LAST_MSG_IN_GROUP if last else CMQC.MQMF_MSG_IN_GROUP)
        queue.put(payload(number), md, mqi.PMO(Options=CMQC.MQPMO_LOGICAL_ORDER | CMQC.MQPMO_SYNCPOINT))
        if number % job.every == 0 or last:
            if status_is_there:
                status_queue.get(None, mqi.MD(), mqi.GMO(Options=CMQC.MQGMO_SYNCPOINT))
            if not last:
                status_info = md.GroupId + b"%d" % md.MsgSeqNumber
                status_queue.put(status_info, mqi.MD(), mqi.PMO(Options=CMQC.MQPMO_SYNCPOINT))
                status_is_there = True
            q_mgr.commit()
        if last:
            break
        number += 1
    job.say_done()
    queue.close()
    status_queue.close()
    q_mgr.disconnect()
