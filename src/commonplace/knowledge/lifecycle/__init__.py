"""Life cycle of stored memories: reading, confirming, forgetting, and feedback on rules."""
