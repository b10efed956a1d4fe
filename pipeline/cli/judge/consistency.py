"""`trajtab judge consistency`: do judges agree with themselves?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.cli.command import command as declare
from pipeline.cli.options import Outputs, lake_argument, output_options
from pipeline.cli.output import emit

if TYPE_CHECKING:
    from pathlib import Path


@declare("consistency", example="trajtab judge consistency lake")
@lake_argument
@output_options
def command(*, lake: Path, outputs: Outputs) -> None:
    """Show how far judges agree with themselves.

    Kind repeat: the same question asked again (--repeats); position: with the two texts in the
    other order (--swap). Null without pairs.
    """
    from pipeline.judge import consistency as told  # noqa: PLC0415 - only what is called is loaded

    emit(told(lake), outputs)
