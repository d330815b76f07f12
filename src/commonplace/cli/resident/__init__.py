"""The resident process: one for each home, which answers hooks with an open memory and a loaded model.

- ``client`` uses the standard library alone. It asks the resident process, and starts one if none runs.
- ``place`` is the socket in the home and the lock of the process that listens.
- ``start`` is the module that the process runs: it listens first and imports the memories afterwards.
- ``server`` answers requests.
- ``forks`` is a child of the process. It imports what MCP servers need, and forks for each server that starts.
- ``rehearsal`` is what the child does before it forks: it builds a server and lists its tools.

The process ends when nobody needs it. Whatever happens to it, a hook and a server can do their own work.
"""
