"""What operators look at: Prometheus' configuration and rules, and Grafana's dashboard, against promtool, a live relay and the protocol document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from support import prometheus
from support.admin import AdminSetting, Member
from support.prometheus import Prometheus, metrics_of, promtool
from support.relay import REPOSITORY, Relay

pytestmark = pytest.mark.skipif(not prometheus.is_installed(), reason="Prometheus is not installed: Deploy/install test")

DASHBOARD = REPOSITORY / "Deploy/grafana/segue.json"
PROTOCOL = REPOSITORY / "Sources/PROTOCOL.md"
RULES = prometheus.FOLDER / "alerts.yml"
JOB = "segue"
SCHEMA_VERSION_MIN = 38
# Series that Prometheus itself makes.
OWN_OF_PROMETHEUS = {"up"}
# Of histograms: what a metric's name gets behind it.
PARTS = ("_bucket", "_sum", "_count")


def dashboard() -> dict:
    return json.loads(DASHBOARD.read_text())


def panels() -> list[dict]:
    """All, those in collapsed rows included."""
    found = []
    for panel in dashboard()["panels"]:
        found += [panel, *panel.get("panels", [])]
    return found


def plain(expression: str) -> str:
    """With values in the place of Grafana's variables."""
    values = {"job": JOB, "instance": ".*", "__rate_interval": "1m", "__interval": "15s", "__range": "1h"}
    return re.sub(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))", lambda match: values[match.group(1) or match.group(2)], expression)


def panel_expressions() -> list[tuple[str, str]]:
    """(panel's title, expression) of each query; annotations' too."""
    found = [(panel["title"], plain(target["expr"])) for panel in panels() for target in panel.get("targets", [])]
    found += [(entry["name"], plain(entry["expr"])) for entry in dashboard()["annotations"]["list"] if "expr" in entry]
    return found


def rules() -> list[dict]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def variables() -> list[tuple[str, str]]:
    """(name, the metric whose labels it lists) of each of the dashboard's variables that asks."""
    found = [entry for entry in dashboard()["templating"]["list"] if entry["type"] == "query"]
    return [(entry["name"], re.fullmatch(r"label_values\((\w+)(\{.*\})?, \w+\)", entry["definition"]).group(1)) for entry in found]


def asked() -> list[tuple[str, str]]:
    """(where it stands, expression) of all that is asked of Prometheus."""
    found = [(f"panel “{title}”", expression) for title, expression in panel_expressions()]
    found += [(f"variable {name}", metric) for name, metric in variables()]
    return found + [(f"rule {rule['alert']}", rule["expr"]) for rule in rules()]


def family(metric: str, families: set[str]) -> str:
    """Of a histogram's series, the metric."""
    for part in PARTS:
        if metric.endswith(part) and metric.removesuffix(part) in families:
            return metric.removesuffix(part)
    return metric


# promtool's judgement.


def test_the_rules_are_valid() -> None:
    result = promtool("check", "rules", "--lint=all", "--lint-fatal", RULES)
    assert result.returncode == 0, result.stdout + result.stderr


def test_each_rule_fires_when_it_should_and_only_then() -> None:
    result = promtool("test", "rules", prometheus.FOLDER / "alerts.test.yml")
    assert result.returncode == 0, result.stdout + result.stderr


def test_each_rule_is_tested() -> None:
    tests = (prometheus.FOLDER / "alerts.test.yml").read_text()
    untested = [rule["alert"] for rule in rules() if f'alertname="{rule["alert"]}"' not in tests]
    assert not untested


def test_each_rule_says_how_bad_it_is_what_is_wrong_and_what_to_do() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(names) == len(set(names))
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning"), rule["alert"]
        for text in (rule["annotations"]["summary"], rule["annotations"]["runbook"]):
            assert len(text) > 20 and text.endswith("."), (rule["alert"], text)


def limit(name: str) -> int:
    found = re.search(rf"^\| `{name}` \| ([\d,]+) \|", PROTOCOL.read_text(), re.MULTILINE)
    assert found, name
    return int(found.group(1).replace(",", ""))


def test_thresholds_that_stand_for_limits_follow_the_defaults() -> None:
    expressions = {rule["alert"]: rule["expr"] for rule in rules()}
    assert f"> {limit('connectionsMax') * 8 // 10}" in expressions["SegueConnectionsNearLimit"]
    assert f"0.8 * {limit('parkedSessionsMax')} *" in expressions["SegueParkedNearLimit"]


# The dashboard by itself.


def test_the_dashboard_is_one_that_grafana_takes() -> None:
    board = dashboard()
    assert board["schemaVersion"] >= SCHEMA_VERSION_MIN and board["uid"] and board["title"]
    identifiers = [panel["id"] for panel in panels()]
    assert len(identifiers) == len(set(identifiers)) > 40
    assert [panel["title"] for panel in panels() if panel["type"] == "row"] == [
        "Overview", "Media", "Latency and loops", "Connections and closes", "TLS and certificates", "Audio engine", "Resources",
    ]  # fmt: skip
    sources = [variable for variable in board["templating"]["list"] if variable["type"] == "datasource"]
    assert [(source["name"], source["query"]) for source in sources] == [("datasource", "prometheus")]
    for panel in panels():
        if panel["type"] == "row":
            continue
        assert panel["datasource"]["uid"] == "${datasource}", panel["title"]
        assert panel["targets"], panel["title"]
        references = [target["refId"] for target in panel["targets"]]
        assert len(references) == len(set(references)), panel["title"]
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"]), panel["title"]


def test_no_panel_lies_on_another_or_beside_the_grid() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        assert place["x"] >= 0 and place["x"] + place["w"] <= 24, panel["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, f"{panel['title']} lies on {taken[x, y]}"
                taken[x, y] = panel["title"]


def test_every_query_parses(tmp_path: Path) -> None:
    """As the expression of a rule: promtool of Debian has no command for single ones."""
    recorded = [{"record": f"panel:{index}", "expr": expression} for index, (_, expression) in enumerate(panel_expressions())]
    path = tmp_path / "queries.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": recorded}]}))
    result = promtool("check", "rules", "--lint=none", path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"{len(recorded)} rules found" in result.stdout and len(recorded) > 90


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ('sum by (le, kind) (rate(a_bucket{le="b"}[5m]))', {"a_bucket"}),
        ("a > on (job) group_left (reason) 0.8 * 2e3 * count by (job) (b offset 6h)", {"a", "b"}),
        ("sum(c) without (x) and d unless e", {"c", "d", "e"}),
        ('absent(up{job="segue, f"})', {"up"}),
        ("vector(0) or 1e3", set()),
    ],
)
def test_metrics_are_found_in_expressions(expression: str, wanted: set[str]) -> None:
    assert metrics_of(expression) == wanted


# Against a relay.


@dataclass
class Scraped:
    """A relay that two are in, and a Prometheus that asks it as Deploy/prometheus/prometheus.yml says."""

    relay: Relay
    server: Prometheus
    target: dict
    # By name: the type that /metrics says.
    families: dict[str, str]


def configured(text: str, setting: AdminSetting, folder: Path) -> Path:
    """The configuration of Deploy with this relay's address and certificates, asking more often; everything else as it is."""
    client = setting.clients["alice"]
    replaced = {
        "/etc/prometheus/segue/ca.pem": str(setting.authority.certificate),
        "/etc/prometheus/segue/prometheus.pem": str(client.certificate),
        "/etc/prometheus/segue/prometheus-key.pem": str(client.key),
        "media.example.org:443": f"localhost:{setting.relay.port}",
        "scrape_interval: 15s": "scrape_interval: 1s",
        "scrape_timeout: 10s": "scrape_timeout: 1s",
        "evaluation_interval: 15s": "evaluation_interval: 1s",
        "  - alerts.yml": f"  - {RULES}",
    }
    for before, after in replaced.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    path = folder / "prometheus.yml"
    path.write_text(text)
    return path


@pytest.fixture(scope="module")
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> AdminSetting:
    return AdminSetting.create(start_relay, tmp_path_factory.mktemp("watched"))


@pytest.fixture(scope="module")
def scraped(setting: AdminSetting, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    folder = tmp_path_factory.mktemp("prometheus")
    path = configured((prometheus.FOLDER / "prometheus.yml").read_text(), setting, folder)
    result = promtool("check", "config", path)
    assert result.returncode == 0, result.stdout + result.stderr
    with Member(setting, "alice", "demo"), Member(setting, "bob", "demo"), Prometheus(folder, path) as server:
        target = server.wait_until_scraped()
        status, _, text = setting.relay.get("/metrics")
        assert status == 200
        families = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
        yield Scraped(setting.relay, server, target, families)


def test_the_relays_metrics_are_well_formed(scraped: Scraped) -> None:
    assert scraped.target["health"] == "up", scraped.target["lastError"]
    assert scraped.target["labels"]["job"] == JOB
    assert len(scraped.families) > 80


def test_what_is_asked_for_is_exported_and_documented(scraped: Scraped) -> None:
    documented = set(re.findall(r"^\| `(\w+)`", PROTOCOL.read_text(), re.MULTILINE))
    for where, expression in asked():
        names = metrics_of(expression)
        assert names, f"{where} asks for nothing: {expression}"
        for name in names - OWN_OF_PROMETHEUS:
            metric = family(name, set(scraped.families))
            assert metric in scraped.families, f"{where}: a relay does not export {name}"
            assert metric in documented, f"{where}: {metric} is not in PROTOCOL.md"
            # A rate of what goes up and down is nonsense.
            wrapped = re.search(rf"\b(rate|increase|irate)\(\s*{name}\b", expression)
            kind = scraped.families[metric]
            if wrapped:
                assert kind in ("counter", "histogram"), f"{where}: a {wrapped.group(1)} of {name}, which is a {kind}"


def test_labels_are_those_that_are_documented(scraped: Scraped) -> None:
    """Prometheus answers nothing, without a word, for a label that a metric does not have."""
    rows = dict(re.findall(r"^\| `(\w+)`(.*)$", PROTOCOL.read_text(), re.MULTILINE))
    common = {"job", "instance"}
    for where, expression in asked():
        labels = {name: set(re.findall(r"[`{](\w+)[`}]", rows.get(family(name, set(scraped.families)), ""))) for name in metrics_of(expression)}
        histograms = {name for name in labels if name.endswith("_bucket")}
        for name, selected in re.findall(r"\b(\w+)\{([^{}]*)\}", expression):
            for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selected):
                assert label in common | labels[name], f"{where}: {name} has no label {label}"
        for listed in re.findall(r"\b(?:by|on)\s*\(([^()]*)\)", expression):
            for label in filter(None, (part.strip() for part in listed.split(","))):
                known = common.union(*labels.values(), {"le"} if histograms else set())
                assert label in known, f"{where}: nothing in it has a label {label}"


def test_everything_that_operators_should_see_is_on_the_dashboard(scraped: Scraped) -> None:
    """A metric that no panel shows is either for machines (named here, with the reason) or forgotten."""
    shown = {family(name, set(scraped.families)) for _, expression in panel_expressions() for name in metrics_of(expression)}
    beside = {
        "segue_http_requests_total",  # answers are shown, by status
        "segue_frames_unwatched_total", "segue_frames_after_end_total",  # no fault: nobody subscribed, or the stream had just ended
        "segue_keepalives_total", "segue_receiver_reports_total", "segue_sessions_reporting", "segue_flow_samples_total",  # the relay's own bookkeeping
        "segue_loop_iterations_total",  # shown as what others are a share of
        "segue_connections_moved_total", "segue_forwarded_certificates_ignored_total", "segue_congestion_control_refused_total",
        "segue_configurations_dropped_total", "segue_audio_gains_refused_total",
    }  # fmt: skip
    assert {name for name in scraped.families if name.startswith("segue_")} - shown - beside == set()


def test_every_query_is_answered_and_those_of_a_relay_at_work_have_values(scraped: Scraped) -> None:
    for title, expression in panel_expressions():
        for entry in scraped.server.query(expression):
            assert "value" in entry, (title, entry)
    for expression, least in [
        ('sum(segue_participants{job="segue"})', 2),
        ('segue_sessions{job="segue"}', 2),
        ('count(segue_loop_busy_seconds_total{job="segue"})', 2),
    ]:
        assert float(scraped.server.query(expression)[0]["value"][1]) >= least, expression


def test_no_alert_fires_for_a_relay_that_is_well(scraped: Scraped) -> None:
    groups = scraped.server.api("rules")["groups"]
    loaded = [rule for group in groups for rule in group["rules"]]
    assert {rule["name"] for rule in loaded} == {rule["alert"] for rule in rules()}
    for rule in loaded:
        assert rule["health"] in ("ok", "unknown") and not rule.get("lastError"), rule
        assert rule["state"] != "firing", rule["alerts"]


def test_without_a_certificate_prometheus_learns_nothing(setting: AdminSetting) -> None:
    assert setting.ask("GET", "/metrics", client=None).status == 403
