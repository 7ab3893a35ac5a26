"""The file that describes a cluster."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from embedded_tests.tables import table
from mqembedded import ClusterFileError
from mqembedded.channels.settings import ChannelSettings
from mqembedded.serve.cluster_file import read

pytestmark = pytest.mark.embedded

DOCKER = Path(__file__).parents[2] / "docker" / "cluster"
TWO = """
cluster = "C"
[[queue_manager]]
name = "QM1"
[[queue_manager]]
name = "QM2"
"""


@pytest.fixture
def file(tmp_path):
    """A function that writes a cluster file."""

    def write(text):
        path = tmp_path / "cluster.toml"
        path.write_text(text)
        return path

    return write


def test_paths_are_relative_to_the_file(file, tmp_path):
    text = 'cluster = "C"\nmqsc = ["all.mqsc"]\n[[queue_manager]]\nname = "A"\ndata = "a"\nmqsc = ["a.mqsc"]\n'
    (entry,) = read(file(text)).queue_managers
    assert entry.mqsc == (tmp_path / "all.mqsc", tmp_path / "a.mqsc")
    assert (entry.data, entry.listen) == (tmp_path / "a", "127.0.0.1:0")


def test_channels_have_the_defaults_of_mqsc(file):
    assert read(file(TWO)).channels == ChannelSettings(
        batchsz=50, batchlim=5000, mrrty=10, mrtmr=1000, npmspeed="FAST", retry_s=0.2
    )
    assert read(file(TWO + '[channels]\nmrrty = 0\nnpmspeed = "NORMAL"\n')).channels.mrrty == 0


@table(
    ("text", "why"),
    [
        ("cluster = ", "Invalid value"),
        ('cluster = "C"', r"there is no \[\[queue_manager\]\]"),
        ("[[queue_manager]]\nname = 'A'", "the cluster is None"),
        ('cluster = "C"\n[[queue_manager]]\nname = "NO BLANKS"', "not a legal name"),
        (TWO + 'lissen = "x"', "lissen is unknown"),
        (TWO + 'listen = "1414"', "not HOST:PORT"),
        (TWO + f'listen = "127.0.0.1:{"9" * 5000}"', "not HOST:PORT"),
        (f"cluster = {'9' * 5000}", "4300"),
        (f"cluster = {'[' * 2000}", "recursion"),
        (TWO + "data = 1", "not a path"),
        (TWO + 'mqsc = "x"', "not a list of files"),
        (TWO + '[[queue_manager]]\nname = "QM2"', "same first 12 characters"),
        (
            TWO + '[[queue_manager]]\nname = "LONG.NAME.OF.1"\n[[queue_manager]]\nname = "LONG.NAME.OF.2"',
            "12 characters",
        ),
        (TWO + '[[queue_manager]]\nname = "A.LONG.NAME.OF.ITS.OWN"', "has at most 20 characters"),
        (TWO + "[channels]\nbatchsz = 0", "batchsz"),
        (TWO + '[channels]\nnpmspeed = "QUICK"', "not FAST or NORMAL"),
        (TWO + "[channels]\nbatchsize = 5", "batchsize is unknown"),
    ],
)
def test_what_describes_no_cluster_is_refused(file, text, why):
    path = file(text)
    with pytest.raises(ClusterFileError, match=why) as refused:
        read(path)
    assert str(path) in str(refused.value)


def test_the_file_of_the_readme_describes_a_cluster(file, tmp_path):
    readme = (DOCKER.parents[1] / "embedded" / "README.md").read_text()
    (text,) = re.findall("```toml\n(.*?)```", readme, re.DOTALL)
    for name in ("queues.mqsc", "qm2.mqsc"):
        (tmp_path / name).touch()
    cluster = read(file(text))
    assert cluster.names == ("QM1", "QM2")
    assert [path.name for path in cluster.queue_managers[1].mqsc] == ["queues.mqsc", "qm2.mqsc"]


def test_the_cluster_of_the_container_is_that_of_the_embedded_queue_managers():
    described = read(DOCKER / "cluster.toml")
    assert (described.cluster, described.names) == ("GRPCLUS", ("QM1", "QM2", "QM3"))
    for entry in described.queue_managers:
        assert [path.resolve().name for path in entry.mqsc] == ["20-mqgroups.mqsc", "30-cluster.mqsc"]
        assert all(path.exists() for path in entry.mqsc)
