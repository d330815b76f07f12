"""References to code: files, commands and symbols that a memory names, checked before the memory is shown.

:mod:`.mentions` finds the names in a text, :mod:`.project_code` reads the project, and :mod:`.sights` records when each
reference was last there, with samples of its lines. :mod:`.references` adds remarks to memories whose references are
gone, have moved or have changed.
"""
