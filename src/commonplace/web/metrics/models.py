"""Metrics of language models."""

from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from commonplace.llm.ledger import Ledger

PREFIX: Final = "commonplace_model_"


def figures(ledger: Ledger) -> list[Metric]:
    """Return the calls of this process by purpose, and the token budget of the day."""
    tokens = CounterMetricFamily(
        PREFIX + "tokens", "Tokens of language models", labels=["purpose", "direction"]
    )
    answers = CounterMetricFamily(PREFIX + "answers", "Answers of language models", labels=["purpose"])
    failures = CounterMetricFamily(PREFIX + "failures", "Calls without an answer", labels=["purpose"])
    cost = CounterMetricFamily(
        PREFIX + "cost_usd", "Cost in US dollars of answers with a known price", labels=["purpose"]
    )
    for purpose, totals in ledger.totals.items():
        tokens.add_metric([purpose, "input"], totals.input_tokens)
        tokens.add_metric([purpose, "output"], totals.output_tokens)
        answers.add_metric([purpose], totals.answers)
        failures.add_metric([purpose], totals.failures)
        cost.add_metric([purpose], totals.cost_usd)
    return [
        tokens,
        answers,
        failures,
        cost,
        GaugeMetricFamily(
            PREFIX + "tokens_today", "Tokens used since midnight UTC", value=ledger.spent_today
        ),
        GaugeMetricFamily(
            PREFIX + "daily_tokens",
            "Daily token limit; 0: no limit",
            value=ledger.daily_tokens,
        ),
    ]
