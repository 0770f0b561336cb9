"""The command line."""

from armwright.cli.app import app

__all__ = ["app"]
