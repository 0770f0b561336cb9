"""`python -m armwright` is the command line."""

from armwright.cli import app

app(prog_name="armwright")
