-- Partitions by tenant. Statements that return statements read the catalogue, so that a column, an index or a trigger that
-- a later migration adds is included. Only the two transactions that exchange tables lock a memory for longer than a
-- batch.

-- name: prepare_exchange()^
-- Settings of a transaction that copies or exchanges tables: it gives up on a lock before the server looks for a deadlock
-- and ends another transaction, and may read a large table.
SELECT set_config('lock_timeout', '500ms', true), set_config('statement_timeout', '0', true);

-- name: memory_partitions()
-- columns: table_name str, bound str, rows int, bytes int
-- The partitions of the tables of memories: the definition of its tenants, the rows by the latest statistics, and the bytes
-- with indexes.
SELECT
  parent.relname AS table_name, leaf.relname AS name, pg_get_expr(leaf.relpartbound, leaf.oid) AS bound,
  CAST(greatest(leaf.reltuples, 0) AS bigint) AS rows, pg_total_relation_size(leaf.oid) AS bytes
FROM pg_inherits
JOIN pg_class AS parent ON parent.oid = inhparent
JOIN pg_class AS leaf ON leaf.oid = inhrelid
WHERE inhparent = ANY(CAST(ARRAY['episodes', 'facts', 'rules'] AS regclass[]))
ORDER BY name;

-- name: foreign_keys()
-- columns: validating str, is_valid bool
-- How to drop, add and validate each foreign key from or to a table of memories. A new one is not checked before it is
-- validated, which locks nobody out.
SELECT
  format('ALTER TABLE %s DROP CONSTRAINT %I', own, conname) AS dropping,
  format('ALTER TABLE %s ADD CONSTRAINT %I %s NOT VALID', own, conname, replace(definition, ' NOT VALID', '')) AS adding,
  format('ALTER TABLE %s VALIDATE CONSTRAINT %I', own, conname) AS validating,
  convalidated AS is_valid
FROM (
  SELECT CAST(conrelid AS regclass) AS own, conname, pg_get_constraintdef(oid) AS definition, convalidated
  FROM pg_constraint
  WHERE contype = 'f' AND conparentid = 0 AND (
    conrelid = ANY(CAST(ARRAY['episodes', 'facts', 'rules'] AS regclass[]))
    OR confrelid = ANY(CAST(ARRAY['episodes', 'facts', 'rules'] AS regclass[]))
  )
) AS keys
ORDER BY own, conname;

-- name: preparing_steps(table_name, leaf)
-- columns: statement str
-- The statements that make a table the shared partition of a new table with its name, in order.
WITH given AS (
  SELECT
    CAST(:table_name AS text) AS name, CAST(:leaf AS text) AS leaf, oid, relowner,
    coalesce(relacl, acldefault('r', relowner)) AS rights
  FROM pg_class WHERE oid = CAST(:table_name AS regclass)
),
own_indexes AS (
  SELECT
    index.relname AS name, replace(index.relname, given.name, given.leaf) AS new_name,
    pg_get_indexdef(index.oid) AS definition, constraint_.conname, pg_get_constraintdef(constraint_.oid) AS condef,
    NOT indisunique OR 'tenant_id' = ANY(
      SELECT attname FROM pg_attribute WHERE attrelid = indrelid AND attnum = ANY(indkey)
    ) AS is_shared
  FROM given
  JOIN pg_index ON indrelid = given.oid
  JOIN pg_class AS index ON index.oid = indexrelid
  LEFT JOIN pg_constraint AS constraint_ ON conindid = indexrelid AND contype IN ('p', 'u')
),
own_triggers AS (
  SELECT tgname AS name, pg_get_triggerdef(pg_trigger.oid) AS definition
  FROM given JOIN pg_trigger ON tgrelid = given.oid AND NOT tgisinternal
),
identities AS (
  SELECT
    attname AS name,
    coalesce(pg_sequence_last_value(CAST(pg_get_serial_sequence(given.name, attname) AS regclass)), 0) + 1 AS next
  FROM given JOIN pg_attribute ON attrelid = given.oid AND attidentity <> ''
)
SELECT statement FROM (
  SELECT 10 AS step, name AS part, format('ALTER INDEX %I RENAME TO %I', name, new_name) AS statement FROM own_indexes
  UNION ALL
  SELECT 20, own_triggers.name, format('DROP TRIGGER %I ON %I', own_triggers.name, given.name)
  FROM own_triggers, given
  UNION ALL
  SELECT 30, identities.name, format('ALTER TABLE %I ALTER %I DROP IDENTITY', given.name, identities.name)
  FROM identities, given
  UNION ALL
  SELECT 40, '', format('ALTER TABLE %I RENAME TO %I', name, leaf) FROM given
  UNION ALL
  SELECT 50, '', format(
    'CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMMENTS) '
    'PARTITION BY LIST (tenant_id)', name, leaf
  ) FROM given
  UNION ALL
  SELECT 60, '', format('ALTER TABLE %I OWNER TO %I', name, pg_get_userbyid(relowner)) FROM given
  UNION ALL
  SELECT 60, identities.name, format(
    'ALTER TABLE %I ALTER %I ADD GENERATED ALWAYS AS IDENTITY (START WITH %s)', given.name, identities.name, next
  ) FROM identities, given
  UNION ALL
  SELECT 60, polname, format('CREATE POLICY %I ON %I USING (%s)', polname, given.name, pg_get_expr(polqual, polrelid))
  FROM given JOIN pg_policy ON polrelid = given.oid
  UNION ALL
  SELECT 60, 'security', format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name) FROM given
  UNION ALL
  SELECT 60, 'right', format('GRANT %s ON %I TO %I', privilege_type, name, pg_get_userbyid(grantee))
  FROM given, aclexplode(rights) WHERE grantee NOT IN (0, relowner)
  UNION ALL
  SELECT 70, own_indexes.name, CASE WHEN conname IS NULL THEN definition
    ELSE format('ALTER TABLE %I ADD CONSTRAINT %I %s', given.name, conname, condef)
  END FROM own_indexes, given WHERE is_shared
  UNION ALL
  SELECT 80, '', format('ALTER TABLE %I ATTACH PARTITION %I DEFAULT', name, leaf) FROM given
  UNION ALL
  SELECT 90, own_triggers.name, definition FROM own_triggers
) AS steps
ORDER BY step, part;

-- name: isolating_steps(table_name, shared, leaf, tenant)
-- columns: statement str
-- The statements that create the future partition of a tenant beside the shared one and keep it up to date, in order.
WITH given AS (
  SELECT
    CAST(:table_name AS text) AS name, CAST(:shared AS text) AS shared, CAST(:leaf AS text) AS leaf,
    CAST(:tenant AS text) AS tenant, table_.relowner, coalesce(table_.relacl, acldefault('r', table_.relowner)) AS rights,
    coalesce(' WITH (' || array_to_string(former.reloptions, ', ') || ')', '') AS options,
    columns.*
  FROM pg_class AS table_, pg_class AS former, (
    SELECT
      string_agg(format('%I', attname), ', ' ORDER BY attnum) AS columns,
      string_agg(format('NEW.%I', attname), ', ' ORDER BY attnum) AS new_columns,
      string_agg(format('excluded.%I', attname), ', ' ORDER BY attnum) AS excluded_columns
    FROM pg_attribute WHERE attrelid = CAST(:table_name AS regclass) AND attnum > 0 AND NOT attisdropped
  ) AS columns
  WHERE table_.oid = CAST(:table_name AS regclass) AND former.oid = CAST(:shared AS regclass)
)
SELECT statement FROM (
  SELECT 10 AS step, format(
    'CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMMENTS, '
    'CONSTRAINT %I CHECK (tenant_id = %L), CONSTRAINT %I UNIQUE (tenant_id, id))%s',
    leaf, name, 'ck_' || leaf || '_apart', tenant, 'uq_' || leaf || '_tenant_id', options
  ) AS statement FROM given
  UNION ALL
  SELECT 20, format('ALTER TABLE %I OWNER TO %I', leaf, pg_get_userbyid(relowner)) FROM given
  UNION ALL
  SELECT 20, format('CREATE POLICY %I ON %I USING (%s)', polname, leaf, pg_get_expr(polqual, polrelid))
  FROM given JOIN pg_policy ON polrelid = CAST(name AS regclass)
  UNION ALL
  SELECT 20, format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', leaf) FROM given
  UNION ALL
  SELECT 20, format('GRANT %s ON %I TO %I', privilege_type, leaf, pg_get_userbyid(grantee))
  FROM given, aclexplode(rights) WHERE grantee NOT IN (0, relowner)
  UNION ALL
  SELECT 30, format($ddl$
    CREATE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
      IF TG_OP = 'DELETE' THEN
        DELETE FROM %I WHERE tenant_id = OLD.tenant_id AND id = OLD.id;
      ELSE
        INSERT INTO %I (%s) VALUES (%s) ON CONFLICT (tenant_id, id) DO UPDATE SET (%s) = ROW(%s);
      END IF;
      RETURN NULL;
    END $body$ $ddl$, leaf || '_mirror', leaf, leaf, columns, new_columns, columns, excluded_columns
  ) FROM given
  UNION ALL
  SELECT 40, format(
    'CREATE TRIGGER %I AFTER INSERT OR UPDATE ON %I FOR EACH ROW WHEN (NEW.tenant_id = %L) EXECUTE FUNCTION %I()',
    leaf || '_kept', shared, tenant, leaf || '_mirror'
  ) FROM given
  UNION ALL
  SELECT 40, format(
    'CREATE TRIGGER %I AFTER DELETE ON %I FOR EACH ROW WHEN (OLD.tenant_id = %L) EXECUTE FUNCTION %I()',
    leaf || '_removed', shared, tenant, leaf || '_mirror'
  ) FROM given
) AS steps
ORDER BY step;

-- name: index_steps(shared, leaf)
-- columns: statement str
-- The statements that build the indexes of a future partition while it is written to.
SELECT regexp_replace(
  pg_get_indexdef(indexrelid), '^CREATE (UNIQUE )?INDEX .* ON \S+ USING',
  format('CREATE \1INDEX CONCURRENTLY %I ON %I USING', replace(index.relname, :shared, :leaf), CAST(:leaf AS text))
) AS statement
FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid
WHERE indrelid = CAST(CAST(:shared AS text) AS regclass) AND NOT EXISTS (
  SELECT FROM pg_constraint WHERE conindid = indexrelid AND contype IN ('p', 'u')
)
ORDER BY index.relname;

-- name: leaving_steps(table_name, shared, leaf, tenant)
-- columns: statement str
-- The statements that give a tenant its partition, in order; memories are neither stored nor searched meanwhile.
SELECT unnest(ARRAY[
  format('DROP TRIGGER %I ON %I', leaf || '_kept', shared),
  format('DROP TRIGGER %I ON %I', leaf || '_removed', shared),
  format('DROP FUNCTION %I()', leaf || '_mirror'),
  format('DELETE FROM %I WHERE tenant_id = %L', shared, tenant),
  format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES IN (%L)', name, leaf, tenant)
]) AS statement
FROM (
  SELECT
    CAST(:table_name AS text) AS name, CAST(:shared AS text) AS shared, CAST(:leaf AS text) AS leaf,
    CAST(:tenant AS text) AS tenant
) AS given;

-- name: abandoned_steps(leaf)
-- columns: statement str
-- The statements that remove what an interrupted attempt left.
SELECT unnest(ARRAY[
  format('DROP FUNCTION IF EXISTS %I() CASCADE', CAST(:leaf AS text) || '_mirror'),
  format('DROP TABLE IF EXISTS %I', CAST(:leaf AS text))
]) AS statement;

-- name: copying_statement(table_name, shared, leaf, tenant)$
-- returns: str
-- The statement that copies the next rows of a tenant, and returns their number and the last id. No one can delete the
-- rows until it commits; a row that changes in the meantime is already in the copy, or changes there too.
SELECT format(
  'WITH batch AS MATERIALIZED ('
  'SELECT * FROM %I WHERE tenant_id = %L AND id > $1 ORDER BY id LIMIT $2 FOR KEY SHARE'
  '), copied AS (INSERT INTO %I (%s) SELECT %s FROM batch ON CONFLICT (tenant_id, id) DO NOTHING) '
  'SELECT count(*) AS rows, (array_agg(id ORDER BY id DESC))[1] AS last FROM batch',
  CAST(:shared AS text), CAST(:tenant AS text), CAST(:leaf AS text), columns, columns
)
FROM (
  SELECT string_agg(format('%I', attname), ', ' ORDER BY attnum) AS columns
  FROM pg_attribute WHERE attrelid = CAST(:table_name AS regclass) AND attnum > 0 AND NOT attisdropped
) AS own;

-- name: analysing_statement(leaf)$
-- returns: str
-- The statement that tells the planner what a table holds.
SELECT format('ANALYZE %I', CAST(:leaf AS text));

-- name: server_and_rights()^
-- returns: Row
-- columns: version int, may_create bool
-- The version of the server as a number, such as 180004, and whether this role may create tables.
SELECT
  CAST(current_setting('server_version_num') AS integer) AS version,
  has_schema_privilege(current_schema(), 'CREATE') AS may_create;

-- name: tenant_is_known(tenant)$
-- returns: bool
-- Whether a tenant has ever stored a memory.
SELECT EXISTS (SELECT FROM tenants WHERE tenant_id = :tenant);
