"""The lines by which an agent says what it learned, what happened, and what it did."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.core.text import is_blank
from commonplace.operational.model.bounds import MAX_TEXT_CHARS
from commonplace.operational.model.markers import (
    CooldownAction,
    CooldownMarker,
    EventLevel,
    EventMarker,
    Marker,
    MemoryCategory,
    MemoryMarker,
    RejectedMarker,
)
from commonplace.operational.rules.markers import MEMORY_PATTERN, parse_markers


def memory(category: str, service: str | None, observation: str) -> MemoryMarker:
    """Build the expected value."""
    return MemoryMarker(category=MemoryCategory(category), service=service, observation=observation)


def only(text: str) -> Marker:
    """Return the one marker of a text."""
    (marker,) = parse_markers(text)
    return marker


def reason(text: str) -> str:
    """Return why the one marker of a text was rejected."""
    marker = only(text)
    assert isinstance(marker, RejectedMarker)
    return marker.reason


@pytest.mark.requirement("OPS-05.1")
def test_the_pattern_has_the_groups_of_the_specification() -> None:
    """Group 1 is the category, 2 the service, 3 the observation."""
    match = MEMORY_PATTERN.search(
        "[MEMORY:dependency:postgres] Dependents should wait 10s after postgres restart"
    )
    assert match is not None
    assert match.groups() == ("dependency", "postgres", "Dependents should wait 10s after postgres restart")


@pytest.mark.requirement("OPS-05.2")
def test_the_pattern_refuses_an_unknown_category() -> None:
    """`unknown` is no category, so the pattern does not match."""
    assert MEMORY_PATTERN.search("[MEMORY:unknown] Some observation") is None


@pytest.mark.requirement("OPS-05")
def test_the_pattern_is_the_one_of_the_specification() -> None:
    """Not a character differs."""
    assert MEMORY_PATTERN.pattern == (
        r"\[MEMORY:(timing|dependency|behavior|remediation|maintenance)(?::([a-zA-Z0-9_-]+))?\]\s*(.+)"
    )


@pytest.mark.requirement("OPS-02.1")
@pytest.mark.parametrize("category", ["timing", "dependency", "behavior", "remediation", "maintenance"])
def test_each_category_is_accepted(category: str) -> None:
    """The five categories give memories."""
    assert only(f"[MEMORY:{category}] Takes long") == memory(category, None, "Takes long")


@pytest.mark.requirement("OPS-02.2", "R-OPS-2")
def test_an_unknown_category_is_rejected_with_its_name() -> None:
    """`misc` gives no memory, and the reason names it and what is expected."""
    assert only("[MEMORY:misc] Some observation") == RejectedMarker(
        line="[MEMORY:misc] Some observation",
        reason="invalid category 'misc': expected timing, dependency, behavior, remediation, maintenance",
    )


@pytest.mark.requirement("OPS-03.1")
def test_a_marker_without_service_is_general() -> None:
    """The general scenario of the specification."""
    observation = (
        "DNS checks sometimes fail transiently during WireGuard reconnects -- retry once before escalating"
    )
    assert only(f"[MEMORY:remediation] {observation}") == memory("remediation", None, observation)


@pytest.mark.requirement("OPS-03.2")
def test_a_marker_with_service_belongs_to_it() -> None:
    """The service scenario of the specification."""
    observation = "Takes 60s to start after restart -- wait before checking health"
    assert only(f"[MEMORY:timing:jellyfin] {observation}") == memory("timing", "jellyfin", observation)


@pytest.mark.requirement("R-OPS-2")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "[MEMORY:timing:my service] Slow",
            "invalid service 'my service': expected letters, digits, - and _ only",
        ),
        ("[MEMORY:timing:] Slow", "invalid service '': expected letters, digits, - and _ only"),
        (
            "[MEMORY:timing:caddy:tls] Slow",
            "invalid service 'caddy:tls': expected letters, digits, - and _ only",
        ),
        ("[MEMORY:timing:caddy]   ", "no observation after the marker"),
        ("[MEMORY:timing:caddy] \u200b\xad", "no observation after the marker"),
        ("**`[MEMORY:timing:caddy]`**", "no observation after the marker"),
        (
            "**[MEMORY:behavior:jellyfin] Transcoding log:**",
            "the observation ends with a colon; write all of it on one line",
        ),
        ("[MEMORY:timing Slow", "the marker has no closing bracket"),
        (
            "[memory:timing] Slow",
            "expected [MEMORY:category:service], with the keyword in capitals and without spaces",
        ),
        (
            "[MEMORY: Timing] Slow",
            "expected [MEMORY:category:service], with the keyword in capitals and without spaces",
        ),
        (
            "[MEMORY timing:caddy] Slow",
            "expected [MEMORY:category:service], with the keyword in capitals and without spaces",
        ),
        (
            "[ Memory = timing] Slow",
            "expected [MEMORY:category:service], with the keyword in capitals and without spaces",
        ),
        (
            "[MEMORY] Slow",
            "invalid category '': expected timing, dependency, behavior, remediation, maintenance",
        ),
        ("[EVENT:fatal:caddy] Down", "invalid level 'fatal': expected info, warning, critical"),
        ("[EVENT:info]", "no message after the marker"),
        ("[COOLDOWN:reboot:caddy] Hung", "invalid action 'reboot': expected restart, redeployment"),
        ("[COOLDOWN:restart] Hung", "invalid service '': expected letters, digits, - and _ only"),
    ],
)
def test_a_near_miss_is_reported_with_its_reason(line: str, expected: str) -> None:
    """What was meant as a marker is never dropped without a word."""
    assert reason(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "[memory: 512MB used]",
        "[Memory usage 5 %]",
        "a [link](MEMORY:timing)",
        "MEMORY:timing no bracket",
        "[events]",
    ],
)
def test_ordinary_text_is_no_near_miss(line: str) -> None:
    """Brackets and words of everyday logs raise no warning."""
    assert parse_markers(line) == []


@pytest.mark.requirement("OPS-03")
def test_the_injected_block_cannot_be_learned_back() -> None:
    """An agent that repeats its memories to us gives none."""
    block = (
        "## Operational Memory (3 memories, ~412 tokens)\n\n### jellyfin\n"
        "- [timing] Takes 60s to start after restart (confidence: 0.9)\n\n### general\n"
        "- [remediation] DNS checks sometimes fail transiently (confidence: 0.6)\n"
    )
    assert parse_markers(block) == []


@pytest.mark.requirement("OPS-20.2")
def test_events_have_a_level_and_perhaps_a_service() -> None:
    """Both forms of an event, in order."""
    assert parse_markers("[EVENT:info] All healthy\r\n[EVENT:critical:postgres] Down for 2 minutes\r\n") == [
        EventMarker(level=EventLevel.INFO, service=None, message="All healthy"),
        EventMarker(level=EventLevel.CRITICAL, service="postgres", message="Down for 2 minutes"),
    ]


def test_only_an_observation_must_not_end_with_a_colon() -> None:
    """People should see an event, and an action must cool down, even if the agent wrote the rest on the next line."""
    assert isinstance(only("[EVENT:critical:postgres] Down:"), EventMarker)
    assert isinstance(only("[COOLDOWN:restart:postgres] Down:"), CooldownMarker)
    assert isinstance(only("[MEMORY:behavior:postgres] Logs this: disk full"), MemoryMarker)


@pytest.mark.requirement("OPS-20.3")
@pytest.mark.parametrize("text", ["", "Health check failed twice"])
def test_a_cooldown_counts_with_and_without_a_reason(text: str) -> None:
    """An action that was carried out must cool down, whatever was said about it."""
    assert only(f"[COOLDOWN:restart:jellyfin] {text}") == CooldownMarker(
        action=CooldownAction.RESTART, service="jellyfin", reason=text
    )


@pytest.mark.parametrize(
    "line",
    [
        "- [MEMORY:timing:caddy] Slow",
        "1. **[MEMORY:timing:caddy] Slow**",
        "* **[MEMORY:timing:caddy]** Slow",
        "> `[MEMORY:timing:caddy] Slow`",
        "**`[MEMORY:timing:caddy]`** Slow",
        "I noted: [MEMORY:timing:caddy]Slow  \r",
        "```\n[MEMORY:timing:caddy] Slow\n```",
    ],
)
def test_markdown_around_a_marker_is_no_part_of_it(line: str) -> None:
    """Lists, quotes, fences and emphasis surround a marker and stay outside."""
    assert only(line) == memory("timing", "caddy", "Slow")


def test_markdown_inside_an_observation_stays() -> None:
    """Only what opens right before the marker is closed behind it."""
    assert only("[MEMORY:behavior] Run `caddy reload`") == memory("behavior", None, "Run `caddy reload`")
    assert only("**[MEMORY:behavior]** Run **twice**") == memory("behavior", None, "Run **twice**")


def test_only_newlines_end_a_line() -> None:
    """U+0085, U+2028 and a lone carriage return belong to the observation."""
    text = "[MEMORY:timing] a\x85b\u2028c\rd\nnot this"
    assert only(text) == memory("timing", None, "a\x85b\u2028c\rd")


def test_a_second_marker_on_a_line_is_reported() -> None:
    """The first takes the rest of the line, as the pattern says, and the second does not vanish unseen."""
    first, second = parse_markers("[MEMORY:timing:a] X [MEMORY:timing:b] Y")
    assert first == memory("timing", "a", "X [MEMORY:timing:b] Y")
    assert isinstance(second, RejectedMarker)
    assert "one marker per line" in second.reason


def test_each_kind_is_found_on_one_line() -> None:
    """An event before a memory hides it not; the order is that of the line."""
    assert parse_markers("[EVENT:warning:a] Slow [MEMORY:misc] Y [MEMORY:timing:a] Z") == [
        EventMarker(
            level=EventLevel.WARNING, service="a", message="Slow [MEMORY:misc] Y [MEMORY:timing:a] Z"
        ),
        RejectedMarker(
            line="[EVENT:warning:a] Slow [MEMORY:misc] Y [MEMORY:timing:a] Z",
            reason="invalid category 'misc': expected timing, dependency, behavior, remediation, maintenance",
        ),
        memory("timing", "a", "Z"),
    ]


def test_a_long_observation_is_cut_and_the_cut_is_reported() -> None:
    """2,000 characters pass whole; one more is cut at a word, and said so."""
    fits = "x" * MAX_TEXT_CHARS
    assert only(f"[MEMORY:timing] {fits}") == memory("timing", None, fits)
    kept, note = parse_markers(f"[MEMORY:timing] {'word ' * 1000}")
    assert isinstance(kept, MemoryMarker)
    assert len(kept.observation) <= MAX_TEXT_CHARS
    assert kept.observation.endswith("word…")
    assert isinstance(note, RejectedMarker)
    assert note.reason == "observation of 4999 characters cut to 2000"
    assert len(note.line) <= 200


def test_text_that_no_store_accepts_is_cleaned() -> None:
    """NUL goes and a lone surrogate is replaced."""
    assert only("[MEMORY:timing] a\x00b\ud83d") == memory("timing", None, "ab\N{REPLACEMENT CHARACTER}")


observations = st.text(
    alphabet=st.characters(exclude_characters="\n[\x00", exclude_categories=["Cs"]), min_size=1
).map(str.strip)


@given(
    category=st.sampled_from(MemoryCategory),
    service=st.none() | st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True),
    observation=observations.filter(lambda text: not is_blank(text) and not text.endswith(":")),
    before=st.sampled_from(["", "- ", "Noted: ", "\n\n"]),
)
def test_what_is_written_is_read_back(
    category: MemoryCategory, service: str | None, observation: str, before: str
) -> None:
    """Any category, service and observation survive the round trip."""
    head = f"MEMORY:{category}" if service is None else f"MEMORY:{category}:{service}"
    assert only(f"{before}[{head}] {observation}\nNext line") == memory(category, service, observation)


pieces = st.sampled_from(
    ["[MEMORY:", "[EVENT:", "timing", "info", ":", "]", " ", "\n", "**", "`", "x", "[", "COOLDOWN:"]
)


@given(st.lists(pieces | st.text(max_size=3), max_size=40).map("".join))
@example("[MEMORY:" * 1000)
def test_no_text_raises_and_every_match_of_the_pattern_counts(text: str) -> None:
    """Hostile text is read to its end; each line with the specification's form is told about."""
    markers = parse_markers(text)
    matching = [line for line in text.split("\n") if MEMORY_PATTERN.search(line)]
    told = [
        m
        for m in markers
        if isinstance(m, MemoryMarker) or (isinstance(m, RejectedMarker) and "MEMORY" in m.line)
    ]
    assert len(told) >= len(matching)


@pytest.mark.requirement("OPS-03.1")
@pytest.mark.parametrize("service", ["general", "General"])
def test_the_service_general_makes_a_general_memory(service: str) -> None:
    """It is the name by which memories of no service are known."""
    assert only(f"[MEMORY:timing:{service}] Takes 60s") == memory("timing", None, "Takes 60s")


@pytest.mark.requirement("OPS-05.2")
def test_a_service_of_more_than_100_characters_is_rejected() -> None:
    """A marker is held to the same length as a memory that an operator adds."""
    assert only(f"[MEMORY:timing:{'x' * 100}] Takes 60s") == memory("timing", "x" * 100, "Takes 60s")
    assert (
        reason(f"[MEMORY:timing:{'x' * 101}] Takes 60s") == "service of 101 characters: expected at most 100"
    )
