"""Re-embedding: moves all memories to another embedding model while they are stored and searched (KNW-31.2).

A move stores the new model's vectors beside the vectors in use, row by row and tenant by tenant, then indexes the new
vectors, then renames the columns in one transaction of milliseconds. Searches use the old vectors until then. The rows
record the progress, so a killed move can be resumed. The former vectors stay, so going back embeds only new memories.
"""
