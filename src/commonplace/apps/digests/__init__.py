"""Digests: the queue of ended conversations, and the sub-agent that digests them."""
