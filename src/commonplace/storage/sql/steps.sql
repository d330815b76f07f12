-- Steps within a transaction; for SQLite and PostgreSQL alike.

-- name: begin_step()!
-- Marks where a step begins.
SAVEPOINT step;

-- name: undo_step()!
-- Undoes the writes since the mark.
ROLLBACK TO SAVEPOINT step;

-- name: end_step()!
-- Removes the mark; the writes stay in the transaction.
RELEASE SAVEPOINT step;
