"""What Deploy says to container engines, Kubernetes and people: read as far as it can be where no engine runs, and held to what the relay is."""

from __future__ import annotations

import re
import subprocess

import pytest
import yaml
from support.relay import REPOSITORY, binary

DEPLOY = REPOSITORY / "Deploy"
DRAIN_SECONDS = 60
# The library that each package of Deploy/install's group build is for.
LIBRARIES = {
    "libssl-dev": "libssl3", "libnghttp2-dev": "libnghttp2-14", "libopus-dev": "libopus0", "libspeexdsp-dev": "libspeexdsp1", "zlib1g-dev": "zlib1g",
    "libnats-dev": "libnats3.4", "libavformat-dev": "libavformat59", "libavcodec-dev": "libavcodec59", "libavutil-dev": "libavutil57",
}  # fmt: skip


def kubernetes() -> dict[str, dict]:
    """By kind and name."""
    return {f"{entry['kind']}/{entry['metadata']['name']}": entry for entry in yaml.safe_load_all((DEPLOY / "kubernetes/segue.yaml").read_text())}


def test_the_image_has_the_libraries_that_the_relay_is_linked_with() -> None:
    build = re.search(r"build\)\s+printf '%s\\n' (.*)", (DEPLOY / "install").read_text()).group(1).split()
    wanted = {LIBRARIES[package] for package in build if package != "pkg-config"}
    image = (REPOSITORY / "Dockerfile").read_text()
    assert wanted <= set(image.split())
    linked = subprocess.run(["ldd", binary()], capture_output=True, text=True, timeout=60, check=True).stdout
    for package in ("libnats", "libopus", "libnghttp2", "libspeexdsp", "libssl"):
        assert package in linked


def test_the_image_runs_as_nobody_of_importance() -> None:
    stages = (REPOSITORY / "Dockerfile").read_text().split("\nFROM ")[1:]
    assert len(stages) == 2 and "swift build" in stages[0] and "swift" not in stages[1]
    assert re.search(r"^USER 10001$", stages[1], re.MULTILINE) and "HEALTHCHECK" in stages[1] and "STOPSIGNAL SIGTERM" in stages[1]


def test_the_relay_takes_the_containers_configuration(tmp_path) -> None:  # noqa: ANN001
    """But for the certificates, which are mounts."""
    result = subprocess.run([binary(), "check", "--config", DEPLOY / "container.json5"], capture_output=True, text=True, timeout=60)
    assert "is not a known key" not in result.stdout + result.stderr and result.returncode == 3


def test_the_compose_file_has_all_that_a_cluster_needs() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert {"relay-1", "relay-2", "nats", "haproxy", "prometheus", "grafana"} == set(compose["services"])
    for name in ("relay-1", "relay-2"):
        relay = compose["services"][name]
        assert int(relay["stop_grace_period"].rstrip("s")) > DRAIN_SECONDS
        assert relay["environment"]["SEGUE_NODE"] == name
    mounts = [mount for service in compose["services"].values() for mount in service.get("volumes", []) if mount.startswith("./")]
    missing = [mount for mount in mounts if not (DEPLOY / mount.split(":")[0]).exists() and not mount.startswith("./compose/tls:")]
    assert not missing


def test_the_variables_of_the_compose_file_are_the_relays() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    environment = compose["services"]["relay-1"]["environment"]
    result = subprocess.run(
        [binary(), "check", "--config", DEPLOY / "container.json5"], capture_output=True, text=True, timeout=60, env=dict(environment)
    )
    assert "is not a known variable" not in result.stdout + result.stderr


def test_the_manifests_let_a_drain_end_and_a_cluster_stand() -> None:
    found = kubernetes()
    pod = found["StatefulSet/segue"]["spec"]["template"]["spec"]
    relay = pod["containers"][0]
    pause = int(relay["lifecycle"]["preStop"]["exec"]["command"][1])
    assert pod["terminationGracePeriodSeconds"] > DRAIN_SECONDS + pause
    assert relay["readinessProbe"]["httpGet"]["path"] == "/readyz" and relay["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert found["PodDisruptionBudget/segue"]["spec"]["maxUnavailable"] == 1
    assert found["HorizontalPodAutoscaler/segue"]["spec"]["metrics"][0]["type"] == "Pods"
    assert relay["securityContext"]["readOnlyRootFilesystem"] and not relay["securityContext"]["allowPrivilegeEscalation"]
    labels = found["StatefulSet/segue"]["spec"]["template"]["metadata"]["labels"]
    for name, entry in found.items():
        selector = entry.get("spec", {}).get("selector")
        if selector and "matchLabels" not in selector:
            assert selector.items() <= labels.items(), name


def test_the_relay_takes_the_manifests_configuration(tmp_path) -> None:  # noqa: ANN001
    path = tmp_path / "segue.json5"
    path.write_text(kubernetes()["ConfigMap/segue"]["data"]["segue.json5"])
    result = subprocess.run([binary(), "check", "--config", path], capture_output=True, text=True, timeout=60)
    assert "is not a known key" not in result.stdout + result.stderr and "must be" not in result.stdout


def test_the_runbook_has_each_alert() -> None:
    rules = [rule for group in yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"] for rule in group["rules"]]
    runbook = (DEPLOY / "RUNBOOK.md").read_text()
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^### |\Z)", runbook, re.MULTILINE | re.DOTALL))
    assert sections.keys() == {rule["alert"] for rule in rules}
    for rule in rules:
        assert " ".join(rule["expr"].split()) in sections[rule["alert"]], rule["alert"]
        assert rule["annotations"]["runbook"] in sections[rule["alert"]], rule["alert"]


@pytest.mark.parametrize("name", ["haproxy-tcp.cfg", "haproxy-tls.cfg"])
def test_haproxy_takes_its_files(name: str, tmp_path) -> None:  # noqa: ANN001
    text = (DEPLOY / "balancers" / name).read_text().replace("ssl crt /etc/haproxy/relay.pem ca-file /etc/segue/ca/ca.pem verify optional ca-ignore-err all crt-ignore-err all alpn h2,http/1.1", "")
    path = tmp_path / name
    path.write_text(text)
    result = subprocess.run(["haproxy", "-c", "-f", path], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr
