"""Sources: folders and files of agent hosts that are followed, read and never written.

`registry` holds the sources of a home, `files` reads them file by file, `follower` stores what is new in them.
"""
