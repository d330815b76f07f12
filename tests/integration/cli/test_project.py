"""``commonplace project`` as a person uses it."""

import json
import subprocess
from uuid import UUID, uuid4

import pytest

from support.commands import CommandLine, Done

pytestmark = pytest.mark.requirement("PRJ-01.1", "PRJ-02.1")


@pytest.fixture
def database(knowledge_url: str) -> str:
    """Return the URL of an empty database of knowledge memory."""
    return knowledge_url


def installed(commonplace: CommandLine) -> str:
    """Install into a Git repository in the directory, and return the id of its project."""
    subprocess.run(["git", "init", "-q"], cwd=commonplace.directory, check=True)
    assert commonplace("install", "claude-code").status == 0
    return commonplace("project", "show", "--json").json["id"]


def store(commonplace: CommandLine, scope: str, port: int, database: str) -> str:
    """Store the port of the database, and return the fact's id."""
    fact = ("database", "port", f"The database listens on {port}.", "--scope", scope, "--json")
    stored = commonplace("knowledge", "store-fact", *fact, COMMONPLACE_POSTGRES_URL=database)
    assert stored.status == 0, stored.err
    return stored.json["id"]


def ports(commonplace: CommandLine, scope: str, database: str) -> list[str]:
    """Return the facts about the port that a scope finds."""
    query = ("database port", "--scope", scope, "--type", "fact", "--json")
    found = commonplace("knowledge", "search", *query, COMMONPLACE_POSTGRES_URL=database).json["results"]
    return sorted(each["content"] for each in found)


def session_ends(commonplace: CommandLine, session_id: UUID, database: str, *more: str) -> Done:
    """Let a session with one prompt end in the directory."""
    transcript = commonplace.home / f"{session_id}.jsonl"
    message = {"role": "user", "content": f"Deploy {commonplace.directory.parent.name} at noon"}
    line = {"type": "user", "uuid": str(uuid4()), "cwd": str(commonplace.directory), "message": message}
    transcript.write_text(json.dumps(line) + "\n")
    call = {
        "session_id": str(session_id),
        "transcript_path": str(transcript),
        "cwd": str(commonplace.directory),
    }
    return commonplace(
        "hook", "session-end", *more, stdin=json.dumps(call).encode(), COMMONPLACE_POSTGRES_URL=database
    )


def test_a_project_is_shown_listed_and_renamed(commonplace: CommandLine) -> None:
    """An unknown directory says which command makes a project."""
    none = commonplace("project", "show")
    assert (none.status, none.out) == (1, "")
    assert "is not a project yet" in none.err
    assert "No projects yet." in commonplace("project", "list").out
    installed(commonplace)
    shown = commonplace("project", "show", "--json").json
    assert shown["path"] == str(commonplace.directory)
    assert commonplace("project", "rename", shown["id"], "Billing").status == 0
    (listed,) = commonplace("project", "list", "--json").json["projects"]
    assert (listed["id"], listed["name"]) == (shown["id"], "Billing")
    assert "Billing" in commonplace("project", "show").out
    assert commonplace("project", "rename", "nobody", "x").status == 1


@pytest.mark.requirement("PRJ-06.1")
def test_memory_is_off_in_one_project(commonplace: CommandLine, database: str) -> None:
    """A prompt gets nothing and a session leaves nothing, in worktrees too; after `on`, both work again."""
    project, other = (commonplace.at(commonplace.directory / name) for name in ("one", "other"))
    ids = {each.directory.name: installed(each) for each in (project, other)}
    store(project, "global", 1, database)
    fact = "The database listens on 1."

    def prompted(where: CommandLine) -> str:
        call = {
            "session_id": str(uuid4()),
            "transcript_path": "/none",
            "cwd": str(where.directory),
            "prompt": "Which port does the database listen on?",
        }
        document = json.dumps(call).encode()
        return where("hook", "user-prompt", stdin=document, COMMONPLACE_POSTGRES_URL=database).out

    assert fact in prompted(project)
    off = project("project", "off")
    assert off.out.startswith(f"memory is off in one ({ids['one']})")
    assert "memory is off here" in project("project", "show").out
    assert prompted(project) == ""
    assert fact in prompted(other)
    session_ends(project, uuid4(), database)
    episodes = ("Deploy at noon", "--type", "episode", "--json")
    searched = project("knowledge", "search", *episodes, COMMONPLACE_POSTGRES_URL=database)
    assert searched.json["results"] == []

    begun = {"session_id": str(uuid4()), "transcript_path": "/none", "cwd": str(project.directory)}
    started = project(
        "hook", "session-start", stdin=json.dumps(begun).encode(), COMMONPLACE_POSTGRES_URL=database
    )
    assert (started.status, started.out) == (0, "")

    assert project("project", "on").status == 0
    assert fact in prompted(project)


def test_a_merge_shares_one_memory_and_is_taken_back(commonplace: CommandLine, database: str) -> None:
    """The newer of two facts stays; the older one is back after the merge is undone."""
    one, other = (commonplace.at(commonplace.directory / name) for name in ("one", "other"))
    ids = [installed(each) for each in (one, other)]
    store(one, ids[0], 1, database)
    store(other, ids[1], 2, database)

    planned = one("project", "merge", "one", "other", "--dry-run", COMMONPLACE_POSTGRES_URL=database)
    assert "would move 0 episodes, 1 fact and 0 rules" in planned.out
    assert ports(one, ids[0], database) == ["The database listens on 1."]
    merged = one("project", "merge", "one", "other", COMMONPLACE_POSTGRES_URL=database)
    assert merged.status == 0, merged.err
    assert "facts with the same key: 1 pair; the newer fact of each pair stays" in merged.out
    backwards = one("project", "merge", "other", "one", COMMONPLACE_POSTGRES_URL=database)
    assert backwards.status == 1
    assert f"{ids[0]} already uses the memory of {ids[1]}: run" in backwards.err
    assert f"`commonplace project unmerge {ids[0]}` first" in backwards.err
    assert ports(one, ids[1], database) == ["The database listens on 2."]
    assert f"uses the memory of {ids[1]}" in one("project", "show").out

    unmerged = one("project", "unmerge", "one", COMMONPLACE_POSTGRES_URL=database)
    assert unmerged.out.startswith(f"{ids[0]} uses its own memory again\n")
    assert ports(one, ids[0], database) == ["The database listens on 1."]
    again = one("project", "unmerge", "one", COMMONPLACE_POSTGRES_URL=database)
    assert (again.status, again.err) == (
        1,
        f"error: The project {ids[0]} was not merged, so there is nothing to undo.\n",
    )


def test_a_merge_in_parts_and_a_merge_of_a_merged_project_are_taken_back(
    commonplace: CommandLine, database: str
) -> None:
    """A merge that was interrupted and run again is undone as a whole; of a chain, the last merge is undone first."""
    places = [commonplace.at(commonplace.directory / name) for name in ("one", "other", "third")]
    one, other, third = (installed(each) for each in places)

    def project(*arguments: str) -> Done:
        return commonplace("project", *arguments, COMMONPLACE_POSTGRES_URL=database)

    store(commonplace, one, 1, database)
    assert project("merge", one, other).status == 0
    fact = ("cache", "port", "The cache listens on 2.", "--scope", one)
    assert commonplace("knowledge", "store-fact", *fact, COMMONPLACE_POSTGRES_URL=database).status == 0
    assert project("merge", one, other).status == 0
    assert project("merge", other, third).status == 0

    refused = project("unmerge", one)
    assert (refused.status, f"Run `commonplace project unmerge {other}` first" in refused.err) == (1, True)
    assert project("unmerge", other).status == 0
    undone = project("unmerge", one)
    assert (undone.status, undone.out.count("moved 0 episodes, 1 fact and 0 rules")) == (0, 2)
    assert ports(commonplace, one, database) == ["The cache listens on 2.", "The database listens on 1."]
    typo = project("merge", "typo", other)
    assert (typo.status, typo.out) == (1, "")
    assert 'source: expected a project, or a scope with memories, got "typo"' in typo.err


def test_what_earlier_releases_stored_under_a_name_goes_to_the_projects(
    commonplace: CommandLine, database: str
) -> None:
    """Each project gets the episodes of its own sessions; a preview comes first."""
    mine, theirs = (commonplace.at(commonplace.directory / client / "api") for client in ("mine", "theirs"))
    for each in (mine, theirs):
        assert session_ends(each, uuid4(), database, "--butler", "api").status == 0
        installed(each)

    planned = commonplace("project", "adopt", "--dry-run", "--json", COMMONPLACE_POSTGRES_URL=database).json
    assert [len(each["episodes"]) for each in planned["moves"]] == [1, 1]
    done = commonplace("project", "adopt", "--json", COMMONPLACE_POSTGRES_URL=database)
    assert done.json["moves"] == [
        each | {"event_id": made["event_id"]}
        for each, made in zip(planned["moves"], done.json["moves"], strict=True)
    ]

    for each, other in ((mine, "theirs"), (theirs, "mine")):
        project = each("project", "show", "--json").json["id"]
        found = each(
            "knowledge",
            "search",
            "deploy noon",
            "--scope",
            project,
            "--json",
            COMMONPLACE_POSTGRES_URL=database,
        ).json
        assert [other in result["content"] for result in found["results"]] == [False]
    assert (
        "No memories to move."
        in commonplace("project", "adopt", "--dry-run", COMMONPLACE_POSTGRES_URL=database).out
    )


def test_a_fact_is_promoted_and_demoted(commonplace: CommandLine, database: str) -> None:
    """Global facts are read by every project."""
    project = installed(commonplace)
    fact = store(commonplace, project, 5432, database)
    assert ports(commonplace, "another", database) == []
    assert commonplace("project", "promote", "fact", fact, COMMONPLACE_POSTGRES_URL=database).status == 0
    assert ports(commonplace, "another", database) == ["The database listens on 5432."]
    assert (
        commonplace("project", "demote", "fact", fact, project, COMMONPLACE_POSTGRES_URL=database).status == 0
    )
    assert ports(commonplace, "another", database) == []
