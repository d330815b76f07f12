"""Transcripts of the agent: the stream, its markers, and what is stored of them."""
