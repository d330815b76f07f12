"""The input of a hook."""

import json
from pathlib import Path

from commonplace.core.settings import load_settings
from commonplace.hosts.hooks.hook_input import read_call


def test_relative_paths_count_from_the_directory_of_the_client(tmp_path: Path) -> None:
    """Not from that of the process that answers; absolute paths stay."""
    loaded = load_settings(read_current_directory=False, environ={"COMMONPLACE_HOME": str(tmp_path)})
    session = "6f0e1b5e-0f7b-4a35-9f3b-1c2d3e4f5a6b"
    for cwd, transcript in ((".", "t.jsonl"), (str(tmp_path), str(tmp_path / "t.jsonl"))):
        document = json.dumps({"session_id": session, "cwd": cwd, "transcript_path": transcript})
        call = read_call(document, loaded, {}, directory=tmp_path)
        assert call.settings.workspace == tmp_path
        assert call.transcript == tmp_path / "t.jsonl"
