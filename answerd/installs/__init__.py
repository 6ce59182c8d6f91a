"""Installs: the records of machines, by which each machine installs once (docs/install-once.md)."""
