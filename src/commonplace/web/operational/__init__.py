"""Operational memory over HTTP: memories of the scheduled agent, its sessions, events and cooldowns."""
