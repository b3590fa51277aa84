"""Parties that do not trust each other, over NVIDIA FLARE: the only place that imports nvflare.

FLARE carries bytes between processes, with mutual TLS. What the bytes say is none of its business: `desk` and
`gathering` know, and secure aggregation hides what must be hidden from FLARE's server as well.
"""
