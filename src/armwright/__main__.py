"""The program `armwright`, and `python -m armwright`: the command line, which Ctrl-C ends without a traceback."""

import sys

from armwright.interrupts import deferred

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended, as shells have it: 128 + SIGINT."""


def main() -> None:
    """Run a command."""
    try:
        with deferred():
            from armwright.cli import app  # noqa: PLC0415  (Ctrl-C is handled during the import)
        app(prog_name="armwright")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
