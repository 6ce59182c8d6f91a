"""Load on the real program: the benchmark (``scripts/bench``), and installs by the rack as locust scripts."""
