"""The input of a hook."""

import json
from pathlib import Path

import pytest

from commonplace.core.settings import load_settings
from commonplace.hosts.hooks.hook_input import read_call
from commonplace.hosts.hooks.transcripts import read_messages


def test_relative_paths_count_from_the_directory_of_the_client(tmp_path: Path) -> None:
    """Not from that of the process that answers; absolute paths stay."""
    loaded = load_settings(read_current_directory=False, environ={"COMMONPLACE_HOME": str(tmp_path)})
    session = "6f0e1b5e-0f7b-4a35-9f3b-1c2d3e4f5a6b"
    for cwd, transcript in ((".", "t.jsonl"), (str(tmp_path), str(tmp_path / "t.jsonl"))):
        document = json.dumps({"session_id": session, "cwd": cwd, "transcript_path": transcript})
        call = read_call(document, loaded, {}, directory=tmp_path)
        assert call.settings.workspace == tmp_path
        assert call.transcript == tmp_path / "t.jsonl"


@pytest.mark.requirement("FOL-04.3")
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('"Which port is it?"', "Which port is it?"),
        (r'"Say \"go\" now"', 'Say "go" now'),
        ("deploy", "deploy"),
        ('"two words" "and more"', '"two words" "and more"'),
        ('What is "it"', 'What is "it"'),
    ],
)
def test_opencode_quotes_a_prompt_of_several_words(said: str, expected: str, tmp_path: Path) -> None:
    """Its command line does, the model sees it so, and a prompt that a person types in quotes is rare."""
    loaded = load_settings(read_current_directory=False, environ={"COMMONPLACE_HOME": str(tmp_path)})
    document = json.dumps({"session_id": "s", "cwd": str(tmp_path), "prompt": said})
    assert read_call(document, loaded, {}, host="opencode").prompt == expected
    line = json.dumps({"info": {"id": "m", "role": "user"}, "parts": [{"type": "text", "text": said}]})
    assert [message.text for message in read_messages([line])] == [expected]
    document = json.dumps({"session_id": "s", "cwd": str(tmp_path), "prompt": said})
    assert read_call(document, loaded, {}, host="codex").prompt == said
