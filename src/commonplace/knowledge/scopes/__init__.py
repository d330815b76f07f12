"""Scopes: moving memories between projects, and making them global."""
