"""``python -m answerd`` is the command ``answerd``."""

import sys

from answerd.cli import main

if __name__ == "__main__":
    sys.exit(main())
