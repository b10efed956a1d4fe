"""A landing over an engine: tasks stage batches on a shelf, this process commits them in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pipeline.engines.landing import SharedCopies, regrouped, staged_batches
from pipeline.engines.shelf import shelved
from pipeline.landing.again.known import Known
from pipeline.landing.batch.beside import land_beside
from pipeline.landing.batch.commit import commit, landed_before
from pipeline.landing.batch.stage import Staged
from pipeline.landing.parting import parted
from pipeline.landing.recognise import recognise_all, rooms_of
from pipeline.landing.source.folders import foldered
from pipeline.landing.source.named import expand
from pipeline.landing.source.transport import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.engines import Engine
    from pipeline.lake import Lake
    from pipeline.landing.batch.commit import Outcome
    from pipeline.landing.options import Options
    from pipeline.landing.report import LandReport


class Over(NamedTuple):
    """A landing over an engine."""

    engine: Engine
    options: Options
    resume: bool
    regroup: str | None

    def land(
        self,
        named: list[str],
        lake: Lake,
        wanted: str,
        report: LandReport,
        tell: Callable[[Outcome], None],
    ) -> list[str]:
        """Land, and return why files named outright are refused."""
        job = repr(("land", named, self.regroup, wanted, self.options.text()))
        with (
            shelved(lake, job, self.engine, resume=self.resume) as shelf,
            SharedCopies(shelf.path) as copies,
        ):
            sources = unpacked(expand(named), copies)
            if self.regroup is not None:
                sources = regrouped(self.engine, shelf, sources, self.regroup)
            else:
                sources = foldered(sources, wanted)
            refused = recognise_all(sources, named, wanted, report, strict=self.options.strict)
            logs, said = rooms_of(report.recognised)
            known = Known(lake)
            known.refresh()
            landed = frozenset(known.all_settled() | shelf.published())
            for item in staged_batches(
                self.engine, list(parted(logs)), shelf, self.options, landed
            ):
                if isinstance(item, Staged):
                    tell(commit(known, item, self.options))
                    shelf.strike(item.name)
                else:
                    tell(landed_before(known, item, self.options))
                del item  # the rows of one batch go before the next one's come
            land_beside(said, lake, self.options, report)
        return refused
