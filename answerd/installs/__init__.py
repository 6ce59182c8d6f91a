"""Installs: what the service remembers of machines, so that each installs once (docs/install-once.md)."""
