"""Dashboard page of workspace memory."""
