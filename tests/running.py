"""Former place of `tests.support.service` and `tests.support.replies`: import from there."""

from tests.support.replies import Reply, exchange, request_bytes
from tests.support.service import PROGRAM, Service, environment, run, write_tree

__all__ = ["PROGRAM", "Reply", "Service", "environment", "exchange", "request_bytes", "run", "write_tree"]
