"""Operational memory over HTTP: what the scheduled agent learned, its sessions, events and cooldowns."""
