"""Compaction: which memories of an app make room for a new one."""
