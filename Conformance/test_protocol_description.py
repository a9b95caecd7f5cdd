"""The AsyncAPI document: what it is, that its schemas take its examples and nothing else, and that a live relay refuses what they refuse."""

from __future__ import annotations

import copy
import itertools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator
from support.admin import AdminSetting
from support.protocol_description import KEPT, Description
from support.raw_websocket import BINARY, TEXT, frame
from support.relay import Relay, binary
from support.session import Refused, Session
from support.traffic import TRAFFIC, Conversation, Judge, Traffic, Verdict

DOCUMENT = json.loads(KEPT.read_text())
DESCRIBED = Description(DOCUMENT)
MESSAGES = list(DESCRIBED.messages)
# Whoever is refused with these was not asked about the member at all.
STATE_CODES = {"hello_first", "hello_twice", "not_in_room", "already_in_room", "pending", "draining", "unauthenticated", "session_lost"}


# What the document is


@pytest.fixture(scope="module")
def setting(start_relay: Callable[..., Relay], tmp_path_factory: pytest.TempPathFactory) -> AdminSetting:
    return AdminSetting.create(start_relay, tmp_path_factory.mktemp("described"), limits={"roomNameBytesMax": 17})


def test_the_program_writes_the_document_that_is_kept() -> None:
    text = subprocess.run([str(binary()), "describe", "asyncapi"], capture_output=True, text=True, timeout=30, check=True).stdout
    assert text == KEPT.read_text()


def test_a_relay_serves_it_to_anybody_with_its_own_limits(setting: AdminSetting) -> None:
    response = setting.ask("GET", "/v1/asyncapi.json", client=None, fields="Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n")
    assert response.status == 200 and response.fields["content-type"] == "application/json"
    served = json.loads(response.body)
    room = served["components"]["messages"]["join"]["payload"]["properties"]["room"]
    assert room["maxLength"] == 17
    room["maxLength"] = 128
    assert served == DOCUMENT, "nothing else differs"
    assert setting.ask("POST", "/v1/asyncapi.json", client=None, body=b"{}").status == 405


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for name, value in node.items():
            if name == "$ref":
                yield value
            elif name != "examples":
                yield from references(value)
    elif isinstance(node, list):
        for element in node:
            yield from references(element)


def at(pointer: str) -> Any:
    node = DOCUMENT
    for step in pointer.removeprefix("#/").split("/"):
        node = node[step]
    return node


def test_asyncapi_3_structure() -> None:
    """By hand, against the specification: no package that the benches can pin has the published meta-schema of 3.0."""
    assert DOCUMENT["asyncapi"] == "3.0.0" and set(DOCUMENT["info"]) >= {"title", "version"}
    assert set(DOCUMENT) <= {"asyncapi", "id", "info", "servers", "defaultContentType", "channels", "operations", "components"}
    for reference in references(DOCUMENT):
        at(reference)
    for server in DOCUMENT["servers"].values():
        assert {"host", "protocol"} <= set(server) <= {"host", "protocol", "description", "variables", "security"}
        assert set(re.findall(r"{(\w+)}", server["host"])) == set(server["variables"])
    for channel in DOCUMENT["channels"].values():
        assert set(channel) <= {"address", "title", "summary", "description", "messages", "bindings"}
        assert all(set(message) == {"$ref"} for message in channel["messages"].values())
    for kind in DOCUMENT["components"].values():
        assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in kind), "§ Components Object: keys"
    for name, message in DESCRIBED.messages.items():
        assert set(message) <= {"summary", "correlationId", "payload", "examples"} and message["examples"], name
        assert all(set(example) == {"payload"} for example in message["examples"])


def test_every_message_belongs_to_an_operation_of_its_channel() -> None:
    used: set[str] = set()
    for name, operation in DOCUMENT["operations"].items():
        assert operation["action"] in ("send", "receive") and operation["summary"].endswith("."), name
        parts = [operation, *([operation["reply"]] if "reply" in operation else [])]
        assert len(parts) == (2 if operation["action"] == "receive" else 1), f"{name}: every request has a reply"
        for part in parts:
            channel = part["channel"]["$ref"]
            for message in part["messages"]:
                assert message["$ref"].startswith(channel + "/messages/"), "§ Operation Object: messages of the operation's own channel"
                used.add(at(message["$ref"])["$ref"])
    assert used == {f"#/components/messages/{name}" for name in MESSAGES}


# Schemas and examples


@pytest.mark.parametrize("validator", [Draft7Validator, Draft202012Validator], ids=["draft-07", "2020-12"])
def test_every_schema_is_one(validator: type) -> None:
    for schema in [message["payload"] for message in DESCRIBED.messages.values()] + list(DOCUMENT["components"]["schemas"].values()):
        validator.check_schema(schema)


@pytest.mark.parametrize("message", MESSAGES)
def test_examples_are_valid_to_the_last_member(message: str) -> None:
    for example in DESCRIBED.examples(message):
        assert DESCRIBED.fault(message, example, closed=True) is None
        assert DESCRIBED.is_valid(message, example, closed=True)
        as_draft_07 = Draft7Validator({"$ref": f"#/components/messages/{message}/payload", "components": DOCUMENT["components"]})
        assert as_draft_07.is_valid(example), "both dialects read the schemas alike"


@pytest.mark.parametrize("message", MESSAGES)
def test_unknown_members_are_taken_but_not_where_the_document_is_closed(message: str) -> None:
    for example in DESCRIBED.examples(message):
        for place in objects_of(example):
            place["tomorrow"] = 1
            assert DESCRIBED.fault(message, example, closed=False) is None
            assert DESCRIBED.fault(message, example, closed=True) is not None, f"{place}"
            assert DESCRIBED.is_valid(message, example, closed=False) and not DESCRIBED.is_valid(message, example, closed=True)
            del place["tomorrow"]


def objects_of(value: Any) -> Iterator[dict]:
    if isinstance(value, dict):
        yield value
        for member in list(value.values()):
            yield from objects_of(member)
    elif isinstance(value, list):
        for element in value:
            yield from objects_of(element)


@pytest.mark.parametrize("request_type", DESCRIBED.requests)
def test_an_answer_is_one_of_its_requests_replies_and_not_both(request_type: str) -> None:
    good, error = DESCRIBED.answers(request_type)
    for example in DESCRIBED.examples(good):
        assert DESCRIBED.fault(error, example, closed=False) is not None
    for example in DESCRIBED.examples(error):
        assert DESCRIBED.fault(good, example, closed=False) is not None
        wrong = {**example, "retry": not example["retry"]}
        assert DESCRIBED.fault(error, wrong, closed=False) is not None, "retry belongs to the code"


# Examples with one fault each


@dataclass(frozen=True)
class Mutation:
    """`path` leads to a member of the example; `value` is put there, or the member taken out."""

    what: str
    path: tuple[str | int, ...]
    value: Any = None

    @property
    def is_of_type(self) -> bool:
        return self.what in ("missing", "type")

    def __str__(self) -> str:
        return f"{'.'.join(str(step) for step in self.path)} {self.what}"

    def apply(self, example: dict) -> dict:
        mutated = copy.deepcopy(example)
        *above, last = self.path
        node = mutated
        for step in above:
            node = node[step]
        if self.what == "missing":
            del node[last]
        else:
            node[last] = self.value
        return mutated


def resolved(schema: dict) -> dict:
    """A member's schema with what it refers to."""
    merged = {name: value for name, value in schema.items() if name not in ("$ref", "allOf")}
    for part in [schema] if "$ref" in schema else schema.get("allOf", []):
        if "$ref" in part:
            merged = {**resolved(at(part["$ref"])), **merged}
    return merged


WRONG_TYPES = {"string": 7, "integer": "7", "number": "7", "boolean": "true", "array": {"0": 1}, "object": ["x"]}


def mutations(schema: dict, example: Any, path: tuple = ()) -> Iterator[Mutation]:
    schema = resolved(schema)
    if path:
        yield from value_mutations(schema, example, path)
    if isinstance(example, dict):
        for name in schema.get("required", []):
            if path + (name,) not in (("type",), ("id",)):
                yield Mutation("missing", (*path, name))
        for name, value in example.items():
            if path + (name,) != ("type",):
                yield from mutations(schema["properties"][name], value, (*path, name))
    elif isinstance(example, list) and example:
        yield from mutations(schema["items"], example[0], (*path, 0))


def value_mutations(schema: dict, example: Any, path: tuple) -> Iterator[Mutation]:
    yield Mutation("type", path, WRONG_TYPES[schema["type"]])
    if schema["type"] == "integer" and "enum" not in schema:
        yield Mutation("type", path, 1.5)
    if "enum" in schema:
        yield Mutation("word", path, "smoke" if schema["type"] == "string" else max(schema["enum"]) + 1)
    if "minimum" in schema:
        yield Mutation("below", path, schema["minimum"] - 1)
    if "exclusiveMinimum" in schema:
        yield Mutation("below", path, schema["exclusiveMinimum"])
    if "maximum" in schema:
        # Doubles above 2^53 are two apart.
        yield Mutation("above", path, schema["maximum"] + (2 if schema["maximum"] > 1 << 52 else 1))
    if "maxLength" in schema:
        yield Mutation("long", path, "a" * (schema["maxLength"] + 1))
    if "pattern" in schema:
        yield Mutation("characters", path, "!")
    if "minLength" in schema or schema.get("minItems"):
        yield Mutation("empty", path, example[:0])
    if "maxItems" in schema:
        yield Mutation("many", path, [least(schema["items"], example[0])] * (schema["maxItems"] + 1))


def least(schema: dict, example: Any) -> Any:
    """As little of an element as is an element."""
    return {name: example[name] for name in resolved(schema).get("required", [])} if isinstance(example, dict) else example


def carried(request_type: str, member: str | None = None) -> dict:
    """The first example with that member, without the other optional ones: so that a refusal can only be the member's."""
    schema = DESCRIBED.messages[request_type]["payload"]
    example = next(example for example in DESCRIBED.examples(request_type) if member is None or member in example)
    kept = {*schema["required"], member} | set({"subscribe": ["sources"], "unsubscribe": ["streams"]}.get(request_type, []) if member not in ("all", "lastN") else [])
    # Members of a delivery go with that only, and who spoke last is asked of everybody.
    if request_type == "subscribe":
        kept |= {"late": {"delivery"}, "profile": {"delivery"}, "delay": {"delivery"}, "channels": {"delivery", "all"}, "lastN": {"all"}}.get(member, set())
    sources = {"sources": ["screen"], "streams": [1]}
    whole = {**({name: sources[name] for name in kept if name in sources}), **example}
    return {name: value for name, value in whole.items() if name in kept}


def cases(request_type: str) -> Iterator[tuple[dict, Mutation]]:
    schema = DESCRIBED.messages[request_type]["payload"]
    members: dict[str, None] = {}
    for example in DESCRIBED.examples(request_type):
        members |= dict.fromkeys(example)
    for member in members:
        base = carried(request_type, member)
        for mutation in mutations(schema, base):
            if mutation.path[0] == member and member != "type":
                yield base, mutation


ALL_CASES = [(request_type, base, mutation) for request_type in DESCRIBED.requests for base, mutation in cases(request_type)]


def test_there_are_mutations_of_every_kind() -> None:
    kinds = {mutation.what for _, _, mutation in ALL_CASES}
    assert kinds == {"missing", "type", "word", "below", "above", "long", "characters", "empty", "many"}
    assert len(ALL_CASES) > 250


@pytest.mark.parametrize("request_type", DESCRIBED.requests)
def test_mutated_examples_are_no_such_request(request_type: str) -> None:
    for base, mutation in cases(request_type):
        assert DESCRIBED.fault(request_type, base, closed=True) is None, base
        mutated = mutation.apply(base)
        assert DESCRIBED.fault(request_type, mutated, closed=False) is not None, f"{mutation}: {mutated}"
        assert not DESCRIBED.is_valid(request_type, mutated, closed=False), "the quick validator says so too"


# A relay


@pytest.fixture(scope="module")
def relay_in_use(module_open_relay: Relay) -> Iterator[Relay]:
    yield module_open_relay
    module_open_relay.assert_healthy()


ROOMS = itertools.count()


@contextmanager
def asking(relay: Relay, request_type: str) -> Iterator[Session]:
    """A session for which the request makes sense: a room's host with an audio session, who gets somebody's streams 1 and 2."""
    if request_type in ("hello", "join"):
        with Session(relay, greets=request_type == "join") as session:
            yield session
        return
    room = f"described-{next(ROOMS)}"
    with Session(relay) as publisher, Session(relay) as session:
        for member in (publisher, session):
            member.ask("join", room=room, role="host")
        assert (publisher.publish("audio"), publisher.publish("video")) == (1, 2)
        session.ask("session.init")
        session.ask("session.setActive", active=True)
        session.ask("subscribe", streams=[1, 2])
        yield session


def refusal(session: Session, message: dict) -> str | None:
    """The code; None when it was granted. The request's own number is kept, where that is what is wrong with it."""
    members = {name: value for name, value in message.items() if name not in ("type", "id")}
    try:
        session.ask(message["type"], **members)
    except Refused as refused:
        return refused.code
    return None


@pytest.mark.hostile
@pytest.mark.parametrize("request_type", DESCRIBED.requests)
def test_a_relay_refuses_what_the_schemas_refuse(relay_in_use: Relay, request_type: str) -> None:
    codes = described_codes(request_type)
    with asking(relay_in_use, request_type) as session:
        for base, mutation in cases(request_type):
            if mutation.path == ("id",):
                continue
            code = refusal(session, mutation.apply(base))
            assert code in codes, f"{mutation}: {code}"
            if mutation.is_of_type:
                assert code == "malformed", f"{mutation}: {code}"
            else:
                assert code not in STATE_CODES, f"{mutation}: {code}"


def described_codes(request_type: str) -> set[str]:
    error = DESCRIBED.messages[DESCRIBED.answers(request_type)[1]]["payload"]
    return {reference["$ref"].rsplit("refusal.", 1)[1] for reference in error["oneOf"]}


@pytest.mark.parametrize("request_type", DESCRIBED.requests)
def test_a_relay_takes_what_the_mutations_start_from(relay_in_use: Relay, request_type: str) -> None:
    """Or refuses it for what it means, not for how it is written: else the refusals above would say nothing."""
    for member in dict.fromkeys(member for base, _ in cases(request_type) for member in base):
        with asking(relay_in_use, request_type) as session:
            code = refusal(session, carried(request_type, None if member in ("type", "id") else member))
            assert code not in {"malformed", "bad_value", "room_name", *STATE_CODES}, f"{member}: {code}"


RULES = [
    ("subscribe", {}, "bad_value"),
    ("subscribe", {"delivery": "live"}, "bad_value"),
    ("unsubscribe", {}, "bad_value"),
    ("publish", {"kind": "audio", "codec": "opus", "layers": [{}]}, "bad_value"),
    ("route.changed", {"reason": 1, "route": {"inputs": [], "outputs": []}, "legacyRoute": ""}, "bad_value"),
]


@pytest.mark.hostile
@pytest.mark.parametrize(("request_type", "members", "code"), RULES, ids=[f"{rule[0]} {json.dumps(rule[1])}" for rule in RULES])
def test_rules_that_no_member_says_by_itself(relay_in_use: Relay, request_type: str, members: dict, code: str) -> None:
    assert DESCRIBED.fault(request_type, {"type": request_type, "id": 1, **members}, closed=False) is not None
    with asking(relay_in_use, request_type) as session:
        assert session.refusal(request_type, **members) == code


@pytest.mark.hostile
@pytest.mark.parametrize("number", [-1, 1 << 53, 1.5, "1", None], ids=str)
def test_an_id_that_is_none_is_answered_without_one(relay_in_use: Relay, number: Any) -> None:
    message = {"type": "leave", "id": number}
    assert DESCRIBED.fault("leave", message, closed=False) is not None
    with asking(relay_in_use, "leave") as session:
        session.transport.send(json.dumps(message))
        answer = session.event("error")
        assert answer["code"] == "malformed" and DESCRIBED.fault("error", answer, closed=True) is None


# The check of the run's traffic


def judged(*messages: tuple[bool, Any], is_hostile: bool = False) -> Verdict:
    traffic = Traffic()
    traffic.begin("a test", is_hostile)
    conversation = Conversation(traffic)
    for is_sent, message in messages:
        text = message if isinstance(message, str) else json.dumps(message)
        (conversation.sent if is_sent else conversation.received)(text)
    return Judge(DESCRIBED).judge(traffic.records)


ASKED = (True, {"type": "leave", "id": 4})
GOOD = [
    [ASKED, (False, {"type": "ok", "id": 4})],
    [(False, {"type": "keepalive"})],
    [ASKED, (False, DESCRIBED.examples("leave.error")[0] | {"id": 4})],
    # To a request of a connection that was lost.
    [(False, {"type": "ok", "id": 9, "stream": 2})],
    [(False, DESCRIBED.examples("error")[0])],
    [(True, {"type": "leave", "id": 4, "tomorrow": 1})],
]
BAD_OF_RELAY = [
    [ASKED, (False, {"type": "ok", "id": 4, "stream": 2})],
    [ASKED, (False, {"type": "ok", "id": 4, "tomorrow": 1})],
    [ASKED, (False, {"type": "welcome", "id": 4})],
    # A code that leave does not have; one with another retry; one that nobody has.
    [ASKED, (False, {"type": "error", "id": 4, "code": "not_host", "message": "No.", "retry": False})],
    [ASKED, (False, {"type": "error", "id": 4, "code": "not_in_room", "message": "No.", "retry": True})],
    [ASKED, (False, {"type": "error", "id": 4, "code": "smoke", "message": "No.", "retry": False})],
    [(False, {"type": "keepalive", "id": 4})],
    [(False, {"type": "weather"})],
    [(False, {"type": "stream.ended", "stream": -1})],
    [(False, "[]")],
    [(False, "{")],
    [(False, {"type": "error", "code": "not_in_room", "message": "Without an id.", "retry": False})],
]
BAD_OF_CLIENT = [[(True, {"type": "leave"})], [(True, {"type": "dance", "id": 1})], [(True, "{")], [(True, {"type": "join", "id": 1, "room": "a b"})]]


@pytest.mark.parametrize("messages", GOOD, ids=str)
def test_messages_as_described_are_no_fault(messages: list) -> None:
    verdict = judged(*messages)
    assert verdict.faults == [] and verdict.seen.total() == len(messages)


@pytest.mark.parametrize("messages", BAD_OF_RELAY, ids=str)
def test_what_a_relay_says_beyond_the_description_is_a_fault_in_hostile_tests_too(messages: list) -> None:
    for is_hostile in (False, True):
        verdict = judged(*messages, is_hostile=is_hostile)
        assert len(verdict.faults) == 1 and "a test" in verdict.faults[0] and "the relay said" in verdict.faults[0]


@pytest.mark.parametrize("messages", BAD_OF_CLIENT, ids=str)
def test_what_a_client_says_beyond_it_is_a_fault_unless_the_test_is_hostile(messages: list) -> None:
    assert len(judged(*messages).faults) == 1
    assert judged(*messages, is_hostile=True).faults == []


def test_raw_frames_are_looked_at_up_to_the_first_that_is_not_plain() -> None:
    traffic = Traffic()
    conversation = Conversation(traffic)
    long = json.dumps({"type": "join", "id": 2, "room": "demo", "displayName": "x" * 60, "tomorrow": "y" * 70_000})
    conversation.sent_bytes(frame(TEXT, b'{"type":"leave","id":1}') + frame(BINARY, b"media") + frame(TEXT, long.encode()))
    conversation.sent_bytes(frame(TEXT, b"half", final=False) + frame(TEXT, b"never seen"))
    conversation.sent_bytes(frame(TEXT, b"nor this"))
    assert [record.text for record in traffic.records] == [b'{"type":"leave","id":1}', long.encode()]


def test_the_run_itself_is_looked_at(relay_in_use: Relay) -> None:
    before = len(TRAFFIC.records)
    with Session(relay_in_use):
        pass
    own = TRAFFIC.records[before:]
    assert [record.is_sent for record in own] == [True, False] and {record.test for record in own} == {TRAFFIC.test}
    assert "test_the_run_itself_is_looked_at" in TRAFFIC.test


NONSENSE = """
from support.traffic import Conversation

def test_that_passes():
    Conversation().received('{"type":"keepalive"}')
    Conversation().received('{"type":"keepalive","tomorrow":1}')
"""


def test_a_run_with_a_message_that_is_not_described_fails_and_names_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_nonsense.py").write_text(NONSENSE)
    folder = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "-c", str(folder / "pytest.ini"), "--rootdir", str(tmp_path), str(tmp_path)]
    for plugin in ("schemathesis", "hypothesispytest", "anyio", "cacheprovider"):
        command += ["-p", f"no:{plugin}"]
    result = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(folder)}, cwd=tmp_path, capture_output=True, text=True, timeout=110, check=False
    )
    assert result.returncode == 8 and "1 passed" in result.stdout, result.stdout + result.stderr
    assert "test_that_passes: the relay said" in result.stdout
    assert "1 control messages, of 1 of the" in result.stdout, "what is as described is counted"
