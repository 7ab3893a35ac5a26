"""Test MQ programs on a queue manager: embedded, in a container, or an existing one; with pymqi, ibmmq or both.

``mqembedded.testing.plugin`` is a pytest plugin. A test suite loads it in its ``conftest.py``, or with ``-p``::

    pytest_plugins = ["mqembedded.testing.plugin"]

It adds the options ``--mq=embedded|container|url|auto`` and ``--mqi=pymqi|ibmmq|both``, and the fixtures ``mq``, ``binding``,
``queue``, ``make_queue`` and ``own_queue_manager``. ``mqembedded.testing.container`` has ``MQContainer``, which needs no
pytest. README.md beside this file shows both. For annotations there are the types of fixtures: ``QueueManagerUnderTest`` of
``mq``, ``MakeQueue`` of ``make_queue``, ``MakeQueueManager`` of ``own_queue_manager``.
"""

from mqembedded.testing.under_test import MakeQueue, MakeQueueManager, QueueManagerUnderTest

__all__ = ["IMAGE", "MakeQueue", "MakeQueueManager", "QueueManagerUnderTest"]

# IBM's developer image. A tag names a version; latest is the newest.
IMAGE = "icr.io/ibm-messaging/mq:latest"
