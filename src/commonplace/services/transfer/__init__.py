"""Export and import of memories in forms that people and other programs read.

- ``items`` defines what is exported and imported; ``jsonl`` and ``markdown`` are its two formats.
- ``exporting`` reads the memories; ``importing`` compares items with them and stores what is new.
- ``refusals`` says why an item cannot be stored, before anything is stored.
- ``front_matter``, ``markdown_notes`` and ``markdown_blocks`` read Markdown of people and other programs.
- ``importers`` reads the memories of other programs; each importer is one file with one function that yields items.
"""
