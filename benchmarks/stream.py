"""Measure the speed of the transcript reader, and its growth on hostile input.

    python benchmarks/stream.py [--megabytes 20] [--seed 1] [--json]

Speed: a generated transcript with the mix of lines of a real session goes through the reader and the marker parser in
pieces of 64 KiB. The reference, in turns, is ``json.loads`` on the same lines, already split. The ratio is the share of
its speed that is left. The target is 0.5.

Growth: the factor by which each hostile input takes longer at twice its size. 2 is linear, 4 quadratic. The target is
below 3.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.progress import track
from rich.table import Table

from commonplace.operational.model.stream import AssistantText
from commonplace.operational.rules.markers import parse_markers
from commonplace.operational.transcript.stream import StreamReader

CHUNK_BYTES = 64 * 1024
ROUNDS = 5
SPEED_TARGET = 0.5
GROWTH_TARGET = 3.0
WORDS = (
    *(
        "the",
        "service",
        "answered",
        "after",
        "restart",
        "with",
        "status",
        "upstream",
        "proxy",
        "timeout",
        "disk",
    ),
    *("connection", "refused", "volume", "certificate", "expires", "größer", "naïve", "🙂"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Best speed in megabytes a second, and its ratio to JSON alone."""

    megabytes: float
    lines: int
    markers: int
    reader_mb_s: float
    json_mb_s: float
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Growth of the time when the input doubles."""

    name: str
    bytes: int
    seconds: float
    growth: float


def prose(rng: random.Random, words: int) -> str:
    """Return lines of words with the quotes, newlines and signs that JSON must escape."""
    return "".join(
        rng.choice(WORDS) + rng.choice((" ", " ", " ", " ", "\n", ' "', "/")) for _ in range(words)
    )


def text_line(rng: random.Random) -> dict[str, object]:
    """Return an assistant line with a text block; every third holds a marker."""
    text = prose(rng, rng.randint(10, 150))
    if rng.random() < 1 / 3:
        text += (
            f"\n[MEMORY:timing:svc-{rng.randint(1, 40)}] Takes {rng.randint(1, 90)}s to start after restart"
        )
    return assistant({"type": "text", "text": text})


def call_line(rng: random.Random) -> dict[str, object]:
    """Return an assistant line with a tool call."""
    command = prose(rng, rng.randint(5, 30))
    return assistant({"type": "tool_use", "id": "toolu_01", "name": "Bash", "input": {"command": command}})


def output_line(rng: random.Random) -> dict[str, object]:
    """Return a user line with a tool's output: 1 KB in the middle, now and then some hundred."""
    text = prose(rng, min(int(rng.lognormvariate(5.0, 1.5)), 30_000))
    block = {"type": "tool_result", "tool_use_id": "toolu_01", "content": text, "is_error": False}
    return {
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "tool_use_result": {"stdout": text},
    }


def progress_line(rng: random.Random) -> dict[str, object]:
    """Return a system line of a kind that the reader skips."""
    return {"type": "system", "subtype": "task_progress", "description": prose(rng, 8), "session_id": "s"}


def assistant(block: dict[str, object]) -> dict[str, object]:
    """Return an assistant line around a block."""
    usage = {"input_tokens": 5, "cache_read_input_tokens": 18_211, "output_tokens": 12}
    message = {"model": "m", "id": "msg_01", "role": "assistant", "content": [block], "usage": usage}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "s"}


def transcript(megabytes: float, seed: int) -> bytes:
    """Return a transcript of about that size."""
    rng = random.Random(seed)  # noqa: S311 - a repeatable input, not a secret
    kinds = (text_line, call_line, output_line, progress_line)
    lines: list[bytes] = []
    size = 0
    while size < megabytes * 1e6:
        (kind,) = rng.choices(kinds, weights=(3, 3, 3, 1))
        lines.append(json.dumps(kind(rng), ensure_ascii=False).encode() + b"\n")
        size += len(lines[-1])
    return b"".join(lines)


def chunks(data: bytes) -> list[bytes]:
    """Return pieces as a pipe gives them."""
    return [data[start : start + CHUNK_BYTES] for start in range(0, len(data), CHUNK_BYTES)]


def read(pieces: list[bytes]) -> int:
    """Read a transcript with its markers; return how many there are."""
    reader = StreamReader()
    markers = 0
    for piece in (*pieces, None):
        events = reader.close() if piece is None else reader.feed(piece)
        markers += sum(len(parse_markers(event.text)) for event in events if isinstance(event, AssistantText))
    return markers


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time that some work takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def read_json_alone(lines: list[bytes]) -> None:
    """Parse each line and keep nothing."""
    for line in lines:
        json.loads(line)


def measure_speed(data: bytes, *, quiet: bool) -> Speed:
    """Read the same lines with the reader and with JSON alone, in turns, and keep the best of each."""
    lines = data.removesuffix(b"\n").split(b"\n")
    pieces = chunks(data)
    rounds = range(ROUNDS)
    pairs = [
        (seconds(lambda: read(pieces)), seconds(lambda: read_json_alone(lines)))
        for _ in (rounds if quiet else track(rounds, description="speed", console=Console(stderr=True)))
    ]
    reader_s, json_s = (min(column) for column in zip(*pairs, strict=True))
    return Speed(
        megabytes=round(len(data) / 1e6, 1),
        lines=len(lines),
        markers=read(pieces),
        reader_mb_s=round(len(data) / 1e6 / reader_s, 1),
        json_mb_s=round(len(data) / 1e6 / json_s, 1),
        ratio=round(json_s / reader_s, 3),
    )


def as_text(text: str) -> bytes:
    """Return an assistant line that holds a text."""
    return json.dumps(assistant({"type": "text", "text": text})).encode() + b"\n"


HOSTILE: dict[str, tuple[int, Callable[[int], bytes]]] = {
    "one long line of prose": (5_000_000, lambda n: as_text("x" * n)),
    "'[MEMORY:' over and over in a line": (50_000, lambda n: as_text("[MEMORY:" * n)),
    "markers over and over in a line": (50_000, lambda n: as_text("[MEMORY:timing] x " * n)),
    "a marker on each of many lines": (20_000, lambda n: as_text("[MEMORY:timing] x\n" * n)),
    "'[' and blanks": (2_000_000, lambda n: as_text("[" + " " * n + "[MEMORY:timing]" + " " * n + "x")),
    "asterisks around a marker": (2_000_000, lambda n: as_text("*" * n + "[MEMORY:timing] x" + "*" * n)),
    "a service name without end": (2_000_000, lambda n: as_text("[MEMORY:timing:" + "a" * n)),
    "deep nesting": (5_000_000, lambda n: b"[" * n + b"\n"),
    "no newline at all": (8_000_000, lambda n: b"x" * n),
    "nothing but newlines": (300_000, lambda n: b"\n" * n),
    "lines that are no JSON": (30_000, lambda n: b"not json\n" * n),
    "a number without end": (5_000_000, lambda n: b'{"n": ' + b"9" * n + b"}\n"),
}


def measure_growth(*, quiet: bool) -> list[Growth]:
    """Time each hostile input at its size and at twice that, in turns, and keep the best of each."""
    found: list[Growth] = []
    names = list(HOSTILE)
    for name in names if quiet else track(names, description="growth", console=Console(stderr=True)):
        size, build = HOSTILE[name]
        once, twice = chunks(build(size)), chunks(build(2 * size))
        pairs = [(seconds(lambda a=once: read(a)), seconds(lambda b=twice: read(b))) for _ in range(ROUNDS)]
        once_s, twice_s = (min(column) for column in zip(*pairs, strict=True))
        found.append(
            Growth(
                name=name,
                bytes=sum(map(len, twice)),
                seconds=round(twice_s, 4),
                growth=round(twice_s / once_s, 2),
            )
        )
    return found


def show(speed: Speed, growths: list[Growth]) -> None:
    """Print both tables."""
    console = Console()
    table = Table(title=f"{speed.megabytes} MB, {speed.lines} lines, {speed.markers} markers")
    for column in ("reader MB/s", "json.loads MB/s", f"ratio (target {SPEED_TARGET})"):
        table.add_column(column, justify="right")
    table.add_row(str(speed.reader_mb_s), str(speed.json_mb_s), str(speed.ratio))
    console.print(table)
    table = Table(title="hostile input")
    for column in ("input", "bytes", "seconds", f"growth (target < {GROWTH_TARGET})"):
        table.add_column(column, justify="left" if column == "input" else "right")
    for growth in growths:
        table.add_row(growth.name, f"{growth.bytes:,}", str(growth.seconds), str(growth.growth))
    console.print(table)


def main() -> int:
    """Measure and print; the exit status is 1 if a target is missed."""
    parser = argparse.ArgumentParser(
        description="Speed of reading stream-json transcripts, and hostile input"
    )
    parser.add_argument("--megabytes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    speed = measure_speed(transcript(arguments.megabytes, arguments.seed), quiet=arguments.json)
    growths = measure_growth(quiet=arguments.json)
    if arguments.json:
        document = {"speed": asdict(speed), "growth": [asdict(growth) for growth in growths]}
        json.dump(document, sys.stdout, indent=2)
        print()
    else:
        show(speed, growths)
    return int(speed.ratio < SPEED_TARGET or any(growth.growth >= GROWTH_TARGET for growth in growths))


if __name__ == "__main__":
    raise SystemExit(main())
