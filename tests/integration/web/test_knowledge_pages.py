"""The pages of knowledge memory over HTTP: who sees and does what, without scripts, and what is refused."""

import html
import re
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from uuid import UUID, uuid4

import httpx2
import pytest

from commonplace.core.clock import ManualClock
from commonplace.core.settings import Settings
from commonplace.knowledge import FactCriteria, Narrowing
from commonplace.knowledge.model.events import EventType
from commonplace.knowledge.model.fact_drafts import FactDraft
from commonplace.knowledge.model.kinds import Fact, Rule
from commonplace.web.pages.home import week
from support.dashboards import Dashboard
from support.deadlines import DEADLINE_S
from support.known import fill
from support.secured import STRANGER, Secured, secured


@pytest.fixture
async def service(settings: Settings, knowledge_url: str) -> AsyncIterator[Secured]:
    """A service that asks for tokens, over empty memories."""
    async with secured(settings.model_copy(update={"postgres_url": knowledge_url})) as service:
        yield service


async def store(client: httpx2.AsyncClient) -> str:
    """Store a fact over REST and return its id."""
    fact = {"subject": "port", "predicate": "is", "content": "the port is 5433"}
    return (await client.post("/api/v1/knowledge/facts", json=fact)).json()["id"]


async def test_each_role_is_offered_what_it_may_do(service: Secured) -> None:
    """A reader sees no button, and is refused; merging, unmerging, undoing, requeueing take an admin."""
    async with service.client("reader") as reads, service.client("writer") as writes:
        fact_id = await store(writes)
        page = f"/knowledge/facts/{fact_id}"
        assert "Forget" not in (await reads.get(page)).text
        assert "Forget" in (await writes.get(page)).text
        for action in ("confirm", "forget", "edit", "undo"):
            assert (await reads.post(f"/show/{fact_id}/{action}")).status_code == 403
        for path in (
            f"entities/{uuid4()}/merge",
            f"entities/{uuid4()}/unmerge",
            f"runs/{uuid4()}/undo",
            "runs/start",
            "episodes/requeue",
        ):
            assert (await writes.post(f"/knowledge/{path}")).status_code == 403
    async with service.client("admin") as admin:
        assert (await admin.post("/knowledge/episodes/requeue")).status_code == 303


@pytest.mark.requirement("KNW-29.2")
async def test_a_tenant_sees_its_own_rows_only(service: Secured) -> None:
    """Not in lists, not by id, not in the audit log; background work is the installation's."""
    async with service.client("writer") as ours, service.client(STRANGER) as theirs:
        fact_id = await store(ours)
        for path in ("facts", "events"):
            assert fact_id in (await ours.get(f"/knowledge/{path}")).text
            assert fact_id not in (await theirs.get(f"/knowledge/{path}")).text
        assert "the port is 5433" in (await ours.get("/knowledge?q=port")).text
        assert "No results" in (await theirs.get("/knowledge?q=port")).text
        assert (await theirs.get(f"/knowledge/facts/{fact_id}")).status_code == 404
        assert (await theirs.post(f"/show/{fact_id}/forget")).status_code == 404
        assert (await theirs.get("/workers")).status_code == 403
        assert (await ours.get("/workers")).status_code == 200


async def test_the_page_of_a_fact_shows_a_given_period(service: Secured) -> None:
    """Although no words name the period."""
    begins = datetime(2020, 5, 1, tzinfo=UTC)
    fact = await service.memories.knowledge.store_fact(
        subject="office", predicate="city", content="Linz", valid_from=begins
    )
    async with service.client("reader") as client:
        assert "<dt>Holds</dt><dd>from <time" in (await client.get(f"/knowledge/facts/{fact.id}")).text


@pytest.mark.requirement("KNW-02.2")
async def test_pages_say_what_holds_until_a_fact_begins(service: Secured) -> None:
    """The search, the list, the page of the fact and the notice after storing."""
    knowledge = service.memories.knowledge
    await knowledge.store_fact(subject="office", predicate="city", content="Graz")
    begins = datetime(2999, 5, 1, tzinfo=UTC)
    linz = await knowledge.store_fact(subject="office", predicate="city", content="Linz", valid_from=begins)
    async with service.client("reader") as client:
        for path in ("?q=office", "/facts", f"/facts/{linz.id}"):
            page = (await client.get(f"/knowledge{path}")).text
            assert "from 1 May 2999; until then: Graz</span>" in page, path


@pytest.mark.requirement("DSH-03.1")
async def test_this_week_leaves_out_what_was_undone(service: Secured) -> None:
    """A forgetting and a confirmation that were taken back are gone; those that came after them stay."""
    knowledge = service.memories.knowledge
    fact = await knowledge.store_fact(subject="Ada", predicate="drinks", content="Tea")
    rule = await knowledge.store_rule(content="Ask first")
    for kind, key in (("fact", fact.id), ("rule", rule.id)):
        await knowledge.confirm(kind, key)
        await knowledge.undo_confirmation(kind, key)
        await knowledge.forget(kind, key)
        await knowledge.restore(kind, key)
    await knowledge.forget("fact", fact.id)
    async with service.client("reader") as client:
        page = (await client.get("/week")).text
    counts = dict(re.findall(r">\s*(Learned|Confirmed|Forgotten)\s*<span[^>]*>(\d+)<", page))
    assert counts == {"Learned": "2", "Forgotten": "1"}


async def test_this_week_counts_changes_alone_and_says_where_it_cut(
    service: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other entries of the audit log hide no change."""
    monkeypatch.setattr(week, "MOST_OF_EACH", 2)
    knowledge = service.memories.knowledge
    cut = "shows only the latest 2 changes of knowledge memory"
    async with service.client("writer") as client:
        await store(client)
        for number in range(3):
            await knowledge.store_episode(content=f"Ran the tests {number} times", butler="ops")
        page = (await client.get("/week")).text
        assert "the port is 5433" in page
        assert cut not in page
        for number in range(2):
            await knowledge.store_rule(content=f"Ask number {number}")
        page = (await client.get("/week")).text
        assert "the port is 5433" not in page
        assert cut in page


@pytest.mark.requirement("KNW-29.2")
async def test_the_audit_log_says_what_an_entry_is_about(service: Secured) -> None:
    """As long as it is not forgotten, and to its own tenant only."""
    async with service.client("writer") as ours, service.client(STRANGER) as theirs:
        fact_id = await store(ours)
        (entry,) = (await ours.get("/api/v1/knowledge/events")).json()["events"]
        paths = ("/knowledge/events", f"/knowledge/events/{entry['id']}")
        for path in paths:
            assert "port is" in (await ours.get(path)).text
            assert "port is" not in (await theirs.get(path)).text
        await ours.post(f"/show/{fact_id}/forget")
        for path in paths:
            assert "port is" not in (await ours.get(path)).text


async def test_the_audit_log_of_some_days(service: Secured) -> None:
    """From the first moment of a day until the last of another, in UTC; an empty field is no end."""
    async with service.client("writer") as client:
        fact_id = await store(client)
        (entry,) = (await client.get("/api/v1/knowledge/events")).json()["events"]
        day = date.fromisoformat(entry["createdAt"][:10])
        before, after = day - timedelta(days=1), day + timedelta(days=1)
        for span, found in (
            (f"since={day}&until={day}", True),
            (f"since={before}&until=", True),
            (f"since=&until={after}", True),
            (f"since={after}", False),
            (f"until={before}", False),
            (f"since={date.min}&until={date.max}", True),
        ):
            page = await client.get(f"/knowledge/events?{span}")
            assert page.status_code == 200
            assert (fact_id in page.text) is found, span
        entered = await client.get("/knowledge/events?since=yesterday&until=today")
        assert fact_id in entered.text
        assert fact_id not in (await client.get("/knowledge/events?until=yesterday")).text
        assert (await client.get("/knowledge/events?since=soon")).status_code == 422


async def test_a_correction_by_a_plain_form(service: Secured) -> None:
    """Without scripts: the question is a page, the answer leads to the fact that took the other's place."""
    async with service.client("writer") as client:
        path = f"/show/{await store(client)}"
        form = await client.get(f"{path}/edit")
        assert "<!doctype html>" in form.text.lower()
        same = await client.post(f"{path}/edit", data={"content": "the port is 5433"})
        assert (same.status_code, "This is the present text" in same.text) == (422, True)
        stored = await client.post(f"{path}/edit", data={"content": "the port is 5434"})
        assert stored.status_code == 303
        corrected = await client.get(stored.headers["location"])
        assert re.search(r"port.*5434.*replaced", corrected.text, re.DOTALL)
        assert (await client.post(f"{path}/confirm")).headers["location"] == stored.headers["location"]


async def test_a_corrected_fact_keeps_everything_but_its_text(service: Secured) -> None:
    """Scope, tags, metadata, permanence, importance, butler and period stay, and no review waits."""
    knowledge = service.memories.knowledge
    kept = {
        "scope": "web",
        "tags": ("infra",),
        "metadata": {"ticket": 7},
        "permanence": "permanent",
        "importance": 9.0,
        "source_butler": "web",
        "valid_from": datetime(2020, 1, 1, tzinfo=UTC),
        "valid_to": datetime(2090, 1, 1, tzinfo=UTC),
    }
    old = await knowledge.store_fact(subject="staging", predicate="port", content="the port is 5433", **kept)
    async with service.client("writer") as client:
        stored = await client.post(f"/show/{old.id}/edit", data={"content": "the port is 5434"})
    new = await knowledge.read("fact", stored.headers["location"].rpartition("/")[2])
    assert (new.content, new.supersedes_id) == ("the port is 5434", old.id)
    assert {name: getattr(new, name) for name in kept} == kept
    assert await knowledge.reviews.list() == []


async def test_text_of_memories_is_text(service: Secured) -> None:
    """Markup and invisible characters in a memory do nothing in the page."""
    async with service.client("writer") as client:
        hostile = {
            "subject": "<script>alert(1)</script>",
            "predicate": "is",
            "content": "a\u202eb <img src=x>",
        }
        entity = {"canonicalName": hostile["subject"], "entityType": "other"}
        entity_id = (await client.post("/api/v1/knowledge/entities", json=entity)).json()["id"]
        fact = {**hostile, "entityId": entity_id}
        fact_id = (await client.post("/api/v1/knowledge/facts", json=fact)).json()["id"]
        for path in (
            "/knowledge/facts",
            f"/knowledge/facts/{fact_id}",
            "/knowledge?q=img",
            "/knowledge/graph",
        ):
            text = (await client.get(path)).text
            assert "&lt;script&gt;alert" in text, path
            assert "<script>alert" not in text
            assert "<img" not in text
            assert "\u202e" not in text


EMPTY = {
    "/knowledge": "No knowledge yet",
    "/knowledge/facts": "No facts yet",
    "/knowledge/rules": "No rules yet",
    "/knowledge/episodes": "No episodes yet",
    "/knowledge/entities": "No entities yet",
    "/knowledge/graph": "No entities yet",
    "/knowledge/events": "No changes yet",
    "/knowledge/runs": "No runs yet",
    "/workers": "No worker is alive",
}


async def test_an_empty_page_says_what_to_do(dashboard: Dashboard) -> None:
    """The page says that it has no entries, and how to begin."""
    async with httpx2.AsyncClient(base_url=dashboard.url, timeout=DEADLINE_S) as client:
        for path, text in EMPTY.items():
            assert text in (await client.get(path)).text, path


async def test_the_audit_log_shows_before_and_after(service: Secured) -> None:
    """Filters narrow it to a memory, a run or a person; an entry shows the old and the new value."""
    known = await fill(service.memories.knowledge)
    async with service.client("reader") as client:

        async def entries(path: str) -> list[str]:
            """Return the addresses of the entries of a page."""
            page = (await client.get(path)).text
            return re.findall(r'<td class="main-short nowrap"><a href="(/knowledge/events/[^"]+)">', page)

        link = f"/knowledge/events?memory={known.port}"
        fact = (await client.get(f"/knowledge/facts/{known.port}")).text
        assert f'<a href="{link}">Show in the audit log</a>' in fact
        assert len(await entries(link)) == 1
        assert len(await entries(f"/knowledge/events?run={known.run.id}&type=fact_created")) == 2
        assert '<option value="fact_superseded"' in (await client.get("/knowledge/events?actor=butler")).text
        first, *_ = await entries("/knowledge/events?actor=butler&type=fact_superseded")
        changes = (await client.get(first)).text
    assert re.search(r"<del[^>]*>active</del></td>\s*<td><ins[^>]*>superseded</ins>", changes)


@pytest.mark.parametrize("sort", ["", "subject", "confidence"])
async def test_pages_without_totals_lead_on(service: Secured, sort: str) -> None:
    """Fifty a page, each fact on one of them; the links lead to the end and back, also while facts are stored."""
    knowledge = service.memories.knowledge
    drafts = [FactDraft(subject=f"s{number}", predicate="is", content=f"c{number}") for number in range(120)]
    await knowledge.store_facts(drafts)

    async def visit(address: str) -> tuple[list[str], dict[str, str]]:
        text = (await client.get(address)).text
        links = {
            name: html.unescape(url)
            for url, name in re.findall(r'href="([^"]*)"[^>]*>(Previous|Next|Last)</a>', text)
        }
        return re.findall(r'id="fact-([0-9a-f-]{36})"', text), links

    async with service.client("writer") as client:
        first, links = await visit(f"/knowledge/facts?sort={sort}")
        assert links.keys() == {"Next", "Last"}
        second, further = await visit(links["Next"])
        assert further.keys() == {"Previous", "Next", "Last"}
        third, ending = await visit(further["Next"])
        assert ending.keys() == {"Previous"}
        assert [len(each) for each in (first, second, third)] == [50, 50, 20]
        assert len({*first, *second, *third}) == 120
        last, back = await visit(links["Last"])
        assert last == [*second, *third][-50:]
        assert "Last page" in (await client.get(links["Last"])).text
        assert (await visit(back["Previous"]))[0] == [*first, *second, *third][20:70]
        await knowledge.store_fact(subject="a", predicate="is", content="new")
        assert (await visit(links["Next"]))[0] == second
        assert (await visit(ending["Previous"]))[0] == second
        assert "51\u2013100 and more" in (await client.get(ending["Previous"])).text
        refused = await client.get(
            "/knowledge/facts?sort=importance&after=" + links["Next"].split("after=")[1]
        )
        assert (refused.status_code, "cursor" in refused.text) == (422, True)
        turned, _ = await visit(f"/knowledge/facts?sort={sort}&reverse=true")
        assert turned[-1] != first[-1]
        assert "No fact matches" in (await client.get("/knowledge/facts?offset=500")).text


@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_a_tab_that_refreshes_gets_a_list_only_if_it_changed(
    settings: Settings, knowledge_url: str, kind: str
) -> None:
    """Nothing while no memory changed; the list again after a change, and in the next minute because of the ages."""
    clock = ManualClock(datetime(2026, 3, 1, tzinfo=UTC))
    there = settings.model_copy(update={"postgres_url": knowledge_url})
    part = {"hx-request": "true"}
    async with secured(there, clock=clock) as service, service.client("reader", **part) as client:
        knowledge = service.memories.knowledge

        async def poll(path: str) -> tuple[int, str]:
            answer = await client.get(path)
            found = re.search(r'hx-get="([^"]*stamp=[^"]*)"', answer.text)
            return answer.status_code, html.unescape(found[1]) if found else ""

        _, path = await poll(f"/knowledge/{kind}s?sort=confidence")
        assert "sort=confidence&stamp=" in path
        assert await poll(path) == (204, "")
        await (
            knowledge.store_fact(subject="a", predicate="b", content="c")
            if kind == "fact"
            else knowledge.store_rule(content="c")
        )
        status, changed = await poll(path)
        assert (status, changed != path) == (200, True)
        assert await poll(changed) == (204, "")
        clock.advance(minutes=1)
        assert (await poll(changed))[0] == 200
        assert (await client.get(changed, headers={"hx-history-restore-request": "true"})).status_code == 200


async def test_a_filter_is_a_chip_that_removes_it(service: Secured) -> None:
    """An entity is found by name or alias, a subject without an entity by its text; a day shows what was known."""
    knowledge = service.memories.knowledge
    anna = await knowledge.entities.create(
        canonical_name="Anna Miller", entity_type="person", aliases=["Anna"]
    )
    await knowledge.entities.create(canonical_name="Anna Smith", entity_type="person")
    await knowledge.store_fact(
        subject="Anna Miller", predicate="is", content="a baker", entity_id=anna.id, tags=["bread"]
    )
    await knowledge.store_fact(subject="oven", predicate="is", content="hot")
    await knowledge.store_rule(content="Bake early")

    async def visit(address: str) -> tuple[str, dict[str, str]]:
        text = (await client.get(address)).text
        chips = re.findall(r'class="chip" href="([^"]*)" aria-label="Remove the filter ([^"]*)"', text)
        return text, {label: html.unescape(url) for url, label in chips}

    async with service.client("reader") as client:
        text, chips = await visit("/knowledge/facts?entity=anna&tag=bread&used=no&sort=subject")
        assert ("a baker" in text, ': <span class="text">hot' in text) == (True, False)
        assert chips.keys() == {"About: Anna Miller", "Use: Never used", "Tag: bread"}
        assert chips["Tag: bread"] == "/knowledge/facts?used=no&entity=anna&sort=subject"
        assert "Anna Smith</a>" in text
        text, chips = await visit(f"/knowledge/facts?entity={anna.id}")
        assert chips == {"About: Anna Miller": "/knowledge/facts"}
        text, chips = await visit("/knowledge/facts?entity=oven")
        assert ("a baker" in text, "hot" in text) == (False, True)
        assert chips == {"About: oven": "/knowledge/facts"}
        assert "No fact matches" in (await visit("/knowledge/facts?entity=nobody"))[0]
        for address, found in (("", True), ("?as_of=2000-01-01", False)):
            text, chips = await visit(f"/knowledge/rules{address}")
            assert ("Bake early" in text) is found
        assert chips == {"Known on: 2000-01-01": "/knowledge/rules"}


async def test_facts_and_rules_by_origin_confidence_and_meaning(service: Secured) -> None:
    """Each filter alone, and together with a search by meaning, which lists the nearest memory first."""
    knowledge = service.memories.knowledge
    stored = {
        name: await knowledge.store_fact(
            subject=name,
            predicate="drinks",
            content=f"{name} drinks tea",
            source_butler=butler,
            source=source,
        )
        for name, butler, source in (("Ada", "ops", "web"), ("Ben", "shop", "tool"), ("Cleo", "ops", "tool"))
    }
    await knowledge.store_rule(content="Offer tea first", source_butler="ops")
    await knowledge.store_rule(content="Offer coffee second", source_butler="shop")

    async def subjects(query: str) -> list[str]:
        text = (await client.get(f"/knowledge/facts?{query}")).text
        return re.findall(r"<strong>(Ada|Ben|Cleo)</strong>", text)

    async with service.client("writer") as client:
        assert sorted(await subjects("butler=ops")) == ["Ada", "Cleo"]
        assert sorted(await subjects("source=tool")) == ["Ben", "Cleo"]
        assert await subjects("source=tool&butler=ops") == ["Cleo"]
        assert await subjects("confidence=0.2") == []
        meaning = "match=meaning&search=Ben+drinks:+Ben+drinks+tea"
        assert len(await subjects(meaning)) == 3
        assert sorted(await subjects(f"{meaning}&butler=ops")) == ["Ada", "Cleo"]
        assert await subjects(f"{meaning}&sort=subject") == ["Ada", "Ben", "Cleo"]
        rules = (await client.get("/knowledge/rules?butler=ops&match=meaning&search=tea")).text
        assert "Offer tea first" in rules
        assert "Offer coffee second" not in rules
        await client.post("/knowledge/facts/pin", data={"ids": [str(one.id) for one in stored.values()]})
    assert len(await knowledge.lists.facts(narrowing=Narrowing(tags=["pinned"]))) == 3


@pytest.mark.parametrize("mode", ["", "recall"])
async def test_a_search_takes_every_filter(service: Secured, mode: str) -> None:
    """By tag, time, writer, trust and entity; a recall does so too."""
    knowledge = service.memories.knowledge
    for name, tag, source, butler in (("Ada", "hot", "web", "ops"), ("Ben", "cold", "agent", "shop")):
        await knowledge.entities.create(canonical_name=name, entity_type="person")
        await knowledge.store_fact(
            subject=name, predicate="drinks", content="tea", tags=[tag], source=source, source_butler=butler
        )

    async with service.client("reader") as client:

        async def text(query: str) -> str:
            return (await client.get(f"/knowledge?mode={mode}&q=who+drinks+tea{query}")).text

        async def subjects(query: str) -> list[str]:
            return sorted(re.findall(r"<strong>(Ada|Ben)</strong>", await text(query)))

        both, none = ["Ada", "Ben"], []
        assert await subjects("") == both
        assert await subjects("&tag=cold") == ["Ben"]
        assert await subjects("&butler=ops") == ["Ada"]
        assert await subjects("&trust=agent") == ["Ben"]
        assert await subjects("&about=ada") == ["Ada"]
        assert await subjects("&since=2000-01-01&until=9999-12-31&known=&true=9999-12-31") == both
        assert await subjects("&until=2000-01-01") == none
        assert await subjects("&known=2000-01-01") == none
        assert await subjects("&true=2000-01-01") == none
        assert "name this entity" in await text("&about=ada")
        assert "No entity has the name “Clara”" in await text("&about=Clara")
        assert "since" in await text("&since=2020-01-02&until=2020-01-01")


async def test_a_rule_is_added_and_corrected(service: Secured) -> None:
    """By plain forms; a form with an error keeps its values and names the error at its field."""
    knowledge = service.memories.knowledge
    async with service.client("writer", accept="text/html") as client:
        refused = await client.post("/knowledge/rules", data={"content": "Offer tea", "scope": "s" * 101})
        assert refused.status_code == 422
        assert 'id="scope-error"' in refused.text
        assert "Offer tea" in refused.text
        added = {"content": "Offer tea", "tags": "kitchen, guests"}
        assert (await client.post("/knowledge/rules", data=added)).status_code == 303
        [rule] = await knowledge.lists.rules()
        assert (rule.content, rule.tags, rule.scope) == ("Offer tea", ("kitchen", "guests"), "global")
        path = f"/show/{rule.id}/edit"
        assert "Offer tea" in (await client.get(path)).text
        assert (await client.post(path, data={"content": ""})).status_code == 422
        await client.post(path, data={"content": "Offer coffee"})
    assert [one.content for one in await knowledge.lists.rules(forgotten=False)] == ["Offer coffee"]


async def test_several_facts_are_made_global(service: Secured) -> None:
    """Global facts and forgotten facts stay as they are."""
    knowledge = service.memories.knowledge
    ids = [
        (await knowledge.store_fact(subject=name, predicate="is", content=name, scope=scope)).id
        for name, scope in (("Ada", "ops"), ("Ben", "global"), ("Cleo", "ops"))
    ]
    await knowledge.forget("fact", ids[2])
    async with service.client("writer", **{"hx-request": "true"}) as client:
        answer = await client.post("/knowledge/facts/promote", data={"ids": [str(one) for one in ids]})
    assert answer.status_code in {200, 204}
    assert [one.scope for one in await knowledge.lists.facts(sort="subject")] == ["global", "global", "ops"]


def undo_form(page: str) -> dict[str, list[str]]:
    """Return the fields of the form that a change offers to undo it."""
    fields: dict[str, list[str]] = {}
    for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', page):
        fields.setdefault(name, []).append(value)
    return fields


@pytest.mark.parametrize("change", ["confirm", "pin", "tag", "promote", "forget"])
@pytest.mark.parametrize("kind", ["fact", "rule"])
async def test_a_change_of_several_memories_is_undone(service: Secured, kind: str, change: str) -> None:
    """Memories that the change left alone stay as they are, and so does a memory that changed since."""
    knowledge = service.memories.knowledge

    async def put(name: str) -> UUID:
        if kind == "fact":
            return (await knowledge.store_fact(subject=name, predicate="is", content=name, scope="ops")).id
        return (await knowledge.store_rule(content=name, scope="ops")).id

    async def states() -> list[tuple[object, ...]]:
        found = [await knowledge.read(kind, key) for key in ids]
        return [
            (one.last_confirmed_at, one.tags, one.scope, getattr(one, "validity", ""), one.metadata)
            for one in found
            if isinstance(one, Fact | Rule)
        ]

    ids = [await put(name) for name in ("Ada", "Ben", "Cleo")]
    await knowledge.forget(kind, ids[2])
    before = await states()
    async with service.client("writer", **{"hx-request": "true"}) as client:
        form = {"ids": [str(one) for one in ids], "tag": "kitchen"}
        path = f"/knowledge/{kind}s"
        answer = await client.post(
            f"{path}/{change}", data=form, headers={"hx-current-url": f"http://localhost{path}"}
        )
        assert answer.status_code == 200, answer.text
        assert f"2 {kind}s " in answer.text
        assert f"1 {kind} left unchanged." in answer.text
        changed = await states()
        assert [one != other for one, other in zip(before, changed, strict=True)] == [True, True, False]
        fields = undo_form(answer.text)
        undone = await client.post(f"{path}/undo", data=fields)
        assert undone.status_code == 204
    assert await states() == before


async def test_the_undo_of_a_promotion_moves_back_one_memory_alone(service: Secured) -> None:
    """Neither the merge of a project nor a promotion whose memory moved on is reported as undone."""
    knowledge = service.memories.knowledge
    ids = [
        (await knowledge.store_fact(subject=name, predicate="likes", content="tea", scope="shop")).id
        for name in ("Ada", "Ben")
    ]
    merged = (await knowledge.scopes.move("shop", "garden")).event_id
    promoted = (await knowledge.scopes.move_memory("fact", ids[0], "global")).event_id
    await knowledge.scopes.move_memory("fact", ids[0], "shop")
    async with service.client("writer", **{"hx-request": "true"}) as client:
        for event_id in (merged, promoted, uuid4()):
            answer = await client.post(
                "/knowledge/facts/undo",
                data={"change": "promote", "ids": str(event_id)},
                headers={"hx-current-url": "http://localhost/knowledge/facts"},
            )
            assert "The change of 1 fact could not be undone." in answer.headers["hx-trigger"], event_id
    assert [
        one.scope for one in await knowledge.lists.facts(sort="subject", criteria=FactCriteria(ids=ids))
    ] == ["shop", "garden"]


async def test_a_wrong_tag_is_refused_in_the_dialog(service: Secured) -> None:
    """The form keeps the selection and names the error at its field."""
    async with service.client("writer", **{"hx-request": "true"}) as client:
        fact_id = await store(client)
        page = (await client.get(f"/knowledge/facts/tag?ids={fact_id}")).text
        assert fact_id in page
        assert "Tag 1 fact" in page
        refused = await client.post("/knowledge/facts/tag", data={"ids": fact_id, "tag": "x" * 101})
        assert refused.status_code == 422
        assert 'id="tag-error"' in refused.text
        assert fact_id in refused.text


async def test_a_full_memory_does_not_stop_the_change_of_others(service: Secured) -> None:
    """A fact with as many tags as a fact may have stays unchanged; the others change, and the undo is offered."""
    full = {"subject": "shop", "predicate": "sells", "content": "tea", "tags": [f"t{n}" for n in range(50)]}
    async with service.client("writer", **{"hx-request": "true"}) as client:
        full_id = (await client.post("/api/v1/knowledge/facts", json=full)).json()["id"]
        ids = [full_id, await store(client)]
        address = {"hx-current-url": "http://localhost/knowledge/facts"}
        for selected in (ids, ids[::-1]):
            answer = await client.post(
                "/knowledge/facts/tag", data={"ids": selected, "tag": "kitchen"}, headers=address
            )
            assert answer.status_code == 200, answer.text
            assert "1 fact tagged. 1 fact left unchanged." in answer.text
            fields = undo_form(answer.text)
            assert fields["ids"] == [ids[1]]
            assert (await client.post("/knowledge/facts/undo", data=fields)).status_code == 204
        refused = await client.post("/knowledge/facts/tag", data={"ids": full_id, "tag": "kitchen"})
        assert refused.status_code == 422


@pytest.mark.parametrize(
    "path",
    [
        "/knowledge/facts?source=wrong",
        "/knowledge/rules?confidence=0.3",
        "/knowledge/facts?state=wrong",
        "/knowledge/facts?as_of=wrong",
        "/knowledge/runs?state=wrong",
        "/knowledge?mode=wrong&q=x",
        "/knowledge/events?type=a-b",
    ],
)
async def test_a_wrong_filter_is_named(service: Secured, path: str) -> None:
    """As a page for people, with the name of the field."""
    async with service.client("reader") as client:
        answer = await client.get(path)
        assert answer.status_code == 422
        field = path.partition("?")[2].partition("=")[0]
        assert field in answer.text


async def test_a_run_needs_a_model(service: Secured) -> None:
    """Without one nothing is changed, and the page says what to set."""
    async with service.client("admin") as client:
        answer = await client.post("/knowledge/runs/start", headers={"HX-Request": "true"})
        assert answer.status_code >= 400
        assert "commonplace consolidation allow" in answer.text
        await service.memories.knowledge.store_episode(content="Closed the shop", butler="shop")
        page = (await client.get("/knowledge/runs")).text
        assert "<code>commonplace consolidation allow MODEL</code>" in page


@pytest.mark.requirement("KNW-33.1")
async def test_the_audit_log_can_be_filtered_by_every_type(service: Secured) -> None:
    """Each is offered, those of entities and of consolidation as well."""
    async with service.client("reader") as reads:
        page = (await reads.get("/knowledge/events")).text
    assert set(EventType) <= set(re.findall(r'<option value="(\w+)"', page))


@pytest.mark.requirement("DSH-04.1")
async def test_a_line_of_a_tried_prompt_is_told_by_its_id(service: Secured) -> None:
    """Of two lessons with one text, the one without room is left out; a pinned fact about another thing is told."""
    operational, knowledge = service.memories.operational, service.memories.knowledge
    for name in ("radarr", "sonarr"):
        await operational.add(category="timing", service=name, observation="Starts in a minute")
    async with service.client("reader") as reads:
        shown = [
            (await reads.get(f"/briefing?prompt=port&budget={budget}")).text for budget in range(100, 300, 10)
        ]
    lines = [(page.partition('id="left-out"')) for page in shown]
    counts = {
        (told.count('<li id="line-lesson-'), missed.count('<li id="line-lesson-'))
        for told, _, missed in lines
    }
    assert counts == {(0, 2), (1, 1), (2, 0)}
    await knowledge.store_fact(subject="Ada", predicate="drinks", content="green tea", tags=["pinned"])
    async with service.client("reader") as reads:
        assert "Ada drinks: green tea" in (await reads.get("/briefing?prompt=port")).text


async def test_old_facts_that_were_never_used_are_forgotten_at_once(
    settings: Settings, knowledge_url: str
) -> None:
    """The list leaves out facts that are new, confirmed, pinned or used."""
    clock = ManualClock(datetime.now(UTC))
    there = settings.model_copy(update={"postgres_url": knowledge_url})
    async with secured(there, clock=clock) as service, service.client("writer") as writes:
        knowledge = service.memories.knowledge
        ids = {
            name: (await knowledge.store_fact(subject=name, predicate="is", content=f"{name} fact")).id
            for name in ("plain", "confirmed", "pinned", "used")
        }
        await knowledge.pin("fact", ids["pinned"])
        await knowledge.recall("used fact", limit=1)
        clock.advance(days=31)
        await knowledge.confirm("fact", ids["confirmed"])
        await knowledge.store_fact(subject="new", predicate="is", content="new fact")
        page = (await writes.get("/knowledge/unused")).text
        assert re.findall(r"(\w+) fact</span>", page) == ["plain"]
        form = {"ids": str(ids["plain"]), "csrf_token": re.findall(r'csrf_token" value="([^"]*)"', page)[0]}
        await writes.post("/knowledge/facts/forget", data=form)
        assert (await knowledge.read("fact", ids["plain"])).validity == "retracted"
        assert "was used or confirmed" in (await writes.get("/knowledge/unused")).text
