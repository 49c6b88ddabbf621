"""The HTML report in a real browser: hostile text stays text, nothing is asked for, and the filters work.

Needs Debian's chromium and chromium-driver, and selenium (`make test-system`). Screenshots at both widths are kept in
`.work/screenshots/`.
"""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from pipelines.reporting.html.page import html_page
from tests.pipelines.report_material import material

SCREENSHOTS = Path(__file__).parents[2] / ".work" / "screenshots"
INSTALL = "apt-get install -y chromium chromium-driver"
FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
HOSTILE = '</script></pre><script>window.taken=1</script><img src=x onerror="window.taken=1"> \'" 内容'
LOSSES = 4  # of each candidate and suite


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"no {name} on the PATH; install it: {INSTALL}")
    return found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(html_page(material(HOSTILE, count=7, losses=LOSSES)), "utf-8")
    return path


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = program("chromium")
    for flag in [*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(program("chromedriver")))
    yield started
    started.quit()


@pytest.fixture
def browser(driver: webdriver.Chrome, report: Path) -> webdriver.Chrome:
    """The browser with the report just opened, 1280 pixels wide, and logs of nothing but that."""
    look(driver, 1280)
    driver.get("about:blank")
    driver.get_log("performance")
    driver.get_log("browser")
    driver.get(report.as_uri())
    return driver


def look(driver: webdriver.Chrome, width: int, media: str = "", scheme: str = "light") -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    preference = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [preference]})


def shoot(driver: webdriver.Chrome, name: str) -> None:
    """Keep a picture of the whole page."""
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "format": "png"})
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    (SCREENSHOTS / name).write_bytes(base64.b64decode(taken["data"]))


def field(driver: webdriver.Chrome, name: str) -> Any:
    return driver.find_element(By.CSS_SELECTOR, f"#filter [name={name}]")


def shown(driver: webdriver.Chrome) -> list[str]:
    """The ids of the cards that can be seen."""
    return [card.get_attribute("id") for card in driver.find_elements(By.CLASS_NAME, "card") if card.is_displayed()]


def counted(driver: webdriver.Chrome, count: int) -> None:
    """Wait until the live count says so many cards, and check that so many can be seen."""
    told = f"{count} of {4 * LOSSES} cards"
    WebDriverWait(driver, 5).until(lambda found: found.find_element(By.ID, "count").text == told, told)
    assert len(shown(driver)) == count


def test_hostile_text_stays_text(browser: webdriver.Chrome) -> None:
    assert browser.execute_script("return window.taken") is None
    assert browser.execute_script("return document.querySelectorAll('img, iframe, object').length") == 0
    assert browser.execute_script("return document.scripts.length") == 2
    answers = [part.text for part in browser.find_elements(By.CSS_SELECTOR, ".answers pre")]
    assert answers.count(f"{HOSTILE} wrong in fp8") == 2 * LOSSES
    assert [mark.text for mark in browser.find_elements(By.CSS_SELECTOR, ".answers mark")].count("wrong in fp8") > 0


def test_the_browser_has_nothing_to_complain_of_and_asks_for_nothing(browser: webdriver.Chrome, report: Path) -> None:
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert asked == [report.as_uri()]
    assert browser.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_markup_that_got_in_could_not_run(browser: webdriver.Chrome) -> None:
    browser.execute_script(
        "document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,x\" onerror=\"window.taken=1\">');"
        "const added = document.createElement('script'); added.textContent = 'window.taken = 1';"
        "document.body.append(added);"
    )
    refused = WebDriverWait(browser, 5).until(lambda found: found.get_log("browser"), "no refusal was logged")
    assert any("Content Security Policy" in entry["message"] for entry in refused)
    assert browser.execute_script("return window.taken") is None


@pytest.mark.parametrize(
    ("name", "value", "count"),
    [
        ("candidate", "fp8", 2 * LOSSES),
        ("suite", "tools", 2 * LOSSES),
        ("label", "float_drift", 2),
        ("domain", "service", 2 * LOSSES),
    ],
)
def test_a_filter_leaves_what_it_names(browser: webdriver.Chrome, name: str, value: str, count: int) -> None:
    counted(browser, 4 * LOSSES)
    Select(field(browser, name)).select_by_value(value)
    counted(browser, count)
    field(browser, "words").find_element(By.XPATH, "//button[@type='reset']").click()
    counted(browser, 4 * LOSSES)


def test_filters_and_words_work_together(browser: webdriver.Chrome) -> None:
    field(browser, "must_pass").click()
    counted(browser, 2)
    field(browser, "words").send_keys("WRONG in  fp8")
    counted(browser, 1)
    assert shown(browser) == ["card-4-1"]
    assert len([pile for pile in browser.find_elements(By.CLASS_NAME, "pile") if pile.is_displayed()]) == 1
    field(browser, "words").send_keys(" nowhere")
    counted(browser, 0)
    assert browser.find_element(By.ID, "nothing").is_displayed()
    field(browser, "words").clear()
    field(browser, "words").send_keys("tc-000 </script>")
    counted(browser, 2)


def test_the_keyboard_is_enough(browser: webdriver.Chrome) -> None:
    def press(key: str) -> Any:
        browser.switch_to.active_element.send_keys(key)
        return browser.switch_to.active_element

    assert press(Keys.TAB).text == "Skip to the verdicts"
    reached = press(Keys.TAB)
    for _ in range(120):
        if reached.get_attribute("name") == "candidate":
            break
        reached = press(Keys.TAB)
    reached.send_keys("f")
    counted(browser, 2 * LOSSES)
    for _ in range(6):
        reached = press(Keys.TAB)
    assert reached.get_attribute("name") == "words"
    reached.send_keys("float_drift")
    counted(browser, 1)
    press(Keys.TAB).send_keys(Keys.ENTER)
    counted(browser, 4 * LOSSES)


def test_without_scripts_it_is_a_plain_page(browser: webdriver.Chrome) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.refresh()
        assert not browser.find_element(By.ID, "filter").is_displayed()
        assert len(shown(browser)) == 4 * LOSSES
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "light"), (1280, "dark"), (390, "dark")])
def test_the_page_never_scrolls_sideways(browser: webdriver.Chrome, width: int, scheme: str) -> None:
    look(browser, width, scheme=scheme)
    browser.refresh()
    shoot(browser, f"report-{width}-{scheme}.png")
    assert browser.execute_script("return document.documentElement.scrollWidth") == width


def test_print_shows_what_the_screen_folds_away(browser: webdriver.Chrome) -> None:
    folded = "return [...document.querySelectorAll('details:not([open]) table')].map((t) => t.checkVisibility())"
    assert set(browser.execute_script(folded)) == {False}
    look(browser, 800, media="print")
    shoot(browser, "report-print.png")
    assert set(browser.execute_script(folded)) == {True}
    assert not browser.find_element(By.ID, "filter").is_displayed()
