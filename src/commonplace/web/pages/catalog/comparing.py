"""Two memories side by side, with their differences; for one memory, the memories most like it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Annotated, Final

from fastapi import Depends, Query, Request
from fastapi.responses import HTMLResponse

from commonplace.access import Principal
from commonplace.services.briefing import BriefingPart
from commonplace.services.catalog.entries import CatalogEntry
from commonplace.services.opening import Memories
from commonplace.services.search.items import PARTS, ListedMemory
from commonplace.services.search.searching import search_all
from commonplace.web.http.access import CatalogOfCaller, KnowledgeOfCaller, OpenMemories, reader
from commonplace.web.pages.layout.errors import pages
from commonplace.web.pages.layout.memory_links import link_of, verbs_of
from commonplace.web.pages.layout.paging import Address
from commonplace.web.pages.layout.rendering import render
from commonplace.web.pages.layout.wording import decimal, stamp

PATH: Final = "/compare"
MAX_ID_CHARS: Final = 60
MOST_ALIKE: Final = 12
MOST_WORDS: Final = 2_000
"""Words of longer texts are not compared one by one."""

_WORDS: Final = re.compile(r"\s+|[^\s]+")

router = pages(PATH, reader)


class CompareAddress(Address):
    """The ids of the two memories."""

    one: Annotated[str, Query(max_length=MAX_ID_CHARS)] = ""
    other: Annotated[str, Query(max_length=MAX_ID_CHARS)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A part of a text.

    Attributes:
        text: The words, with their spaces.
        differs: Whether the other text has other words here.
    """

    text: str
    differs: bool


@router.get("")
async def compare(
    request: Request,
    memories: OpenMemories,
    knowledge: KnowledgeOfCaller,
    catalog: CatalogOfCaller,
    who: Annotated[Principal, Depends(reader)],
    address: Annotated[CompareAddress, Query()],
) -> HTMLResponse:
    """Show two memories, or one memory and those most like it.

    Raises:
        InvalidInputError: A text is no id, or several memories have a short id.
        NotFoundError: No memory has an id.
    """
    entries = [await catalog.show(each) for each in (address.one, address.other) if each]
    alike: Sequence[ListedMemory] = ()
    if len(entries) == 1:
        parts = PARTS if who.of_installation else (BriefingPart.KNOWLEDGE,)
        alike = await _alike(replace(memories, knowledge=knowledge), entries[0], parts)
    return render(
        request,
        "catalog/compare.html",
        address=address,
        sides=[(each, link_of(each), verbs_of(each)) for each in entries],
        texts=passages(entries[0].text, entries[1].text) if len(entries) > 1 else [],
        rows=rows(*entries) if len(entries) > 1 else [],
        alike=alike,
    )


async def _alike(
    memories: Memories, entry: CatalogEntry, parts: Sequence[BriefingPart]
) -> list[ListedMemory]:
    results = await search_all(memories, entry.text, parts=parts, limit=MOST_ALIKE + 1)
    return [
        item
        for item in results.items
        if (item.kind, item.id) not in {(entry.kind, entry.full_id), (entry.kind, entry.memory_id.key)}
    ]


def passages(one: str, other: str) -> tuple[list[Passage], list[Passage]]:
    """Return two texts in passages that are the same in both, or differ."""
    left, right = _WORDS.findall(one), _WORDS.findall(other)
    if max(len(left), len(right)) > MOST_WORDS:
        return [Passage(text=one, differs=one != other)], [Passage(text=other, differs=one != other)]
    blocks = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    ours = [Passage(text="".join(left[a:b]), differs=tag != "equal") for tag, a, b, _, _ in blocks if a < b]
    theirs = [
        Passage(text="".join(right[a:b]), differs=tag != "equal") for tag, _, _, a, b in blocks if a < b
    ]
    return ours, theirs


def rows(one: CatalogEntry, other: CatalogEntry) -> list[tuple[str, str, str]]:
    """Return the properties of two memories, by name."""
    return [
        (name, left, right) for (name, left), (_, right) in zip(_values(one), _values(other), strict=True)
    ]


def _values(entry: CatalogEntry) -> list[tuple[str, str]]:
    source = entry.fields.get("source_butler") or entry.fields.get("session_id") or ""
    return [
        ("Kind", entry.kind),
        ("State", entry.state),
        ("Belongs to", entry.about),
        ("Confidence", "" if entry.confidence is None else decimal(entry.confidence)),
        ("Pinned", "yes" if entry.pinned else "no"),
        ("Stored", stamp(entry.created_at)),
        ("Stored by", str(source)),
        ("Replaced by", entry.replaced_by or ""),
    ]
