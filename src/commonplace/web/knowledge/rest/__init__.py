"""REST of knowledge memory."""
