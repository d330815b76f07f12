"""The built-in tier prompts."""
