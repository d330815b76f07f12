"""The model, the energy budget, the vectors and the retry that digests, compactions and the parts of the facade use."""
