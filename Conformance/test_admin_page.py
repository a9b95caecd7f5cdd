"""The operators' page in a real browser, on a relay at work: what it shows is so, what it does happens, it asks no more than it must, everybody can use it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.accessibility import audit
from support.admin import AdminSetting, Member, until
from support.browser import Browser, control, is_there
from support.relay import REPOSITORY, Relay

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not is_there(), reason="no Chromium with its driver: Deploy/install test"),
]

PAGE = REPOSITORY / "Web"
LIVE = 'document.querySelector("#live").dataset.state === "open"'
# Counts what the page asks from then on, before its own code does.
COUNTING = """
globalThis.asked = [];
const own = globalThis.fetch;
globalThis.fetch = (...request) => (asked.push(String(request[0])), own(...request));
"""
HIDE = """
Object.defineProperty(document, "hidden", { value: arguments[0], configurable: true });
document.dispatchEvent(new Event("visibilitychange"));
"""


@pytest.fixture(scope="module")
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> AdminSetting:
    """The folder is served as it is: the page needs nothing that is compiled."""
    return AdminSetting.create(start_relay, tmp_path_factory.mktemp("operated"), more={"web": str(PAGE)})


def browser_of(setting: AdminSetting, folder: Path, client: str) -> Browser:
    browser = Browser.start(folder, client, authorities=[setting.authority.certificate], identity=setting.clients[client])
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=COUNTING)
    return browser


@pytest.fixture(scope="module")
def operator(setting: AdminSetting, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser_of(setting, tmp_path_factory.mktemp("browser"), "operator") as browser:
        yield browser


@pytest.fixture(autouse=True)
def _no_fault(operator: Browser) -> Iterator[None]:
    """No error on the console and nothing that the Content-Security-Policy stopped, but what a test expects."""
    yield
    assert operator.faults(expected=r"status of 404") == []


def go(browser: Browser, setting: AdminSetting, fragment: str = "#/") -> None:
    browser.open("about:blank")
    browser.open(setting.url("/admin/") + fragment)
    browser.wait("the page to be live", LIVE)


def value(browser: Browser, tile: str) -> str:
    return browser.get(f"document.querySelector(\"{control(f'tile-{tile}')} .value\").textContent")


def rows(browser: Browser, caption: str) -> list[list[str]]:
    """The table of that caption, cell by cell."""
    return browser.run(
        "const table = [...document.querySelectorAll('table')].find((t) => t.caption.textContent === arguments[0]);"
        "return [...(table?.tBodies[0].rows ?? [])].map((row) => [...row.cells].map((cell) => cell.textContent));",
        caption,
    )


def test_the_overview_is_what_the_relay_does(setting: AdminSetting, operator: Browser) -> None:
    with Member(setting, "alice", "ward:7") as alice, Member(setting, "bob", "ward:7"), Member(setting, "bob", "other"):
        alice.request({"type": "publish", "id": 3, "kind": "audio", "codec": "opus", "source": "microphone"})
        go(operator, setting)
        operator.judge("three participants", lambda: value(operator, "participants"), lambda shown: shown == "3")
        operator.judge("two rooms", lambda: value(operator, "rooms"), lambda shown: shown == "2")
        operator.judge("one stream", lambda: value(operator, "streams"), lambda shown: shown == "1")
        operator.judge("two overviews", lambda: value(operator, "cpu"), lambda shown: shown.endswith("%"))
        assert [row[:2] for row in rows(operator, "The largest rooms")] == [["ward:7", "2"], ["other", "1"]]
        assert len(rows(operator, "Event loops")) == 2
        certificates = rows(operator, "Certificates, the soonest to end first")
        assert certificates and all("left" in row[1] for row in certificates)
    operator.judge("they have left", lambda: value(operator, "participants"), lambda shown: shown == "0")


def test_from_a_room_to_a_session_and_out_with_somebody(setting: AdminSetting, operator: Browser) -> None:
    with Member(setting, "alice", "team:~x") as alice, Member(setting, "bob", "team:~x", device="a phone") as bob:
        go(operator, setting, "#/rooms")
        operator.wait("the room in the list", "[...document.querySelectorAll('tbody a')].find((a) => a.textContent === 'team:~x')")
        operator.run("[...document.querySelectorAll('tbody a')].find((a) => a.textContent === 'team:~x').click()")
        operator.judge("both in the room", lambda: [row[0] for row in rows(operator, "Participants")], lambda names: sorted(names) == ["alice", "bob"])
        assert operator.get("document.activeElement.id") == "title", "the heading has the focus after a move"
        # The first is alice, who came first. Cancel has the focus, and nothing happens by it.
        operator.click("take-out")
        assert operator.get("document.activeElement.textContent") == "Cancel"
        operator.run("document.activeElement.click()")
        operator.wait("the question to be gone", "document.querySelector('dialog') === null")
        assert len(rows(operator, "Participants")) == 2
        operator.click("take-out")
        operator.click("confirm")
        assert alice.event("room.removed")["reason"] == "admin"
        operator.judge("bob alone", lambda: [row[0] for row in rows(operator, "Participants")], lambda names: names == ["bob"])
        # On to bob's session, and an end to it.
        operator.run("document.querySelector('tbody th a').click()")
        operator.wait("the session's page", f"location.hash === '#/sessions/{bob.session}' && document.querySelector('.facts dd')")
        operator.judge("its device", lambda: operator.get("document.querySelector('#view').textContent"), lambda text: "a phone" in text)
        operator.click("close-session")
        operator.click("confirm")
        assert bob.close_frame() == (1008, "admin")
        operator.wait("the list of sessions", "location.hash === '#/sessions'")


def test_a_room_ends(setting: AdminSetting, operator: Browser) -> None:
    with Member(setting, "alice", "short") as alice:
        go(operator, setting, "#/rooms/short")
        operator.click("end-room")
        operator.click("confirm")
        assert alice.event("room.removed")["reason"] == "admin"
        operator.wait("the list of rooms", "location.hash === '#/rooms'")


def test_what_is_not_there_is_said_once_and_not_asked_again(setting: AdminSetting, operator: Browser) -> None:
    go(operator, setting, "#/rooms/nowhere")
    operator.wait("a sentence", "document.querySelector('#view .fault')?.textContent.includes('no such room')")
    asked = operator.get("asked.length")
    operator.run("await new Promise((done) => setTimeout(done, 4500));")
    assert operator.get("asked.length") == asked


def test_nothing_is_asked_while_the_page_is_hidden(setting: AdminSetting, operator: Browser) -> None:
    with Member(setting, "alice", "quiet"):
        go(operator, setting, "#/rooms/quiet")
        operator.wait("the room", "document.querySelector('tbody')")
        operator.run(HIDE, True)
        before = operator.get("asked.length")
        operator.run("await new Promise((done) => setTimeout(done, 5000));")
        assert operator.get("asked.length") == before
        assert operator.get("document.querySelector('#live').dataset.state") == "hidden"
        operator.run(HIDE, False)
        operator.wait("the page to be live again", LIVE)
        assert operator.get("asked.length") > before


def test_reload_is_asked_of_the_relay(setting: AdminSetting, operator: Browser) -> None:
    go(operator, setting)
    before = len(setting.audit())
    operator.click("reload")
    operator.click("confirm")
    operator.wait("the question to be gone", "document.querySelector('dialog') === null")
    until(lambda: any(record["act"] == "POST /v1/reload" and record["outcome"] == "done" for record in setting.audit()[before:]), "the reload is in the audit")


@pytest.mark.parametrize("layout", ["light", "dark", "phone"])
def test_everybody_can_use_it(setting: AdminSetting, operator: Browser, layout: str, tmp_path: Path) -> None:
    """axe-core finds nothing, contrast included; what is wider than a phone scrolls by itself."""
    with Member(setting, "alice", "seen") as alice, Member(setting, "bob", "seen"):
        alice.request({"type": "publish", "id": 3, "kind": "audio", "codec": "opus"})
        found = []
        operator.lay_out(layout)
        for fragment in ("#/", "#/rooms", "#/rooms/seen", "#/sessions", f"#/sessions/{alice.session}"):
            go(operator, setting, fragment)
            operator.wait("its content", "document.querySelector('#view tbody tr, #view .facts dd')")
            found += audit(operator, f"{layout} {fragment}")
            assert operator.get("document.documentElement.scrollWidth <= innerWidth"), f"{fragment} is wider than the window"
            operator.screenshot(tmp_path / "page.png")
        go(operator, setting)
        operator.click("drain")
        found += audit(operator, f"{layout}, the question about draining")
        operator.run("document.activeElement.click()")
        operator.lay_out("light")
    assert found == []


def test_who_is_no_administrator_is_told_what_to_do(setting: AdminSetting, tmp_path: Path) -> None:
    with browser_of(setting, tmp_path, "alice") as browser:
        browser.open(setting.url("/admin/") + "#/rooms")
        browser.wait("the sentence", "document.querySelector('#away-text').textContent.includes('Import the certificate')")
        # The list's answer, and with what status the overview was refused.
        assert sorted(json.loads(browser.get("JSON.stringify(asked)"))) == ["/v1/live", "/v1/rooms?limit=50"]
        assert browser.faults(expected=r"status of 403") == []


def test_draining_shows_and_ends_in_growing_pauses(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("drained")
    setting = AdminSetting.create(start_relay, folder, more={"web": str(PAGE), "drainMilliseconds": 4_000})
    with browser_of(setting, folder, "operator") as browser, Member(setting, "bob", "last") as bob:
        go(browser, setting)
        browser.click("drain")
        browser.click("confirm")
        assert bob.event("goaway")["reason"] == "drain"
        browser.wait("the relay to be away", "document.querySelector('#live').dataset.state === 'waiting'", 60)
        assert "next try" in browser.get("document.querySelector('#away-text').textContent")
        assert setting.relay.process.wait(30) == 0
    setting.relay.stopped = True
