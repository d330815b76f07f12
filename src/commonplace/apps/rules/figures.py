"""Arithmetic of figures."""


def share(part: int, whole: int) -> float:
    """Return a part as a share of the whole, 0.0 to 1.0; 0.0 if the whole is 0."""
    return round(part / whole, 4) if whole else 0.0
