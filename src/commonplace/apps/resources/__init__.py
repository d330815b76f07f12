"""What digests, compactions and parts share: the database, the model, the energy budget, vectors and the retry."""
