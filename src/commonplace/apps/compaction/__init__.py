"""Compaction: the choice of memories that make room for a new one."""
