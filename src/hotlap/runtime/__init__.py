"""Running a model: `open` gives a Runner, `FakeRunner` one without a model, `default_session` today's way."""

from __future__ import annotations

from hotlap.runtime.baseline import DefaultSession, default_session
from hotlap.runtime.digest import file_digest
from hotlap.runtime.face import Face
from hotlap.runtime.fake import FakeRunner
from hotlap.runtime.feeds import find_feed, make_feed
from hotlap.runtime.limits import Cancel
from hotlap.runtime.loading import ProviderStatus, provider_status, usable_providers
from hotlap.runtime.opening import open
from hotlap.runtime.runner import Runner
from hotlap.runtime.stateful import Stream
from hotlap.runtime.step import Step

__all__ = [
    "Cancel",
    "DefaultSession",
    "Face",
    "FakeRunner",
    "ProviderStatus",
    "Runner",
    "Step",
    "Stream",
    "default_session",
    "file_digest",
    "find_feed",
    "make_feed",
    "open",
    "provider_status",
    "usable_providers",
]
