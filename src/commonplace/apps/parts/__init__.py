"""Parts of an open app memory: small classes over the store, which the facade names. See :class:`.AppMemory`."""
