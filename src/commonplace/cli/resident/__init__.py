"""The resident process: one for each home, which answers hooks with an open memory and a loaded model.

- ``client`` uses the standard library alone. It asks the resident process, and starts one if none runs.
- ``place`` is the socket in the home and the lock of the process that listens.
- ``start`` is the module that the process runs: it listens first and imports the memories afterwards.
- ``server`` answers requests.

The process ends when nobody needs it. Whatever happens to it, a hook can do its own work.
"""
