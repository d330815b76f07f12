PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE history (
                        id           TEXT PRIMARY KEY,
                        memory_id    TEXT,
                        old_memory   TEXT,
                        new_memory   TEXT,
                        event        TEXT,
                        created_at   DATETIME,
                        updated_at   DATETIME,
                        is_deleted   INTEGER,
                        actor_id     TEXT,
                        role         TEXT
                    );
INSERT INTO history VALUES('11f810e1-b87c-488e-9064-c67dbcd62409','60d08fd9-a18e-4085-a6db-82499c9bd5b3',NULL,'Alice prefers window seats','ADD','2026-11-22T14:24:13.606936+00:00','2026-11-22T14:24:13.606936+00:00',0,NULL,'user');
INSERT INTO history VALUES('fbfd0870-e689-41c1-ad16-0d209ff6cf81','9b175c36-e799-44a0-b195-ceccd3334ff0',NULL,'Alice is allergic to peanuts','ADD','2026-11-22T14:24:13.628065+00:00','2026-11-22T14:24:13.628065+00:00',0,NULL,'user');
INSERT INTO history VALUES('cea4aad2-27d8-4bcd-808a-ddcfcf6ba87c','bb4d55fe-5686-4a20-87f5-ecf7d6d88f88',NULL,'Bob likes jazz','ADD','2026-11-22T14:24:13.634946+00:00','2026-11-22T14:24:13.634946+00:00',0,NULL,'user');
INSERT INTO history VALUES('5a456417-2a78-4890-ae49-0c42836f1b07','60d08fd9-a18e-4085-a6db-82499c9bd5b3','Alice prefers window seats','Alice prefers aisle seats','UPDATE','2026-11-22T14:24:13.606936+00:00','2026-11-22T14:24:13.637207+00:00',0,NULL,'user');
INSERT INTO history VALUES('ff3b009c-72b0-4de4-b1a9-ae7f2b10cb9f','bb4d55fe-5686-4a20-87f5-ecf7d6d88f88','Bob likes jazz',NULL,'DELETE','2026-11-22T14:24:13.634946+00:00','2026-11-22T14:24:13.639866+00:00',1,NULL,'user');
CREATE TABLE messages (
                        id TEXT PRIMARY KEY,
                        session_scope TEXT,
                        role TEXT,
                        content TEXT,
                        name TEXT,
                        created_at DATETIME
                    );
COMMIT;
