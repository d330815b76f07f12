"""Background work of knowledge memory: what repeats by the clock, for every tenant, on any number of machines."""
