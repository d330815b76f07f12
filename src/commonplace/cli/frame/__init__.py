"""Parts that every command shares: declaration, help, questions, output and the request context."""
