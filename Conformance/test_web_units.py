"""The web client's own tests, under node, and what its files must not have: a strict Content-Security-Policy and no build step leave no room for them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WEB = ROOT / "Web"
LINES_MAX = 400
TEST_SECONDS_MAX = 280

# Sinks of Trusted Types (require-trusted-types-for 'script'), and what the policy refuses by default-src 'none' and by script-src without 'unsafe-eval'.
FORBIDDEN = {
    "markup from text": r"\.(innerHTML|outerHTML|srcdoc)\b|\binsertAdjacentHTML\b|\bdocument\.write(ln)?\b|\bcreateContextualFragment\b|\bDOMParser\b",
    "code from text": r"(?<![\w.])eval\s*\(|\bnew Function\s*\(|\bset(Timeout|Interval)\s*\(\s*[\"'`]",
    "styles as text": r"setAttribute\(\s*[\"'`]style[\"'`]|\.cssText\b",
    "event attributes": r"setAttribute\(\s*[\"'`]on",
    "code of another origin": r"\bimport(\s*\(|\s+|[^;\"'`]*?\bfrom\s*)[\"'`](https?:|//|data:|blob:)",
}
# Elements that take an address to load, and its attribute.
LOADED = {"script": "src", "link": "href", "img": "src", "audio": "src", "video": "src", "source": "src", "iframe": "src"}


def web_files(*endings: str, tests: bool = False) -> list[Path]:
    found = (path for path in sorted(WEB.rglob("*")) if path.suffix in endings and "node_modules" not in path.parts)
    return [path for path in found if tests or WEB / "tests" not in path.parents]


def name_of(path: Path) -> str:
    return str(path.relative_to(WEB))


def node() -> str:
    program = shutil.which(os.environ.get("NODE", "node"))
    assert program, "node is missing: Deploy/install test"
    return program


def without_comments(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, comments blanked. Good enough for code in this project's style, where comments stand on lines of their own or behind code."""
    blanked = re.sub(r"/\*.*?\*/", lambda comment: re.sub(r"[^\n]", " ", comment.group()), text, flags=re.DOTALL)
    for number, line in enumerate(blanked.splitlines(), 1):
        yield number, re.sub(r"(^|\s)//.*", "", line)


def test_there_is_a_web_client() -> None:
    assert (WEB / "index.html").exists() and web_files(".mjs"), WEB


@pytest.mark.timeout(300)
def test_units_under_node() -> None:
    tests = [path for path in web_files(".mjs", tests=True) if path.name.endswith(".test.mjs")]
    assert tests, "Web/tests has no *.test.mjs"
    run = subprocess.run([node(), "--test", *map(str, tests)], cwd=ROOT, capture_output=True, text=True, timeout=TEST_SECONDS_MAX)
    print(run.stdout[-2_000:])
    assert run.returncode == 0, "\n".join(line for line in run.stdout.splitlines() if "not ok" in line)[-4_000:] + run.stdout[-8_000:] + run.stderr[-2_000:]
    passed = re.search(r"^# pass (\d+)$", run.stdout, re.MULTILINE) or re.search(r"pass (\d+)", run.stdout)
    assert passed and int(passed.group(1)) > 0, "no test ran"


def test_modules_parse() -> None:
    faults = []
    for path in web_files(".mjs", ".js", tests=True):
        run = subprocess.run([node(), "--check", str(path)], capture_output=True, text=True, timeout=30)
        if run.returncode:
            faults.append(f"{name_of(path)}: {run.stderr}")
    assert not faults, "\n".join(faults)


def test_imports_are_there() -> None:
    """By their place in the folder that is served: nothing else resolves them. `/jitter-buffer/` is what WebAssembly/build makes."""
    faults = []
    for path in web_files(".mjs"):
        text = "\n".join(line for _, line in without_comments(path.read_text()))
        for found in re.finditer(r"(?:\bfrom|\bimport)\s*\(?\s*[\"']([^\"']+)[\"']", text):
            wanted = found.group(1)
            if not wanted.startswith(("./", "../", "/")):
                faults.append(f"{name_of(path)}: {wanted} is no path")
                continue
            target = WEB / wanted[1:] if wanted.startswith("/") else path.parent / wanted
            if "jitter-buffer" not in target.resolve().relative_to(WEB).parts and not target.exists():
                faults.append(f"{name_of(path)}: there is no {wanted}")
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("what", FORBIDDEN)
def test_scripts_are_without(what: str) -> None:
    faults = []
    for path in web_files(".mjs", ".js"):
        for number, line in without_comments(path.read_text()):
            if re.search(FORBIDDEN[what], line):
                faults.append(f"{name_of(path)}:{number}: {line.strip()}")
    assert not faults, "\n".join(faults)


class Page(HTMLParser):
    """Collects what a page has that the policy refuses."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.faults += [f"<{tag} {name}>" for name in values if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in values):
            self.faults.append(f"inline <{tag}>")
        address = values.get(LOADED.get(tag, ""), "") or ""
        if re.match(r"(?i)([a-z][a-z0-9+.-]*:|//)", address) and not (tag in ("img", "link") and address.startswith("data:")):
            self.faults.append(f"<{tag}> of another origin: {address}")


def test_pages_have_nothing_inline_and_nothing_of_others() -> None:
    faults = []
    for path in web_files(".html"):
        page = Page()
        page.feed(path.read_text())
        faults += [f"{name_of(path)}: {fault}" for fault in page.faults]
        if not re.search(r"<html[^>]*\blang=", path.read_text()):
            faults.append(f"{name_of(path)}: no language")
    assert not faults, "\n".join(faults)


def test_styles_load_nothing_of_others() -> None:
    faults = []
    for path in web_files(".css"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        faults += [f"{name_of(path)}: {found}" for found in re.findall(r"url\(\s*[\"']?((?:https?:|//)[^)]*)|@import[^;]*", text)]
    assert not faults, "\n".join(faults)


def test_files_are_of_a_size_to_read() -> None:
    faults = []
    for path in web_files(".mjs", ".js", ".html", ".css", tests=True):
        lines = path.read_text().splitlines()
        if len(lines) > LINES_MAX:
            faults.append(f"{name_of(path)}: {len(lines)} lines")
    assert not faults, "\n".join(faults)


BAD_PAGE = '<html><script>1</script><p style="x" onclick="y"><script src="https://elsewhere.example/x.js"></script><style></style>'
BAD_LINES = {
    "markup from text": "element.innerHTML = text;",
    "code from text": "setTimeout('go()', 5);",
    "styles as text": 'element.setAttribute("style", "x");',
    "event attributes": 'element.setAttribute("onclick", "x");',
    "code of another origin": 'import { x } from "https://elsewhere.example/x.mjs";',
}


def test_what_is_forbidden_would_be_found() -> None:
    page = Page()
    page.feed(BAD_PAGE)
    assert page.faults == ["inline <script>", "<p style>", "<p onclick>", "<script> of another origin: https://elsewhere.example/x.js", "inline <style>"]
    for what, line in BAD_LINES.items():
        assert re.search(FORBIDDEN[what], line), what
    assert [line.strip() for _, line in without_comments("a(); // eval(x)\n/* eval(\n*/ b();")] == ["a();", "", "b();"]
