"""The settings that every property test gets from tests/conftest.py."""

from __future__ import annotations

import os

from hypothesis import settings


def test_no_property_test_has_a_deadline() -> None:
    assert settings().deadline is None


def test_continuous_integration_draws_the_same_examples_each_time() -> None:
    assert settings.get_profile("ci").derandomize
    assert not settings.get_profile("by hand").derandomize
    assert settings().derandomize == bool(os.environ.get("CI"))
