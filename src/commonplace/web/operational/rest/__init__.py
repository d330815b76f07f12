"""REST of operational memory."""
