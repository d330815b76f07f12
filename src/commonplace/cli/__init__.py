"""The command line: each command parses, calls one function of a memory, and prints.

Records go to standard output, as a table or with ``--json`` as one JSON document; everything else goes to standard
error. An error is one line there and exit status 1; wrong usage is 2.
"""
