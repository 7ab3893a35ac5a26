"""Faults: somebody dies at every MQI call, is started again, and nothing is lost or doubled."""
