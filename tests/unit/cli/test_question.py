"""Yes-or-no questions: what counts as an answer, and that nobody has to wait for one."""

import asyncio
import os
import sys
from collections.abc import Iterator

import pytest

from commonplace.cli.frame.question import confirmed
from support.deadlines import DEADLINE_S


class Input:
    """Standard input that a test writes to."""

    def __init__(self) -> None:
        reading, self._writing = os.pipe()
        self.stream = os.fdopen(reading)

    def write(self, said: bytes) -> None:
        """Say something."""
        os.write(self._writing, said)

    def end(self) -> None:
        """Say nothing more."""
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Input]:
    """An input in place of that of the tests."""
    made = Input()
    monkeypatch.setattr(sys, "__stdin__", made.stream)
    yield made
    made.end()
    made.stream.close()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (b"y\n", True),
        (b" YES \r\n", True),
        (b"yes", True),
        (b"n\n", False),
        (b"\n", False),
        (b"", False),
        (b"perhaps\ny\n", True),
        (b"perhaps\n", False),
        (b"\xff\xfe\nn\n", False),
    ],
)
async def test_only_a_yes_is_a_yes(stdin: Input, said: bytes, *, expected: bool) -> None:
    """Anything else but a no is asked about again; an input that has ended says no."""
    stdin.write(said)
    stdin.end()
    assert await confirmed("Sure?") is expected


async def test_a_line_answers_one_question(stdin: Input) -> None:
    """Those that came together wait for their own."""
    stdin.write(b"n\ny\n")
    assert [await confirmed("This?"), await confirmed("That?")] == [False, True]


async def test_without_an_input_the_answer_is_no(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may be started with it closed."""
    monkeypatch.setattr(sys, "__stdin__", None)
    assert not await confirmed("Sure?")


@pytest.mark.asyncio(loop_scope="function")  # ends the threads of the loop
@pytest.mark.usefixtures("stdin")
async def test_a_question_that_is_cancelled_leaves_nobody_waiting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its thread ends although nothing was said."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await confirmed("Sure?")
    await asyncio.wait_for(asyncio.get_running_loop().shutdown_default_executor(), timeout=DEADLINE_S)
    assert "no answer" not in capsys.readouterr().err
