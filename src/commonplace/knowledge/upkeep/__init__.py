"""Decay sweep, episode cleanup, audit stream and statistics of knowledge memory."""
