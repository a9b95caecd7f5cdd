"""The web client in real browsers: two meet in a room, one known by its certificate, one by a token; they see, hear and read each other through everything.

Headless Chromium with fake devices. Each microphone plays a tone of its own, which the other's page must have played, by what its worklet put out. Nothing
here is a matter of speed: conditions are waited for, long enough for a busy machine; `Deploy/dev browser` measures. After every test the consoles must be
without errors, and no page may have been stopped by its Content-Security-Policy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from support.accessibility import audit
from support.browser import Browser, is_there, shown
from support.caller import Caller
from support.relay import Relay
from support.web_site import Site, web_folder
from test_tokens import Provider

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not is_there(), reason="no Chromium with its driver: Deploy/install test"),
]

ROOM = "lounge"
WHEN_CUT_OFF = r"WebSocket|ERR_CONNECTION|ERR_HTTP2|net::ERR"
# Of WebDriver's keys (W3C WebDriver §17.4.2).
ENTER = "\ue007"
# Small and slow, so that it moves on a machine with much else to do.
CAMERA = (640, 360, 10)
# Joined, and nothing muted, taken away, shared or interrupted.
AS_NEW = f"""(({{ client, app }}) => client?.state === "open" && client.room?.name === "{ROOM}" && ["none", "active"].includes(client.audioSession.state) &&
    ((self) => !self.muted && self.camera && !self.screen)(app.store.state.self))(globalThis.segue ?? {{}})"""
LAYOUTS = ("light", "dark", "phone")


@dataclass
class Meeting:
    """Ann, who has a certificate, and Ben, who has a token."""

    site: Site
    ann: Caller
    ben: Caller
    # What a test expects on the consoles, as a pattern.
    expected: str | None = field(default=None)

    @property
    def callers(self) -> tuple[Caller, Caller]:
        return self.ann, self.ben

    def link(self, caller: Caller) -> str:
        return self.site.link(ROOM, None if caller is self.ann else "ben")

    def sessions(self) -> list[dict]:
        """As the admin API has them."""
        status, _, body = self.site.relay.get("/v1/sessions")
        assert status == 200, body
        return json.loads(body)["sessions"]

    def gather(self) -> None:
        """Both are in the room as people are who have just come, whatever a test before left behind."""
        for caller in self.callers:
            if not caller.browser.get(AS_NEW):
                caller.join(self.link(caller))
        for caller in self.callers:
            caller.browser.wait("the other in the room", "segue.client.room.participants.size === 2")


@pytest.fixture(scope="module")
def site(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    provider = Provider(folder / "jwks.json", {"ed": ed25519.Ed25519PrivateKey.generate()})
    provider.publish("ed")
    return Site.create(start_relay, folder, names=("ann", "cem"), token=lambda subject: provider.token(subject, lifetime=3_600), keys=provider.path)


@pytest.fixture(scope="module")
def development_relay(start_relay: Callable[..., Relay]) -> Relay:
    """As Deploy/up starts it."""
    return start_relay("development", arguments=("--web", str(web_folder())))


@pytest.fixture(scope="module")
def browsers(site: Site, development_relay: Relay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Browser, Browser]]:
    folder = tmp_path_factory.mktemp("browsers")
    trusted = [site.authority.certificate, development_relay.authority]
    with Browser.start(folder, "ann", authorities=trusted, identity=site.identities["ann"], hertz=440, camera=CAMERA) as ann:
        with Browser.start(folder, "ben", authorities=trusted, hertz=660, camera=CAMERA) as ben:
            yield ann, ben


@pytest.fixture(scope="module")
def module_meeting(site: Site, browsers: tuple[Browser, Browser]) -> Meeting:
    return Meeting(site, Caller(browsers[0], "Ann", 440), Caller(browsers[1], "Ben", 660))


@pytest.fixture
def meeting(module_meeting: Meeting) -> Iterator[Meeting]:
    module_meeting.expected = None
    module_meeting.gather()
    yield module_meeting
    faults = [f"{caller.name}: {fault}" for caller in module_meeting.callers for fault in caller.browser.faults(module_meeting.expected)]
    for caller in module_meeting.callers:
        caller.browser.console.clear()
    assert not faults, "\n".join(faults)
    module_meeting.site.relay.assert_healthy()


def test_faults_of_a_page_would_be_found(meeting: Meeting) -> None:
    """Otherwise their absence would say nothing."""
    meeting.expected = "made here|policy violation: |Content Security Policy|TrustedHTML"
    browser = meeting.ben.browser
    browser.run(
        """setTimeout(() => { throw new Error("made here"); });
        Promise.reject(new Error("made here, and kept"));
        const page = document.createElement("a");
        try { page.innerHTML = "<b>text</b>"; } catch {}
        page.setAttribute("style", "color: red");
        const script = document.createElement("img");
        script.src = "https://elsewhere.example/made-here.png";
        document.body.append(script);
        script.remove();"""
    )
    for found in ("Uncaught Error: made here", "in promise", "style-src-attr", "img-src"):
        browser.judge(found, lambda: [fault for fault in browser.faults() if found in fault], bool)


def test_they_see_and_hear_each_other(meeting: Meeting) -> None:
    ann, ben = meeting.callers
    ann.sees(ben)
    ben.sees(ann)
    ann.hears(ben)
    ben.hears(ann)
    sessions = {session["identity"]["name"]: session for session in meeting.sessions()}
    assert set(sessions) == {"urn:segue:client:ann", "token:ben"}, sessions


def test_the_page_shows_the_transport_that_the_relay_sees(meeting: Meeting) -> None:
    sessions = {session["session"]: session["transport"] for session in meeting.sessions()}
    for caller in meeting.callers:
        used = sessions[caller.browser.get("segue.client.session ?? segue.client.welcome.session")]
        print(f"{caller.name}: WebSocket over {used}")
        caller.browser.open_panel("details", "details-panel")
        shown_as = {"h2": "HTTP/2", "http/1.1": "HTTP/1.1"}[used]
        caller.browser.wait(f"{shown_as} in the details", f"document.querySelector('[data-number=http]').textContent.includes({shown_as!r})")
        caller.browser.close_panel("details-panel")


def test_no_token_stays_in_the_address(meeting: Meeting) -> None:
    for caller in meeting.callers:
        assert "token" not in caller.browser.get("location.href")


def test_mute_is_heard_and_seen(meeting: Meeting) -> None:
    ann, ben = meeting.callers
    ben.hears(ann)
    named = ann.browser.attribute("mute", "aria-label")
    ann.browser.click("mute")
    ben.hears(ann, gone=True)
    ben.shows(ann, "muted")
    # Whoever does not see the picture on it is told by its name.
    assert ann.browser.attribute("mute", "aria-label") != named
    ann.browser.click("mute")
    ben.hears(ann)
    ben.shows(ann, "muted", gone=True)


def test_a_camera_goes_and_comes(meeting: Meeting) -> None:
    ann, ben = meeting.callers
    ben.sees(ann)
    ann.browser.click("camera")
    cameras = f'[...segue.client.room.streams.values()].filter((s) => s.participant === {ann.participant} && s.kind === "video").length'
    ben.browser.wait("Ann's camera gone", f"{cameras} === 0")
    ann.browser.click("camera")
    ben.sees(ann)


def test_a_screen_is_shared_and_taken_back(meeting: Meeting) -> None:
    ann, ben = meeting.callers
    ann.browser.click("screen")
    ben.sees(ann, "screen")
    ann.browser.click("screen")
    gone = f"""!document.querySelector('[data-participant="{ann.participant}"][data-source="screen"]')"""
    ben.browser.wait("no tile of a screen", gone)
    ben.sees(ann)


def test_chat_arrives_as_text(meeting: Meeting) -> None:
    ann, ben = meeting.callers
    said = 'Hello <img src="x" onerror="alert(1)"> & all'
    for caller in meeting.callers:
        caller.browser.open_panel("chat", "chat-text")
    ann.browser.type("chat-text", said)
    ann.browser.click("chat-send")
    for caller in meeting.callers:
        caller.browser.judge("the message", lambda: caller.browser.text("chat-log"), lambda text: said in text)
    # By the key alone.
    ben.browser.type("chat-text", f"And to you{ENTER}")
    ann.browser.judge("the answer", lambda: ann.browser.text("chat-log"), lambda text: "And to you" in text)
    for caller in meeting.callers:
        caller.browser.close_panel("chat-text")


def test_an_interruption_shows_as_held_and_ends(meeting: Meeting) -> None:
    """As a phone call does it on a phone: by the library's own entry for the system's events (design §7.2)."""
    ann, ben = meeting.callers
    ben.hears(ann)
    ann.browser.run('await segue.client.audioSession.interruptionBegan("default");')
    ben.shows(ann, "held")
    ben.hears(ann, gone=True)
    ann.browser.run("await segue.client.audioSession.interruptionEnded({ shouldResume: true });")
    ben.shows(ann, "held", gone=True)
    ben.hears(ann)
    ann.hears(ben)
    ben.sees(ann)


def test_the_details_have_figures(meeting: Meeting) -> None:
    ann, ben = meeting.callers
    ann.hears(ben)
    ann.browser.open_panel("details", "details-panel")
    ann.browser.judge("figures", lambda: ann.browser.text("details-panel"), lambda text: sum(character.isdigit() for character in text) > 10)
    figures = ann.statistics()
    sound = next(voice for voice in figures["audio"] if voice["participant"] == ben.participant)
    picture = next(video for video in figures["video"] if video["participant"] == ben.participant)
    print(f"sound {sound}\npicture {picture}")
    assert sound["targetMilliseconds"] > 0 and sound["kbps"] > 0 and 0 <= sound["concealedShare"] <= 1
    assert picture["width"] > 0 and picture["height"] > 0 and picture["decoded"] > 0
    ann.browser.close_panel("details-panel")


def test_a_page_that_is_loaded_again_comes_back(meeting: Meeting) -> None:
    """By the certificate: a token is nowhere but in the memory of the page that is gone."""
    ann, ben = meeting.callers
    before = ann.participant
    ann.browser.reload()
    ann.browser.wait("the page or the call", f"segue.client?.room?.me != null || {shown('join')}")
    if not ann.browser.get("segue.client?.room?.me != null"):
        ann.enter()
    print(f"participant {before}, then {ann.participant}")
    ben.browser.wait("Ann once", "segue.client.room.participants.size === 2")
    ben.hears(ann)
    ben.sees(ann)
    ann.hears(ben)
    ann.sees(ben)


def test_a_relay_that_starts_anew_is_found_again(meeting: Meeting, start_relay: Callable[..., Relay]) -> None:
    """The new one knows nothing of the old one's sessions: who was in the room joins it again, without a hand."""
    meeting.expected = WHEN_CUT_OFF
    ann, ben = meeting.callers
    meeting.site.restart(start_relay)
    for caller in meeting.callers:
        caller.browser.wait("to be connected again", 'segue.client.state === "open" && segue.client.room?.me != null && segue.client.room.participants.size === 2', 60)
    ann.hears(ben)
    ben.hears(ann)
    ann.sees(ben)
    ben.sees(ann)


def test_two_devices_pair_by_a_code(meeting: Meeting, tmp_path: Path) -> None:
    """One shows it, the other types it, and both are before a room that is theirs alone (protocol 3.14). It takes two certificates."""
    site, ann = meeting.site, meeting.ann
    with Browser.start(tmp_path, "cem", authorities=[site.authority.certificate], identity=site.identities["cem"], hertz=880, camera=CAMERA) as browser:
        cem = Caller(browser, "Cem", 880)
        ann.browser.click("leave")
        ann.browser.wait("to have left", "segue.client?.room == null")
        for caller in (ann, cem):
            caller.browser.open("about:blank")
            caller.browser.open(f"https://localhost:{site.relay.port}/#/pair")
        ann.browser.click("pair-show")
        cem.browser.type("code", ann.browser.judge("a code", lambda: ann.browser.text("pair-code"), bool))
        cem.browser.click("pair-enter")
        for caller in (ann, cem):
            caller.enter()
        ann.hears(cem)
        cem.hears(ann)
        rooms = {caller.browser.get("segue.client.room.name") for caller in (ann, cem)}
        assert len(rooms) == 1 and rooms.pop().startswith("pair:")
        assert not cem.browser.faults()


def test_the_link_that_development_mode_prints_leads_into_a_call(meeting: Meeting, development_relay: Relay) -> None:
    ben = meeting.ben
    link = re.search(r"https://localhost:\d+/#/r/\S+", development_relay.log())
    assert link, development_relay.log()
    ben.join(link.group())
    assert ben.browser.get("[...segue.client.room.participants.values()].map((one) => one.identity.name)") == ["token:dev"]
    ben.browser.wait("picture and sound sent", "segue.media.statistics().sending.length === 2")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_call_is_for_everybody(meeting: Meeting, layout: str) -> None:
    """Names, roles, contrast, landmarks: axe-core, on every view of a call."""
    browser = meeting.ann.browser
    browser.lay_out(layout)
    try:
        found = audit(browser, f"call, {layout}")
        browser.click("view")
        found += audit(browser, f"the other view, {layout}")
        browser.click("view")
        browser.open_panel("chat", "chat-text")
        found += audit(browser, f"chat, {layout}")
        browser.close_panel("chat-text")
        browser.open_panel("details", "details-panel")
        found += audit(browser, f"details, {layout}")
        browser.close_panel("details-panel")
        assert not found, "\n".join(found)
    finally:
        browser.lay_out("light")


def test_before_and_after_a_call_is_for_everybody(meeting: Meeting) -> None:
    ben = meeting.ben.browser
    ben.click("leave")
    found = []
    ben.wait("the call to be over", "segue.client?.room == null")
    for layout in LAYOUTS:
        ben.lay_out(layout)
        found += audit(ben, f"after a call, {layout}")
    for place, marker in (("#/", "room"), ("#/pair", "code"), (f"#/r/{ROOM}", "join")):
        ben.open("about:blank")
        ben.open(f"https://localhost:{meeting.site.relay.port}/{place}")
        ben.wait(place, shown(marker))
        for layout in LAYOUTS:
            ben.lay_out(layout)
            found += audit(ben, f"{place}, {layout}")
    ben.lay_out("light")
    assert not found, "\n".join(found)
    assert meeting.ann.browser.wait("Ben gone", "segue.client.room.participants.size === 1")
