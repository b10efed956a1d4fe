"""What the shell completes: metrics, columns, formats and presets, also after a comma.

`eval "$(_TRAJTAB_COMPLETE=bash_source trajtab)"` turns it on; commands and options click knows by
itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from pipeline.cli.values import begun_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

COLON = ":"


def metrics(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete a list of metrics, or `all`."""
    return _listed(begun, [*_metrics(ctx), "all"])


def metric(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete one metric."""
    return _one(begun, _metrics(ctx))


def groups(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete a list of columns to group by."""
    return _listed(begun, [*_keys(), "labels."])


def buckets(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete what `trend` goes by."""
    from pipeline.tables.trend import CALENDAR  # noqa: PLC0415 - no command line starts with Polars

    return _one(begun, [*CALENDAR, *_keys(), "labels."])


def columns(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete a list of columns of scores."""
    return _listed(begun, dict.fromkeys([*_keys(), *_metrics(ctx)]))


def sorting(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete a column to sort by; click takes what begins with a minus for an option."""
    return _one(begun, dict.fromkeys([*_keys(), *_metrics(ctx)]))


def formats(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the name of a source format."""
    from pipeline.landing.formats import names  # noqa: PLC0415 - as above

    return _one(begun, [*names(), "auto"])


def policies(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete `preset:NAME`, else a file."""
    from pipeline.policy import PRESET, presets  # noqa: PLC0415 - as above

    return _preset_or_file(begun, [f"{PRESET}{name}" for name in presets()])


def gates(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete `preset:NAME` of a gate, else a file."""
    from pipeline.policy import PRESET  # noqa: PLC0415 - as above
    from pipeline.tables.gate_file import presets  # noqa: PLC0415 - same

    return _preset_or_file(begun, [f"{PRESET}{name}" for name in presets()])


def rubrics(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete `preset:NAME` of a rubric, else a file."""
    from pipeline.judge.rubric import presets  # noqa: PLC0415 - as above
    from pipeline.policy import PRESET  # noqa: PLC0415 - same

    return _preset_or_file(begun, [f"{PRESET}{name}" for name in presets()])


def _metrics(ctx: click.Context) -> list[str]:
    """Return the metrics known: of the lake already typed too, its policy's, its judges' and people's."""
    from pipeline.current import policy_of  # noqa: PLC0415 - as above
    from pipeline.errors import TrajtabError  # noqa: PLC0415 - same
    from pipeline.lake import Lake  # noqa: PLC0415 - same
    from pipeline.metrics.registry import metrics_for  # noqa: PLC0415 - same
    from pipeline.opinions import opinions  # noqa: PLC0415 - same

    # While an option still wants its value, click leaves the arguments before it unread.
    typed = str(ctx.params.get("lake") or next(iter(ctx.args), ""))
    try:
        lake = Lake.open("" if "://" in typed else typed)  # Tab waits for no network
        return list(metrics_for(policy_of(lake, ctx.params.get("policy")), opinions(lake).metrics))
    except TrajtabError:
        return list(metrics_for(None))


def _keys() -> list[str]:
    from pipeline.schema import ScoreKeys  # noqa: PLC0415 - as above

    return ScoreKeys.names()


def _one(begun: str, known: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in known if name.startswith(begun)]


def _listed(begun: str, known: Iterable[str]) -> list[CompletionItem]:
    """Complete the last name of a list, without those that are in it."""
    try:
        taken, start, last = begun_list(begun)
    except click.BadParameter:  # in the middle of a quoted name
        return []
    left = (name for name in known if name not in taken and name.startswith(last))
    return [CompletionItem(f"{begun[:start]}{name}") for name in left]


def _preset_or_file(begun: str, presets: Iterable[str]) -> list[CompletionItem]:
    return _one(begun, presets) or [CompletionItem(begun, type="file")]


@add_completion_class
class Bash(BashComplete):
    """Bash takes `preset:adk` for three words: the colon is put back, and not said again."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the cursor, and the one begun."""
        args, begun = super().get_completion_args()
        if begun == COLON and args:
            return args[:-1], f"{args[-1]}{COLON}"
        if len(args) > 1 and args[-1] == COLON:
            return args[:-2], f"{args[-2]}{COLON}{begun}"
        return args, begun

    def format_completion(self, item: CompletionItem) -> str:
        """Return a completion as bash inserts it: what stands before a colon stands already."""
        _, begun = self.get_completion_args()
        if COLON in begun:
            item = CompletionItem(item.value.rpartition(COLON)[2], type=item.type)
        return super().format_completion(item)
