"""Text that goes into prompts: fences around memories, injected blocks, and lines of data."""
