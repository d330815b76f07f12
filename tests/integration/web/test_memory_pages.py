"""Pages for memories of every kind, without scripts: ids, verbs with their undo, search, comparison, the week."""

import html
import re
from collections.abc import AsyncIterator

import httpx2
import pytest

from commonplace.core.settings import Settings
from commonplace.services.memory_ids import MemoryId, MemoryKind
from commonplace.web.pages.layout.memory_links import memory_link
from support.secured import STRANGER, Secured, secured
from support.shelves import one_of_each

PAGE = {"accept": "text/html"}


@pytest.fixture
async def service(settings: Settings, knowledge_url: str) -> AsyncIterator[Secured]:
    """A service that asks for tokens, over empty memories."""
    async with secured(settings.model_copy(update={"postgres_url": knowledge_url})) as service:
        yield service


LISTS = {
    MemoryKind.FACT: "/knowledge/facts",
    MemoryKind.RULE: "/knowledge/rules",
    MemoryKind.EPISODE: "/knowledge/episodes",
    MemoryKind.ENTITY: "/knowledge/entities",
    MemoryKind.LESSON: "/memories",
    MemoryKind.NOTE: "/workspace",
    MemoryKind.DIGEST: "/apps/cal",
}


@pytest.mark.requirement("ONE-01.1")
async def test_each_kind_has_its_id_on_rows_and_pages_and_an_id_leads_there(service: Secured) -> None:
    """Short and full ids lead to the page; its list and its page show the short id; unknown ids are refused."""
    ids = await one_of_each(service)
    async with service.client("writer", **PAGE) as client:
        for kind, memory_id in ids.items():
            assert str(memory_id) in (await client.get(LISTS[kind])).text
            for text in (str(memory_id), memory_id.full, str(memory_id).upper()):
                shown = await client.get(f"/show/{text}" if text != memory_id.key else f"/show/{memory_id}")
                if shown.status_code == 303:
                    assert shown.headers["location"] == memory_link(kind, memory_id.key).page
                    shown = await client.get(shown.headers["location"])
                assert shown.status_code == 200
                assert str(memory_id) in shown.text
        assert (await client.get("/show/o:999")).status_code == 404
        assert (await client.get("/show/f:zzzzz")).status_code == 404
        assert (await client.get("/show/nonsense")).status_code == 422


@pytest.mark.requirement("ONE-01.3")
async def test_the_id_of_a_replaced_fact_leads_to_its_successor(service: Secured) -> None:
    """The page says so, and leads to the replaced fact too."""
    knowledge = service.memories.knowledge
    old = await knowledge.store_fact(subject="Ada", predicate="drinks", content="tea")
    new = await knowledge.edit("fact", old.id, "coffee")
    before, after = (str(MemoryId.of(MemoryKind.FACT, each.id)) for each in (old, new))
    async with service.client("reader", **PAGE) as client:
        led = (await client.get(f"/show/{before}")).headers["location"]
        assert led.startswith(f"/knowledge/facts/{new.id}?")
        page = (await client.get(led)).text
        assert re.search(rf"{before}</span> was replaced by this memory", page)
        own = (await client.get(f"/show/{before}?own=true")).headers["location"]
        assert own == f"/knowledge/facts/{old.id}"
        assert "Replaced by" in (replaced := (await client.get(own)).text)
        assert after in replaced
        address = f"/compare?one={old.id}&other={new.id}"
        assert f'<a href="{html.escape(address)}">Compare the two</a>' in replaced
        comparison = (await client.get(address)).text
        assert "<mark>tea</mark>" in comparison
        assert "<mark>coffee</mark>" in comparison


CHANGES = [
    (MemoryKind.FACT, "edit"), (MemoryKind.FACT, "confirm"), (MemoryKind.FACT, "pin"), (MemoryKind.FACT, "forget"),
    (MemoryKind.RULE, "edit"), (MemoryKind.RULE, "confirm"), (MemoryKind.RULE, "pin"), (MemoryKind.RULE, "forget"),
    (MemoryKind.EPISODE, "forget"), (MemoryKind.ENTITY, "edit"),
    (MemoryKind.LESSON, "edit"), (MemoryKind.LESSON, "confirm"), (MemoryKind.LESSON, "forget"),
    (MemoryKind.DIGEST, "edit"), (MemoryKind.DIGEST, "forget"),
    (MemoryKind.NOTE, "edit"), (MemoryKind.NOTE, "forget"),
]  # fmt: skip


@pytest.mark.requirement("ONE-02.1")
async def test_each_verb_of_each_kind_by_a_plain_form_with_its_undo(service: Secured) -> None:
    """The row offers it; the form leads back to the list, whose page says what happened and undoes it."""
    ids = await one_of_each(service)
    async with service.client("writer", **PAGE) as client:
        for kind, verb in CHANGES:
            base = memory_link(kind, ids[kind].key).base
            rows = LISTS[kind]
            back = {"referer": f"http://127.0.0.1{rows}"}
            offered = (await client.get(rows)).text
            assert f"{base}/{verb}" in offered, (kind, verb)
            form = {"content": "An other text"} if verb == "edit" else {}
            changed = await client.post(f"{base}/{verb}", data=form, headers=back)
            assert (changed.status_code, changed.headers["location"]) == (303, rows), (
                kind,
                verb,
                changed.text,
            )
            page = (await client.get(rows)).text
            undo = re.search(r'action="(/show/[^"]+/undo)"', page)
            assert undo is not None, (kind, verb)
            assert "/undo" not in (await client.get(rows)).text  # A notice is shown once.
            undone = await client.post(undo[1], headers=back)
            assert undone.status_code == 303, (kind, verb, undone.text)
            assert re.search(r"was (?:restored|undone)|again|is not pinned", (await client.get(rows)).text)
            ids[kind] = await _now(client, ids[kind])
            if (kind, verb) == (MemoryKind.DIGEST, "forget"):
                (digest,) = await service.memories.apps.list_memories("cal")
                ids[kind] = MemoryId.of(kind, digest.id)


async def _now(client: httpx2.AsyncClient, memory_id: MemoryId) -> MemoryId:
    """Return the id of the memory after a change; an edited fact or rule has a new one."""
    if memory_id.kind not in {MemoryKind.FACT, MemoryKind.RULE}:
        return memory_id
    led = (await client.get(memory_link(memory_id.kind, memory_id.key).base)).headers["location"]
    return MemoryId(kind=memory_id.kind, key=led.partition("?")[0].rpartition("/")[2])


@pytest.mark.requirement("ONE-02.1")
async def test_a_change_stays_in_a_page_that_refreshes_and_carries_no_text(service: Secured) -> None:
    """A page with scripts gets the notice at once; the cookie of a page without them holds the id alone."""
    ids = await one_of_each(service)
    base = memory_link("note", ids[MemoryKind.NOTE].key).base
    there = {"hx-request": "true", "hx-current-url": "http://127.0.0.1/workspace?tag=infra"}
    async with service.client("writer", **PAGE) as client:
        answer = await client.post(f"{base}/forget", headers=there)
        assert (answer.status_code, answer.headers["hx-retarget"]) == (200, "#undo")
        assert "w:1 was forgotten." in answer.text
        assert "workspace-changed" in answer.headers["hx-trigger"]
        undone = await client.post(f"{base}/undo", headers=there)
        assert "w:1 was restored." in undone.headers["hx-trigger"]
        plain = await client.post(f"{base}/forget")
        cookie = plain.headers["set-cookie"]
        assert cookie.startswith("commonplace-notice=forget.note.1.d;")
        assert "httponly" in cookie.lower()
        assert "samesite=strict" in cookie.lower()
        assert plain.headers["location"] == "/workspace"  # The page of the note is gone.


@pytest.mark.parametrize("forged", ["forget.note.1", "drop.note.1.d", "forget.note.<b>.d", "x" * 3000])
async def test_a_forged_notice_is_no_notice(service: Secured, forged: str) -> None:
    """Only a verb, a kind and an id make a notice."""
    async with service.client("writer", **PAGE, cookie=f"commonplace-notice={forged}") as client:
        page = await client.get("/knowledge/facts")
    assert (page.status_code, 'class="toast undo"' in page.text) == (200, False)


@pytest.mark.requirement("ONE-02.1")
async def test_verbs_that_do_not_fit_say_why(service: Secured) -> None:
    """A note cannot be pinned, an entity cannot be forgotten, and nothing is left to undo."""
    ids = await one_of_each(service)
    async with service.client("writer", **PAGE) as client:
        for kind, verb, words in (
            (MemoryKind.NOTE, "pin", "Only facts and rules can be pinned."),
            (MemoryKind.ENTITY, "forget", "commonplace erase --subject"),
            (MemoryKind.EPISODE, "confirm", "nothing to confirm"),
            (MemoryKind.RULE, "undo", "change to undo"),
        ):
            refused = await client.post(f"{memory_link(kind, ids[kind].key).base}/{verb}")
            assert refused.status_code in {404, 409, 422}, (kind, verb)
            assert words in refused.text, (kind, verb)


async def test_another_tenant_reaches_its_own_memories_only(service: Secured) -> None:
    """Not by id, not by verb, not by quick search, not by comparison."""
    ids = await one_of_each(service)
    async with service.client(STRANGER, **PAGE) as theirs:
        for kind, memory_id in ids.items():
            base = memory_link(kind, memory_id.key).base
            for answer in (
                await theirs.get(base),
                await theirs.post(f"{base}/forget"),
                await theirs.get(f"/compare?one={memory_id}"),
            ):
                assert answer.status_code in {403, 404}, (kind, answer.status_code)
        for query in ("tea", "kettle", "o:1", "w:1"):
            found = (await theirs.get(f"/find?q={query}", headers={"hx-request": "true"})).text
            assert 'data-count="0"' in found


async def test_the_quick_search_offers_memories_with_their_verbs(service: Secured) -> None:
    """Words find memories of several kinds, an id finds its memory; a reader is offered no verb."""
    ids = await one_of_each(service)

    async def found(client: httpx2.AsyncClient, query: str) -> str:
        return (await client.get(f"/find?q={query}", headers={"hx-request": "true"})).text

    async with service.client("writer", **PAGE) as client:
        options = await found(client, "tea")
        for kind in (MemoryKind.FACT, MemoryKind.RULE, MemoryKind.EPISODE):
            assert str(ids[kind]) in options
        assert 'data-verbs="edit confirm pin forget"' in options
        named = await found(client, "W:1")
        assert ('data-count="1"' in named, "kettle" in named) == (True, True)
        assert 'data-count="0"' in await found(client, "zebra")
        assert (await client.get("/keys")).status_code == 200
    async with service.client("reader", **PAGE) as client:
        assert 'data-verbs=""' in await found(client, "w:1")


async def test_two_memories_side_by_side(service: Secured) -> None:
    """Words that differ are marked; one memory alone offers those most alike; a wrong id says so."""
    knowledge = service.memories.knowledge
    one = await knowledge.store_rule(content="Offer green tea first")
    other = await knowledge.store_rule(content="Offer black tea first", scope="ops")
    async with service.client("reader", **PAGE) as client:
        page = (await client.get(f"/compare?one={one.id}&other={other.id}")).text
        assert "<mark>green</mark>" in page
        assert "<mark>black</mark>" in page
        assert "<mark>ops</mark>" in page
        alone = (await client.get(f"/compare?one={one.id}")).text
        assert "Offer black tea first" in alone
        assert (await client.get("/compare")).status_code == 200
        assert (await client.get("/compare?one=f:zzzzz")).status_code == 404


async def test_the_week_says_no_more_than_what_happened(service: Secured) -> None:
    """A harmful rule is marked harmful, a forgotten rule is no deleted memory, a raised confidence is no correction."""
    memories = service.memories
    rule = await memories.knowledge.store_rule(content="Restart the queue")
    gone = await memories.knowledge.store_rule(content="Never restart")
    await memories.knowledge.mark_harmful(rule.id, reason="It took an hour")
    await memories.knowledge.forget("rule", gone.id)
    lesson = await memories.operational.add(category="timing", observation="Starts slowly", confidence=0.5)
    await memories.operational.edit([lesson.id], confidence=0.6)
    await memories.operational.edit([lesson.id], observation="Starts very slowly")
    async with service.client("reader", **PAGE) as client:
        page = (await client.get("/week")).text
        assert "Deleted" not in page
        assert "Forgotten rule" in page
        for what, count in (("marked harmful", 1), ("confirmed", 1), ("corrected", 1), ("forgotten", 1)):
            tab = (await client.get("/week", params={"what": what})).text
            assert tab.count('<span class="meta">') == count, what
        assert "No changes" in (await client.get("/week?days=yesterday")).text


@pytest.mark.requirement("ONE-01.1")
async def test_pages_have_one_word_for_each_thing(service: Secured) -> None:
    """No page calls a lesson an observation, a note a fact of the workspace, or a replaced fact superseded."""
    ids = await one_of_each(service)
    knowledge = service.memories.knowledge
    old = await knowledge.store_fact(subject="Ben", predicate="drinks", content="tea")
    await knowledge.edit("fact", old.id, "coffee")
    await knowledge.forget("rule", ids[MemoryKind.RULE].key)
    pages = (*LISTS.values(), f"/knowledge/facts/{old.id}", "/", "/week", "/search", "/briefing?prompt=tea")
    pages = (*pages, "/knowledge/events", "/knowledge/graph", "/workspace/block?message=tea")
    async with service.client("writer", **PAGE) as client:
        for path in pages:
            page = re.sub(r"<[^>]*>", " ", (await client.get(path)).text)
            for word in ("superseded", "retracted", "observations", "facts of the workspace"):
                assert word not in page.lower(), (path, word)


async def test_the_page_about_safety_names_commands_that_exist(service: Secured) -> None:
    """Tokens, export, backup and erasure run in a terminal; another tenant does not see where the home is."""
    async with service.client("reader", **PAGE) as client:
        page = (await client.get("/safe")).text
    for command in ("token create", "export", "backup", "restore", "erase --subject"):
        assert f"commonplace {command}" in page
    async with service.client(STRANGER, **PAGE) as theirs:
        assert (await theirs.get("/safe")).status_code == 403
