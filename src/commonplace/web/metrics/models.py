"""Metrics of language models."""

from typing import Final

from prometheus_client.core import CounterMetricFamily, Metric

from commonplace.llm.ledger import Ledger
from commonplace.web.metrics.families import by_label, gauges

PREFIX: Final = "commonplace_model_"


def figures(ledger: Ledger) -> list[Metric]:
    """Return the calls of this process by purpose, and the token budget of the day."""
    totals = ledger.totals.items()
    tokens = {
        (purpose, direction): count
        for purpose, total in totals
        for direction, count in (("input", total.input_tokens), ("output", total.output_tokens))
    }
    return [
        by_label(
            CounterMetricFamily, f"{PREFIX}tokens", "Tokens of language models", "purpose direction", tokens
        ),
        *(
            by_label(
                CounterMetricFamily,
                PREFIX + name,
                documentation,
                "purpose",
                {purpose: getattr(total, name) for purpose, total in totals},
            )
            for name, documentation in (
                ("answers", "Answers of language models"),
                ("failures", "Calls without an answer"),
                ("cost_usd", "Cost in US dollars of answers with a known price"),
            )
        ),
        *gauges(
            PREFIX,
            ("tokens_today", "Tokens used since midnight UTC", ledger.spent_today),
            ("daily_tokens", "Daily token limit; 0: no limit", ledger.daily_tokens),
        ),
    ]
