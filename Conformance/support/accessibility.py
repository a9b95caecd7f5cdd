"""What axe-core finds on a page: controls without names, wrong roles, too little contrast, content outside of landmarks."""

from __future__ import annotations

import functools
from importlib.resources import files

from .browser import Browser

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice")
SHOWN_MAX = 4


@functools.cache
def _axe() -> str:
    return (files("axe_core_python") / "axe.min.js").read_text()


def audit(browser: Browser, where: str) -> list[str]:
    """One line for each rule that is broken: where, which, how, and the first elements."""
    # Into the page by the driver, which its Content-Security-Policy does not bind. Animations that run would be judged half way.
    violations = browser.run(
        "if (!globalThis.axe) {" + _axe() + "}"
        "await Promise.all(document.getAnimations().filter((a) => a.effect?.getComputedTiming().iterations < 100).map((a) => a.finished.catch(() => {})));"
        "const found = await axe.run(document, { runOnly: arguments[0], resultTypes: ['violations'] });"
        "return found.violations.map((v) => [v.id, v.help, v.nodes.map((n) => `${n.html.slice(0, 160)} ${n.any[0]?.message ?? ''}`)]);",
        list(RULES),
    )
    return [f"{where}: {rule}: {text}\n    " + "\n    ".join(nodes[:SHOWN_MAX]) for rule, text, nodes in violations]
