"""Finding, deleting and redacting of the rows of one database."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from commonplace.services.erasure.rows import Row, Rows
from commonplace.services.erasure.selection import ERASED, By, Selection, distinctive
from commonplace.services.erasure.tables import COLUMNS, DELETED, REDACTED, Redacted, Reference, Table

_KEY: Final = "erasure_key"
_WORDS: Final = (
    "content",
    "observation",
    "canonical_name",
    "message",
    "text",
    "after",
    "before",
    "wording",
    "request",
    "args",
)
"""Columns with a row's own words; reasons and results are often the same in many rows."""

_NOT_SEARCHED: Final = frozenset({"alembic_version", "tenants"})


@dataclass(slots=True)
class FoundRows:
    """The rows of one table.

    Attributes:
        derived: The keys of rows that were found only because they were derived from others.
    """

    table: Table
    rows: dict[str, Row] = field(default_factory=dict[str, Row])
    derived: set[str] = field(default_factory=set[str])

    def texts(self) -> list[list[str]]:
        """Return the texts of each row, the most informative first."""
        return [
            [row[name] for name in _WORDS if isinstance(row.get(name), str) and row[name]]
            for row in self.rows.values()
        ]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Finder:
    """Finds and erases the rows of a selection in one database; the caller opens the transaction."""

    def __init__(self, rows: Rows, selection: Selection, columns: Mapping[str, Mapping[str, bool]]) -> None:
        self._rows = rows
        self._selection = selection
        self._columns = columns

    def _is_there(self, table: Table | Redacted) -> bool:
        names = self._columns.get(table.name, {})
        return bool(names) and (self._selection.tenant is None or "tenant_id" in names)

    async def find(self) -> list[FoundRows]:
        """Return the rows to delete, in the order in which they can be deleted."""
        found = {table.name: FoundRows(table) for table in DELETED if self._is_there(table)}
        for each in found.values():
            await self._add_direct(each)
        grew = True
        while grew:
            grew = False
            for each in found.values():
                for reference in each.table.references:
                    if reference.table in found and (self._selection.with_derived or not reference.derived):
                        grew |= await self._add_referring(each, reference, found[reference.table])
        return [each for each in found.values() if each.rows]

    async def _add_direct(self, found: FoundRows) -> None:
        table, selection = found.table, self._selection
        columns = self._columns[table.name]
        if selection.by is By.ROWS:
            if keys := selection.rows.get(table.name):
                await self._add(found, self._rows.among(_quoted(table.key), "$1"), self._rows.listed(keys))
            return
        if table.whole:
            await self._add(found, "CAST($1 AS text) = ''", "")
            return
        if selection.pattern is not None:
            searched = table.searched or [name for name, is_text in columns.items() if is_text]
            conditions = [self._rows.matches(_quoted(name), "$1") for name in searched if name in columns]
            value: object = selection.pattern
        else:
            named = COLUMNS[selection.by] & columns.keys()
            conditions = [self._rows.among(_quoted(name), "$1") for name in sorted(named)]
            value = self._rows.listed([selection.value])
        if conditions:
            await self._add(found, " OR ".join(conditions), value)

    async def _add_referring(self, found: FoundRows, reference: Reference, other: FoundRows) -> bool:
        if reference.column not in self._columns[found.table.name]:
            return False
        named = {
            str(row[reference.other])
            for row in other.rows.values()
            if reference.only in {None, row.get("relation")}
        }
        return bool(named) and await self._add(
            found,
            self._rows.among(_quoted(reference.column), "$1"),
            self._rows.listed(named),
            derived=reference.derived,
        )

    async def _add(self, found: FoundRows, condition: str, value: object, *, derived: bool = False) -> bool:
        columns = self._columns[found.table.name]
        wanted = [name for name, is_text in columns.items() if is_text]
        wanted += [name for name in columns if name.endswith("id") and name not in wanted]
        sql = f"SELECT {self._key(found.table)} AS {_KEY}, {', '.join(map(_quoted, wanted))} FROM {_quoted(found.table.name)} WHERE {condition}"  # noqa: S608, E501 - names of the catalogue, quoted
        new = {row[_KEY]: row for row in await self._rows.run(sql, value) if row[_KEY] not in found.rows}
        found.rows |= new
        if derived:
            found.derived |= new.keys()
        return bool(new)

    def _key(self, table: Table | Redacted) -> str:
        return f"CAST({_quoted(table.key) if table.key else self._rows.place} AS text)"

    async def delete(self, found: Iterable[FoundRows]) -> None:
        """Delete rows that :meth:`find` returned in the same transaction."""
        for each in found:
            key = _quoted(each.table.key) if each.table.key else self._rows.place
            await self._rows.run(
                f"DELETE FROM {_quoted(each.table.name)} WHERE {self._rows.among(key, '$1')}",  # noqa: S608 - as above
                self._rows.listed(each.rows),
            )

    async def redact(self, found: Iterable[FoundRows], *, apply: bool = True) -> dict[Redacted, int]:
        """Replace the texts of rows that stay, and return how many rows of each table change."""
        gone = {each.table.name: each for each in found}
        counts: dict[Redacted, int] = {}
        for table in REDACTED:
            if self._is_there(table):
                changed = await self._redact_table(table, gone, apply=apply)
                counts |= {table: changed} if changed else {}
        return counts

    async def _redact_table(self, table: Redacted, gone: Mapping[str, FoundRows], *, apply: bool) -> int:
        columns = [name for name in table.columns if name in self._columns[table.name]]
        deleted = gone[table.name].rows if table.name in gone else {}
        changes: dict[str, dict[str, Any]] = {}
        for condition, value, whole in self._redactions(table, columns, gone):
            sql = f"SELECT {self._key(table)} AS {_KEY}, {', '.join(map(_quoted, columns))} FROM {_quoted(table.name)} WHERE {condition}"  # noqa: S608, E501 - as above
            for row in await self._rows.run(sql, value):
                pattern = self._selection.pattern
                new = {
                    name: redacted(row[name], None if whole and name not in table.names else pattern)
                    for name in columns
                    if pattern is not None or name not in table.names
                }
                new = {name: text for name, text in new.items() if text != row[name]}
                if new and row[_KEY] not in deleted:
                    changes[row[_KEY]] = new | changes.get(row[_KEY], {})
        if apply:
            await self._change(table, changes)
        return len(changes)

    def _redactions(
        self, table: Redacted, columns: list[str], gone: Mapping[str, FoundRows]
    ) -> Iterable[tuple[str, object, bool]]:
        """Yield the conditions of rows to redact, with their parameter, and whether whole texts are removed."""
        for reference in table.references:
            if reference.table in gone:
                named = [str(row[reference.other]) for row in gone[reference.table].rows.values()]
                yield self._rows.among(_quoted(reference.column), "$1"), self._rows.listed(named), True
        if self._selection.pattern is not None:
            matching = " OR ".join(self._rows.matches(_quoted(name), "$1") for name in columns)
            yield matching, self._selection.pattern, False
        elif table.own is not None and table.own is self._selection.by:
            names = (table.key, *(COLUMNS[table.own] & self._columns[table.name].keys()))
            own = " OR ".join(self._rows.among(_quoted(name), "$1") for name in names)
            yield f"({own}) AND NOT ({table.unless})", self._rows.listed([self._selection.value]), True

    async def _change(self, table: Redacted, changes: Mapping[str, Mapping[str, Any]]) -> None:
        only_grows = table.name == "memory_events" and bool(changes)
        if only_grows:  # The trigger refuses every change; the owner of the table may disable it.
            await self._rows.run("ALTER TABLE memory_events DISABLE TRIGGER memory_events_append_only")
        for key, new in changes.items():
            assignments = ", ".join(f"{_quoted(name)} = ${n}" for n, name in enumerate(new, start=2))
            await self._rows.run(
                f"UPDATE {_quoted(table.name)} SET {assignments} WHERE {self._key(table)} = $1",  # noqa: S608 - as above
                key,
                *new.values(),
            )
        if only_grows:
            await self._rows.run("ALTER TABLE memory_events ENABLE TRIGGER memory_events_append_only")

    async def remaining(self, needles: Iterable[str]) -> dict[str, int]:
        """Return how many rows of each table still contain the words of the subject or one of the texts."""
        counts: dict[str, int] = {}
        pieces = self._rows.listed(needles)
        pattern = self._selection.pattern or "(?!)"
        for table, columns in self._columns.items():
            texts = [_quoted(name) for name, is_text in columns.items() if is_text]
            if not texts or table in _NOT_SEARCHED:
                continue
            condition = " OR ".join(
                f"{self._rows.matches(name, '$1')} OR {self._rows.holds(name, '$2')}" for name in texts
            )
            sql = f"SELECT count(*) AS rows FROM {_quoted(table)} WHERE {condition}"  # noqa: S608 - as above
            count = (await self._rows.run(sql, pattern, pieces))[0]["rows"]
            counts |= {table: count} if count else {}
        return counts


def redacted(value: object, pattern: str | None) -> object:
    """Return a column value with its texts redacted.

    The value is text, JSON as text, or ``None``. With a pattern, only texts that match it are replaced.
    """
    if not isinstance(value, str):
        return value
    if value[:1] in {"{", "["}:
        try:
            document: object = json.loads(value)
        except ValueError:
            return _redacted_text(value, pattern)
        if pattern is None:
            return "[]" if isinstance(document, list) else "{}"
        new = _redacted_json(document, pattern)
        return value if new == document else json.dumps(new, ensure_ascii=False)
    return _redacted_text(value, pattern)


def _redacted_text(text: str, pattern: str | None) -> str:
    return ERASED if pattern is None or re.search(pattern, text, re.IGNORECASE) else text


def _redacted_json(value: object, pattern: str) -> object:
    match value:
        case str():
            return _redacted_text(value, pattern)
        case list():
            return [_redacted_json(each, pattern) for each in cast("list[object]", value)]
        case dict():
            return {
                _redacted_text(name, pattern): _redacted_json(each, pattern)
                for name, each in cast("dict[str, object]", value).items()
            }
        case _:
            return value


def proof_texts(found: Iterable[FoundRows]) -> set[str]:
    """Return pieces of the erased texts that the proof must not find again."""
    return distinctive(text for each in found for texts in each.texts() for text in texts)
