"""What tests stand on: the settings of property tests (tests/conftest.py), and services that do not start."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import settings

from tests.support import service


def test_no_property_test_has_a_deadline() -> None:
    assert settings().deadline is None


def test_continuous_integration_draws_the_same_examples_each_time() -> None:
    assert settings.get_profile("ci").derandomize
    assert not settings.get_profile("by hand").derandomize
    assert settings().derandomize == bool(os.environ.get("CI"))


def test_a_service_that_does_not_start_in_time_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sleep", "60"], stderr=subprocess.PIPE, text=True) as silent:
        monkeypatch.setattr(service, "start", lambda *_: silent)
        monkeypatch.setattr(service, "START_SECONDS", 0.0)
        with pytest.raises(AssertionError, match="no line matches"):
            service.Service()
        assert silent.poll() is not None
