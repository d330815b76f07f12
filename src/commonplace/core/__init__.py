"""The ground floor without I/O: values, rules and words that every memory shares.

Nothing here opens a file, a socket or a database, and nothing here imports another part of the package.
"""
