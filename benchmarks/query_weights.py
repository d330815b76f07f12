"""The option of benchmarks that chooses the weights for the vectors of queries."""

import argparse

from commonplace.embedding import Weights


def add_query_weights(parser: argparse.ArgumentParser) -> None:
    """Add ``--query-weights``; its value is ``query_weights``."""
    parser.add_argument(
        "--query-weights",
        type=Weights,
        choices=list(Weights),
        default=Weights.INT8,
        help="weights for queries",
    )
