"""Judge of operational memory: compare a new observation with an old one."""
