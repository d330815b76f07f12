PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE sdk_sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        content_session_id TEXT NOT NULL,
        memory_session_id TEXT UNIQUE,
        project TEXT NOT NULL,
        platform_source TEXT NOT NULL DEFAULT 'claude',
        user_prompt TEXT,
        started_at TEXT NOT NULL,
        started_at_epoch INTEGER NOT NULL,
        completed_at TEXT,
        completed_at_epoch INTEGER,
        status TEXT CHECK(status IN ('active', 'completed', 'failed')) NOT NULL DEFAULT 'active'
      , worker_port INTEGER, prompt_counter INTEGER DEFAULT 0, custom_title TEXT, observed_model TEXT, observed_billing TEXT);
INSERT INTO sdk_sessions VALUES(1,'content-1','memory-1','tea-shop','claude','Fix the checkout','2026-11-22T14:48:04.560Z',1795358884560,NULL,NULL,'active',NULL,0,NULL,NULL,NULL);
CREATE TABLE IF NOT EXISTS "session_summaries" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_session_id TEXT NOT NULL,
        project TEXT NOT NULL,
        request TEXT,
        investigated TEXT,
        learned TEXT,
        completed TEXT,
        next_steps TEXT,
        files_read TEXT,
        files_edited TEXT,
        notes TEXT,
        prompt_number INTEGER,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, discovery_tokens INTEGER DEFAULT 0, merged_into_project TEXT, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(memory_session_id) REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE
      );
INSERT INTO session_summaries VALUES(1,'memory-1','tea-shop','Fix the checkout','cart.py','Tax comes after rounding','Removed the second rounding','Add a test','[]','[]',NULL,2,'2026-11-22T14:48:04.572Z',1795358884572,0,NULL,NULL,NULL,NULL,'1');
CREATE TABLE IF NOT EXISTS "observations" (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        memory_session_id TEXT NOT NULL,
        project TEXT NOT NULL,
        text TEXT,
        type TEXT NOT NULL,
        title TEXT,
        subtitle TEXT,
        facts TEXT,
        narrative TEXT,
        concepts TEXT,
        files_read TEXT,
        files_modified TEXT,
        prompt_number INTEGER,
        created_at TEXT NOT NULL,
        created_at_epoch INTEGER NOT NULL, discovery_tokens INTEGER DEFAULT 0, content_hash TEXT, generated_by_model TEXT, relevance_count INTEGER DEFAULT 0, merged_into_project TEXT, agent_type TEXT, agent_id TEXT, metadata TEXT, synced_at INTEGER, origin_device_id TEXT, origin_local_id TEXT, sync_rev TEXT NOT NULL DEFAULT '1',
        FOREIGN KEY(memory_session_id) REFERENCES sdk_sessions(memory_session_id) ON DELETE CASCADE ON UPDATE CASCADE
      );
INSERT INTO observations VALUES(1,'memory-1','tea-shop',NULL,'bugfix','Checkout rounds prices twice','Cart total','["The cart rounds each price to cents","The tax is computed after rounding"]','Prices were rounded in the cart and again in the tax.','["gotcha","problem-solution"]','["cart.py"]','["tax.py"]',1,'2026-11-22T14:48:04.571Z',1795358884571,0,'07ebf840ebf67001',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'1');
INSERT INTO observations VALUES(2,'memory-1','tea-shop',NULL,'discovery','Tests need Redis',NULL,'[]','make test starts Redis on port 6380.','[]','[]','[]',2,'2026-11-22T14:48:04.572Z',1795358884572,0,'40fc31e087cd1185',NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'1');
COMMIT;
