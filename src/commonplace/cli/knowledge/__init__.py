"""Commands of knowledge memory."""
