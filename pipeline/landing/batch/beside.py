"""What lands beside runs and tasks: configurations and annotations, in rooms of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.landing.batch.annotated import annotate
from pipeline.landing.batch.configs import write_configs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.lake import Lake
    from pipeline.landing.batch.chunks import Recognised
    from pipeline.landing.options import Options
    from pipeline.landing.report import LandReport


def land_beside(
    said: Sequence[Recognised], lake: Lake | None, options: Options, report: LandReport
) -> None:
    """Write configurations that were recognised, and land the annotations `said`."""
    if lake is not None:
        report.configs = write_configs(lake, report.recognised)
    for annotated in annotate(said, lake, options):
        report.add_annotated(annotated)
