"""REST of app memory."""
