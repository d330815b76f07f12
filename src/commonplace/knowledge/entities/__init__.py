"""The registry of entities: who and what the facts are about.

A name may mean several people, places or organizations, and one of them may go by several names. An entity is the
stable anchor: facts point at it, names resolve to it, two that turn out to be one are merged, and a merge that
was a mistake is undone.
"""
