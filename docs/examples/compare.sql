-- Compares relations of a primary with its standby, block by block, while both
-- work, and fetches pages of the standby for restore_block().  Run it once on the
-- primary, in the database with the extension.  What it makes is replicated, so
-- the standby has it, too.  The connection is one of these:
--
--	psql -d mydb -v standby='host=standby dbname=mydb' -f compare.sql	by dblink
--	psql -d mydb -v server=standby -f compare.sql		a server of postgres_fdw
--
-- The role of the connection needs pg_stat_scan_tables, and superuser for
-- compare.standby_page().  DROP SCHEMA compare CASCADE removes all of it.
\set ON_ERROR_STOP on
SELECT extnamespace::regnamespace AS checks FROM pg_extension WHERE extname = 'crc32c_accel' \gset
BEGIN;
CREATE SCHEMA compare;
REVOKE ALL ON SCHEMA compare FROM PUBLIC;
GRANT USAGE ON SCHEMA compare TO pg_stat_scan_tables;

-- What a server says of itself.  These run on both sides.
CREATE VIEW compare.state AS
	SELECT s.system_identifier, pg_is_in_recovery() AS in_recovery, c.redo_lsn, pg_last_wal_replay_lsn() AS replay_lsn
	FROM pg_control_system() s, pg_control_checkpoint() c;
CREATE VIEW compare.files AS
	SELECT oid AS relid, pg_relation_filenode(oid) AS file FROM pg_class WHERE relkind IN ('r', 'i', 't', 'm', 'S');
CREATE VIEW compare.digests AS
	SELECT c.oid AS relid, d.blkno, d.lsn, d.crc32c
	FROM pg_class c, LATERAL :checks.page_digests(c.oid, masked => true) d
	WHERE c.relkind IN ('r', 'i', 't', 'm', 'S');
CREATE VIEW compare.pages AS
	SELECT c.oid AS relid, b.blkno, :checks.read_disk_page(c.oid, 'main', b.blkno) AS page
	FROM pg_class c, LATERAL generate_series(0, pg_relation_size(c.oid) / current_setting('block_size')::bigint - 1) AS b (blkno)
	WHERE c.relkind IN ('r', 'i', 't', 'm', 'S');

-- The same of the standby.
\if :{?standby}
CREATE EXTENSION IF NOT EXISTS dblink;
SELECT extnamespace::regnamespace AS dblink FROM pg_extension WHERE extname = 'dblink' \gset
CREATE FUNCTION compare.standby_state() RETURNS SETOF compare.state
LANGUAGE sql BEGIN ATOMIC
	SELECT * FROM :dblink.dblink(:'standby', 'SELECT * FROM compare.state')
		AS s (system_identifier bigint, in_recovery boolean, redo_lsn pg_lsn, replay_lsn pg_lsn);
END;
CREATE FUNCTION compare.standby_file(relation regclass) RETURNS oid
LANGUAGE sql BEGIN ATOMIC
	SELECT f.file FROM :dblink.dblink(:'standby', 'SELECT file FROM compare.files WHERE relid = ' || relation::oid) AS f (file oid);
END;
CREATE FUNCTION compare.standby_digests(relation regclass) RETURNS SETOF compare.digests
LANGUAGE sql BEGIN ATOMIC
	SELECT * FROM :dblink.dblink(:'standby', 'SELECT * FROM compare.digests WHERE relid = ' || relation::oid)
		AS d (relid oid, blkno bigint, lsn pg_lsn, crc32c bigint);
END;
CREATE FUNCTION compare.standby_page(relation regclass, blkno bigint) RETURNS bytea
LANGUAGE sql BEGIN ATOMIC
	SELECT p.page FROM :dblink.dblink(:'standby', format('SELECT page FROM compare.pages WHERE relid = %s AND blkno = %s', relation::oid, blkno))
		AS p (page bytea);
END;
\else
CREATE FOREIGN TABLE compare.remote_state (system_identifier bigint, in_recovery boolean, redo_lsn pg_lsn, replay_lsn pg_lsn)
	SERVER :"server" OPTIONS (schema_name 'compare', table_name 'state');
CREATE FOREIGN TABLE compare.remote_files (relid oid, file oid)
	SERVER :"server" OPTIONS (schema_name 'compare', table_name 'files');
CREATE FOREIGN TABLE compare.remote_digests (relid oid, blkno bigint, lsn pg_lsn, crc32c bigint)
	SERVER :"server" OPTIONS (schema_name 'compare', table_name 'digests', fetch_size '10000');
CREATE FOREIGN TABLE compare.remote_pages (relid oid, blkno bigint, page bytea)
	SERVER :"server" OPTIONS (schema_name 'compare', table_name 'pages');
CREATE FUNCTION compare.standby_state() RETURNS SETOF compare.state
LANGUAGE sql BEGIN ATOMIC
	SELECT * FROM compare.remote_state;
END;
CREATE FUNCTION compare.standby_file(relation regclass) RETURNS oid
LANGUAGE sql BEGIN ATOMIC
	SELECT file FROM compare.remote_files WHERE relid = relation::oid;
END;
CREATE FUNCTION compare.standby_digests(relation regclass) RETURNS SETOF compare.digests
LANGUAGE sql BEGIN ATOMIC
	SELECT * FROM compare.remote_digests WHERE relid = relation::oid;
END;
CREATE FUNCTION compare.standby_page(relation regclass, blkno bigint) RETURNS bytea
LANGUAGE sql BEGIN ATOMIC
	SELECT p.page FROM compare.remote_pages p WHERE p.relid = relation::oid AND p.blkno = standby_page.blkno;
END;
\endif

-- The blocks that differ, by the redo points of both sides, which were read
-- before.  All changes up to a redo point are on that side's disk.
--
-- One LSN is one page under the mask, so that other contents are a divergence.
-- An older page was lost where the newer one's LSN is not after the redo point
-- of its side.  The LSN alone may lag, by hint bits: then the digests are equal.
-- A sequence goes by its LSN, since the mask hides its values.
CREATE TYPE compare.finding AS (blkno bigint, side text, status text, primary_lsn pg_lsn, standby_lsn pg_lsn);
CREATE FUNCTION compare.differences(relation regclass, primary_redo pg_lsn, standby_redo pg_lsn) RETURNS SETOF compare.finding
LANGUAGE sql BEGIN ATOMIC
	SELECT coalesce(p.blkno, s.blkno), v.side, v.status, p.lsn, s.lsn
	FROM (SELECT * FROM compare.digests d WHERE d.relid = relation::oid) p
		FULL JOIN compare.standby_digests(relation) s ON s.blkno = p.blkno,
	LATERAL (SELECT CASE
			WHEN (p.blkno IS NOT NULL AND p.crc32c IS NULL) OR (s.blkno IS NOT NULL AND s.crc32c IS NULL)
				THEN 'damaged, see verify_relation()'
			WHEN p.crc32c = s.crc32c AND (SELECT c.relkind FROM pg_class c WHERE c.oid = relation::oid) <> 'S' THEN NULL
			WHEN least(p.lsn, s.lsn) < '0/2' THEN 'without an LSN, as a bulk load leaves it'
			WHEN p.lsn = s.lsn THEN 'diverged'
			WHEN s.blkno IS NULL AND p.lsn <= standby_redo OR p.blkno IS NULL AND s.lsn <= primary_redo THEN 'gone'
			WHEN s.lsn < p.lsn AND p.lsn <= standby_redo OR p.lsn < s.lsn AND s.lsn <= primary_redo THEN 'stale_page'
			ELSE 'changed after the redo point, run CHECKPOINT on both and ask again'
		END AS status,
		CASE WHEN s.blkno IS NULL OR s.lsn < p.lsn THEN 'standby'
			WHEN p.blkno IS NULL OR p.lsn < s.lsn THEN 'primary' END AS side) v
	WHERE p.lsn IS DISTINCT FROM s.lsn OR p.crc32c IS DISTINCT FROM s.crc32c OR p.crc32c IS NULL;
END;

-- Waits until the standby has replayed the WAL up to there.
CREATE FUNCTION compare.wait(lsn pg_lsn) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	page int := current_setting('wal_block_size');
	wanted pg_lsn := lsn;
	deadline timestamptz := clock_timestamp() + interval '1 minute';
BEGIN
	-- the insert position may lie after the header of a page that has no record
	IF (lsn - '0/0') % page <= 40 THEN
		wanted := lsn - (lsn - '0/0') % page;
	END IF;
	WHILE (SELECT s.replay_lsn FROM compare.standby_state() s) < wanted LOOP
		IF clock_timestamp() > deadline THEN
			RAISE EXCEPTION 'the standby has not replayed WAL up to % within a minute', wanted;
		END IF;
		PERFORM pg_sleep(0.1);
	END LOOP;
END $$;

-- Compares a relation.  "side" has lost what the other one has.
CREATE FUNCTION compare.with_standby(relation regclass)
RETURNS TABLE (blkno bigint, side text, status text, primary_lsn pg_lsn, standby_lsn pg_lsn, message text)
LANGUAGE plpgsql AS $$
DECLARE
	what pg_class;
	here compare.state;
	there compare.state;
	known oid;
	locked pg_lsn;
	found compare.finding[];
BEGIN
	SELECT * INTO what FROM pg_class c WHERE c.oid = relation;
	IF what.relpersistence <> 'p' OR what.relkind NOT IN ('r', 'i', 't', 'm', 'S') OR what.relam >= 16384 THEN
		RETURN QUERY SELECT NULL::bigint, NULL::text, 'not_verifiable'::text, NULL::pg_lsn, NULL::pg_lsn,
			'unlogged, without storage, or of an access method of an extension';
		RETURN;
	END IF;

	-- First come the redo points, which must be older than what is read.
	SELECT * INTO here FROM compare.state;
	SELECT * INTO there FROM compare.standby_state();
	IF here.in_recovery OR NOT there.in_recovery OR here.system_identifier <> there.system_identifier THEN
		RAISE EXCEPTION 'this server is not a primary, or the other one no standby of it';
	END IF;

	-- Then a lock keeps VACUUM from truncating, and all from rewriting.  Planning
	-- locks the indexes of a table, too.
	EXECUTE format('SELECT FROM %s LIMIT 0', coalesce((SELECT i.indrelid::regclass FROM pg_index i WHERE i.indexrelid = relation), relation));
	known := pg_relation_filenode(relation);

	-- What is found is looked at once more.  By then the standby knows what was
	-- truncated before the lock.  And without data checksums a page may have been
	-- half written when it was read.
	locked := pg_current_wal_insert_lsn();
	SELECT array_agg(d) INTO found FROM compare.differences(relation, here.redo_lsn, there.redo_lsn) d WHERE d.status IS NOT NULL;
	IF EXISTS (SELECT FROM unnest(found) f WHERE f.status IN ('diverged', 'gone', 'stale_page')) THEN
		PERFORM compare.wait(locked);
		SELECT array_agg(f) INTO found
		FROM unnest(found) f JOIN compare.differences(relation, here.redo_lsn, there.redo_lsn) d
			ON d.blkno = f.blkno AND d.status = f.status AND d.side IS NOT DISTINCT FROM f.side;
	END IF;

	-- The lock does not stop ALTER SEQUENCE, which makes another file.
	IF known IS DISTINCT FROM pg_relation_filenode(relation) OR known IS DISTINCT FROM compare.standby_file(relation)
		OR NOT (SELECT s.in_recovery FROM compare.standby_state() s) THEN
		RETURN QUERY SELECT NULL::bigint, NULL::text, 'not_verifiable'::text, NULL::pg_lsn, NULL::pg_lsn,
			'the relation got another file, or the standby was promoted';
		RETURN;
	END IF;
	RETURN QUERY SELECT f.blkno, f.side, f.status, f.primary_lsn, f.standby_lsn, CASE f.status
			WHEN 'diverged' THEN 'the same LSN, other contents'
			WHEN 'gone' THEN 'the block is not on the disk of the ' || f.side || ', or all zeros'
			ELSE 'the page on the disk of the ' || f.side || ' is older: a write was lost' END
		FROM unnest(found) f WHERE f.status IN ('diverged', 'gone', 'stale_page') ORDER BY f.blkno;
	RETURN QUERY SELECT NULL::bigint, NULL::text, 'not_verifiable'::text, NULL::pg_lsn, NULL::pg_lsn, count(*) || ' blocks: ' || f.status
		FROM unnest(found) f WHERE f.status NOT IN ('diverged', 'gone', 'stale_page') GROUP BY f.status;
END $$;
COMMIT;
