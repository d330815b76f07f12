"""Commands of operational memory."""
