"""Nouns of operational memory: rows, events, markers, receipts, bounds and closed sets.

Pure; imports nothing else of operational memory.
"""
