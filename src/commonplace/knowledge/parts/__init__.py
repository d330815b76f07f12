"""Parts of the facade that several subjects make: each method leads to the subject that does the work."""
