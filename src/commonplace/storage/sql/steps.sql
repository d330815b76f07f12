-- Steps within a transaction; for SQLite and PostgreSQL alike.

-- name: begin_step()!
-- Marks where a step begins.
SAVEPOINT step;

-- name: undo_step()!
-- Takes back what was written since.
ROLLBACK TO SAVEPOINT step;

-- name: end_step()!
-- Forgets the mark; what was written stays in the transaction.
RELEASE SAVEPOINT step;
