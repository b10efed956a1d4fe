"""What the tests of the page share: a lake with something of everything, and its pages."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

import pytest
from rich_lake import ARMS, rich_lake, without_charts

from pipeline.report.html import report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from pipeline.lake import Lake

CHROMIUM = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with something of everything."""
    return rich_lake(tmp_path_factory.mktemp("rich"))


@pytest.fixture(scope="session")
def rich_text(rich: Lake) -> str:
    """The page of the rich lake, tables in place of charts."""
    with without_charts():
        return report(rich, **ARMS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start Debian's Chromium; skips where it is not installed.

    For one module: while it is open its event loop counts as running, and others want their own.
    """
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed: apt-get install chromium")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - slow to load

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(CHROMIUM))
        yield started
        started.close()


class Seen(NamedTuple):
    """A page as a browser has it, what it said on the console, and what else it asked for."""

    page: Page
    said: list[str]
    asked: list[str]


@pytest.fixture
def visit(browser: Browser) -> Iterator[object]:
    """Open a file at a width in a colour scheme; nothing but the file itself is served."""
    contexts = []

    def opened(file: Path, width: int = 1440, scheme: str = "light", media: str = "screen") -> Seen:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        said: list[str] = []
        asked: list[str] = []
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))

        def serve(route: object) -> None:
            if route.request.url == file.as_uri():
                route.continue_()
            else:
                asked.append(route.request.url)
                route.abort()

        page.route("**/*", serve)
        page.emulate_media(media=media, color_scheme=scheme)
        page.goto(file.as_uri())
        return Seen(page, said, asked)

    yield opened
    for context in contexts:
        context.close()
