"""Entities: the people, organizations, places and other things that facts are about.

Facts point at an entity and names resolve to it. Two entities that are the same are merged, and a merge can be undone.
"""
