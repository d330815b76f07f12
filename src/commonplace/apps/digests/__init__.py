"""Digests: conversations that ended, and the sub-agent that digests them."""
