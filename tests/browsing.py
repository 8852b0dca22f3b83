"""A real browser for tests of pages."""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from typing import Any

import pytest

REQUIRED = os.environ.get("CREST_BROWSER") == "required"
PATIENCE = 30.0


def missing(what: str) -> None:
    """Skip, or fail where the browser is required (CI), so that nobody mistakes a skip for a pass there."""
    (pytest.fail if REQUIRED else pytest.skip)(what)


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """Debian's chromium, started; the test is skipped without it."""
    try:
        from playwright.sync_api import sync_playwright  # noqa: PLC0415
    except ImportError:
        missing("playwright is missing: pip install '.[dev]'")
    found = shutil.which("chromium")
    if found is None:
        missing("chromium is missing: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


def until(tab: Any, holds: str) -> None:
    """Asks from outside until a condition holds: `wait_for_function` asks within, where the page forbids `eval`."""
    deadline = time.monotonic() + PATIENCE
    while not tab.evaluate(holds):
        assert time.monotonic() < deadline, holds
        tab.wait_for_timeout(20)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """It ends with the module, because playwright holds an event loop that other tests would meet."""
    with chromium() as started:
        yield started
