"""References to code: what a memory names of a project, looked at before the memory is shown.

:mod:`.mentions` finds what a text names, :mod:`.project_code` looks at it, and :mod:`.sights` keeps when it was last
there and what it was like. :mod:`.references` says what is gone, has moved or has changed.
"""
