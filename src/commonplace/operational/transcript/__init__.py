"""Transcripts of the agent: the stream reader, the marker parser, and the recorder that stores sessions."""
