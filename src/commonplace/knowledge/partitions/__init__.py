"""Partitions: large tenants get their own partitions of the tables of memories (SCL-05).

Each table of memories is partitioned by tenant: a large tenant has its own partition with its own indexes, and all
other tenants share one partition, which is the original table. Nothing else changes for them. An operator prepares the
tables once and isolates tenants one at a time, while memories are stored and searched.
"""
