-- class: SearchStatements

-- name: ranked_candidates
-- A row for each table with candidates; see ranked_of_table.sql.
${tables};
