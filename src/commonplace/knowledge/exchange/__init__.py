"""Rows that travel between databases of one owner: read as plain fields, and written with the ids they have elsewhere.

Fields are values of JSON. What a database decides by itself does not travel: decay, counts of uses, vectors.
"""
