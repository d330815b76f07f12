"""Moving all memories to another embedding model while they are stored and searched (KNW-31.2).

`reembed` lays the new model's vector beside the one in use, row by row, tenant by tenant; then indexes the new ones;
then exchanges the columns by name, in one transaction that lasts milliseconds. Until then nothing that searches sees
any of it. What was done is in the rows, so whoever runs it again goes on where it ended. The former vectors stay beside
the new ones: going back computes only what was stored since.
"""
