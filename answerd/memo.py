"""A function that remembers its last results: bounded in how many, and in how large each may be.

`functools.lru_cache` bounds the number alone. Of texts out of documents, a few thousand can be gigabytes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])


def remembered(entries: int, size: Callable[[Any], int], largest: int) -> Callable[[F], F]:
    """Return a decorator that keeps the results of the last ``entries`` calls.

    A call is not kept where the ``size`` of its first argument is over ``largest``. The function must be pure, and its
    arguments hashable and given by position.
    """

    def decorate(function: F) -> F:
        kept = lru_cache(entries)(function)

        @wraps(function)
        def call(first: Any, *rest: Any) -> Any:
            return kept(first, *rest) if size(first) <= largest else function(first, *rest)

        call.cache = kept  # type: ignore[attr-defined]
        return cast(F, call)

    return decorate
