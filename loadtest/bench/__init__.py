"""The benchmark: the project's one source of figures. Run as ``scripts/bench``."""
