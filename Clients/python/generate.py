#!/usr/bin/env python3
"""Writes segue/messages.py (types of all control messages) and segue/requests.py (a method for each request) from the protocol's AsyncAPI document.

    python3 generate.py                 writes both anew from ../../Sources/asyncapi.json
    python3 generate.py --check         writes nothing; exit status 1 when they are not what would be written
    python3 generate.py FILE            from another document: `segue describe asyncapi`, or a relay's /v1/asyncapi.json

Needs nothing but Python.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DOCUMENT = HERE.parents[1] / "Sources" / "asyncapi.json"
WIDTH = 160
HEAD = '''"""{what}

Written by generate.py from the protocol's AsyncAPI document (version {version}); do not edit.
"""

from __future__ import annotations

'''
SCALARS = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}
KINDS = {str: "string", int: "integer", bool: "boolean", float: "number"}


def words(name: str) -> list[str]:
    return re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)


def camel(name: str) -> str:
    return "".join(word[0].upper() + word[1:] for word in words(name))


def snake(name: str) -> str:
    return "_".join(word.lower() for word in words(name))


def comment(text: str | None, indent: str = "") -> str:
    """A description as comment lines, or nothing."""
    return "".join(f"{indent}# {line}\n" for line in textwrap.wrap(text or "", WIDTH - len(indent) - 2))


class Types:
    """Turns schemas into Python types; objects become TypedDicts of their own, in `classes` in an order in which each comes behind what it needs."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.schemas: dict[str, Any] = document["components"]["schemas"]
        self.classes: list[str] = []
        self.names: set[str] = set()

    def of(self, schema: Any, name: str) -> str:
        """The type of a value; `name` is what an object there would be called."""
        if not isinstance(schema, dict):
            return "Any"
        if "$ref" in schema:
            return self.shared(schema["$ref"].rsplit("/", 1)[1])
        if len(schema.get("allOf", ())) == 1:
            return self.of(schema["allOf"][0], name)
        if "const" in schema:
            return f"Literal[{literal(schema['const'])}]"
        if "enum" in schema:
            return f"Literal[{', '.join(map(literal, schema['enum']))}]"
        kind = schema.get("type")
        if kind == "array":
            return f"list[{self.of(schema.get('items'), name)}]"
        if kind == "object":
            return self.object(schema, name) if "properties" in schema else "dict[str, Any]"
        return SCALARS.get(str(kind), "Any")

    def shared(self, name: str) -> str:
        """A schema that several messages refer to, written once."""
        schema = self.schemas[name]
        if name in self.names:
            return name
        found = self.of(schema, name)
        if found != name:
            self.names.add(name)
            self.classes.append(f"{comment(schema.get('description'))}{name} = {found}\n")
        return name

    def object(self, schema: dict[str, Any], name: str) -> str:
        if name in self.names:
            raise SystemExit(f"two objects would be called {name}")
        self.names.add(name)
        required = set(schema.get("required", ()))
        text = f"class {name}(TypedDict):\n"
        for member, inner in schema["properties"].items():
            if not member.isidentifier() or keyword.iskeyword(member):
                raise SystemExit(f"{name}.{member} is no name in Python")
            found = self.of(inner, name + camel(member))
            described = inner.get("description") if isinstance(inner, dict) else None
            text += comment(described, "    ") + f"    {member}: {found if member in required else f'NotRequired[{found}]'}\n"
        self.classes.append(text if schema["properties"] else text + "    pass\n")
        return name


def literal(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def requests_of(document: dict[str, Any]) -> list[str]:
    return [name for name, operation in document["operations"].items() if operation["action"] == "receive"]


def refusals(document: dict[str, Any], message: str) -> list[str]:
    """The codes that an error can have."""
    choices = document["components"]["messages"][message]["payload"].get("oneOf", ())
    return [document["components"]["schemas"][choice["$ref"].rsplit("/", 1)[1]]["properties"]["code"]["const"] for choice in choices]


def messages_text(document: dict[str, Any]) -> str:
    """messages.py."""
    types, messages, requests = Types(document), document["components"]["messages"], requests_of(document)
    errors: dict[str, Any] = {}
    unions: dict[str, list[str]] = {"Request": [], "Answer": [], "Event": []}
    for message, described in messages.items():
        payload = described["payload"]
        if message == "error" or message.endswith(".error"):
            errors.update(payload["properties"])
            continue
        kind = "Event" if message.startswith("event.") else "Request" if message in requests else "Answer"
        name = f"{camel(message.removeprefix('event.'))}{'' if kind == 'Answer' else kind}".replace("HelloWelcome", "Welcome")
        name = re.sub("Ok$", "OK", name)
        place = len(types.classes)
        types.object(payload, name)
        types.classes[-1] = comment(described.get("summary")) + types.classes[-1]
        assert len(types.classes) > place
        unions[kind].append(name)
    shared = [name for name in document["components"]["schemas"] if not name.startswith("refusal.")]
    for name in shared:
        types.shared(name)
    for name, schema in document["components"]["schemas"].items():
        if name.startswith("refusal."):
            # What some refusals have beside what all have; there the values are those of the refusal.
            errors |= {member: {"type": KINDS[type(inner["const"])]} for member, inner in schema["properties"].items() if member not in errors}
    types.object({"properties": errors, "required": ["type", "code", "message", "retry"]}, "ErrorMessage")
    text = HEAD.format(what="The control messages of the protocol as TypedDicts. Members are named as on the wire.", version=document["info"]["version"])
    text += "import sys\nfrom typing import Any, Literal, TypedDict, Union\n\nif sys.version_info >= (3, 11):\n    from typing import NotRequired\nelse:\n"
    text += "    from typing_extensions import NotRequired\n\n\n" + "\n\n".join(types.classes) + "\n\n"
    for union, names in unions.items():
        text += f"{union} = Union[\n" + "".join(f"    {name},\n" for name in names) + "]\n"
    text += "# What each request can be refused with (`code`).\nREFUSALS: dict[str, tuple[str, ...]] = {\n"
    for request in requests:
        text += wrapped(f'    "{request}": (', [literal(code) for code in refusals(document, f"{request}.error")], "),")
    return text + "}\n"


def wrapped(start: str, items: list[str], end: str) -> str:
    """A tuple or a list of arguments on one line, or one item a line when it is too long."""
    line = start + ", ".join(items) + ("," if len(items) == 1 and end.startswith(")") and "(" in start and ":" in start else "") + end
    if len(line) <= WIDTH:
        return line + "\n"
    indent = " " * (len(start) - len(start.lstrip()))
    return start + "\n" + "".join(f"{indent}    {item},\n" for item in items) + indent + end + "\n"


def method(document: dict[str, Any], request: str, types: Types) -> str:
    """One request as a method, with a parameter for each member, what is needed first."""
    described = document["components"]["messages"][request]
    schema = described["payload"]
    reply = document["operations"][request]["reply"]["messages"][0]["$ref"].rsplit("/", 1)[1]
    answer = re.sub("Ok$", "OK", camel(reply)).replace("HelloWelcome", "Welcome")
    members = {name: inner for name, inner in schema["properties"].items() if name not in ("type", "id")}
    required = [name for name in members if name in schema["required"]]
    parameters, notes = [], []
    for member in required + [name for name in members if name not in required]:
        found = types.of(members[member], camel(request) + "Request" + camel(member))
        parameters.append(f"{member}: {found}" if member in required else f"{member}: {found} | None = None")
        if described_as := members[member].get("description"):
            notes.append(f"{member}: {described_as}")
    head = ["self", *(["*"] if parameters else []), *parameters]
    text = wrapped(f"    async def {snake(request)}(", head, f") -> messages.{answer}:")
    summary = described.get("summary", "").rstrip()
    lines = [line for note in notes for line in textwrap.wrap(note, WIDTH - 10, subsequent_indent="  ")]
    text += f'        """{summary}' + ("\n\n" + "".join(f"        {line}\n" for line in lines) + '        """\n' if lines else '"""\n')
    text += wrapped("        members: dict[str, Any] = {", [f'"{member}": {member}' for member in members], "}")
    return text + f'        return cast("messages.{answer}", await self._ask({literal(request)}, members))\n'


class Qualified(Types):
    """Types as another module names them."""

    def shared(self, name: str) -> str:
        return f"messages.{name}"

    def object(self, schema: dict[str, Any], name: str) -> str:
        return f"messages.{name}"


def requests_text(document: dict[str, Any]) -> str:
    """requests.py."""
    types = Qualified(document)
    text = HEAD.format(what="The protocol's requests as methods: parameters are the members, None leaves one out.", version=document["info"]["version"])
    text += "from collections.abc import Mapping\nfrom typing import Any, Literal, cast\n\nfrom . import messages\n\n\n"
    text += 'class Requests:\n    """Every request, asked of the relay as it stands. Raises `Refused`, and what else `_ask` raises."""\n\n'
    text += "    async def _ask(self, kind: str, members: Mapping[str, Any]) -> Mapping[str, Any]:\n        raise NotImplementedError\n\n"
    # hello is the connection's own matter.
    return text + "\n".join(method(document, request, types) for request in requests_of(document) if request != "hello")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("document", nargs="?", type=Path, default=DOCUMENT)
    parser.add_argument("--check", action="store_true", help="only say whether the files are what would be written")
    options = parser.parse_args()
    document = json.loads(options.document.read_text())
    stale = []
    for name, text in {"messages.py": messages_text(document), "requests.py": requests_text(document)}.items():
        path = HERE / "segue" / name
        if options.check:
            stale += [] if path.exists() and path.read_text() == text else [str(path)]
        else:
            path.write_text(text)
    if stale:
        print(f"not what {options.document} says, run generate.py: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
