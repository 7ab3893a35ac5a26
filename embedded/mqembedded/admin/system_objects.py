"""The objects of every new queue manager: objects of IBM MQ that programs expect, and objects of IBM's container.

Source: IBM MQ, "System and default objects", and the queues, topics and authorities of the file 10-dev.mqsc of
ibm-messaging/mq-container. Channels and authentication information are in ``objects/others.py``. ``objects/kinds.py`` has
the default of DEADQ. The queues for events, statistics and accounting data exist, but always stay empty.
"""

from __future__ import annotations

from mqembedded.admin import mqsc_commands
from mqembedded.admin.mqsc import parse
from mqembedded.objects.kinds import DEFAULT_DEAD_LETTER_Q
from mqembedded.platform import Platform
from mqembedded.queue_manager import QueueManager

# The objects SYSTEM.DEFAULT.* come first, because all other objects take missing attributes from them.
_MQSC = f"""
DEFINE QMODEL(SYSTEM.DEFAULT.MODEL.QUEUE) DEFTYPE(TEMPDYN) NOSHARE DEFSOPT(EXCL)
DEFINE QLOCAL(SYSTEM.DEFAULT.LOCAL.QUEUE) %SHARING%
DEFINE QALIAS(SYSTEM.DEFAULT.ALIAS.QUEUE)
DEFINE QREMOTE(SYSTEM.DEFAULT.REMOTE.QUEUE)
DEFINE NAMELIST(SYSTEM.DEFAULT.NAMELIST)
DEFINE PROCESS(SYSTEM.DEFAULT.PROCESS)
DEFINE TOPIC(SYSTEM.DEFAULT.TOPIC) TOPICSTR('')
DEFINE QLOCAL(SYSTEM.DEAD.LETTER.QUEUE) MAXDEPTH(999999999) DESCR('Dead-letter queue')
DEFINE QLOCAL(%COMMANDS%) MAXDEPTH(3000) NOSHARE DEFSOPT(EXCL) DESCR('Administration commands')
DEFINE QMODEL(SYSTEM.MQSC.REPLY.QUEUE) DEFTYPE(TEMPDYN) NOSHARE DEFSOPT(EXCL) DESCR('Model of replies to MQSC commands')
DEFINE QMODEL(SYSTEM.MQEXPLORER.REPLY.MODEL) DEFTYPE(TEMPDYN) NOSHARE DEFSOPT(EXCL) +
  DESCR('Model of replies to MQ Explorer')
DEFINE QLOCAL(SYSTEM.ADMIN.QMGR.EVENT) DESCR('Queue manager events')
DEFINE QLOCAL(SYSTEM.ADMIN.PERFM.EVENT) DESCR('Performance events')
DEFINE QLOCAL(SYSTEM.ADMIN.CHANNEL.EVENT) DESCR('Channel events')
DEFINE QLOCAL(SYSTEM.ADMIN.COMMAND.EVENT) DESCR('Command events')
DEFINE QLOCAL(SYSTEM.ADMIN.CONFIG.EVENT) DESCR('Configuration events')
DEFINE QLOCAL(SYSTEM.ADMIN.LOGGER.EVENT) DESCR('Logger events')
DEFINE QLOCAL(SYSTEM.ADMIN.PUBSUB.EVENT) DESCR('Publish/subscribe events')
DEFINE QLOCAL(SYSTEM.ADMIN.ACCOUNTING.QUEUE) DESCR('Accounting messages')
DEFINE QLOCAL(SYSTEM.ADMIN.STATISTICS.QUEUE) DESCR('Statistics messages')
DEFINE QLOCAL(SYSTEM.ADMIN.ACTIVITY.QUEUE) DESCR('Activity reports')
DEFINE QLOCAL(SYSTEM.ADMIN.TRACE.ACTIVITY.QUEUE) DESCR('Activity trace')
DEFINE QLOCAL(SYSTEM.ADMIN.TRACE.ROUTE.QUEUE) DESCR('Trace-route replies')
DEFINE QLOCAL(SYSTEM.CHANNEL.INITQ) DESCR('Initiation of channels')
DEFINE QLOCAL(SYSTEM.CHANNEL.SYNCQ) DESCR('Synchronization of channels')
DEFINE QLOCAL(SYSTEM.DEFAULT.INITIATION.QUEUE) DESCR('Default initiation queue')
DEFINE QMODEL(SYSTEM.DURABLE.MODEL.QUEUE) DEFTYPE(PERMDYN) SHARE DEFSOPT(SHARED) MAXDEPTH(999999999) +
  DESCR('Model of managed durable subscriptions')
DEFINE QMODEL(SYSTEM.NDURABLE.MODEL.QUEUE) DEFTYPE(TEMPDYN) SHARE DEFSOPT(SHARED) MAXDEPTH(999999999) +
  DESCR('Model of managed non-durable subscriptions')
DEFINE QLOCAL(SYSTEM.RETAINED.PUB.QUEUE) MAXDEPTH(999999999) DESCR('Retained publications')
DEFINE TOPIC(SYSTEM.BASE.TOPIC) TOPICSTR('') PUB(ENABLED) SUB(ENABLED) DURSUB(YES) DEFPRTY(0) DEFPSIST(NO) DEFPRESP(SYNC) +
  PMSGDLV(ALLDUR) NPMSGDLV(ALLAVAIL) PUBSCOPE(ALL) SUBSCOPE(ALL) USEDLQ(YES) +
  MDURMDL(SYSTEM.DURABLE.MODEL.QUEUE) MNDURMDL(SYSTEM.NDURABLE.MODEL.QUEUE) DESCR('Base topic')
DEFINE QLOCAL(DEV.QUEUE.1)
DEFINE QLOCAL(DEV.QUEUE.2)
DEFINE QLOCAL(DEV.QUEUE.3)
DEFINE QLOCAL({DEFAULT_DEAD_LETTER_Q})
DEFINE TOPIC(DEV.BASE.TOPIC) TOPICSTR('dev/')
SET AUTHREC GROUP('mqclient') OBJTYPE(QMGR) AUTHADD(CONNECT,INQ)
SET AUTHREC PROFILE('DEV.**') GROUP('mqclient') OBJTYPE(QUEUE) AUTHADD(BROWSE,GET,INQ,PUT)
SET AUTHREC PROFILE('DEV.**') GROUP('mqclient') OBJTYPE(TOPIC) AUTHADD(PUB,SUB)
"""


def define(q_mgr: QueueManager) -> None:
    """Define each of these objects, unless the object already exists."""
    platform = q_mgr.platform
    # The defaults of DEFINE QLOCAL depend on the platform (IBM MQ, "DEFINE QLOCAL").
    sharing = "NOSHARE DEFSOPT(EXCL)" if platform is Platform.ZOS else "SHARE DEFSOPT(SHARED)"
    mqsc = _MQSC.replace("%COMMANDS%", platform.command_queue).replace("%SHARING%", sharing)
    mqsc_commands.run(q_mgr, parse(mqsc))
