"""Support for tests with pymqi, ibmmq or both, on an embedded queue manager, IBM's container or an existing queue manager.

``mqembedded.testing.plugin`` is a pytest plugin. A test suite loads it with ``-p``, or in its ``conftest.py``::

    pytest_plugins = ["mqembedded.testing.plugin"]

The plugin adds the options ``--mq=embedded|container|url|auto`` and ``--mqi=pymqi|ibmmq|both``, and the fixtures ``mq``,
``binding``, ``queue``, ``make_queue`` and ``own_queue_manager``. ``mqembedded.testing.container`` has ``MQContainer``, which
needs no pytest. README.md beside this file has examples of both modules. For annotations, the types of the fixtures are
``QueueManagerUnderTest`` (``mq``), ``MakeQueue`` (``make_queue``) and ``MakeQueueManager`` (``own_queue_manager``).
"""

from mqembedded.testing.under_test import MakeQueue, MakeQueueManager, QueueManagerUnderTest

__all__ = ["IMAGE", "MakeQueue", "MakeQueueManager", "QueueManagerUnderTest"]

# IBM's developer image. A tag names a version; latest is the newest.
IMAGE = "icr.io/ibm-messaging/mq:latest"
