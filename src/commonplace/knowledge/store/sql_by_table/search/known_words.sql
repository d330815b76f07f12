-- class: SearchStatements

-- name: known_words
-- columns: word str
-- The wanted words that a live memory holds.
${tables};
