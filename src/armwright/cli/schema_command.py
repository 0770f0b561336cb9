"""`armwright schema`: what an editor needs to complete and check a TOML file."""

from __future__ import annotations

from typing import Annotated

import typer

from armwright.cli.command import complete_from
from armwright.cli.output import show_json
from armwright.schema import SCHEMAS, schema


def run_schema(
    kind: Annotated[str, typer.Argument(help=f"{', '.join(SCHEMAS)}.", autocompletion=complete_from(lambda: SCHEMAS))],
) -> None:
    """Print the JSON Schema of a kind of TOML file, so that editors complete and check its keys.

    Example: armwright schema scenario
    """
    show_json(schema(kind))
