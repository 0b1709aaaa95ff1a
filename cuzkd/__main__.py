"""`python -m cuzkd` is `cuzkd`."""

import sys

from cuzkd.cli import main

if __name__ == "__main__":
    sys.exit(main())
