"""Dashboard pages of operational memory."""
