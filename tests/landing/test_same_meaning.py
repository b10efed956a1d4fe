"""What a log says does not depend on how its JSON is spelled: every sample, and real files.

Members in another order, escapes that need not be, 5.0 or 5e0 for 5, a null for what may be left
out, blank lines, CRLF, a mark, no last line's end, packed: the same runs, steps, tasks and rejects.
Ids that are made from a record's bytes follow them, and are not compared.
"""

from __future__ import annotations

import gzip
import json
import lzma
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from reading import SAMPLES
from respelling import (
    differences,
    escaped,
    spelled,
    told,
    values,
    with_exponent,
    with_nulls,
    with_point,
    without_nulls,
)

from pipeline.landing.land import land

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FORMATS = sorted(folder.name for folder in SAMPLES.iterdir() if folder.is_dir())
BY_KEY = {"toolbench_tooleval"}
"""The members of the document are records: their order is that of the rows, which stays."""
NO_RUNS = {"adk_config"}


def _reversed(value: Any) -> str:
    return spelled(value, order=lambda members: members[::-1])


def _sorted(value: Any) -> str:
    r"""As PHP writes a sorted object: with \/ for every slash."""
    return spelled(value, text=lambda t: json.dumps(t).replace("/", "\\/"), order=sorted)


SPELLED: dict[str, Callable[[Any], str]] = {
    "members in reverse": _reversed,
    "members sorted, slashes escaped": _sorted,
    "all escaped": lambda value: spelled(value, text=escaped),
    "whole numbers with a point": lambda value: spelled(value, number=with_point),
    "whole numbers with an exponent": lambda value: spelled(value, number=with_exponent),
}


def respelled(data: bytes, how: Callable[[Any], str], *, by_key: bool = False) -> bytes:
    """Return a file in another spelling; as it is where it is no JSON."""
    found = values(data)
    if found is None:
        return data
    if by_key and how in {_reversed, _sorted}:
        lines = ["{" + ",".join(f'"{k}": {how(v)}' for k, v in one.items()) + "}" for one in found]
    else:
        lines = [how(value) for value in found]
    return ("\n".join(lines) + "\n").encode()


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def copied(source: Path, target: Path, respell: Callable[[bytes], bytes]) -> Path:
    """Write a folder's files anew, or one file, under the same names."""
    for path in files(source) if source.is_dir() else [source]:
        to = target / path.relative_to(source.parent)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(respell(path.read_bytes()))
    return target


def landed(source: Path, lake: Path) -> Any:
    """Land a folder; return what it says, what was taken for what, and how many were refused."""
    report = land([source], lake, workers=1)
    taken = sorted(found.format for found in report.recognised), len(report.unrecognised)
    return told(lake), taken, dict(report.rejects), report.unmapped


def assert_same(found: Any, right: Any) -> None:
    assert list(differences(right[0], found[0])) == []
    assert found[1:] == right[1:]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """Land a format's sample as it is, once."""
    home, known = tmp_path_factory.mktemp("original"), dict[str, Any]()

    def of(name: str) -> Any:
        if name not in known:
            known[name] = landed(SAMPLES / name, home / name)
        return known[name]

    return of


@pytest.mark.parametrize("how", SPELLED)
@pytest.mark.parametrize("name", FORMATS)
def test_a_sample_spelled_otherwise(
    tmp_path: Path, original: Callable[[str], Any], name: str, how: str
) -> None:
    def respell(data: bytes) -> bytes:
        return respelled(data, SPELLED[how], by_key=name in BY_KEY)

    copied(SAMPLES / name, tmp_path / "in", respell)
    assert_same(landed(tmp_path / "in", tmp_path / "lake"), original(name))


@pytest.mark.parametrize("name", sorted({*FORMATS} - {"phoenix"}))
def test_blank_lines_crlf_a_mark_and_no_end(
    tmp_path: Path, original: Callable[[str], Any], name: str
) -> None:
    def respell(data: bytes) -> bytes:
        lines = data.replace(b"\n", b"\r\n \t\r\n").rstrip()
        return b"\xef\xbb\xbf\r\n\n" + lines

    copied(SAMPLES / name, tmp_path / "in", respell)
    assert_same(landed(tmp_path / "in", tmp_path / "lake"), original(name))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
    "xz": lzma.compress,
}


@pytest.mark.parametrize("name", FORMATS)
def test_packed_file_by_file(tmp_path: Path, original: Callable[[str], Any], name: str) -> None:
    for path, suffix in zip(files(SAMPLES / name), cycle(PACKERS), strict=False):
        to = tmp_path / "in" / path.relative_to(SAMPLES)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.with_name(f"{to.name}.{suffix}").write_bytes(PACKERS[suffix](path.read_bytes()))
    assert_same(landed(tmp_path / "in", tmp_path / "lake"), original(name))


@pytest.mark.parametrize("name", sorted({*FORMATS} - NO_RUNS))
def test_named_by_from_is_as_recognised(
    tmp_path: Path, original: Callable[[str], Any], name: str
) -> None:
    right = original(name)
    report = land([SAMPLES / name], tmp_path / "lake", format=right[1][0][0], workers=1)
    assert_same((told(tmp_path / "lake"), right[1], dict(report.rejects), report.unmapped), right)


CLOSED = {
    # What tools take, return and keep, and maps whose keys are no fields.
    "args", "arguments", "tool_args", "tool_input", "input", "output", "result", "response",
    "state", "final_state", "expected_state", "labels", "metadata", "attributes", "inputs",
    "outputs", "extra", "observation", "action", "extras", "scores", "criteria", "processes",
    "model_usage", "usage_to_metrics", "agent_state", "ground_truth", "dimensions",
    # What becomes a label or a prompt as it is, its nulls too.
    "final_metrics", "forward_args", "instructions",
}  # fmt: skip


@pytest.mark.parametrize("change", [with_nulls, without_nulls], ids=["given", "left out"])
@pytest.mark.parametrize("name", sorted({*FORMATS} - {"phoenix"} - BY_KEY - NO_RUNS))
def test_a_null_is_what_is_left_out(
    tmp_path: Path,
    original: Callable[[str], Any],
    name: str,
    change: Callable[[list[list[Any]], set[str]], None],
) -> None:
    paths = files(SAMPLES / name)
    documents = [found for path in paths if (found := values(path.read_bytes())) is not None]
    change(documents, CLOSED)
    for path, found in zip(paths, documents, strict=True):
        to = tmp_path / "in" / path.relative_to(SAMPLES)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text("".join(f"{spelled(value)}\n" for value in found))
    assert_same(landed(tmp_path / "in", tmp_path / "lake"), original(name))


TOGETHER = {"tau2_voice_dir"}
"""Files that tell of each other."""


def _picked(folder: Path) -> set[Path]:
    """Return a folder's smallest file and its largest, whose first bytes do not show all of it."""
    if folder.name in TOGETHER:
        return {folder}
    logs = [path for path in files(folder) if path.name not in NO_LOG]
    by_size = sorted(logs, key=lambda path: (path.stat().st_size, path))
    return {by_size[0], by_size[-1]}


NO_LOG = {"test_data__local.traj.json"}
"""A bare list of words, which any tool may have written."""
REAL = ("members sorted, slashes escaped", "all escaped", "whole numbers with a point")


def test_real_files_spelled_otherwise(tmp_path: Path, real_data: Callable[[str], Path]) -> None:
    folders = [folder for folder in sorted(real_data("").iterdir()) if folder.is_dir()]
    for path in (path for folder in folders for path in sorted(_picked(folder))):
        at = tmp_path / path.parent.name / path.stem
        right = landed(path, at / "lake")
        for how in REAL:
            by_key = path.parent.name in BY_KEY
            copied(path, at / how, partial(respelled, how=SPELLED[how], by_key=by_key))
            assert_same(landed(at / how, at / f"{how} lake"), right)
