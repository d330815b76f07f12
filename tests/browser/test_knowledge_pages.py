"""The pages of knowledge memory in a browser: find out why, follow a history, merge, undo; and how they look."""

import asyncio
import re
from contextlib import suppress

import pytest
from playwright.async_api import Error, Locator, Page, Route, expect

from commonplace.knowledge import FactDraft, Narrowing
from support.browser import MEDIUM, NARROW, Screenshot, check_accessibility
from support.dashboards import Dashboard
from support.known import fill


def dialog(page: Page) -> Locator:
    """Return the dialog that is open."""
    return page.get_by_role("dialog")


async def test_a_search_says_why(page: Page, dashboard: Dashboard) -> None:
    """A result has its ranks, scores, decay and a sentence; looking counts as no reading; nothing found says so."""
    knowledge = dashboard.memories.knowledge
    known = await fill(knowledge)
    await page.goto("/knowledge")
    await expect(
        page.locator("#knowledge .figure", has_text="Dead letters").locator("dd").first
    ).to_have_text("1")
    await page.get_by_label("Search knowledge").fill("database listens")
    first = page.locator(f"#found-{known.port}")
    await expect(first).to_contain_text("number 1 by meaning and number 1 by words")
    await expect(first).to_contain_text("has become 0.79 in 30 days without confirmation")
    await page.get_by_label("Search by").select_option("recall")
    await expect(first).to_contain_text("most of it for")
    await expect(first.locator(".scores")).to_contain_text("Importance")
    assert (await knowledge.read("fact", known.port)).reference_count == 0
    await page.get_by_label("Search by").select_option("keyword")
    await page.get_by_label("Search knowledge").fill("zebra")
    await expect(page.get_by_text("No results")).to_be_visible()


async def test_the_history_of_a_fact(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """It leads from version to version; confirming, correcting and forgetting show at once."""
    knowledge = dashboard.memories.knowledge
    known = await fill(knowledge)
    await page.goto("/knowledge/facts?state=active")
    await page.get_by_role("link", name="database listens on: 6432").click()
    history = page.get_by_role("region", name="History").locator("li")
    await expect(history).to_have_count(3)
    await expect(page.locator(".chart canvas")).to_be_visible()
    await expect(page.get_by_text("0.79")).to_be_visible()

    await page.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_text(re.compile(r"f:\w+ was confirmed\."))).to_be_visible()
    await expect(page.get_by_role("region", name="Confidence")).to_contain_text("1.0 of 1.0")
    await expect(page.locator(".chart canvas")).to_have_count(1)

    await page.get_by_role("link", name="Edit").click()
    await dialog(page).get_by_label("Text").fill("password: hunter2hunter2")
    await dialog(page).get_by_role("button", name="Save").click()
    await expect(dialog(page).get_by_role("alert")).to_contain_text("secret")
    await check_accessibility(page)
    await screenshot("knowledge-correct")
    await dialog(page).get_by_label("Text").fill("6543")
    await dialog(page).get_by_role("button", name="Save").click()
    await expect(history).to_have_count(4)
    [fact] = [one for one in await knowledge.history.chain(known.port) if one.validity == "active"]
    assert (fact.content, fact.supersedes_id, fact.entity_id) == ("6543", known.port, known.postgres)

    await page.get_by_role("button", name="Forget").click()
    await expect(page.get_by_text("This fact is forgotten")).to_be_visible()
    await expect(page.get_by_role("button", name="Forget")).to_have_count(0)
    await page.keyboard.press("u")
    await expect(page.get_by_role("button", name="Forget")).to_be_visible()


async def test_heads_of_columns_sort_where_rows_are_cards(page: Page, dashboard: Dashboard) -> None:
    """Facts and rules keep their orders, and the box that selects all, on a small screen."""
    for number in (2, 1, 3):
        await dashboard.memories.knowledge.store_fact(
            subject=f"db {number}", predicate="port", content=f"{number}", importance=number
        )
    for size in (MEDIUM, NARROW):
        await page.set_viewport_size(size)
        await page.goto("/knowledge/facts")
        await page.get_by_role("link", name="Importance").click()
        await expect(page.locator("#facts tbody tr").first).to_contain_text("db 3")
        await page.get_by_label("Select all on this page").check()
        await expect(page.get_by_text("3 selected")).to_be_visible()


async def test_facts_are_added_ordered_ticked_and_forgotten(
    page: Page, dashboard: Dashboard, screenshot: Screenshot
) -> None:
    """A fact is added and corrected in place; filters and order stay; ticked facts are confirmed or forgotten."""
    knowledge = dashboard.memories.knowledge
    for number in range(3):
        content = f"Listens on port {number}"
        await knowledge.store_fact(
            subject=f"db {number}", predicate="port", content=content, importance=number
        )
    await page.goto("/knowledge/facts")
    await page.get_by_role("link", name="Add a fact").click()
    for label, text in (("Subject", "Ada"), ("Predicate", "drinks"), ("Content", "Coffee")):
        await dialog(page).get_by_label(label).fill(text)
    await check_accessibility(page)
    await screenshot("knowledge-add-fact")
    await dialog(page).get_by_role("button", name="Add fact").click()
    await page.locator("#facts tr", has_text="Coffee").get_by_role("link", name="Edit f:").click()
    await dialog(page).get_by_label("Text").fill("Tea")
    await dialog(page).get_by_role("button", name="Save").click()
    await expect(page.locator("#facts tr", has_text="Tea")).to_be_visible()
    await screenshot("knowledge-facts-table")
    await page.get_by_role("link", name="Importance").click()
    rows = page.locator("#facts tbody tr")
    await expect(rows.first).to_contain_text("Ada")
    await page.get_by_label("Search facts").fill("LISTENS")
    await expect(rows).to_have_count(3)
    await expect(rows.first).to_contain_text("db 2")
    await page.locator('select[name="used"]').select_option("no")
    await expect(page).to_have_url(re.compile("used=no"))
    await expect(rows.first).to_contain_text("db 2")

    await rows.nth(0).get_by_role("checkbox").check()
    await rows.nth(2).get_by_role("checkbox").check()
    await expect(page.get_by_text("2 selected")).to_be_visible()
    await page.locator("#bulk").get_by_role("button", name="Confirm").click()
    await expect(page.get_by_text("2 facts confirmed.")).to_be_visible()
    await page.locator("#bulk").get_by_role("button", name="Tag").click()
    await expect(dialog(page).get_by_label("Tag", exact=True)).to_be_focused()
    await check_accessibility(page)
    await page.keyboard.type("network")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("2 facts tagged.")).to_be_visible()
    await expect(rows.first.get_by_text("network")).to_be_visible()
    await screenshot("knowledge-facts-undo")
    await check_accessibility(page)
    await page.keyboard.press("u")
    await expect(page.get_by_text("The change of 2 facts was undone.")).to_be_visible()
    await expect(rows.first.get_by_text("network")).to_have_count(0)
    await page.locator("#bulk").get_by_role("button", name="Forget").click()
    await expect(dialog(page)).to_contain_text(re.compile(r"Forget 2 facts\?.*Listens on port 0", re.DOTALL))
    await check_accessibility(page)
    await dialog(page).get_by_role("button", name="Forget").click()
    await expect(page.get_by_text("2 facts forgotten.")).to_be_visible()
    assert len(await knowledge.lists.facts(validity="retracted")) == 2
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator("#facts").get_by_text("forgotten", exact=True)).to_have_count(0)
    assert len(await knowledge.lists.facts(validity="active")) == 4


async def test_the_last_of_many_facts_and_a_filter_by_keyboard(page: Page, dashboard: Dashboard) -> None:
    """The pager leads to the end and back; on a slow network, the newest search wins; a chip removes its filter."""
    drafts = [FactDraft(subject=f"s{n:03}", predicate="is", content=f"c{n}", tags=("t",)) for n in range(101)]
    await dashboard.memories.knowledge.store_facts(drafts)
    await page.goto("/knowledge/facts?sort=subject&tag=t")
    await page.get_by_role("link", name="Last", exact=True).press("Enter")
    await expect(page.get_by_text("Last page")).to_be_visible()
    rows = page.locator("#facts tbody tr")
    await expect(rows.last).to_contain_text("s100")
    await page.get_by_role("link", name="Previous").press("Enter")
    await expect(rows.first).to_contain_text("s001")
    await page.get_by_role("link", name="Fact", exact=True).press("Enter")
    await expect(rows.first).to_contain_text("s100")
    await expect(page).to_have_url(re.compile("reverse=true"))
    held = asyncio.Event()

    async def slow(route: Route) -> None:
        await held.wait()
        with suppress(Error):
            await route.continue_()

    await page.route("**/knowledge/facts?*search=s050*", slow)
    search = page.get_by_label("Search facts")
    async with page.expect_request("**/knowledge/facts?*search=s050*"):
        await search.fill("s050")
    async with page.expect_event("requestfailed"):
        await search.fill("s007")
    held.set()
    await expect(rows).to_have_count(1)
    await expect(rows.first).to_contain_text("s007")
    await search.fill("")
    await expect(rows).to_have_count(50)
    await page.get_by_role("link", name="Remove the filter Tag: t").press("Enter")
    await expect(page).to_have_url(f"{dashboard.url}/knowledge/facts?reverse=true&sort=subject")
    await expect(page.get_by_label("Active filters")).to_have_count(0)


async def test_merge_and_unmerge(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """The question says what a merge will do; the tombstone leads on, and takes it back."""
    knowledge = dashboard.memories.knowledge
    known = await fill(knowledge)
    await page.goto("/knowledge/entities")
    await page.get_by_label("Search names").fill("bob")
    await page.get_by_role("link", name="Bob", exact=True).click()
    await page.get_by_role("link", name="Merge into another").click()
    await dialog(page).get_by_label("Entity to keep").fill("Rob")
    await dialog(page).get_by_role("button", name="Search").click()
    await dialog(page).get_by_role("link", name="Robert Miller").click()
    await expect(dialog(page)).to_contain_text("1 fact of Bob will move to Robert Miller")
    await expect(dialog(page)).to_contain_text("will get the aliases Bob, Bobby")
    await expect(dialog(page).locator("ins")).to_have_text("works at: the observatory in Bern")
    await check_accessibility(page)
    await screenshot("knowledge-merge")
    assert (await knowledge.entities.get(known.bob)).merged_into is None  # type: ignore[union-attr]
    await dialog(page).get_by_role("button", name="Merge").click()
    await expect(page).to_have_url(f"{dashboard.url}/knowledge/entities/{known.robert}")
    await expect(page.get_by_role("region", name="Facts")).to_contain_text("black coffee")

    await page.goto(f"/knowledge/entities/{known.bob}")
    await expect(page.get_by_text("Merged into Robert Miller")).to_be_visible()
    await screenshot("knowledge-tombstone")
    await page.get_by_role("link", name="Undo merge").click()
    await dialog(page).get_by_role("button", name="Undo merge").click()
    await expect(page.get_by_role("region", name="Facts")).to_contain_text("black coffee")
    await expect(page.get_by_role("link", name="Merge into another")).to_be_visible()
    facts = await knowledge.lists.facts(validity="active", narrowing=Narrowing(entity_id=known.robert))
    assert [fact.content for fact in facts] == ["the observatory in Bern"]


async def test_an_entity_is_added_and_its_error_stands_at_its_field(page: Page, dashboard: Dashboard) -> None:
    """A name that is taken is refused at the name; another one is added with its aliases."""
    knowledge = dashboard.memories.knowledge
    await knowledge.entities.create(canonical_name="Ada", entity_type="person")
    await page.goto("/knowledge/entities")
    await page.get_by_role("link", name="Add an entity").first.click()
    await dialog(page).get_by_label("Name", exact=True).fill("Ada")
    await dialog(page).get_by_label("Type").select_option("person")
    await dialog(page).get_by_label("Aliases").fill("Countess\nA. L.")
    await dialog(page).get_by_role("button", name="Add entity").click()
    await expect(dialog(page).get_by_role("alert")).to_contain_text("duplicate")
    await dialog(page).get_by_label("Name", exact=True).fill("Ada Lovelace")
    await dialog(page).get_by_role("button", name="Add entity").click()
    await expect(page.get_by_role("heading", name="Ada Lovelace")).to_be_visible()
    await expect(page.get_by_text("Countess")).to_be_visible()


async def test_a_click_in_the_graph_opens_the_thing(page: Page, dashboard: Dashboard) -> None:
    """The picture is drawn from what the list says too, and leads where the list leads."""
    known = await fill(dashboard.memories.knowledge)
    await page.goto(f"/knowledge/graph?entity={known.postgres}")
    graph = page.locator("#graph[data-drawn]")
    await expect(graph).to_have_attribute("data-drawn", "3")
    listed = page.get_by_role("region", name="List")
    await expect(
        listed.get_by_role("link", name="listens on: 6432, through pgbouncer").first
    ).to_have_attribute("href", f"/knowledge/facts/{known.port}")
    place = await graph.evaluate(
        "(graph, id) => graph.graph.getElementById(id).renderedPosition()", str(known.postgres)
    )
    await graph.click(position=place)
    await expect(page.get_by_role("heading", name="PostgreSQL cluster")).to_be_visible()


async def test_undo_of_a_run(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """A run shows what it did as a diff; undone, its facts are retracted and its episodes wait again."""
    knowledge = dashboard.memories.knowledge
    known = await fill(knowledge)
    await page.goto("/knowledge/runs?state=applied")
    await page.locator(f"#run-{known.run.id} a").click()
    plan = page.get_by_role("region", name="Actions").locator("li")
    await expect(plan).to_have_count(3)
    await expect(plan.first).to_contain_text("New")
    await page.get_by_role("link", name="Undo").click()
    await dialog(page).get_by_label("Consolidate its episodes again").check()
    await check_accessibility(page)
    await screenshot("knowledge-undo")
    await dialog(page).get_by_role("button", name="Undo run").click()
    await expect(
        page.get_by_text("The run was undone: 3 memories removed, 0 facts restored.")
    ).to_be_visible()
    await expect(plan.first).to_contain_text("forgotten")
    await expect(page.get_by_role("link", name="Undo")).to_have_count(0)
    episode = await knowledge.read("episode", known.consolidated)
    assert episode.consolidation_status == "pending"


@pytest.mark.requirement("ONE-06.4")
async def test_a_refused_action_says_why(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """Beside its button, until the next try; the list that refreshes itself does not take it away."""
    await dashboard.memories.knowledge.store_episode(content="Closed the shop", butler="shop")
    await page.goto("/knowledge/runs")
    await page.get_by_role("button", name="Consolidate now").click()
    waiting = page.get_by_role("region", name="Waiting")
    reason = waiting.get_by_role("alert")
    await expect(reason).to_have_text(
        re.compile("^No language model is set, so episodes cannot be consolidated")
    )
    await screenshot("knowledge-runs-refused")
    await dashboard.memories.knowledge.store_episode(content="Opened the shop", butler="shop")
    await page.evaluate("document.body.dispatchEvent(new Event('knowledge-changed'))")
    await expect(waiting).to_contain_text("2 episodes")
    await expect(reason).to_be_visible()


async def test_dead_letters_are_tried_again(page: Page, dashboard: Dashboard) -> None:
    """Each shows what went wrong; requeued, it waits from its first attempt."""
    knowledge = dashboard.memories.knowledge
    known = await fill(knowledge)
    await page.goto("/knowledge/episodes?state=dead_letter")
    await expect(page.locator(f"#episode-{known.dead}")).to_contain_text("No JSON block found")
    await page.get_by_role("link", name="Retry").click()
    await expect(dialog(page)).to_contain_text("Retry 1 dead letter?")
    await dialog(page).get_by_role("button", name="Retry").click()
    await expect(page.get_by_text("1 episode will be retried.")).to_be_visible()
    episode = await knowledge.read("episode", known.dead)
    assert (episode.consolidation_status, episode.retry_count) == ("pending", 0)
    await page.keyboard.press("u")
    await expect(page.get_by_text("The retry of 1 episode was undone.")).to_be_visible()
    await expect(page.locator(f"#episode-{known.dead}")).to_contain_text("No JSON block found")
    assert [letter.id for letter in await knowledge.dead_letters.list()] == [known.dead]


async def test_feedback_on_a_rule(page: Page, dashboard: Dashboard) -> None:
    """Helpful and harmful count at once, with the reason where it can be read."""
    knowledge = dashboard.memories.knowledge
    known = await fill(knowledge)
    await page.goto(f"/knowledge/rules/{known.rule}")
    await page.get_by_role("button", name="Mark as helpful").click()
    await expect(page.locator(".figure", has_text="Helped").locator("dd")).to_have_text("7")
    await page.get_by_role("link", name="Mark as harmful").click()
    await dialog(page).get_by_label("Reason").fill("It was Sunday")
    await dialog(page).get_by_role("button", name="Mark as harmful").click()
    await expect(page.get_by_role("region", name="Applications")).to_contain_text("It was Sunday")
    rule = await knowledge.read("rule", known.rule)
    assert (rule.success_count, rule.harmful_count) == (7, 2)


async def test_every_page_is_accessible(page: Page, dashboard: Dashboard, screenshot: Screenshot) -> None:
    """Nothing serious is wrong with any of them, light or dark."""
    known = await fill(dashboard.memories.knowledge)
    entries = await dashboard.memories.knowledge.events.list(event_type="fact_confirmed", limit=1)
    entries += await dashboard.memories.knowledge.events.list(limit=1)
    for name, path in {
        "knowledge": "/knowledge",
        "knowledge-search": "/knowledge?q=database+listens",
        "knowledge-recall": "/knowledge?q=sprint&mode=recall",
        "facts": "/knowledge/facts",
        "fact": f"/knowledge/facts/{known.port}",
        "rules": "/knowledge/rules",
        "rule": f"/knowledge/rules/{known.rule}",
        "episodes": "/knowledge/episodes",
        "dead-letters": "/knowledge/episodes?state=dead_letter",
        "episode": f"/knowledge/episodes/{known.consolidated}",
        "entities": "/knowledge/entities",
        "entity": f"/knowledge/entities/{known.bob}",
        "graph": "/knowledge/graph?all=true",
        "graph-question": "/knowledge/graph",
        "harm": "/knowledge/harm",
        "audit": "/knowledge/events",
        "audit-entry": f"/knowledge/events/{entries[0].id}",
        "runs": "/knowledge/runs",
        "run": f"/knowledge/runs/{known.run.id}",
        "workers": "/workers",
    }.items():
        await page.goto(path)
        await expect(page.locator("h1")).to_be_visible()
        await expect(page.locator(".card h1, [data-told]")).to_have_count(0)
        if name == "graph":
            await expect(page.locator("#graph[data-drawn]")).to_be_visible()
        await check_accessibility(page)
        await screenshot(f"knowledge-{name.removeprefix('knowledge-')}")
