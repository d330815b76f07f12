-- name: known_words
-- The wanted words that a live memory holds.
${tables};
