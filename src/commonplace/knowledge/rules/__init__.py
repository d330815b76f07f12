"""Decisions of knowledge memory: pure functions of what a transaction has read.

They import values only: no statement, no session. The caller reads under lock, decides here, and writes the result.
"""
