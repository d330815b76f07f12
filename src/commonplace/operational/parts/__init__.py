"""Parts of an open operational memory: small classes over the store, which the facade names."""
