"""Addresses and verbs of memories, notices about changes, and passages that differ."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import Response

from commonplace.services.catalog.entries import CatalogChange, CatalogEntry, MemoryState, Verb
from commonplace.services.memory_ids import MemoryId, MemoryKind, parse_memory_id
from commonplace.web.pages.catalog.comparing import passages
from commonplace.web.pages.layout.memory_links import memory_link, verbs_for, verbs_of
from commonplace.web.pages.layout.notices import COOKIE, MemoryNotice
from commonplace.web.pages.layout.rendering import ENVIRONMENT, compile_templates

KEY = UUID("5e5a9c30-2cb3-4bff-8690-ba42d5f3a47c")


@pytest.mark.requirement("ONE-01.1")
@pytest.mark.parametrize(
    ("kind", "key", "short", "page", "base"),
    [
        ("fact", KEY, "f:bsd9r", f"/knowledge/facts/{KEY}", f"/show/{KEY}"),
        ("entity", KEY, "n:bsd9r", f"/knowledge/entities/{KEY}", f"/show/{KEY}"),
        ("lesson", 12, "o:12", "/memories/12", "/show/o:12"),
        ("digest", 7, "a:7", "/show/a:7", "/show/a:7"),
        ("note", "m-3", "w:3", "/show/w:3", "/show/w:3"),
    ],
)
def test_the_addresses_of_a_memory(kind: str, key: object, short: str, page: str, base: str) -> None:
    """The page of its kind, or that of any id; verbs have the full id, because short ids may be alike."""
    link = memory_link(kind, key)
    assert (link.short, link.page, link.base) == (short, page, base)
    assert parse_memory_id(link.base.removeprefix("/show/")) in {link.memory_id, KEY}


@pytest.mark.requirement("ONE-02.1")
def test_the_verbs_that_fit() -> None:
    """Only facts and rules are pinned; what is over has no verbs, but a lesson holds again once it is confirmed."""
    fits = {kind: " ".join(verbs_for(kind)) for kind in MemoryKind}
    assert fits == {
        MemoryKind.FACT: "edit confirm pin forget",
        MemoryKind.RULE: "edit confirm pin forget",
        MemoryKind.EPISODE: "forget",
        MemoryKind.LESSON: "edit confirm forget",
        MemoryKind.DIGEST: "edit forget",
        MemoryKind.NOTE: "edit forget",
        MemoryKind.ENTITY: "edit",
    }
    assert verbs_for("fact", is_pinned=True) == (Verb.EDIT, Verb.CONFIRM, Verb.UNPIN, Verb.FORGET)
    assert Verb.CONFIRM in verbs_for("note", is_flagged=True)
    assert Verb.CONFIRM not in verbs_for("episode", is_flagged=True)
    assert verbs_for("fact", is_live=False) == ()
    assert verbs_for("lesson", is_live=False) == (Verb.EDIT, Verb.CONFIRM)


def entry(state: MemoryState = MemoryState.CURRENT) -> CatalogEntry:
    """Return a fact in the catalog."""
    return CatalogEntry(
        id="f:bsd9r",
        full_id=str(KEY),
        kind=MemoryKind.FACT,
        state=state,
        text="Ada drinks: tea",
        content="tea",
        about="global",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize("state", list(MemoryState))
def test_the_state_decides_about_verbs(state: MemoryState) -> None:
    """A held or flagged fact is decided about; a replaced one is not changed."""
    live = {MemoryState.CURRENT, MemoryState.FLAGGED, MemoryState.HELD}
    assert bool(verbs_of(entry(state))) is (state in live)


def request_with(cookie: str) -> Request:
    """Return a request with a cookie."""
    headers = [(b"cookie", f"{COOKIE}={cookie}".encode()), (b"host", b"localhost")]
    return Request({"type": "http", "method": "GET", "path": "/", "headers": headers, "scheme": "https"})


@given(
    verb=st.sampled_from(list(Verb)),
    kind=st.sampled_from(list(MemoryKind)),
    is_undone=st.booleans(),
    can_undo=st.booleans(),
)
def test_a_cookie_carries_a_notice(verb: Verb, kind: MemoryKind, *, is_undone: bool, can_undo: bool) -> None:
    """What one page sets, the next one reads; an undone change is not undone again."""
    numbered = kind in {MemoryKind.LESSON, MemoryKind.DIGEST, MemoryKind.NOTE}
    key = "12" if numbered else str(KEY)
    notice = MemoryNotice(
        verb=verb,
        memory_id=MemoryId(kind=kind, key=key),
        is_undone=is_undone,
        can_undo=can_undo and not is_undone,
    )
    answer = Response()
    notice.carry(request_with(""), answer)
    cookie = answer.headers["set-cookie"]
    assert "Secure" in cookie
    value = cookie.partition("=")[2].partition(";")[0]
    assert MemoryNotice.in_request(request_with(value)) == notice


@given(st.text())
def test_other_cookies_are_no_notice(text: str) -> None:
    """Whatever a browser sends."""
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "scheme": "http"}
    request = Request(scope)
    request._cookies = {COOKIE: text}
    notice = MemoryNotice.in_request(request)
    assert notice is None or text.startswith(notice.verb)


def test_a_notice_says_what_happened() -> None:
    """The id that was asked for, the former text, and what else happened; without a change, the reason alone."""
    change = CatalogChange(
        verb=Verb.EDIT, entry=entry(), before="green  tea", undo="f:bsd9r", instead_of="f:aaaaa", note="Kept."
    )
    notice = MemoryNotice.of(change)
    assert notice.text == (
        "f:bsd9r has the new text. f:aaaaa was replaced by f:bsd9r. Before: green tea Kept."
    )
    assert notice.undo is not None
    assert notice.undo.url == f"/show/{KEY}/undo"
    unchanged = CatalogChange(verb=Verb.PIN, entry=entry(), note="It is pinned already.")
    assert MemoryNotice.of(unchanged).text == "f:bsd9r: It is pinned already."
    assert MemoryNotice.of(unchanged).undo is None


@given(st.text(max_size=60), st.text(max_size=60))
def test_passages_hold_the_whole_texts(one: str, other: str) -> None:
    """Nothing is lost, and what is the same in both differs nowhere."""
    left, right = passages(one, other)
    assert "".join(part.text for part in left) == one
    assert "".join(part.text for part in right) == other
    same = ["".join(part.text for part in side if not part.differs) for side in (left, right)]
    assert same[0] == same[1]


def test_words_that_differ() -> None:
    """A changed word is marked, and a long text is compared as a whole."""
    left, right = passages("Offer green tea", "Offer black tea")
    assert [part.text for part in left if part.differs] == ["green"]
    assert [part.text for part in right if part.differs] == ["black"]
    long = "word " * 3_000
    assert [part.differs for part in passages(long, long + "more")[0]] == [True]


def test_all_templates_compile() -> None:
    """Each once, those of every page first."""
    names = list(compile_templates())
    assert sorted(names) == sorted(ENVIRONMENT.list_templates(extensions=["html"]))
    assert "/" not in names[0] or names[0].startswith("layouts/")
