"""``commonplace knowledge``: what each command prints, and how it fails."""

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from commonplace.storage.embedded import remove_cluster
from support.commands import CommandLine, Done, clean_environment
from support.deadlines import DEADLINE_S

Knowledge = Callable[..., Done]
NO_ID = "6f1e4c1e-0000-4000-8000-000000000000"


@pytest.fixture
def knowledge(commonplace: CommandLine, knowledge_url: str) -> Knowledge:
    """``commonplace knowledge`` on a database of the test's own."""

    def run(*arguments: str) -> Done:
        return commonplace("knowledge", *arguments, COMMONPLACE_POSTGRES_URL=knowledge_url)

    return run


@pytest.mark.requirement("KNW-02.2")
def test_a_later_fact_is_shown_with_the_fact_that_holds_now(knowledge: Knowledge) -> None:
    """In the receipt, in the list and in results."""
    first = knowledge("store-fact", "office", "city", "Graz", "--json").json
    receipt = knowledge("store-fact", "office", "city", "Linz", "--valid-from", "2999-05-01").out
    assert receipt.splitlines()[1] == f"replaced fact {first['short_id']} from 2999-05-01; until then: Graz"
    for shown in (knowledge("list", "facts"), knowledge("search", "city of the office")):
        assert "Linz (from 2999-05-01; until then: Graz)" in " ".join(shown.out.split())


@pytest.mark.requirement("KNW-02.2", "KNW-07.4", "KNW-08.1", "KNW-20.1")
def test_what_is_stored_is_found(knowledge: Knowledge) -> None:
    """Facts, rules and episodes; as tables and as JSON, with the reasons where they are asked for."""
    first = knowledge("store-fact", "staging", "port", "It listens on 5433", "--tag", "infra", "--json").json
    again = knowledge("store-fact", "staging", "port", "It listens on 5434", "--importance", "9")
    assert again.out.splitlines()[1] == f"replaced fact {first['short_id']}: It listens on 5433"
    fact_id = again.out.split()[2]
    assert knowledge("store-rule", "Check the port before a deploy", "--scope", "web").status == 0
    assert "stored episode" in knowledge("store-episode", "The port was moved", "--butler", "web").out
    found = knowledge("search", "which port", "--type", "fact", "--explain", "--json").json
    assert (found["count"], found["results"][0]["short_id"]) == (1, fact_id)
    assert "by meaning" in found["results"][0]["explanation"]["why"]
    assert not {"embedding", "search_vector"} & found["results"][0].keys()
    table = knowledge("search", "which port", "--mode", "contextual", "--scope", "web").out
    assert all(
        text in table for text in ("staging port: It listens on 5434", "The port was moved", "a deploy")
    )
    explained = knowledge("recall", "port", "--limit", "1", "--explain").out
    assert "It scores" in explained
    block = knowledge("context", "--prompt", "port", "--butler", "web").out
    assert block.startswith("# Memory Context\n")
    assert "- [staging] [port]: It listens on 5434 (confidence: 1.00)\n" in block
    assert len(knowledge("context", "--prompt", "port", "--butler", "web", "--budget", "20").out) <= 80
    read = knowledge("get", "fact", fact_id, "--json").json
    assert (read["supersedes_id"], read["importance"]) == (first["id"], 9.0)
    assert "It listens on 5434" in knowledge("get", "fact", fact_id).out
    assert knowledge("search", "nothing like it", "--mode", "keyword").out == "No memories.\n"
    edited = knowledge("edit", "fact", fact_id, "It listens on 5435")
    assert edited.out.startswith("edited: fact f:")
    assert "It listens on 5435" in knowledge("get", "fact", edited.out.split()[-1]).out


@pytest.mark.requirement("KNW-05.7", "KNW-05.8", "KNW-12.3", "KNW-15.3", "KNW-21.1", "KNW-22.1")
def test_an_operator_looks_after_what_is_stored(knowledge: Knowledge) -> None:
    """Confirm, judge, count, sweep, clean up, forget."""
    stored = knowledge("store-rule", "Be brief", "--json").json
    rule_id, short_id = stored["id"], stored["short_id"]
    episode_id = knowledge("store-episode", "It was brief", "--butler", "web", "--json").json["id"]
    assert knowledge("confirm", "rule", rule_id).out == f"confirmed rule {short_id}\n"
    assert "is candidate, effectiveness 1.00 after 1" in knowledge("helpful", rule_id).out
    marked = knowledge("harmful", rule_id, "--reason", "too brief", "--json").json
    assert (marked["harmful_count"], marked["metadata"]["harmful_reasons"]) == (1, ["too brief"])
    counted = {"episodes_pending": 1, "groups": {"web": 1}, "consolidated": False}
    assert counted.items() <= knowledge("consolidate", "--json").json.items()
    assert "web" in knowledge("consolidate").out
    assert knowledge("sweep", "--json").json["rules_evaluated"] == 1
    assert "rules evaluated" in knowledge("sweep").out
    assert knowledge("forget", "episode", episode_id, "--json").json["ok"]
    assert knowledge("consolidate").out == "No episodes are waiting.\n"
    assert knowledge("cleanup", "--json").json["expired_deleted"] == 1
    assert "remaining" in knowledge("cleanup", "--max-entries", "5").out
    knowledge("forget", "rule", rule_id)
    assert knowledge("stats", "--json").json["rules"]["forgotten"] == 1
    assert "forgotten" in knowledge("stats", "--scope", "web").out


@pytest.mark.requirement("RCL-01.1", "RCL-04.1")
def test_a_pinned_rule_is_in_every_block(
    commonplace: CommandLine, knowledge_url: str, knowledge: Knowledge
) -> None:
    """With the short id that the other commands take, and the floor as an option."""
    rule_id = knowledge("store-rule", "Be brief", "--json").json["id"]
    knowledge("store-fact", "staging", "port", "It listens on 5433")
    asked = ("context", "--prompt", "Who won the cup?", "--butler", "web")
    assert commonplace("pin", rule_id, COMMONPLACE_POSTGRES_URL=knowledge_url).status == 0
    block = knowledge(*asked, "--ids", "--dates").out
    assert "5433" not in block
    short_id = block.rpartition("[")[2].partition("]")[0]
    assert ", as of " in knowledge(*asked, "--dates", "--min-relevance", "0").out
    assert knowledge("helpful", short_id, "--json").json["id"] == rule_id
    assert commonplace("unpin", short_id, COMMONPLACE_POSTGRES_URL=knowledge_url).status == 0
    assert knowledge(*asked).out == "# Memory Context\n"
    assert knowledge("recall", "Who won the cup?", "--min-relevance", "0", "--json").json["count"] == 2
    nothing = knowledge("recall", " ")
    assert (nothing.status, nothing.out) == (1, "")
    assert nothing.err == 'error: topic: expected text, such as a question or a name, got " "\n'
    found = knowledge("search", "Who won the cup?", "--mode", "contextual", "--min-relevance", "0.58")
    assert found.out == "No memories.\n"


@pytest.mark.requirement("KNW-15.2")
def test_a_cleanup_by_hand_keeps_what_the_setting_says(
    commonplace: CommandLine, knowledge_url: str, knowledge: Knowledge
) -> None:
    """Unless it is told a number of its own."""
    for number in range(3):
        knowledge("store-episode", f"turn {number}", "--butler", "web")
    asyncio.run(_consolidate_all(knowledge_url))
    settings: dict[str, Any] = {
        "COMMONPLACE_POSTGRES_URL": knowledge_url,
        "COMMONPLACE_EPISODE_MAX_ENTRIES": "2",
    }
    assert commonplace("knowledge", "cleanup", "--json", **settings).json["capacity_deleted"] == 1
    told = commonplace("knowledge", "cleanup", "--max-entries", "1", "--json", **settings).json
    assert (told["capacity_deleted"], told["remaining"]) == (1, 1)


@pytest.mark.parametrize(("command", "said"), [("sweep", "rules checked: 0"), ("cleanup", "deleted: 0")])
def test_upkeep_shows_on_a_terminal_how_far_it_is(
    commonplace: CommandLine, knowledge_url: str, command: str, said: str
) -> None:
    """Where there is none, or with JSON, nothing but the result is printed."""
    environment = clean_environment(
        commonplace.home, COMMONPLACE_POSTGRES_URL=knowledge_url, TERM="xterm", COLUMNS="120"
    )
    for arguments, shown in ((), True), (("--json",), False):
        ours, theirs = os.openpty()
        with open(ours, "rb", buffering=0) as terminal:  # noqa: PTH123 - a number, no path
            done = subprocess.run(
                [commonplace.program, "knowledge", command, *arguments],
                env=environment, stdout=subprocess.PIPE, stderr=theirs, check=True,
            )  # fmt: skip
            os.write(theirs, b"(end)")
            os.close(theirs)
            written = b""
            while not written.endswith(b"(end)"):  # One read returns what arrived together.
                written += terminal.read(65_536)
        assert (said.encode() in written) == shown
        assert b"checked" not in done.stdout
    plain = commonplace("knowledge", command, COMMONPLACE_POSTGRES_URL=knowledge_url)
    assert (plain.status, plain.err) == (0, "")


async def _consolidate_all(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute("SELECT set_config('commonplace.tenant_id', 'default', true)")
            await connection.execute(
                "UPDATE episodes SET consolidated = true, consolidation_status = 'consolidated'"
            )
    finally:
        await connection.close()


@pytest.mark.requirement("KNW-16", "KNW-17", "KNW-18")
def test_entities_are_kept_apart_and_put_together(knowledge: Knowledge) -> None:
    """Create, resolve, change, merge, unmerge; facts may be about one."""
    create = ("entity", "create", "--type", "person", "--json")
    anna = knowledge(*create, "Anna Smith", "--alias", "Annie", "--metadata", '{"team": "infra"}').json
    smith = knowledge(*create, "A. Smith").json
    assert (anna["aliases"], anna["metadata"]) == (["Annie"], {"team": "infra"})
    fact = knowledge("store-fact", "Anna", "city", "Lisbon", "--entity", anna["id"], "--json").json
    assert knowledge("get", "fact", fact["id"], "--json").json["entity_id"] == anna["id"]
    assert knowledge("entity", "get", "annie", "--json").json["id"] == anna["id"]
    assert knowledge("list", "facts", "--entity", "Anna Smith", "--json").json["count"] == 1
    for name in ("annie", anna["id"], anna["short_id"], anna["id"][:8]):
        (about,) = knowledge("search", "Lisbon", "--entity", name, "--json").json["results"]
        assert about["id"] == fact["id"]
    found = knowledge("entity", "resolve", "annie", "--topic", "Lisbon", "--with", "Bob", "--json").json
    assert (found["count"], found["candidates"][0]["name_match"]) == (1, "alias")
    assert found["candidates"][0]["score"] > 80
    assert "Anna Smith" in knowledge("entity", "resolve", "Ana Smith", "--fuzzy").out
    assert knowledge("entity", "resolve", "Zoe", "--type", "place").out == "No entities.\n"
    merged = knowledge("entity", "merge", smith["id"], anna["id"], "--json").json
    assert merged["target_entity_id"] == anna["id"]
    assert knowledge("entity", "get", smith["id"], "--json").json["survivor_id"] == anna["id"]
    assert knowledge("entity", "unmerge", smith["short_id"]).status == 0
    renamed = knowledge(
        "entity", "update", anna["short_id"], "--name", "Anna Miller", "--no-aliases", "--json"
    ).json
    assert (renamed["canonical_name"], renamed["aliases"]) == ("Anna Miller", [])


@pytest.mark.requirement("KNW-29.1", "KNW-29.2", "R-KNW-12")
def test_a_tenant_is_named_by_an_option(knowledge: Knowledge) -> None:
    """And is ``default`` where none is named."""
    knowledge("store-fact", "a", "b", "of acme", "--tenant", "acme")
    knowledge("store-fact", "a", "b", "of nobody")
    for tenant, content in (("acme", "of acme"), ("default", "of nobody")):
        (found,) = knowledge("recall", "a b", "--tenant", tenant, "--json").json["results"]
        assert found["content"] == content
    assert knowledge("recall", "a b", "--tenant", "globex", "--json").json["count"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["store-fact", "a", "b", " "], "error: content: expected text of 1 to"),
        (["store-fact", "a", "b", "c", "--entity", NO_ID], "error: entity_id: expected"),
        (["search", "a", "--entity", "Zoe"], "error: entity: expected the name of an entity"),
        (["search", "a", "--entity", ""], "error: entity: expected a name or an id"),
        (["list", "facts", "--entity", ""], "error: entity: expected a name or an id"),
        (["get", "fact", NO_ID], f'error: no fact with id "{NO_ID}"'),
        (["get", "fact", "7"], "error: memory_id: expected a UUID"),
        (["confirm", "episode", NO_ID], "error: memory_type: expected fact or rule"),
        (["forget", "rule", NO_ID], "error: no rule with id"),
        (["helpful", NO_ID], "error: no rule with id"),
        (["entity", "get", NO_ID], "error: no entity with id"),
        (["stats", "--tenant", "a b"], "error: tenant_id: expected"),
        (["diff", "--from", "soon"], "error: --from: expected a date or a time, such as"),
        (["diff", "--from", "2026-01-01", "--to", "then"], "error: --to: expected a date or a time"),
    ],
)
def test_an_error_is_one_line_and_status_1(knowledge: Knowledge, arguments: list[str], message: str) -> None:
    """It names the field, what was expected and what came."""
    done = knowledge(*arguments)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(message)
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["knowledge"],
        ["knowledge", "store-episode", "x"],
        ["knowledge", "store-fact", "a", "b", "c", "--permanence", "forever"],
        ["knowledge", "search", "x", "--type", "facts"],
        ["knowledge", "search", "x", "--limit", "0"],
        ["knowledge", "store-episode", "x", "--butler", "b", "--importance", "11"],
        ["knowledge", "search", "x", "--min-confidence", "2"],
        ["knowledge", "entity", "merge", "x"],
        ["knowledge", "entity", "create", "A", "--type", "robot"],
        ["knowledge", "entity", "create", "A", "--type", "other", "--metadata", "[]"],
    ],
)
def test_wrong_usage_is_status_2(new_commonplace: CommandLine, arguments: list[str]) -> None:
    """Nothing is opened for it."""
    assert new_commonplace(*arguments).status == 2
    assert not new_commonplace.home.exists()


def test_a_secret_needs_the_operators_word(knowledge: Knowledge) -> None:
    """Refused without repeating it; stored when asked for."""
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    for command in (
        ["store-episode", secret, "--butler", "b"],
        ["store-fact", "a", "b", secret],
        ["store-rule", secret],
        ["entity", "create", secret, "--type", "other"],
    ):
        refused = knowledge(*command)
        assert refused.status == 1
        assert "appears to contain a secret" in refused.err
        assert secret not in refused.err
        assert knowledge(*command, "--allow-secrets").status == 0


def test_a_database_out_of_reach_is_one_line(commonplace: CommandLine, tmp_path: Path) -> None:
    """For a command, that is an error; the password is in no message."""
    url = f"postgresql://u:hunter2@/d?host={tmp_path}"
    for command in (
        ["stats"],
        ["store-episode", "x", "--butler", "b"],
        ["context", "--prompt", "x", "--butler", "b"],
    ):
        done = commonplace("knowledge", *command, COMMONPLACE_POSTGRES_URL=url)
        assert (done.status, done.out) == (1, "")
        assert done.err.startswith("error: ")
        assert done.err.count("\n") == 1
        assert "hunter2" not in done.err


@pytest.fixture
def embedded(commonplace: CommandLine) -> Iterator[CommandLine]:
    """The command in a home with a server of its own, which is deleted afterwards."""
    yield commonplace
    remove_cluster(commonplace.home / "postgres")


def test_it_needs_no_server_and_no_settings(embedded: CommandLine) -> None:
    """Two commands that begin together in an empty home share the server that one starts, and store one rule."""
    command = [embedded.program, "knowledge", "store-rule", "Be kind"]
    environment = clean_environment(embedded.home)
    both = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(timeout=DEADLINE_S) for process in both] == [0, 0]
    assert embedded("knowledge", "stats", "--json").json["rules"]["candidate"] == 1


def test_lists(knowledge: Knowledge) -> None:
    """Lists filter, print short ids, and have the fields of ``get`` as JSON."""
    old = knowledge("store-fact", "staging", "port", "It listens on 5433", "--json").json
    new = knowledge("store-fact", "staging", "port", "It listens on 5434", "--json").json
    knowledge("store-rule", "Check the port before a deploy", "--scope", "web")
    knowledge("store-episode", "The port was moved", "--butler", "web")
    entity = knowledge("entity", "create", "Ada Lovelace", "--type", "person", "--json").json["short_id"]
    listed = knowledge("list", "facts").out
    assert (new["short_id"] in listed, old["short_id"] in listed) == (True, False)
    former = knowledge("list", "facts", "--validity", "superseded", "--json").json
    assert [fact["id"] for fact in former["facts"]] == [old["id"]]
    assert former["facts"][0].keys() == knowledge("get", "fact", old["id"], "--json").json.keys()
    assert "Check the port" in knowledge("list", "rules", "--scope", "web", "--maturity", "candidate").out
    assert knowledge("list", "rules", "--scope", "other").out == "No rules.\n"
    assert "The port was moved" in knowledge("list", "episodes", "--butler", "web").out
    assert knowledge("list", "episodes", "--status", "failed", "--json").json == {"count": 0, "episodes": []}
    assert entity in knowledge("list", "entities", "--name", "ada").out
    assert knowledge("list", "entities", "--type", "place").out == "No entities.\n"
    assert knowledge("list", "facts", "--validity", "gone").status == 2


def test_a_replaced_fact_that_matters_waits_for_a_decision(
    commonplace: CommandLine, knowledge_url: str, knowledge: Knowledge
) -> None:
    """The receipt has the replaced text and the command that keeps both facts."""
    options = ("--importance", "10", "--permanence", "permanent")
    knowledge("store-fact", "Me", "allergic_to", "I am allergic to peanuts", *options)
    said = knowledge("store-fact", "Me", "allergic_to", "I am allergic to kiwi").out.splitlines()
    assert said[1].endswith(": I am allergic to peanuts")
    assert said[2] == "The replaced fact matters. To keep both: commonplace review k1 distinct"
    decided = commonplace("review", "k1", "distinct", COMMONPLACE_POSTGRES_URL=knowledge_url)
    assert decided.status == 0
    facts = knowledge("list", "facts", "--json").json["facts"]
    assert {fact["content"] for fact in facts} == {"I am allergic to peanuts", "I am allergic to kiwi"}


def test_a_fact_of_the_past_says_which_fact_stays_current(knowledge: Knowledge) -> None:
    """The fact of the present is still found."""
    knowledge("store-fact", "Uma", "lives_in", "Uma lives in Porto", "--valid-from", "2024-05-01")
    past = ("Uma lived in Madrid", "--valid-from", "2010-01-01", "--valid-to", "2015-01-01")
    stored = knowledge("store-fact", "Uma", "lives_in", *past).out
    assert stored.splitlines()[1] == "kept as history: 'Uma lives in Porto' stays current"
    assert "Porto" in knowledge("search", "where does Uma live?").out


def test_a_fact_that_begins_later_is_shown_with_the_fact_of_today(knowledge: Knowledge) -> None:
    """In the table of a search."""
    knowledge("store-fact", "office", "city", "In Graz")
    knowledge("store-fact", "office", "city", "In Linz", "--valid-from", "2999-01-01")
    shown = " ".join(knowledge("search", "office city").out.split())
    assert "In Linz (from 2999-01-01; until then: In Graz)" in shown


def test_a_near_key_is_named_with_the_command_that_joins_both_facts(
    commonplace: CommandLine, knowledge_url: str, knowledge: Knowledge
) -> None:
    """Which leaves the newer fact."""
    knowledge("store-fact", "staging db", "uses_port", "It listens on 5433")
    hint = knowledge("store-fact", "The staging DB", "uses port", "Ask Ada, who knows it").out.splitlines()[1]
    assert "has nearly this key: 'staging db' 'uses_port'. Both facts are current." in hint
    decision = hint.partition("commonplace review ")[2].split()
    assert commonplace("review", *decision, COMMONPLACE_POSTGRES_URL=knowledge_url).status == 0
    facts = knowledge("list", "facts", "--json").json["facts"]
    assert [fact["content"] for fact in facts] == ["Ask Ada, who knows it"]


def test_a_held_fact_is_listed_with_the_fact_that_it_contradicts(
    commonplace: CommandLine, knowledge_url: str, knowledge: Knowledge
) -> None:
    """Both texts are needed to decide."""
    knowledge("store-fact", "deploy", "tool", "We deploy with Argo")
    knowledge("store-fact", "deploy", "tool", "We deploy with Spinnaker", "--source", "tool")
    lines = commonplace("review", COMMONPLACE_POSTGRES_URL=knowledge_url).out.splitlines()
    assert " held [Contradicts: deploy tool: We deploy with Argo]: " in lines[0]
    assert lines[1].startswith("   this fact ")
    assert lines[1].endswith(": deploy tool: We deploy with Spinnaker")


def test_a_merge_prints_both_texts_of_a_conflict(knowledge: Knowledge) -> None:
    """Of equally certain facts, the target's fact stays."""
    bob, robert = (
        knowledge("entity", "create", name, "--type", "person", "--json").json["id"]
        for name in ("Bob", "Robert")
    )
    knowledge("store-fact", "Robert", "lives_in", "Robert lives in Rome", "--entity", robert)
    knowledge("store-fact", "Bob", "lives_in", "Bob lives in Oslo", "--entity", bob)
    merged = knowledge("entity", "merge", bob, robert).out
    assert "Robert lives in Rome" in merged
    assert "Bob lives in Oslo" in merged


@pytest.mark.requirement("ONE-01.2")
@pytest.mark.parametrize("verb", ["get", "confirm", "forget"])
def test_a_command_acts_on_the_fact_in_the_place_of_a_replaced_fact(knowledge: Knowledge, verb: str) -> None:
    """Standard error says so; standard output stays what programs read."""
    old = knowledge("store-fact", "staging", "port", "It listens on 5433", "--json").json
    new = knowledge("store-fact", "staging", "port", "It listens on 5434", "--json").json
    done = knowledge(verb, "fact", old["id"][:10], "--json")
    assert done.err == f"note: {old['short_id']} was replaced by {new['short_id']}\n"
    assert (done.json["id"], done.json["short_id"]) == (new["id"], new["short_id"])
    assert knowledge("list", "facts", "--json").json["count"] == (0 if verb == "forget" else 1)


@pytest.mark.requirement("ONE-01.2")
@pytest.mark.parametrize("verb", ["helpful", "harmful"])
def test_feedback_on_a_replaced_rule_counts_for_its_successor(knowledge: Knowledge, verb: str) -> None:
    """The rule that agents see learns from it."""
    old = knowledge("store-rule", "Be brief", "--json").json
    new = knowledge("edit", "rule", old["short_id"], "Be brief and kind", "--json").json
    done = knowledge(verb, old["short_id"], "--json")
    assert done.err == f"note: {old['short_id']} was replaced by {new['short_id']}\n"
    assert (done.json["id"], done.json["applied_count"]) == (new["id"], 1)


@pytest.mark.requirement("JDG-07.3")
def test_a_command_names_the_memory_that_a_new_one_corrects(knowledge: Knowledge) -> None:
    """The receipt says what it replaced; an id that cannot be replaced is one line and status 1."""
    fact = knowledge("store-fact", "staging", "port", "Staging listens on 5433", "--json").json["short_id"]
    other = ("store-fact", "staging", "listens_on", "Staging listens on 6000", "--replaces", fact)
    assert knowledge(*other).out.splitlines()[1] == f"replaced fact {fact}: Staging listens on 5433"
    again = knowledge(*other)
    assert (again.status, again.out) == (1, "")
    assert f"The fact {fact} was replaced by" in again.err
    rule = knowledge("store-rule", "Deploy with make ship", "--json").json["short_id"]
    done = knowledge("store-rule", "Deploy with the release workflow", "--replaces", rule)
    assert done.out.splitlines()[1] == f"It replaces {rule}."
    assert "memory of type rule" in knowledge("store-rule", "Never deploy", "--replaces", fact).err
