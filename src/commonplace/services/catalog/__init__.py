"""One catalog over the four memories: the same verbs for every kind of memory, and one id for everything.

A shelf holds the kinds of one memory and does the verbs there; the catalog finds the shelf of an id, follows ids of
replaced memories, and keeps a journal from which the last changes can be undone.
"""
