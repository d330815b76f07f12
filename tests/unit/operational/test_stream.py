"""Stream-json output, read into events and grouped into sessions."""

import json
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.operational.model.markers import Marker, MemoryMarker, RejectedMarker
from commonplace.operational.model.stream import (
    AssistantText,
    CliNotice,
    Damaged,
    SessionResult,
    SessionStarted,
    StreamEvent,
    ToolResult,
    ToolUse,
)
from commonplace.operational.rules.markers import parse_markers
from commonplace.operational.transcript.lines import HEAD_BYTES
from commonplace.operational.transcript.stream import StreamReader

MARKER = "[MEMORY:timing:jellyfin] Takes 60s to start after restart"


def line(**fields: object) -> bytes:
    """Write one line of a stream."""
    return json.dumps(fields, ensure_ascii=False).encode() + b"\n"


def init(session_id: object = "s-1") -> bytes:
    """Write an init line."""
    return line(
        type="system",
        subtype="init",
        session_id=session_id,
        model="claude-x",
        cwd="/srv/ops",
        tools=["Bash", "Read"],
    )


def says(text: str, *, parent: str | None = None, message_id: str = "msg_1") -> bytes:
    """Write an assistant line with one text block."""
    message = {
        "id": message_id,
        "model": "claude-x",
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
    }
    return line(type="assistant", message=message, parent_tool_use_id=parent, session_id="s-1")


def ends(session_id: str = "s-1", **fields: object) -> bytes:
    """Write a result line."""
    usual: dict[str, object] = {
        "subtype": "success",
        "is_error": False,
        "result": "All healthy.",
        "total_cost_usd": 0.0421,
        "num_turns": 7,
        "duration_ms": 48_211,
    }
    return line(type="result", session_id=session_id, **(usual | fields))


def read(*chunks: bytes) -> list[StreamEvent]:
    """Read pieces of a stream to its end."""
    reader = StreamReader()
    events = [event for chunk in chunks for event in reader.feed(chunk)]
    return events + reader.close()


def markers_of(*lines: bytes) -> list[Marker]:
    """Return the markers of a stream's assistant texts, in order."""
    texts = [event.text for event in read(*lines) if isinstance(event, AssistantText)]
    return [marker for text in texts for marker in parse_markers(text)]


@pytest.mark.requirement("OPS-20.1")
def test_a_session_is_read_from_start_to_result() -> None:
    """Init, text, tool call, tool output and result, each as its event."""
    call = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "Bash",
        "input": {"command": "docker ps", "timeout": 5},
    }
    output = {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [{"type": "text", "text": "Up 3 days"}],
    }
    assert read(
        init(),
        says("Looking."),
        line(type="assistant", message={"id": "msg_1", "content": [call]}),
        line(type="user", message={"role": "user", "content": [output]}),
        ends(),
    ) == [
        SessionStarted(session_id="s-1", model="claude-x"),
        AssistantText(text="Looking.", session_id="s-1", message_id="msg_1"),
        ToolUse(id="toolu_1", name="Bash", summary="command: docker ps, timeout: 5"),
        ToolResult(tool_use_id="toolu_1", is_error=False, excerpt="Up 3 days"),
        SessionResult(
            subtype="success",
            is_error=False,
            response="All healthy.",
            errors=(),
            cost_usd=0.0421,
            turns=7,
            duration_ms=48_211,
            session_id="s-1",
        ),
    ]


@pytest.mark.requirement("OPS-03.3", "R-OPS-2")
@pytest.mark.parametrize(
    "other",
    [
        line(
            type="user", message={"content": [{"type": "tool_result", "tool_use_id": "t", "content": MARKER}]}
        ),
        line(
            type="user",
            message={"content": [{"type": "tool_result", "content": [{"type": "text", "text": MARKER}]}]},
        ),
        line(type="user", message={"content": MARKER}),
        line(
            type="user", message={"content": [{"type": "text", "text": MARKER}]}, parent_tool_use_id="toolu_9"
        ),
        line(type="assistant", message={"content": [{"type": "thinking", "thinking": MARKER}]}),
        line(
            type="assistant",
            message={"content": [{"type": "tool_use", "input": {"command": f"echo '{MARKER}'"}}]},
        ),
        line(type="system", subtype="hook_response", stdout=MARKER),
        line(type="system", subtype="init", session_id="s-1", model=MARKER, tools=[MARKER]),
        line(
            type="stream_event",
            event={"type": "content_block_delta", "delta": {"type": "text_delta", "text": MARKER}},
        ),
        line(
            type="assistant", message={"model": "<synthetic>", "content": [{"type": "text", "text": MARKER}]}
        ),
        line(type="assistant", error="unknown", message={"content": [{"type": "text", "text": MARKER}]}),
        ends(result=MARKER),
        line(type="something_new", message={"content": [{"type": "text", "text": MARKER}]}),
        MARKER.encode() + b"\n",
    ],
)
def test_markers_count_only_in_what_the_assistant_wrote(other: bytes) -> None:
    """Tool output, prompts, thinking, hooks, partial blocks, notices and the result teach nothing."""
    assert markers_of(init(), other) == []
    assert len(markers_of(init(), other, says(MARKER))) == 1


@pytest.mark.requirement("OPS-03")
def test_a_forwarded_subagents_text_counts() -> None:
    """It is an assistant text block of the same session."""
    assert [type(marker) for marker in markers_of(says(MARKER, parent="toolu_9"))] == [MemoryMarker]


def test_lines_of_one_message_are_blocks_of_their_own() -> None:
    """The same message id on several lines repeats nothing."""
    assert [event.text for event in read(says("a"), says("b")) if isinstance(event, AssistantText)] == [
        "a",
        "b",
    ]


def test_an_api_failure_is_a_notice_and_an_error_result() -> None:
    """`success` with `is_error` is a failure, and its text is the CLI's."""
    message = {"model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 400 bad request"}]}
    notice, result = read(
        line(type="assistant", message=message, error="invalid_request"),
        ends(is_error=True, api_error_status=400),
    )
    assert notice == CliNotice(text="API Error: 400 bad request", error="invalid_request")
    assert isinstance(result, SessionResult)
    assert (result.subtype, result.is_error) == ("success", True)


def test_a_result_without_answer_keeps_its_errors() -> None:
    """Too many turns: no response, no `is_error` needed to see the failure."""
    (result,) = read(
        line(type="result", subtype="error_max_turns", errors=["Reached maximum number of turns (3)"])
    )
    assert isinstance(result, SessionResult)
    assert result.is_error
    assert result.response is None
    assert result.errors == ("Reached maximum number of turns (3)",)


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -1, "0.1", True, None, [], 10**400])
def test_a_cost_that_is_no_amount_is_missing(cost: object) -> None:
    """Nothing that a database could not hold or a sum could not bear comes through."""
    (result,) = read(ends(total_cost_usd=cost, num_turns=cost))
    assert isinstance(result, SessionResult)
    assert result.cost_usd is None
    assert result.turns is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"type":"assistant","message":{"content":[{"type":"te\n', "not JSON: Unterminated string"),
        (b"Warning: no stdin data received\n", "not JSON: Expecting value"),
        (b"[" * 100_000 + b"\n", "nested too deeply"),
        (b'{"n": ' + b"9" * 5_000 + b"}\n", "not JSON: Exceeds the limit"),
        (b'["type", "assistant"]\n', "not one JSON object"),
        (b'"text"\n', "not one JSON object"),
        (b'{"type":"x"}{"type":"y"}\n', "not one JSON object"),
        (b"\x00\xff\xfe\n", "not JSON: Expecting value"),
    ],
)
def test_a_damaged_line_is_reported_and_the_rest_is_read(data: bytes, reason: str) -> None:
    """The line's number, a reason and a start of it; the next line counts."""
    damaged, text = read(b"\n", data, says("Next"))
    assert isinstance(damaged, Damaged)
    assert damaged.line_number == 2
    assert damaged.reason.startswith(reason)
    assert 0 < len(damaged.excerpt) <= 500
    assert isinstance(text, AssistantText)


def test_a_stream_cut_in_its_last_line_says_so() -> None:
    """A whole last line needs no newline; half of one is damaged."""
    assert isinstance(read(says("Whole").rstrip(b"\n"))[0], AssistantText)
    assert isinstance(read(says("Half")[:-20])[0], Damaged)


def test_half_an_emoji_loses_no_marker() -> None:
    """JavaScript writes a lone surrogate as an escape; it is replaced, and the marker stands."""
    text = rb"\ud83d\n[MEMORY:timing] Slow \ud83d"
    (marker,) = markers_of(b'{"type":"assistant","message":{"content":"' + text + b'"}}')
    assert isinstance(marker, MemoryMarker)
    assert marker.observation == "Slow \N{REPLACEMENT CHARACTER}"


def test_raw_line_separators_inside_json_break_nothing() -> None:
    """U+0085 and U+2028 stand raw in a line, and only a newline ends it."""
    (event,) = read(says("a\x85b\u2028c\x0bd"))
    assert isinstance(event, AssistantText)
    assert event.text == "a\x85b\u2028c\x0bd"


@pytest.mark.requirement("ONE-03.3")
def test_bytes_that_are_no_utf_8_are_read_as_windows_1252() -> None:
    """A broken character costs itself alone, and no replacement character is stored."""
    (event,) = read(b'\xef\xbb\xbf{"type":"assistant","message":{"content":"caf\xe9 \x81b"}}\r\n')
    assert isinstance(event, AssistantText)
    assert event.text == "café \x81b"


def test_a_line_over_the_limit_is_skipped_and_reported() -> None:
    """Only its start is held; what follows is read; one at the limit is whole."""
    fits = says("x" * (2 * HEAD_BYTES))
    reader = StreamReader(max_line_bytes=len(fits) - 1)
    over = says("x" * (2 * HEAD_BYTES + 1))
    first, damaged, last = reader.feed(fits + over + says("Next"))
    assert isinstance(first, AssistantText)
    assert isinstance(damaged, Damaged)
    assert damaged.reason == f"line of {len(over) - 1} bytes is too long"
    assert damaged.line_number == 2
    assert isinstance(last, AssistantText)


def test_a_stream_without_newline_takes_no_memory() -> None:
    """However much comes, only the line's start is held."""
    reader = StreamReader(max_line_bytes=64 * 1024)
    piece = b"x" * 1024 * 1024
    tracemalloc.start()
    try:
        assert [event for _ in range(50) for event in reader.feed(piece)] == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(piece)
    (damaged,) = reader.close()
    assert isinstance(damaged, Damaged)
    assert damaged.reason == f"line of {50 * len(piece)} bytes is too long"


def test_lines_of_no_interest_are_counted() -> None:
    """Unknown types, hooks and thinking are skipped and counted; empty lines are nothing."""
    reader = StreamReader()
    assert (
        reader.feed(
            line(type="system", subtype="hook_started") + b"\n  \n" + line(type="brand_new") + b"{}\n"
        )
        == []
    )
    assert reader.skipped_lines == 3


def test_rejected_markers_come_with_the_others_in_order() -> None:
    """A receipt can be given for each."""
    kinds = [type(marker) for marker in markers_of(says("[MEMORY:misc] x"), says(MARKER))]
    assert kinds == [RejectedMarker, MemoryMarker]


def test_a_live_stream_is_read_as_it_comes() -> None:
    """An event is out with the piece that completes its line; the end closes the last line."""
    reader = StreamReader()
    pieces = [init(), says("one")[:-1]]
    assert [[type(event) for event in reader.feed(piece)] for piece in pieces] == [[SessionStarted], []]
    assert [type(event) for event in reader.close()] == [AssistantText]


SAMPLE = b"".join(
    [
        b"\xef\xbb\xbf\n",
        init(),
        says("Grüße\x85\U0001f600 [EVENT:info] x"),
        b"{broken\n",
        b"y" * 3_000,
        b"\n\xc3\n",
        ends(),
        says("tail")[:-9],
    ]
)


@given(st.lists(st.integers(0, len(SAMPLE)), max_size=12).map(sorted))
@example(list(range(len(SAMPLE))))
def test_any_chunking_gives_the_same_events(cuts: list[int]) -> None:
    """Pieces may end inside a character, an escape, a newline or a line that is too long."""
    whole = StreamReader(max_line_bytes=2_000)
    pieces = StreamReader(max_line_bytes=2_000)
    bounds = [0, *cuts, len(SAMPLE)]
    events = [e for a, b in pairwise(bounds) for e in pieces.feed(SAMPLE[a:b])]
    assert events + pieces.close() == whole.feed(SAMPLE) + whole.close()
    assert pieces.skipped_lines == whole.skipped_lines


KEYS = st.sampled_from(
    [
        "type",
        "subtype",
        "message",
        "content",
        "text",
        "id",
        "input",
        "model",
        "error",
        "tools",
        "session_id",
        "result",
        "is_error",
        "errors",
        "total_cost_usd",
        "num_turns",
        "parent_tool_use_id",
        "tool_use_id",
        "name",
    ]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(["assistant", "user", "system", "result", "text", "tool_use", "tool_result"])


@given(
    kind=KINDS,
    fields=st.dictionaries(KEYS, json_values, max_size=6),
    blocks=json_values | st.lists(st.dictionaries(KEYS, json_values, max_size=5), max_size=3),
    block_kind=KINDS,
)
def test_fields_of_any_type_raise_nothing(
    kind: str, fields: dict[str, object], blocks: object, block_kind: str
) -> None:
    """Every field may be missing or of another type; the line after it is read."""
    if isinstance(blocks, list):
        blocks = [{**b, "type": block_kind} if isinstance(b, dict) else b for b in blocks]
    record = {**fields, "type": kind, "subtype": "init", "message": {**fields, "content": blocks}}
    events = read(json.dumps(record).encode() + b"\n", says("Next"))
    assert isinstance(events[-1], AssistantText)


@given(st.binary(max_size=300))
@example(b'{"type":"assistant","message":' + b'{"a":' * 900)
def test_any_bytes_are_read_to_their_end(data: bytes) -> None:
    """Nothing raises, and each line that is no JSON object is told about."""
    lines = [part for part in data.split(b"\n") if part.decode("utf-8", "replace").strip()]
    reader = StreamReader()
    events = reader.feed(data) + reader.close()
    assert len(events) + reader.skipped_lines >= len([part for part in lines if part != b"\xef\xbb\xbf"])
