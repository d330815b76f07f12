"""The verbs over all memories: ``list``, ``show``, ``add``, ``edit``, ``confirm``, ``pin``, ``forget``, ``undo``."""
