"""The AsyncAPI document of the control messages, and JSON messages held against it."""

from __future__ import annotations

import copy
import functools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.protocols import Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from .relay import binary

KEPT = Path(__file__).parents[2] / "Sources" / "asyncapi.json"
IDENTIFIER = "urn:segue:asyncapi"


class Description:
    """`closed`: no member is taken that the document does not name. Clients must not rely on that, since newer relays say more; this relay must keep to it."""

    def __init__(self, document: dict):
        self.document = document
        self.requests = [name for name, operation in document["operations"].items() if operation["action"] == "receive"]
        self.events = {name.removeprefix("event."): name for name in document["operations"] if name.startswith("event.")}
        self.registries = {False: self._registry(document), True: self._registry(closed(document))}

    @classmethod
    def of_binary(cls) -> Description:
        """What the program that is tested says of itself."""
        text = subprocess.run([str(binary()), "describe", "asyncapi"], capture_output=True, text=True, timeout=30, check=True).stdout
        return cls(json.loads(text))

    @staticmethod
    def _registry(document: dict) -> Registry:
        return Registry().with_resource(IDENTIFIER, DRAFT202012.create_resource(document))

    @property
    def messages(self) -> dict[str, dict]:
        return self.document["components"]["messages"]

    def examples(self, message: str) -> list[dict]:
        return [example["payload"] for example in self.messages[message]["examples"]]

    def answers(self, request: str) -> tuple[str, str]:
        """The names of the answer to a request and of its error."""
        good, error = (reference["$ref"].rsplit("/", 1)[1] for reference in self.document["operations"][request]["reply"]["messages"])
        return good, error

    @functools.cache  # noqa: B019  (there are two or three of these in a process)
    def validator(self, message: str, closed: bool) -> Validator:
        return Draft202012Validator({"$ref": f"{IDENTIFIER}#/components/messages/{message}/payload"}, registry=self.registries[closed])

    @functools.cache  # noqa: B019
    def quick_validator(self, message: str, closed: bool) -> jsonschema_rs.Draft202012Validator:
        """A hundred times as quick, and says less of what is wrong: for the many messages of a run, with which nothing is."""
        components = self.registries[closed].contents(IDENTIFIER)["components"]
        return jsonschema_rs.Draft202012Validator({"$ref": f"#/components/messages/{message}/payload", "components": components})

    def is_valid(self, message: str, value: Any, *, closed: bool) -> bool:
        return self.quick_validator(message, closed).is_valid(value)

    def fault(self, message: str, value: Any, *, closed: bool) -> str | None:
        """Why a value is not such a message; None when it is."""
        error: ValidationError | None = best_match(self.validator(message, closed).iter_errors(value))
        return error and f"{error.json_path}: {error.message}"


def closed(node: Any) -> Any:
    """The document with every object closed against unknown members, wherever a schema stands for a place of its own."""
    node = copy.deepcopy(node)
    for place in _places(node):
        place["unevaluatedProperties"] = False
    return node


def _places(node: Any) -> Iterator[dict]:
    if isinstance(node, list):
        for element in node:
            yield from _places(element)
    elif isinstance(node, dict):
        for name, value in node.items():
            # What allOf, oneOf and a condition say is of the same place: only the outermost knows all that is said there.
            inner = value.values() if name == "properties" else [value] if name in ("items", "payload") else []
            yield from (schema for schema in inner if isinstance(schema, dict))
            if name != "examples":
                yield from _places(value)
