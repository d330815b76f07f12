"""Scopes: moving memories between projects, and promoting them to everybody."""
