"""Dashboard pages of app memory."""
