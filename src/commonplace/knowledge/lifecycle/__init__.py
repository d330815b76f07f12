"""Life of a memory after it is stored: get, confirm and forget it, and feedback on rules."""
