"""What language models took."""

from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from commonplace.llm.ledger import Ledger

PREFIX: Final = "commonplace_model_"


def figures(ledger: Ledger) -> list[Metric]:
    """Return what this process asked of models, by purpose, and the budget of the day."""
    tokens = CounterMetricFamily(PREFIX + "tokens", "Tokens of models", labels=["purpose", "direction"])
    answers = CounterMetricFamily(PREFIX + "answers", "Answers of models", labels=["purpose"])
    failures = CounterMetricFamily(
        PREFIX + "failures", "Calls that ended without an answer", labels=["purpose"]
    )
    cost = CounterMetricFamily(
        PREFIX + "cost_usd", "US dollars of answers with a known price", labels=["purpose"]
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
            "Tokens that models may use a day; 0: no limit",
            value=ledger.daily_tokens,
        ),
    ]
