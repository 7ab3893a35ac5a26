"""What the data source refuses before it does anything."""

from __future__ import annotations

import pytest

from embedded_tests.tables import table

pytest.importorskip("pyspark", reason="pyspark is not installed")
import pyspark

from mqgroups.errors import EnvironmentFailure
from mqgroups.spark.data_source import IbmMqDataSource


@table(("version", "works"), [("4.1.4", False), ("4.0.5.dev1", False), ("4.2.0", True), ("10.0.0rc1", True)])
def test_an_older_spark_is_refused_in_one_sentence(monkeypatch, version, works):
    monkeypatch.setattr(pyspark, "__version__", version)
    if works:
        IbmMqDataSource({})
    else:
        with pytest.raises(EnvironmentFailure, match=rf"needs Spark 4\.2 or newer, and this is PySpark {version}: "):
            IbmMqDataSource({})
