"""REST of workspace memory."""
