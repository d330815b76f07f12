"""The server for agents at work: eight tools over all memories, with short definitions and short answers."""
