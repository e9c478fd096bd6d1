"""``python -m imvc.cli``."""

import sys

from imvc.cli import main

if __name__ == "__main__":
    sys.exit(main())
