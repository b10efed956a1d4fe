"""The wheel holds what the tree holds, the SQL included, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def wanted() -> set[str]:
    """Return what a user needs at run time, under the wheel's names."""
    package = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "pipeline").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    sql = {
        f"pipeline/{path.relative_to(ROOT)}" for path in (ROOT / "sql").rglob("*") if path.is_file()
    }
    return package | sql


def test_wheel_is_the_tree(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT]
    done = subprocess.run(build, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == wanted()


def test_there_is_no_python_in_sql() -> None:
    assert not list((ROOT / "sql").rglob("*.py"))


def test_the_wheel_works_without_the_tree(tmp_path: Path) -> None:
    """Unpacked elsewhere, the package finds its SQL beside it."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    place = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(place)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import pipeline, pipeline.queries as q\n"
        "assert pipeline.__file__.startswith(sys.argv[1]), pipeline.__file__\n"
        "print(len(q.names('metrics')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, place],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 4
