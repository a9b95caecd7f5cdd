"""The OpenAPI document against the relay that serves it, by schemathesis: whatever is asked within and beside the document, what comes back is in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.admin import AdminSetting, Member
from support.relay import Relay

SECONDS_MAX = 180
EXAMPLES_MAX = 15


@pytest.fixture(scope="module")
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> AdminSetting:
    return AdminSetting.create(start_relay, tmp_path_factory.mktemp("described"))


def schemathesis(setting: AdminSetting, folder: Path, *arguments: str, client: str = "operator") -> subprocess.CompletedProcess:
    identity = setting.clients[client]
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", setting.url("/v1/openapi.json")]
    command += ["--request-cert", str(identity.certificate), "--request-cert-key", str(identity.key), "--tls-verify", str(setting.authority.certificate)]
    command += ["--checks", "all", "--seed", "1", "--max-examples", str(EXAMPLES_MAX), "--workers", "1", "--warnings", "off"]
    # 503 is in the document: an answer that is not there in time. What does not end is for test_live.py.
    # A certificate or a token opens createListening: the tool, which shows its certificate always, takes it for a hole that a made-up token opens nothing less. See test_listening.py.
    for operation in ("drain", "watchLive", "listen", "listenToRoom", "createListening"):
        command += ["--exclude-operation-id", operation]
    command += ["--generation-database", "none", "--no-color", *arguments]
    environment = {**os.environ, "REQUESTS_CA_BUNDLE": str(setting.authority.certificate), "SCHEMATHESIS_HOOKS": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("client", ["operator", "alice"])
def test_the_relay_does_what_the_document_says(setting: AdminSetting, tmp_path: Path, client: str) -> None:
    with Member(setting, "alice", "described") as alice, Member(setting, "bob", "described"):
        alice.request({"type": "publish", "id": 3, "kind": "video", "codec": "vp8"})
        result = schemathesis(setting, tmp_path, client=client)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    passed = re.search(r"(\d+) generated, (\d+) passed", result.stdout)
    assert passed is not None and int(passed[1]) == int(passed[2]) >= 300, "the tool has tried something"
    setting.relay.assert_healthy()


def test_the_document_stands_by_itself(setting: AdminSetting) -> None:
    document = setting.read("/v1/openapi.json")
    text = json.dumps(document)
    for reference in {part.split('"')[0] for part in text.split('"$ref": "#/')[1:]}:
        node = document
        for step in reference.split("/"):
            node = node[step]
    identifiers = [about["operationId"] for methods in document["paths"].values() for about in methods.values()]
    assert len(identifiers) == len(set(identifiers)) >= 18
