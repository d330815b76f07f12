"""App memory: at most ten digests an app, made of its ended conversations, shown when one is in focus again.

Rules are pure functions (:mod:`.digest`, :mod:`.compaction`, :mod:`.context`, :mod:`.energy`, :mod:`.importance`,
:mod:`.conflicts`, :mod:`.search`); stores read and write rows; :mod:`.subagent` makes and compacts memories,
:mod:`.loop` is the host's side of it, and :mod:`.memory` is the door.
"""
