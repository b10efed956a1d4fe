"""The policy: what makes two calls the same, and how far back a repeat counts. One TOML file.

```toml
[match]
args = "exact"          # or "names"

[backtracking]
window = 8
window_unit = "steps"   # or "calls"
```
A policy's hash names its scores, so that two policies live side by side in one lake.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import msgspec
from xxhash import xxh3_128_hexdigest

from pipeline.errors import InputError, SourceNotFoundError, UnknownNameError

PRESET = "preset:"


class Match(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[match]`: when an actual call counts as an expected one."""

    args: Literal["exact", "names"] = "exact"


class Backtracking(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[backtracking]`: when a call counts as a repeat."""

    window: int = 8
    window_unit: Literal["steps", "calls"] = "steps"


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole policy."""

    match: Match = Match()
    backtracking: Backtracking = Backtracking()

    @property
    def hash(self) -> str:
        """The hash that names the scores made under this policy."""
        return xxh3_128_hexdigest(msgspec.json.encode(self, order="deterministic"))[:16]

    @property
    def title(self) -> str:
        """What every header says of the policy in use."""
        back = self.backtracking
        return f"args {self.match.args}, window {back.window} {back.window_unit} [{self.hash}]"


DEFAULT = Policy()


def load(named: str | None, where: str = "") -> Policy:
    """Return the policy of a TOML file, a `preset:NAME`, or the default for None.

    Raises:
        SourceNotFoundError: there is no such file.
        UnknownNameError: a key or preset nobody knows.
        InputError: the file is no TOML, or a value is outside what the key allows.
    """
    if named is None or named == f"{PRESET}default":
        return DEFAULT
    if named.startswith(PRESET):
        raise UnknownNameError.among("preset", named.removeprefix(PRESET), ["default"])
    path = Path(named)
    if not path.is_file():
        raise SourceNotFoundError(f"{named}: no such policy file{where}")
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{named}: no TOML: {error}") from error
    return parse(told, named)


def parse(told: dict[str, Any], where: str) -> Policy:
    """Turn the content of a policy file into a policy."""
    _refuse_unknown(told, Policy, where, "")
    try:
        policy = msgspec.convert(told, Policy)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {_plain(str(error))}") from error
    if policy.backtracking.window < 1:
        raise InputError(f"{where}: backtracking.window is {policy.backtracking.window}; at least 1 is needed")
    return policy


def _refuse_unknown(told: dict[str, Any], kind: type[msgspec.Struct], where: str, inside: str) -> None:
    hints = get_type_hints(kind)
    for key, value in told.items():
        if key not in hints:
            raise UnknownNameError.among("key", inside + key, [inside + name for name in hints], f" in {where}")
        below = hints[key]
        if isinstance(value, dict) and isinstance(below, type) and issubclass(below, msgspec.Struct):
            _refuse_unknown(value, below, where, f"{inside}{key}.")


def _plain(message: str) -> str:
    return re.sub(r" - at `\$\.?(.*)`", r" at \1", message)


def choices(kind: type[msgspec.Struct], key: str) -> tuple[str, ...]:
    """Return what a key may be, for help texts."""
    return get_args(get_type_hints(kind)[key])
