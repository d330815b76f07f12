"""Commands of workspace memory."""
