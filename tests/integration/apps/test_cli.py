"""``commonplace apps``: what each command prints, and how it fails."""

import json
from pathlib import Path

import pytest

from support.commands import CommandLine
from support.model_api import ModelApi, Says

CONVERSATION = {
    "conversation_id": "c-1",
    "messages": [
        {
            "role": "user",
            "content": "I prefer meetings after 2pm on weekdays. The Phoenix deadline is May 1.",
        },
        {"role": "assistant", "content": "Noted: meetings after 2pm, and the Phoenix deadline is May 1."},
    ],
}


def conversation(number: int, text: str) -> bytes:
    """Return a conversation of one message, as the command reads it."""
    messages = [{"role": "user", "content": text}]
    return json.dumps({"conversation_id": f"n-{number}", "messages": messages}).encode()


@pytest.fixture
def calendar(commonplace: CommandLine, tmp_path: Path) -> CommandLine:
    """The command, with one app and one conversation ingested."""
    assert commonplace("apps", "register", "cal", "--name", "Calendar").out == "registered cal (Calendar)\n"
    file = tmp_path / "conversation.json"
    file.write_text(json.dumps(CONVERSATION))
    done = commonplace("apps", "ingest", "cal", str(file))
    assert done.status == 0, done.err
    assert "created conversation c-1" in done.out
    assert "(sentences picked, no model)" in done.out
    return commonplace


@pytest.mark.requirement("APP-02.1", "APP-06.1", "R-APP-5")
def test_a_conversation_reaches_the_context(calendar: CommandLine) -> None:
    """As text and as JSON; another app gets nothing."""
    text = calendar("apps", "context", "cal").out
    assert text.startswith("(memories for app: Calendar)\n")
    assert "I prefer meetings after 2pm" in text
    document = calendar("apps", "context", "cal", "--json").json
    assert document["text"] == text.rstrip("\n")
    assert document["memories"][0]["sourceConversationId"] == "c-1"
    calendar("apps", "register", "mail")
    assert calendar("apps", "context", "mail").out == ""
    listed = calendar("apps", "list", "--json").json
    assert [(one["app"]["app_id"], one["memories"]) for one in listed["apps"]] == [("cal", 1), ("mail", 0)]
    assert "Calendar" in calendar("apps", "list").out


def test_ingesting_again_is_told(calendar: CommandLine) -> None:
    """With the receipt as JSON."""
    receipt = calendar("apps", "ingest", "cal", "-", "--json", stdin=json.dumps(CONVERSATION).encode()).json
    assert receipt["outcome"] == "repeated"
    assert calendar("apps", "memories", "cal", "--json").json["count"] == 1
    assert "deadline" in calendar("apps", "memories", "cal").out


def test_half_an_emoji_is_no_obstacle(calendar: CommandLine) -> None:
    """As programs leave it that cut text between its halves; it becomes a replacement character."""
    text = b'{"conversation_id": "h", "messages": [{"role": "user", "content": "The party is fun \\ud83d here."}]}'
    done = calendar("apps", "ingest", "cal", "-", "--json", stdin=text)
    assert done.json["memory"]["content"] == "The party is fun \ufffd here."


@pytest.mark.requirement("APP-16.6")
def test_sharing(calendar: CommandLine) -> None:
    """Shown to the other app, until it is undone."""
    calendar("apps", "register", "mail")
    assert calendar("apps", "share", "1", "mail").out == "a:1 shared with mail\n"
    assert "2pm" in calendar("apps", "context", "mail").out
    assert calendar("apps", "share", "1", "mail", "--undo", "--json").json["changed"] is True
    assert calendar("apps", "context", "mail").out == ""


@pytest.mark.requirement("APP-09.1", "APP-09.2")
def test_delete_purge_and_uninstall(calendar: CommandLine) -> None:
    """Each says what it removed."""
    calendar("apps", "ingest", "cal", "-", stdin=conversation(1, "The office in Graz has a garden."))
    assert calendar("forget", "a:1").out.startswith("forgot a:1 cal ")
    assert calendar("apps", "uninstall", "cal").out == "uninstalled cal: 1 memory retained, 0 purged\n"
    assert calendar("apps", "ingest", "cal", "-", stdin=conversation(2, "x y")).status == 1
    assert calendar("apps", "purge", "cal", "--json").json == {"app_id": "cal", "deleted": 1}
    assert calendar("apps", "uninstall", "cal", "--purge-memories", "--json").json["purged"] == 0
    assert calendar("apps", "memories", "cal").err == 'error: no app with id "cal"\n'


@pytest.mark.requirement("APP-16.8")
def test_conflicts(calendar: CommandLine) -> None:
    """Told at once, and listed."""
    assert "No conflicts." in calendar("apps", "conflicts", "cal").out
    calendar("apps", "ingest", "cal", "-", stdin=conversation(1, "The shop runs on port 8080."))
    done = calendar("apps", "ingest", "cal", "-", stdin=conversation(2, "The shop runs on port 9090."))
    assert 'conflict #2 and #3: "The shop runs on port 8080.", "The shop runs on port 9090."' in done.out
    assert '"8080" against "9090".' in done.out
    assert calendar("apps", "conflicts", "cal", "--json").json["conflicts"][0]["older"] == 2


@pytest.mark.requirement("APP-11.2", "APP-16.4")
def test_energy_and_statistics(calendar: CommandLine) -> None:
    """What is left, what waits, and how memory is used."""
    energy = calendar("admin", "energy", "--run", "--json").json
    assert energy["energy"]["capacity"] == 1000
    assert energy["waiting"] == []
    assert "No waiting digests." in calendar("admin", "energy").out
    figures = calendar("apps", "stats", "--json").json
    assert (figures["memories"], figures["created_last_hour"], figures["utilisation"]) == (1, 1, 1.0)
    assert "apps with digests" in calendar("apps", "stats").out


@pytest.mark.requirement("DIG-04.1")
def test_a_model_that_cannot_be_reached_defers_the_digest_and_says_so(calendar: CommandLine) -> None:
    """The digest waits; what needs no model works without it."""
    nobody = {"COMMONPLACE_MODEL": "ollama:llama3.2:1b", "OLLAMA_HOST": "127.0.0.1:9"}
    done = calendar("apps", "ingest", "cal", "-", stdin=conversation(1, "A fact of some kind."), **nobody)
    assert done.status == 0
    assert "deferred conversation n-1" in done.out
    assert "cannot be reached at http://127.0.0.1:9/v1: " in " ".join(done.out.split())
    assert calendar("apps", "digests", "list", "--state", "deferred", "--json").json["count"] == 1
    assert calendar("apps", "memories", "cal", "--json", COMMONPLACE_MODEL="anthropic:x").json["count"] == 1
    own = {"COMMONPLACE_MODEL": "ollama:x", "COMMONPLACE_MODEL_BASE_URL": "http://127.0.0.1:9"}
    assert calendar("apps", "context", "cal", stdin=b"", **own).status == 0
    assert "created conversation n-1" in calendar("apps", "digests", "retry", "--all").out


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (
            b"{",
            'a JSON document (Expecting property name enclosed in double quotes: line 1 column 2 (char 1)), got "-"',
        ),
        (b"[]", "conversation: expected an object, got []"),
        (b'{"conversation_id": "c", "messages": [{"role": "system", "content": "x"}]}', "messages.0.role"),
        (
            b'{"conversation_id": "c", "messages": [{"role": "user", "content": "x", "name": "Ada"}]}',
            "messages.0.name: expected no value, because this field does not exist",
        ),
        (b'{"conversation_id": "", "messages": []}', "conversation_id"),
    ],
)
def test_a_file_that_holds_no_conversation_is_an_error(
    calendar: CommandLine, stdin: bytes, said: str
) -> None:
    """One line that says where."""
    done = calendar("apps", "ingest", "cal", "-", stdin=stdin)
    assert (done.status, done.out) == (1, "")
    assert said in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["ingest", "x", "/nowhere"], ["context", "x"], ["share", "9", "x"]])
def test_what_is_not_there_is_an_error(commonplace: CommandLine, arguments: list[str]) -> None:
    """Exit status 1."""
    done = commonplace("apps", *arguments)
    assert done.status == 1
    assert done.err.startswith("error: ")
    assert "Errno" not in done.err


@pytest.mark.requirement("DIG-04.1")
def test_digests_are_listed_by_their_state(calendar: CommandLine) -> None:
    """None was skipped here; a retry needs an id or --all."""
    assert calendar("apps", "digests", "list").out == "No skipped digests.\n"
    assert calendar("apps", "digests", "list", "--state", "deferred", "--json").json == {
        "count": 0,
        "digests": [],
    }
    assert calendar("apps", "digests", "retry", "--all").out == "No skipped or deferred digests.\n"
    assert "expected an id, or --all" in calendar("apps", "digests", "retry").err
    assert calendar("apps", "digests", "retry", "c-9").status == 1


@pytest.mark.requirement("DIG-02.1", "DIG-04.1")
def test_a_refusal_is_told_once_and_listed_with_its_state_and_time(calendar: CommandLine) -> None:
    """The receipt gives the reason on standard output, and the log on standard error."""
    with ModelApi() as api:
        api.script(Says("I'm sorry, but I can't help with that."))
        model = {"COMMONPLACE_MODEL": "ollama:x", "OLLAMA_HOST": api.url}
        done = calendar("apps", "ingest", "cal", "-", stdin=conversation(1, "Only after 2pm."), **model)
    assert done.status == 1
    assert [each.count("the model refused to answer") for each in (done.out, done.err)] == [1, 1]
    listed = calendar("apps", "digests", "list").out
    assert "n-1" in listed
    assert "skipped" in listed
    (digest,) = calendar("apps", "digests", "list", "--json").json["digests"]
    assert f"{digest['updated_at']:.10}" in listed


@pytest.mark.requirement("DIG-06.1")
def test_a_transcript_is_deleted_by_its_id(calendar: CommandLine) -> None:
    """Which the list tells. Its memory stays."""
    (listed,) = calendar("apps", "conversations", "list", "cal", "--json").json["conversations"]
    assert (listed["conversation_id"], listed["message_count"]) == ("c-1", 2)
    assert calendar("apps", "conversations", "delete", "c-1").out == "deleted conversation c-1 (2 messages)\n"
    assert calendar("apps", "memories", "cal", "--json").json["count"] == 1
    assert calendar("apps", "conversations", "delete", "c-1").status == 1
    assert calendar("apps", "conversations", "list", "cal").out == "No ended conversations.\n"
    assert calendar("apps", "conversations", "list", "nobody").status == 1
