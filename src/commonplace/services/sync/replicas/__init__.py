"""Replicas: the memories of this device as sync reads and writes them, each called by its name on every device."""
