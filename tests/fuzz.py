"""A byte-flipping fuzzer over every log at hand: `make fuzz`, or `python -m tests.fuzz SECONDS SEED`.

Each round takes one file, damages it (bytes flipped, cut out, cut off; JSON values replaced by
others) and lands it. What may come out is a landing or an error of ours. Anything else is
reported once per place, with a minimal reproduction: an exception that stopped the landing, and
a record refused as `unreadable`, whose shape its format did not foresee.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.errors import TrajtabError
from pipeline.landing import model
from pipeline.landing.batch import annotated, rows, stage
from pipeline.landing.land import land
from pipeline.landing.records import salvage

if TYPE_CHECKING:
    from pipeline.landing.model import RejectError

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT / "data_samples", ROOT.parent / "shared" / "data")
REFUSING = (annotated, rows, salvage, stage)
"""The modules that refuse what no format foresaw."""
LARGEST = 1 << 16
SECONDS = 300.0
MOST_TRIES = 150
SHOWN = 600
DEEPER = 0.85

_VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"(?!\s*:)|-?\d+(?:\.\d+)?|true|false|null|\[\]|\{\}')
_OTHERS = (
    b"null", b"true", b"-1", b"0", b"1.5", b"1e400", b"1e300", b"18446744073709551616", b'""',
    b"-9223372036854775809", b'"x"', b"[]", b"{}", b'["x"]', b'{"x": 1}', b"[[]]", b"[null]",
    rb'"\ud800"', rb'"\u0000"', b"NaN", b'"[{}]"', b'"{}"', b"[" * 3000,
)  # fmt: skip
_SHAPES: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 2**32, 2**64, 1e300, "", "x", "[{}]", [], {}, ["x"], [[]], [None], [{}],
    {"x": 1}, {"x": {}}, {"": []},
)  # fmt: skip


class Finding(NamedTuple):
    """Where something of ours broke, and on what."""

    place: str
    told: str


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "pipeline" in Path(frame.filename).parts]
    last = (ours or list(frames))[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno} ({last.name})"


def some_lines(data: bytes) -> bytes:
    """Return the first lines of many; what is no JSONL stays whole, or nothing of it would land."""
    end = data.rfind(b"\n", 0, LARGEST) + 1
    return data[:end] if end and data[end - 2 : end + 1] == b"}\n{" else data


def flipped(data: bytes, chance: random.Random) -> bytes:
    """Turn over some bits."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    return bytes(found)


def cut_out(data: bytes, chance: random.Random) -> bytes:
    """Leave out a span."""
    start = chance.randrange(len(data))
    return data[:start] + data[start + chance.randint(1, 64) :]


def cut_off(data: bytes, chance: random.Random) -> bytes:
    """Leave out the end."""
    return data[: chance.randrange(len(data))]


def replaced(data: bytes, chance: random.Random) -> bytes:
    """Put other JSON values in the place of some."""
    values = list(_VALUE.finditer(data))
    for value in sorted(
        chance.sample(values, min(len(values), chance.randint(1, 3))),
        reverse=True,
        key=lambda v: v.start(),
    ):
        data = data[: value.start()] + chance.choice(_OTHERS) + data[value.end() :]
    return data


def reshaped(data: bytes, chance: random.Random) -> bytes:
    """Put another JSON value in the place of one at any depth, of the document or of one line."""
    lines = [data]
    try:
        json.loads(data)
    except ValueError:
        lines = data.splitlines()
    which = chance.randrange(len(lines))
    try:
        value = [json.loads(lines[which])]
    except ValueError:
        return flipped(data, chance)
    _replace_below(value, chance)
    lines[which] = json.dumps(value[0]).encode()
    return b"\n".join(lines)


def _replace_below(holder: Any, chance: random.Random) -> None:
    """Replace something below a list or an object: at each depth perhaps the value itself."""
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    key = chance.choice(keys)
    inner = holder[key]
    if isinstance(inner, dict | list) and inner and chance.random() < DEEPER:
        _replace_below(inner, chance)
    else:
        holder[key] = chance.choice(_SHAPES)


_DAMAGES = (flipped, cut_out, cut_off, replaced, replaced, reshaped, reshaped, reshaped)


class Lander:
    """Lands bytes into a lake of their own, and tells what broke."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rounds = 0
        self._seen: list[Finding] = []
        refusing = model.as_reject

        def noting(error: Exception) -> RejectError:
            reject = refusing(error)
            if reject.reason == "unreadable":
                self._seen.append(Finding(_place(error), f"refused: {error}"))
            return reject

        for room in REFUSING:
            room.as_reject = noting

    def broken(self, data: bytes, name: str) -> list[Finding]:
        """Return what broke; nothing where all is as it should be."""
        self._rounds += 1
        self._seen = []
        folder = self._folder / str(self._rounds)
        folder.mkdir()
        file = folder / name
        file.write_bytes(data)
        try:
            land([file], folder / "lake", workers=1)
        except TrajtabError:
            pass
        except Exception as error:  # noqa: BLE001 - what the fuzzer looks for
            self._seen.append(Finding(_place(error), f"stopped: {error}"))
        _remove(folder)
        return self._seen


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()


def smallest(data: bytes, name: str, place: str, lander: Lander) -> bytes:
    """Take away spans, halving them, as long as it still breaks in the same place."""
    size, tries = len(data) // 2, 0
    while size and tries < MOST_TRIES:
        start = 0
        while start < len(data) and tries < MOST_TRIES:
            less = data[:start] + data[start + size :]
            tries += 1
            if less and any(found.place == place for found in lander.broken(less, name)):
                data = less
            else:
                start += size
        size //= 2
    return data


def main(seconds: float, seed: int) -> int:
    """Fuzz for some seconds, and return 1 where anything broke."""
    warnings.simplefilter("error")
    files = [path for folder in FOLDERS for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [path for path in files if path.stat().st_size]
    chance = random.Random(seed)  # noqa: S311 - no secret
    known: set[str] = set()
    rounds, end = 0, time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        lander = Lander(Path(folder))
        while time.monotonic() < end:
            path = chance.choice(files)
            data = chance.choice(_DAMAGES)(some_lines(path.read_bytes()), chance)
            rounds += 1
            for found in lander.broken(data, path.name):
                if found.place not in known:
                    known.add(found.place)
                    small = smallest(data, path.name, found.place, lander)
                    sys.stdout.write(
                        f"{found.place}: {found.told[:200]}\n  {path}\n  {small[:SHOWN]!r}\n"
                    )
                    sys.stdout.flush()
    sys.stdout.write(f"{rounds} damaged files landed, {len(known)} places broke (seed {seed})\n")
    return 1 if known else 0


if __name__ == "__main__":
    given = sys.argv[1:]
    raise SystemExit(
        main(float(given[0]) if given else SECONDS, int(given[1]) if len(given) > 1 else 0)
    )
