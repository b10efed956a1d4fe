"""Defaults for options, from `--config FILE` or `[tool.trajtab]` of ./pyproject.toml.

```toml
[tool.trajtab]          # options that several commands share
lake = "lake"
format = "md"

[tool.trajtab.land]     # options of one command
set = ["team=search"]

[tool.trajtab.judge.run]  # of a command below another
url = "http://localhost:8000/v1"
```
Keys are option names without the dashes. What is typed wins.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from pipeline.cli.group import COMMANDS
from pipeline.cli.session import Session
from pipeline.errors import InputError, UnknownNameError
from pipeline.given import refuse_no_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROJECT = Path("pyproject.toml")
SHARED = ("by", "debug", "format", "lake", "metric", "output", "policy", "where")
"""The keys that stand above all commands; one that a command does not have does not touch it."""

NO_KEYS = ("config", "help")


class Config(NamedTuple):
    """What a file says, and how to name the place."""

    told: dict[str, Any]
    where: str


def use(ctx: click.Context, _param: click.Parameter, named: str | None) -> None:
    """Give a command its defaults: click calls this before it looks at other options."""
    if ctx.resilient_parsing:
        return
    session = ctx.ensure_object(Session)
    config = load(named if named is not None else session.config)
    check(config, ctx)
    ctx.default_map = defaults(config, ctx.command, _path(ctx))
    session.defaults_from = config.where
    session.configured_format = ctx.default_map.get("format")


def load(named: str | None) -> Config:
    """Read the file named, else what ./pyproject.toml says of trajtab, if anything.

    A file may hold the keys at its top or under `[tool.trajtab]`.

    Raises:
        SourceNotFoundError: there is no such file.
        InputError: it is no file or no TOML, or its trajtab part is no table.
    """
    path = PROJECT if named is None else Path(named)
    if named is None and not path.is_file():
        return Config({}, "")
    refuse_no_file(path, "configuration file")
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: no TOML: {error}") from error
    top = {} if path.name == PROJECT.name else told
    found = told.get("tool", {}).get("trajtab", top)
    if not isinstance(found, dict):
        raise InputError(f"{path}: tool.trajtab is {found!r}; a table of options was expected")
    return Config(found, str(path))


def check(config: Config, ctx: click.Context) -> None:
    """Refuse every key nobody knows, those of other commands too.

    Raises:
        UnknownNameError: a key is no option's, or a table no command's.
        InputError: a command's name holds a value instead of a table of options.
    """
    for key, value in config.told.items():
        if key not in COMMANDS:
            _refuse_unknown(key, [*SHARED, *COMMANDS], config)
        elif not isinstance(value, dict):
            raise InputError(f"{config.where}: {key} is {value!r}; a table of options was expected")
        else:
            _check_table(value, _command(key, ctx), config, f"{key}.")


def _check_table(
    table: dict[str, Any], command: click.Command, config: Config, inside: str
) -> None:
    """Refuse the keys of one command's table that are neither its options nor commands below it."""
    below = command.commands if isinstance(command, click.Group) else {}
    for key, value in table.items():
        if key in below and isinstance(value, dict):
            _check_table(value, below[key], config, f"{inside}{key}.")
        else:
            _refuse_unknown(key, [*_keys(command), *below], config, inside)


def defaults(
    config: Config, command: click.Command, path: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return click's defaults for one command, by parameter name.

    `path` names it where it is below another, as ("judge", "land"); default: its own name.
    """
    own: Any = config.told
    for name in path or (command.name or "",):
        own = own.get(name, {}) if isinstance(own, dict) else {}
    told = {**config.told, **(own if isinstance(own, dict) else {})}
    return {
        str(param.name): _value(key, param, told[key], config.where)
        for key, param in _keys(command).items()
        if key in told
    }


def _path(ctx: click.Context) -> tuple[str, ...]:
    """Return the names of a command and of those above it, the program's own left out."""
    names = []
    while ctx.parent is not None:
        names.append(ctx.command.name or "")
        ctx = ctx.parent
    return tuple(reversed(names))


def _command(name: str, ctx: click.Context) -> click.Command:
    group = ctx.find_root().command
    found = group.get_command(ctx, name) if isinstance(group, click.Group) else None
    return found or ctx.command


def _keys(command: click.Command) -> dict[str, click.Parameter]:
    """Return a command's parameters by the key that sets them: the long option, or the argument."""
    named = {max(param.opts, key=len).lstrip("-").lower(): param for param in command.params}
    return {key: param for key, param in named.items() if key not in NO_KEYS}


def _refuse_unknown(key: str, known: Iterable[str], config: Config, inside: str = "") -> None:
    if key not in known:
        names = [inside + name for name in known]
        raise UnknownNameError.among("key", inside + key, names, f" in {config.where}")


def _value(key: str, param: click.Parameter, value: Any, where: str) -> Any:
    """Return a TOML value as click expects it: a list where an option repeats.

    Raises:
        InputError: it is of another kind, which click would bend: 2.5 to 2, true to 1.
    """
    if not (param.multiple or param.nargs == -1):
        if (wanted := _wanted(param, value)) is not None:
            raise InputError(f"{where}: {key} is {value!r}; {wanted} is needed")
        return value
    if isinstance(value, dict):
        return [f"{key}={below}" for key, below in value.items()]
    return value if isinstance(value, list) else [value]


def _wanted(param: click.Parameter, value: Any) -> str | None:
    """Return what kind of value an option needs, where this is none of it."""
    if getattr(param, "is_flag", False):
        return None if isinstance(value, bool) else "true or false"
    if isinstance(param.type, click.types.IntParamType):
        return (
            None
            if isinstance(value, int | str) and not isinstance(value, bool)
            else "a whole number"
        )
    takes_list = isinstance(param.type, click.types.FuncParamType)
    odd = bool | dict if takes_list else bool | dict | list
    return "a text or a number" if isinstance(value, odd) else None
