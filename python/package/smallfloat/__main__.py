"""The command ``smallfloat``, also as ``python -m smallfloat``."""

import sys

from ._core import run_command


def main() -> int:
    """Runs the command with the process's arguments and returns its exit status."""
    return run_command(["smallfloat", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
