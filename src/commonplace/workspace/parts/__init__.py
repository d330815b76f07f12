"""Named parts of the facade of workspace memory."""
