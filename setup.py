"""For tools that look for it: everything about the package stands in pyproject.toml."""

from setuptools import setup

setup()
