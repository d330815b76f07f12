"""Export and import of memories in forms that people and other programs read.

- ``items`` says what is exported and imported; ``jsonl`` and ``markdown`` are its two forms.
- ``exporting`` reads the memories; ``importing`` compares items with them and stores what is new.
- ``importers`` read the memories of other programs: each is one file with one function that yields items.
"""
