"""Runs of the claude CLI as a scheduled ops agent."""
