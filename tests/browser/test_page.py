"""The page in real Chromium: every state, in a left-to-right and a right-to-left language, and hostile text.

Screenshots go to the folder named by SENTENCE_GATE_SCREENSHOTS, else to the test's own.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guardrails_plugins.server.app import create_app
from guardrails_plugins.server.providers import OpenAI
from tests.conftest import require_module, require_program
from tests.server.fake_provider import Break, FakeProvider, Finish, Step, Wait, pieces, running, until
from tests.server.support import BAD, GOOD, QUESTION, SECRET, service

pytestmark = pytest.mark.xdist_group("browser")

PERSIAN_QUESTION = "بلیت موزهٔ بندر چند یورو است؟"
PERSIAN = "بلیت موزهٔ بندر ۱۴ یورو است [S1]. موزه ساعت ۹:۳۰ باز می‌شود [S1]."
PERSIAN_BAD = "بلیت موزهٔ بندر ۱۴ یورو است [S1]. دانشجویان ۸۷۳۱ یورو می‌پردازند [S1]. پایان [S1]."
LISTED = "# Fees\n\nThere are **several** fees [S1]:\n\n- A day ticket costs 14 euros [S1].\n- Children under 12 years pay nothing [S1].\n\nThe ticket is for *one day* only [S1]."


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    webdriver = require_module("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = require_program("chromium")
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync", "disable-dev-shm-usage", "window-size=900,900", "lang=en",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome_service = require_module("selenium.webdriver.chrome.service")
    started = webdriver.Chrome(options=options, service=chrome_service.Service(require_program("chromedriver")))
    yield started
    started.quit()


class Page:
    """The page over a fake provider."""

    def __init__(self, driver: Any, url: str, fake: FakeProvider, shots: Path) -> None:
        self.driver, self.url, self.fake, self.shots = driver, url, fake, shots

    def open(self, language: str = "en") -> None:
        self.driver.get(f"{self.url}/?language={language}")

    def run(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def ask(self, question: str, script: list[Step]) -> None:
        self.fake.script = script
        box = self.driver.find_element("id", "question")
        box.send_keys(question)
        self.driver.find_element("id", "send").click()

    def state(self) -> str:
        return str(self.run("return document.querySelector('.turn:last-child')?.dataset.state ?? ''"))

    def wait(self, state: str) -> None:
        assert until(lambda: self.state() == state, 15), (self.state(), self.run("return document.body.innerText"))

    def text(self) -> str:
        return str(self.run("return document.querySelector('.turn:last-child .answer').innerText"))

    def status(self) -> str:
        return str(self.run("return document.querySelector('.turn:last-child .status').innerText"))

    def shoot(self, name: str) -> None:
        self.shots.mkdir(parents=True, exist_ok=True)
        self.driver.save_screenshot(str(self.shots / f"{name}.png"))

    def errors(self) -> list[str]:
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] == "SEVERE"]


@pytest.fixture
def page(driver: Any, tmp_path: Path) -> Iterator[Page]:
    fake = FakeProvider()
    with running(fake.app) as upstream:
        made = service(tmp_path, OpenAI("f", base_url=f"{upstream}/v1", api_key="none"))
        with running(create_app(made)) as url:
            shots = os.environ.get("SENTENCE_GATE_SCREENSHOTS")
            opened = Page(driver, url, fake, Path(shots) if shots else tmp_path / "shots")
            yield opened
            driver.get("about:blank")


LANGUAGES = {
    "en": (QUESTION, GOOD, BAD, "14 euros", "ltr"),
    "fa": (PERSIAN_QUESTION, PERSIAN, PERSIAN_BAD, "۱۴", "rtl"),
}


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_complete_answer(page: Page, language: str) -> None:
    question, good, _, value, direction = LANGUAGES[language]
    page.open(language)
    assert page.run("return document.documentElement.dir") == direction
    page.shoot(f"{language}-empty")
    page.ask(question, [*pieces(good), Finish()])
    page.wait("completed")
    assert value in page.text()
    assert "[S1]" not in page.text()
    assert page.run("return getComputedStyle(document.querySelector('.answer')).direction") == direction
    page.run("document.querySelector('.sources').open = true")
    assert value in page.run("return document.querySelector('.sources').innerText")
    page.shoot(f"{language}-completed")
    assert page.errors() == []


def test_a_withheld_answer_keeps_what_stood_and_says_so(page: Page, language: str) -> None:
    question, _, bad, value, _ = LANGUAGES[language]
    page.open(language)
    page.ask(question, [*pieces(bad), Finish()])
    page.wait("withheld")
    assert value in page.text()
    everything = page.run("return document.documentElement.outerHTML")
    assert SECRET not in everything
    assert "۸۷۳۱" not in everything
    assert page.status().strip()
    page.shoot(f"{language}-withheld")


STATES: dict[str, list[Step]] = {
    "refused": ["NO_ANSWER", Finish()],
    "truncated": [Finish("length")],
    "failed": [Break()],
}


@pytest.mark.parametrize("state", STATES)
def test_refused_cut_off_and_failed_look_different(page: Page, language: str, state: str) -> None:
    question, good, *_ = LANGUAGES[language]
    page.open(language)
    script = STATES[state]
    page.ask(question, script if state == "refused" else [*pieces(good[:70]), *script])
    page.wait(state)
    assert page.status().strip()
    page.shoot(f"{language}-{state}")


def test_the_states_are_told_apart_by_more_than_their_words(page: Page) -> None:
    looks = {}
    for state, script in {**STATES, "withheld": [*pieces(BAD), Finish()]}.items():
        page.open()
        page.ask(QUESTION, script)
        page.wait(state)
        looks[state] = page.run(
            "const s = document.querySelector('.turn .status');"
            "const c = getComputedStyle(s), m = getComputedStyle(s, '::before');"
            "return [c.borderInlineStartColor, c.color, c.backgroundColor, m.content].join('|')"
        )
    assert len(set(looks.values())) == len(looks)


def test_stopping_keeps_the_text_closes_the_provider_and_offers_another_try(page: Page, language: str) -> None:
    question, good, _, value, _ = LANGUAGES[language]
    page.open(language)
    cut = good.index("[S1]. ") + 8
    page.ask(question, [*pieces(good[:cut]), Wait(), Finish()])
    assert until(lambda: value in page.text())
    page.shoot(f"{language}-open")
    page.driver.find_element("id", "stop").click()
    page.wait("stopped")
    assert value in page.text()
    assert until(lambda: page.fake.streams[0].closed_after is not None)
    page.shoot(f"{language}-stopped")
    page.fake.script = [*pieces(good), Finish()]
    page.driver.find_element("css selector", ".again").click()
    page.wait("completed")


def test_lists_headings_and_emphasis_are_drawn(page: Page) -> None:
    page.open()
    page.ask(QUESTION, [*pieces(LISTED), Finish()])
    page.wait("completed")
    assert page.run("return document.querySelectorAll('.answer li').length") == 2
    assert page.run("return document.querySelector('.answer h3').textContent") == "Fees"
    assert page.run("return document.querySelector('.answer strong').textContent") == "several"
    assert page.run("return document.querySelector('.answer em').textContent") == "one day"
    page.shoot("en-structure")


HOSTILE = [
    "A ticket <img src=x onerror=\"document.title='owned'\"> costs 14 euros [S1].",
    "A ticket <script>document.title='owned'</script> costs 14 euros [S1].",
    "A [link](javascript:alert(1)) and <a href='javascript:alert(1)'>one</a> for 14 euros [S1].",
    "A \u202eticket\u202c costs 14 euros [S1].",
    "data: x\n\nevent: done\n\nA ticket costs 14 euros [S1].",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text_or_withheld(page: Page, text: str) -> None:
    page.open()
    page.ask(QUESTION, [*pieces(text), Finish()])
    assert until(lambda: page.state() in ("completed", "withheld"))
    assert page.driver.title == "Sentence gate"
    assert page.run("return document.querySelectorAll('.answer img, .answer script, .answer a').length") == 0
    if page.state() == "completed" and "<" in text:
        assert "<" in page.text()


def test_only_released_text_goes_into_the_history(page: Page) -> None:
    page.open()
    page.ask(QUESTION, [*pieces(BAD), Finish()])
    page.wait("withheld")
    notice = page.status()
    page.ask(QUESTION, [*pieces(GOOD), Finish()])
    page.wait("completed")
    turns = [m for m in page.fake.streams[1].body["messages"] if m["role"] != "system"]
    assert [t["content"] for t in turns[:2]] == [QUESTION, "A day ticket for the harbour museum costs 14 euros."]
    assert notice not in str(turns)


def test_the_keyboard_and_the_screen_reader_are_served(page: Page) -> None:
    keys = require_module("selenium.webdriver.common.keys").Keys
    page.open()
    assert page.run("return document.activeElement.id") == "question"
    page.fake.script = [*pieces(GOOD[: GOOD.index("Chil") + 8]), Wait(), Finish()]
    page.driver.switch_to.active_element.send_keys(QUESTION, keys.ENTER)
    assert until(lambda: "14 euros" in page.text())
    live = page.run("const l = document.getElementById('live'); return [l.getAttribute('aria-live'), l.innerText]")
    assert live[0] == "polite"
    assert live[1].count("14 euros") == 1
    page.driver.switch_to.active_element.send_keys(keys.ESCAPE)
    page.wait("stopped")
    assert page.run("return document.activeElement.id") == "question"
    unnamed = page.run(
        "return [...document.querySelectorAll('button:not([hidden]), textarea, select')]"
        ".filter(e => !(e.innerText || e.getAttribute('aria-label'))).length"
    )
    assert unnamed == 0


def test_light_and_dark_and_a_narrow_screen(page: Page) -> None:
    colours = []
    for scheme in ("light", "dark"):
        page.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )
        page.open()
        page.ask(QUESTION, [*pieces(LISTED), Finish()])
        page.wait("completed")
        colours.append(page.run("return getComputedStyle(document.body).backgroundColor"))
        page.shoot(f"en-{scheme}")
    assert colours[0] != colours[1]
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 360, "height": 700, "deviceScaleFactor": 2, "mobile": True}
    )
    with contextlib.ExitStack() as stack:
        stack.callback(page.driver.execute_cdp_cmd, "Emulation.clearDeviceMetricsOverride", {})
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        page.shoot("en-narrow")


def test_a_server_that_is_gone_is_said_and_nothing_is_lost(page: Page) -> None:
    page.open()
    page.ask(QUESTION, [*pieces(GOOD), Finish()])
    page.wait("completed")
    page.run("window.fetch = () => Promise.reject(new TypeError('gone'))")
    page.driver.find_element("id", "question").send_keys("Again?")
    page.driver.find_element("id", "send").click()
    page.wait("failed")
    assert page.run("return document.querySelectorAll('.turn').length") == 2
    assert "14 euros" in page.run("return document.querySelector('.turn .answer').innerText")


def test_no_service_worker_and_nothing_from_elsewhere(page: Page) -> None:
    page.open()
    assert page.run("return navigator.serviceWorker?.controller ?? null") is None
    names = page.run("return performance.getEntriesByType('resource').map(e => e.name)")
    assert names
    assert all(name.startswith((page.url, "data:")) for name in names)
