"""Hooks of agent hosts: what a session reads at its start and with each prompt, and what is learned from it."""
