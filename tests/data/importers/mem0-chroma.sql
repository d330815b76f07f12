CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY,
    segment_id TEXT NOT NULL,
    embedding_id TEXT NOT NULL,
    seq_id BLOB NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    UNIQUE (segment_id, embedding_id)
);
INSERT INTO embeddings VALUES (1, '351be01d-cbcf-4bb0-9416-91fc58e5a663', '1f7f6a05-4ab2-4349-ab93-c0f1a4a5435f', 7, '2026-11-22 21:54:09');
INSERT INTO embeddings VALUES (2, '351be01d-cbcf-4bb0-9416-91fc58e5a663', '8c88b74c-4917-4e18-a4e3-c91527545b85', 2, '2026-11-22 21:54:09');
INSERT INTO embeddings VALUES (4, '351be01d-cbcf-4bb0-9416-91fc58e5a663', '4667f03a-026a-4e11-b71b-621ae075646a', 4, '2026-11-22 21:54:09');
INSERT INTO embeddings VALUES (5, '351be01d-cbcf-4bb0-9416-91fc58e5a663', 'e52e0888-dcf0-4b26-8ad6-8593ad46a60d', 5, '2026-11-22 21:54:09');
INSERT INTO embeddings VALUES (6, '351be01d-cbcf-4bb0-9416-91fc58e5a663', '513b180d-7b91-4110-ab98-4864b27a4418', 6, '2026-11-22 21:54:09');
INSERT INTO embeddings VALUES (7, '3ff8729c-750d-4c3f-b12c-71962a8e5378', '8cf45bf3-cbe1-4295-8075-6e3f12124230', 9, '2026-11-22 21:54:09');
CREATE TABLE embedding_metadata (
    id INTEGER REFERENCES embeddings(id),
    key TEXT NOT NULL,
    string_value TEXT,
    int_value INTEGER,
    float_value REAL, bool_value INTEGER,
    PRIMARY KEY (id, key)
);
INSERT INTO embedding_metadata VALUES (1, 'updated_at', '2026-11-22T21:54:09.345474+00:00', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'text_lemmatized', 'Alice prefers aisle seats', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'data', 'Alice prefers aisle seats', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'created_at', '2026-11-22T21:54:09.296910+00:00', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'role', 'user', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'user_id', 'alice', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (1, 'hash', '7f4da38f07ab096863d7e62e80fbd4b9', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'created_at', '2026-11-22T21:54:09.309067+00:00', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'updated_at', '2026-11-22T21:54:09.309067+00:00', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'status', 'sure', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'text_lemmatized', 'Alice is allergic to peanuts', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'topic', 'food', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'data', 'Alice is allergic to peanuts', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'user_id', 'alice', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'role', 'user', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'hash', 'a4ee6ab02ba3430190bad8b89da90d63', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'times', NULL, 3, NULL, NULL);
INSERT INTO embedding_metadata VALUES (2, 'checked', NULL, NULL, NULL, 1);
INSERT INTO embedding_metadata VALUES (4, 'agent_id', 'concierge', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'updated_at', '2026-11-22T21:54:09.323116+00:00', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'text_lemmatized', 'Bob plays chess', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'role', 'user', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'created_at', '2026-11-22T21:54:09.323116+00:00', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'data', 'Bob plays chess', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'hash', '022284751ba205dfc72e6b474644db5f', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'run_id', 'r1', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (4, 'user_id', 'bob', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'text_lemmatized', 'The concierge answers in French', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'created_at', '2026-11-22T21:54:09.330182+00:00', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'data', 'The concierge answers in French', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'updated_at', '2026-11-22T21:54:09.330182+00:00', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'agent_id', 'concierge', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'hash', '2aaae6e47432796724601ff94da8e66a', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (5, 'role', 'user', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'role', 'user', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'hash', 'aa39a38907e6a4769ad57e2f3b936421', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'created_at', '2026-11-22T21:54:09.336676+00:00', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'updated_at', '2026-11-22T21:54:09.336676+00:00', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'data', 'Bob visits Rome', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'user_id', 'bob', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'expiration_date', '2999-05-01', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (6, 'text_lemmatized', 'Bob visits Rome', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'user_id', 'alice', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'data', 'Alice', NULL, NULL, NULL);
INSERT INTO embedding_metadata VALUES (7, 'entity_type', 'PERSON', NULL, NULL, NULL);
CREATE TABLE embedding_metadata_array (
    id INTEGER NOT NULL REFERENCES embeddings(id),
    key TEXT NOT NULL,
    string_value TEXT,
    int_value INTEGER,
    float_value REAL,
    bool_value INTEGER
);
INSERT INTO embedding_metadata_array VALUES (2, 'sources', 'a', NULL, NULL, NULL);
INSERT INTO embedding_metadata_array VALUES (2, 'sources', 'b', NULL, NULL, NULL);
INSERT INTO embedding_metadata_array VALUES (7, 'linked_memory_ids', '1f7f6a05-4ab2-4349-ab93-c0f1a4a5435f', NULL, NULL, NULL);
