"""answerd hands out unattended-install answer documents to machines that ask over HTTP."""

__version__ = "1.0.0"
