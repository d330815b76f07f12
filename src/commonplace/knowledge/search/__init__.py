"""Search, recall and the context block of knowledge memory."""
