"""Fields of front matter, leniently: YAML where it parses, else field by field. Pure.

Scalars stay as they are written: ``tags: 007`` is the text ``007``. Aliases and tags for objects are refused.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final, cast

import yaml

MALFORMED: Final = (
    yaml.YAMLError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""Errors that PyYAML raises for malformed text."""
_MOST_OPEN: Final = 32
"""More brackets than this, open at the same time, are no front matter that a person or program wrote."""

_KEY: Final = re.compile(
    r"""(?P<key>"[^"\n]+"|'[^'\n]+'|[^\s#\[\]{}"'`,&*!|>%@:?-][^:\n]{0,200}?)[ \t]*:(?:[ \t]+(?P<value>.*)|)$"""
)
_ITEM: Final = re.compile(r"[ \t]*-(?:[ \t]+|$)")
_TEMPLATE: Final = re.compile(r"\{\{.{0,500}?\}\}|<%.{0,500}?%>", re.DOTALL)
_OBJECT: Final = re.compile(r"!!|!<|!\w+/")
_KEPT_TAGS: Final = frozenset({"tag:yaml.org,2002:null", "tag:yaml.org,2002:timestamp"})


class PlainLoader(yaml.SafeLoader):
    """Reads YAML without aliases, which may stand for a value of any size, or for themselves."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Refuse an alias."""
        if self.check_event(yaml.AliasEvent):  # pyright: ignore[reportUnknownMemberType] - untyped stubs
            raise yaml.MarkedYAMLError(problem="an alias, such as *name, stands for no value here")
        return super().compose_node(parent, index)


class _Loader(PlainLoader):
    """Reads scalars as text, except for nothing and for times, whose values are checked."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - as the base class has it
        first: [rule for rule in rules if rule[0] in _KEPT_TAGS]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_time(self, node: yaml.ScalarNode) -> str:
        """Return a time in ISO 8601, as it is written if it is written so."""
        moment: date = self.construct_yaml_timestamp(node)
        try:
            datetime.fromisoformat(node.value)
        except ValueError:
            return moment.isoformat()
        return node.value


_Loader.add_constructor("tag:yaml.org,2002:timestamp", _Loader.construct_time)


def is_front_matter(block: str, *, is_first: bool) -> bool:
    """Return whether the text between two lines of dashes is front matter, and not prose between two rules.

    Front matter begins with a field. In the first block of a file, it is enough that half of the lines are fields; the
    block may also be empty, or begin with a bracket.
    """
    lines = [
        line for line in block.splitlines() if line.strip() and not line.startswith(("#", " ", "\t", "-"))
    ]
    is_field = [_KEY.match(line) is not None for line in lines]
    if not lines:
        return is_first and not block.strip()
    return is_field[0] or (is_first and (2 * sum(is_field) >= len(lines) or lines[0][0] in "[{!"))


def read_fields(block: str) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a block of front matter, and the problems with fields, such as ``due: day is out of range``.

    A value is a text, a list or a mapping. Fields without a value, and with a template that was never filled, such as
    ``{{title}}`` or ``<% title %>``, are left out.
    """
    try:
        return _filled_fields(_parse(block)), []
    except MALFORMED:
        return _fields_one_by_one(block)


def _parse(block: str) -> dict[str, Any]:
    if _open_brackets(block) > _MOST_OPEN:
        raise RecursionError
    document: object = yaml.load(block, _Loader)  # noqa: S506 - a safe loader
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ValueError("expected fields and their values")  # noqa: TRY004 - malformed text
    return {str(key): value for key, value in cast("dict[object, object]", document).items()}


def _open_brackets(text: str) -> int:
    """Return how many brackets are open at most at the same time; brackets in quotes count too."""
    depth = most = 0
    for char in text:
        depth += (char in "[{") - (char in "]}")
        most = max(most, depth)
    return most


def _fields_one_by_one(block: str, prefix: str = "") -> tuple[dict[str, Any], list[str]]:
    fields: dict[str, Any] = {}
    problems: list[str] = []
    for key, lines in _segments(block):
        if key is None:
            problems.append(f"{prefix or 'front matter'}: expected fields, such as `title: A title`")
            continue
        value, reasons = _read_field(f"{prefix}.{key}" if prefix else key, lines)
        problems += reasons
        if value is not None:
            fields.setdefault(key, value)
    return fields, problems


def _segments(block: str) -> Iterator[tuple[str | None, list[str]]]:
    """Yield each field with its lines; ``None`` for lines above the first field."""
    key: str | None = None
    lines: list[str] = []
    for line in block.splitlines():
        field = _KEY.match(line)
        if field is None:
            lines += [line] if line.strip() and not line.startswith("#") else []
            continue
        if lines:
            yield key, lines
        key, lines = field["key"].strip("\"'"), [line]
    if lines:
        yield key, lines


def _read_field(name: str, lines: list[str]) -> tuple[object, list[str]]:
    """Return the value of a field, and the problems with it; ``None`` if the field has no value."""
    try:
        (value,) = _parse("\n".join(lines)).values()
    except MALFORMED as error:
        return _read_malformed(name, lines, _reason(error))
    return _filled(value), []


def _read_malformed(name: str, lines: list[str], reason: str) -> tuple[object, list[str]]:
    field = _KEY.match(lines[0])
    first, rest = (field["value"] or "" if field else "").strip(), lines[1:]
    if rest and not first and _ITEM.match(rest[0]):
        return _read_items(name, rest, reason)
    if rest and not first and _KEY.match(rest[0].lstrip()):
        indent = len(rest[0]) - len(rest[0].lstrip())
        return _fields_one_by_one("\n".join(line[indent:] for line in rest), name)
    text = " ".join(line.strip() for line in (first, *rest)).strip()
    if _TEMPLATE.search(text):
        return None, []
    kept = _kept_text(text)
    return kept, [f"{name}: {reason}; {'left out' if kept is None else 'kept as text'}"]


def _read_items(name: str, lines: list[str], reason: str) -> tuple[object, list[str]]:
    """Return the items of a list, those that are malformed as texts."""
    items: list[str] = []
    for line in lines:
        text = line.strip() if _ITEM.match(line) is None else line[line.index("-") + 1 :].strip()
        if _ITEM.match(line) or not items:
            items.append(text)
        else:
            items[-1] += f" {text}"
    texts = [_unquoted(item) for item in items if not _TEMPLATE.search(item)]
    problems = [] if len(texts) < len(items) else [f"{name}: {reason}; kept as text"]
    return [text for text in map(_kept_text, texts) if text], problems


def _kept_text(text: str) -> str | None:
    """Return a malformed value as text; ``None`` for what was never meant as one."""
    if _OBJECT.match(text) or _open_brackets(text) > _MOST_OPEN:
        return None
    return _unquoted(text) or None


def _unquoted(text: str) -> str:
    """Return a text without the quotes around it; in ``"A" and "B"``, they belong to words."""
    quote = text[:1]
    if quote not in {'"', "'"}:
        return text
    inner = text[1:].removesuffix(quote)
    _, _, behind = inner.partition(quote)
    return inner if not behind or behind[0].isalnum() else text


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, AttributeError | LookupError | TypeError):
        return "expected a value in YAML"
    problem = error.problem if isinstance(error, yaml.MarkedYAMLError) else None
    return " ".join((f"expected YAML: {problem}" if problem else str(error)).split())


def _filled_fields(fields: Mapping[str, object]) -> dict[str, Any]:
    values = {str(key): _filled(value) for key, value in fields.items()}
    return {key: value for key, value in values.items() if value is not None}


def _filled(value: object) -> object:
    """Return a value without templates that were never filled; ``None`` if nothing is left."""
    match value:
        case str():
            return value if value.strip() and not _TEMPLATE.search(value) else None
        case dict():
            return _filled_fields(cast("dict[str, object]", value))
        case list():
            values = [_filled(each) for each in cast("list[object]", value)]
            return [each for each in values if each is not None]
        case bool() | int() | float():
            return str(value)
        case _:
            return None
