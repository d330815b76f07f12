"""Commands of app memory."""
