"""Pictures of the pages, light and dark, wide and narrow: `make screenshots` writes them to look at.

The lake is made up: 30,000 runs of two versions over three days.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from pipeline.landing.land import land
from pipeline.report.html import report
from pipeline.report.run.page import run_page
from pipeline.sample import sample
from pipeline.scoring import score
from pipeline.tables.scores import scores
from pipeline.timeline import timelines

RUNS = 30_000
WIDTHS = (1440, 375)
SCHEMES = ("light", "dark")
ARMS = {"baseline": "agent_version = 'v1'", "candidate": "agent_version = 'v2'"}


def pages(folder: Path) -> list[Path]:
    """Make a report and the page of its worst run."""
    sample(folder / "export", runs=RUNS)
    land([folder / "export"], folder / "demo", workers=1)
    score(folder / "demo")
    (folder / "report.html").write_text(report(folder / "demo", **ARMS), encoding="utf-8")
    (worst,) = scores(folder / "demo", sort="f1", limit=1, columns=["run_id"]).rows["run_id"]
    found = timelines(folder / "demo", worst)
    (folder / "run.html").write_text(run_page(folder / "demo", found), encoding="utf-8")
    return [folder / "report.html", folder / "run.html"]


def main(out: Path) -> None:
    """Write a picture of every page, width and colour scheme, and the report as it prints."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        made = pages(Path(folder))
        arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
        ]
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=arguments
        )
        for file in made:
            for scheme in SCHEMES:
                for width in WIDTHS:
                    page = browser.new_page(
                        viewport={"width": width, "height": 1000}, color_scheme=scheme
                    )
                    page.goto(file.as_uri())
                    picture = out / f"{file.stem}-{width}-{scheme}.png"
                    page.screenshot(path=picture, full_page=True)
                    print(f"wrote {picture}")  # noqa: T201 - a script says what it did
            page.emulate_media(media="print", color_scheme="light")
            page.pdf(path=out / f"{file.stem}.pdf", format="A4")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/screenshots"))
