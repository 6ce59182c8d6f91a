"""The last requests of all workers for pages: an `answerd.console.backend.Feed`."""

from __future__ import annotations

from collections.abc import Sequence

from answerd.console.backend import RequestLine
from answerd.server.request_feed import RequestFeed


class LiveFeed:
    """The last requests that all workers have answered."""

    def __init__(self, feed: RequestFeed) -> None:
        self._feed = feed

    def last(self, most: int) -> Sequence[RequestLine]:
        """Return the last requests, the latest first."""
        return [
            RequestLine(line.at, line.peer, f"{line.method} {line.target}", line.status, line.outcome)
            for line in self._feed.last(most)
        ]

    def rate(self) -> Sequence[int]:
        """Return how many requests were answered in each of the last seconds, oldest first."""
        return self._feed.rate()
