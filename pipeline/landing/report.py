"""What a landing did, batch by batch and file by file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipeline.landing.batch.annotated import Annotated
    from pipeline.landing.batch.chunks import Recognised
    from pipeline.landing.batch.commit import Outcome


@dataclass
class LandReport:
    """What a landing did."""

    recognised: list[Recognised] = field(default_factory=list)
    unrecognised: list[str] = field(default_factory=list)
    batches: int = 0
    already: int = 0
    runs: int = 0
    steps: int = 0
    calls: int = 0
    errors: int = 0
    tasks: int = 0
    annotations: int = 0
    duplicates: int = 0
    replaced: int = 0
    rejects: Counter[str] = field(default_factory=Counter)
    unmapped: dict[str, Counter[str]] = field(default_factory=dict)
    """By format the fields that it does not know and labels keep: how many records had each."""
    unresolved: Counter[str] = field(default_factory=Counter)
    """By run id: copies that landed and stay beside others, as neither contains the other."""
    configs: list[str] = field(default_factory=list)
    """What became of configurations, a sentence for each."""

    def add(self, outcome: Outcome) -> None:
        """Count one batch in."""
        if outcome.already:
            self.already += 1
        else:
            self.batches += 1
        self.runs += outcome.runs
        self.steps += outcome.steps
        self.calls += outcome.calls
        self.errors += outcome.errors
        self.tasks += outcome.tasks
        self.duplicates += outcome.duplicates
        self.replaced += outcome.replaced
        self.rejects.update(outcome.rejects)
        self.add_unmapped(outcome.unmapped)
        self.unresolved.update(outcome.unresolved)

    def add_unmapped(self, found: Mapping[str, Mapping[str, int]]) -> None:
        """Count fields in that no format knows."""
        for form, records in found.items():
            self.unmapped.setdefault(form, Counter()).update(records)

    def add_annotated(self, found: Annotated) -> None:
        """Count one landing of annotations in."""
        if found.already:
            self.already += 1
        else:
            self.batches += 1
        self.annotations += found.annotations
        self.duplicates += found.duplicates
        self.rejects.update(found.rejects)
