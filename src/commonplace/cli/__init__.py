"""Command line: each command parses its options, calls one method of a memory, and prints the result.

Records go to standard output, as a table or with ``--json`` as one JSON document. Messages go to standard error.
An error is one line and exit status 1; wrong usage is exit status 2.
"""
