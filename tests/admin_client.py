"""Former place of `tests.support.admin`: import from there."""

from tests.support.admin import TOKEN, Admin, Clock
from tests.support.replies import Reply

__all__ = ["TOKEN", "Admin", "Clock", "Reply"]
