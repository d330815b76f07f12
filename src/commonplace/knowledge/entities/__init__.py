"""Entities: the people, organizations, places and other things that facts are about.

Facts refer to an entity, and names resolve to it. Duplicate entities are merged, and a merge can be undone.
"""
