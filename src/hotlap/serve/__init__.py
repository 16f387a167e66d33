"""Serving models over the network: sockets, admission, scheduling, lanes, shared memory, metrics."""

from __future__ import annotations
