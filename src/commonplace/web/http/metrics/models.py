"""Metrics of language models."""

from typing import Final

from prometheus_client.core import Metric

from commonplace.llm.ledger import Ledger
from commonplace.web.http.metrics.families import counters, gauges

PREFIX: Final = "commonplace_model_"


def figures(ledger: Ledger) -> list[Metric]:
    """Return the calls of this process by purpose, and the token budget of the day."""
    totals = ledger.totals.items()
    tokens = {
        (purpose, direction): count
        for purpose, total in totals
        for direction, count in (("input", total.input_tokens), ("output", total.output_tokens))
    }

    def by_purpose(figure: str) -> dict[str, float]:
        return {purpose: getattr(total, figure) for purpose, total in totals}

    return [
        *counters(
            PREFIX,
            ("tokens{purpose,direction}", "Tokens of language models", tokens),
            ("answers{purpose}", "Answers of language models", by_purpose("answers")),
            ("failures{purpose}", "Calls without an answer", by_purpose("failures")),
            ("cost_usd{purpose}", "Cost in US dollars of answers with a known price", by_purpose("cost_usd")),
        ),
        *gauges(
            PREFIX,
            ("tokens_today", "Tokens used since midnight UTC", ledger.spent_today),
            ("daily_tokens", "Daily token limit; 0: no limit", ledger.daily_tokens),
        ),
    ]
