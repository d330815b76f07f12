"""Partitions: large tenants get tables of their own below the tables of memories (SCL-05).

Each table of memories becomes a list of partitions by tenant: a large tenant has a partition with indexes of its own,
all others share one, which is the table as it was. Nothing else changes for them. An operator prepares the tables once
and gives tenants their partitions one at a time, while memories are stored and searched.
"""
