"""A headless Chromium with a profile of its own that talks to this machine alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM = Path("/usr/bin/chromium")
DRIVER = Path("/usr/bin/chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1700,1500",
)
PATIENCE_S = 60


class Browser:
    """Pages as somebody sees them: open one, click what is written, wait until a text is there, take a picture."""

    def __init__(self, driver: webdriver.Chrome, pictures: Path) -> None:
        self._driver = driver
        self._pictures = pictures

    def open(self, address: str) -> None:
        """Load a page anew, even where only the part behind `#` differs from the page before."""
        self._driver.get("about:blank")
        self._driver.get(address)

    def click(self, text: str) -> None:
        """Click the element whose whole text this is, once it is there."""
        found = WebDriverWait(self._driver, PATIENCE_S, ignored_exceptions=[WebDriverException]).until(
            lambda driver: driver.find_element(By.XPATH, f'//*[normalize-space(text())="{text}"]')
        )
        found.click()

    def sees(self, *texts: str) -> str:
        """The text on the page, as soon as every one of `texts` is in it. Fails naming those that do not come."""
        waiting = WebDriverWait(self._driver, PATIENCE_S, ignored_exceptions=[StaleElementReferenceException])
        try:
            waiting.until(lambda _: all(text in self.text() for text in texts))
        except WebDriverException:
            self.picture("missing")
        shown = self.text()
        missing = [text for text in texts if text not in shown]
        assert not missing, f"not on {self._driver.current_url}: {missing}; there is: {shown[:3000]}"
        return shown

    def text(self) -> str:
        """What is on the page, and in the first frame if there is one, with single spaces for all white space."""
        shown = str(self._driver.find_element(By.TAG_NAME, "body").text)
        for frame in self._driver.find_elements(By.TAG_NAME, "iframe")[:1]:
            self._driver.switch_to.frame(frame)
            shown += "\n" + str(self._driver.find_element(By.TAG_NAME, "body").text)
            self._driver.switch_to.default_content()
        return " ".join(shown.split())

    def picture(self, name: str) -> None:
        """Keep what is to be seen now as `<name>.png`."""
        self._driver.save_screenshot(str(self._pictures / f"{name}.png"))


@contextmanager
def browsing(pictures: Path) -> Iterator[Browser]:
    """A browser that ends with the block. Fails where Chromium is not installed."""
    assert CHROMIUM.exists() and DRIVER.exists(), "no Chromium here; install it: apt-get install chromium-driver"
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
        try:
            yield Browser(driver, pictures)
        finally:
            driver.quit()
