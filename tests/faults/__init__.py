"""Faults: somebody dies at every MQI call, is started again, and nothing is lost or doubled."""

from mqembedded.libmqm.build import build, load

# Before any module of this package imports a binding.
load(build())
