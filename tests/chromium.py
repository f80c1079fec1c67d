"""The system's Chromium: Playwright's own can't be fetched everywhere."""

import shutil
from contextlib import contextmanager

PATIENCE_MS = 180_000
# /dev/shm is small in a container, and a page that fills it crashes: files in /tmp then
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


@contextmanager
def running_chromium():
    """A Playwright browser, closed at the end. Playwright is asked for here, so that
    tests can skip without it.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=FLAGS, timeout=PATIENCE_MS
        )
        try:
            yield browser
        finally:
            browser.close()
