"""Storage of workspace memory: the JSONL file, its lock and its counter."""
