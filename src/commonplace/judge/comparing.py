"""The judge: does a newer text repeat an older one, refine it, correct it, or tell something else?

A network that learned from labelled pairs (:mod:`commonplace.judge.network`) gives each verdict a probability. The same
two texts always get the same verdict, with a sentence that says what differs.

Source: OPS-09.1, OPS-10.1, R-OPS-5, JDG-06.
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from commonplace.core.errors import EmbeddingError
from commonplace.judge import wordings
from commonplace.judge.opposites import are_opposites
from commonplace.judge.verdicts import Judgement, Verdict, between, decided

if TYPE_CHECKING:
    from commonplace.judge.network import PairNetwork

MOST_STATEMENTS: Final = 8
"""The maximum number of statements of a joined text that are compared one by one."""

_log = logging.getLogger(__name__)

_GROUNDS: Final = {
    Verdict.SAME: "Both texts say the same",
    Verdict.REFINE: "The new text adds to the old one",
    Verdict.CORRECT: "The new text corrects the old one",
    Verdict.DISTINCT: "The texts are about different things",
    Verdict.DOUBTFUL: "The new text may correct the old one",
}
_SAME_WORDS: Final = Judgement(
    verdict=Verdict.SAME, probability=1.0, grounds="Both texts say the same in the same words and amounts"
)
_OPPOSITE: Final = Judgement(
    verdict=Verdict.CORRECT, probability=1.0, grounds="The new text says the opposite in the same words"
)
_NO_WEIGHTS: Final = Judgement(
    verdict=Verdict.DISTINCT,
    probability=0.0,
    grounds="The texts have other words, and the judge's weights are not on this machine",
)
_STRONGEST: Final = (Verdict.SAME, Verdict.CORRECT, Verdict.REFINE, Verdict.DOUBTFUL, Verdict.DISTINCT)
"""Of the verdicts on the statements of one text, the first of these counts."""


class Compared(NamedTuple):
    """Two texts; ``about`` names the service, person or thing that both are about, which only one text may name."""

    old: str
    new: str
    about: str | None = None


def _opened() -> "PairNetwork":
    """Open the network. Its runtime takes longer to import than a command that compares nothing may take."""
    opens = import_module("commonplace.judge.network").open_network
    return cast("Callable[[], PairNetwork]", opens)()


class Judge:
    """Compares newer texts with older ones. It opens the network when it first needs it, once in a process.

    Without the weights of the embedding model, only texts with the same words are the same, and only their opposite
    corrects one.

    Args:
        opens: Opens the network.
    """

    def __init__(self, opens: "Callable[[], PairNetwork]" = _opened) -> None:
        self.opens = opens

    def compare(self, old: str, new: str, about: str | None = None) -> Judgement:
        """Return how a newer text relates to an older one.

        If the older text joins several statements, the newer one is compared with each. The verdict does not depend on
        case or spacing, and a text always repeats itself. No text raises an error.

        Args:
            old: The text of a memory.
            new: The text that was just said.
            about: What both texts are about; it makes no difference if only one text names it.
        """
        return self.compare_all([Compared(old, new, about)])[0]

    def compare_all(self, pairs: Sequence[Compared]) -> list[Judgement]:
        """Return the judgements of pairs, in their order; see :meth:`compare`. Many pairs take less time each."""
        parts = [_parts(pair) for pair in pairs]
        asked = [part for several in parts for part in several]
        judged = iter(self._judged(asked))
        return [_strongest([next(judged) for _ in several]) for several in parts]

    def nearest(self, new: str, old: Sequence[str], most: int) -> list[int]:
        """Return the places of the older texts that are nearest to a newer one, in their order; ties: the later ones.

        Near texts share pieces of words that few of the older texts have. It takes a hundredth of comparing them.

        Args:
            new: The newer text.
            old: The older texts.
            most: The maximum number of places.
        """
        network = self._network() if len(old) > most else None
        if network is None:
            return list(range(len(old)))
        own, *others = network.pieces([new, *old])
        texts_with = Counter(piece for pieces in others for piece in pieces)

        def nearness(place: int) -> float:
            shared = sum(math.log((len(old) + 1) / texts_with[piece]) for piece in own & others[place])
            return shared / math.sqrt(max(len(others[place]), 1))

        return sorted(sorted(range(len(old)), key=lambda place: (-nearness(place), -place))[:most])

    def prepare(self) -> None:
        """Open the network now, for the forks of this process; nothing happens without the weights."""
        self._network()

    def _judged(self, pairs: Sequence[Compared]) -> list[Judgement]:
        certain = [_certain(pair) for pair in pairs]
        open_pairs = [pair for pair, judgement in zip(pairs, certain, strict=True) if judgement is None]
        network = self._network() if open_pairs else None
        if network is None:
            return [judgement or _NO_WEIGHTS for judgement in certain]
        chances = iter(network.chances([_named(pair) for pair in open_pairs]).tolist())
        return [
            judgement or _judgement(pair, next(chances))
            for pair, judgement in zip(pairs, certain, strict=True)
        ]

    def _network(self) -> "PairNetwork | None":
        try:
            return self.opens()
        except EmbeddingError as error:
            _log.warning("texts are compared word for word: %s", error)
            return None


judge: Final = Judge()
"""The judge of this process."""


def _parts(pair: Compared) -> list[Compared]:
    """Return a pair, and a pair for each statement of the older text if it joins several."""
    statements = wordings.statements(pair.old)
    if len(statements) == 1:
        return [pair]
    return [pair, *(pair._replace(old=statement) for statement in statements[:MOST_STATEMENTS])]


def _strongest(judgements: Sequence[Judgement]) -> Judgement:
    whole, *single = judgements
    if not single or whole.verdict is Verdict.SAME:
        return whole
    return min(single, key=lambda each: (_STRONGEST.index(each.verdict), -each.probability))


def _certain(pair: Compared) -> Judgement | None:
    """Return the judgement of a pair whose words decide it; ``None`` if the network must."""
    if wordings.claim_of(pair.old) == wordings.claim_of(pair.new):
        return _SAME_WORDS
    return _OPPOSITE if are_opposites(pair.old, pair.new) else None


def _named(pair: Compared) -> tuple[str, str]:
    """Return the texts, with the name of their subject before the one that lacks it if the other has it."""
    old, new = (" ".join(text.split()) for text in (pair.old, pair.new))
    if not pair.about:
        return old, new
    name = pair.about.casefold()
    in_old, in_new = name in old.casefold(), name in new.casefold()
    if in_old == in_new:
        return old, new
    return (old, f"{pair.about}: {new}") if in_old else (f"{pair.about}: {old}", new)


def _judgement(pair: Compared, chances: Sequence[float]) -> Judgement:
    verdict = decided(chances)
    same, refine, correct, distinct = chances
    probability = {
        Verdict.SAME: same,
        Verdict.REFINE: refine,
        Verdict.CORRECT: correct,
        Verdict.DISTINCT: distinct,
        Verdict.DOUBTFUL: correct,
    }[verdict]
    return Judgement(
        verdict=verdict,
        probability=round(probability, 3),
        grounds=f"{_GROUNDS[verdict]} ({probability:.0%})",
        between=between(chances),
        texts=(pair.old, pair.new),
    )
