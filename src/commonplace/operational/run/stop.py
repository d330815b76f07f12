"""Being told to stop: once asks, twice insists."""

import asyncio


class Stop:
    """What a signal handler sets and a run waits for; made inside the event loop.

    Attributes:
        asked: Set by the first signal: end well.
        insisted: Set by the second: end now.
        signal: The first signal's number.
    """

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.insisted = asyncio.Event()
        self.signal: int | None = None

    def ask(self, signal: int | None = None) -> None:
        """Ask, or insist where it was asked before."""
        if self.asked.is_set():
            self.insisted.set()
        else:
            self.signal = signal
            self.asked.set()

    async def wait(self, timeout_s: float) -> bool:
        """Wait until asked, for so long at most; return whether it was."""
        try:
            async with asyncio.timeout(timeout_s):
                await self.asked.wait()
        except TimeoutError:
            return False
        return True
