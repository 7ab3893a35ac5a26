"""What receivers need that are Spark's: the connection's options, and the password in the environment."""

from __future__ import annotations

from tests.spark.conftest import _password, mq_options

__all__ = ["_password", "mq_options"]
