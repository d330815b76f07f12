"""Commands that belong to no single memory."""
