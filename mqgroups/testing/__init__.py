"""Testing MQ programs: which queue manager the tests run on, and through which bindings.

``mqgroups.testing.plugin`` is a pytest plugin; a test suite asks for it in its ``conftest.py``::

    pytest_plugins = ["mqgroups.testing.plugin"]

It gives the options ``--mq=embedded|url`` and ``--mqi=pymqi|ibmmq|both`` and the fixtures ``mq``, ``binding``, ``queue``,
``make_queue`` and ``own_queue_manager``. Not here: assertions about messages, and anything that needs no pytest.
"""
