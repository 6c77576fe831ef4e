/* sql/crc32c_accel--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION crc32c_accel" to load this file. \quit

--
-- Checksums.  A CRC is a bigint in 0..4294967295; anything else is an error
-- with SQLSTATE 22003.
--

CREATE FUNCTION crc32c(data bytea)
RETURNS bigint
AS 'MODULE_PATHNAME', 'accel_crc32c'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF;
DO $$	-- a bare name would be the built-in function on PostgreSQL 18
BEGIN
	EXECUTE pg_catalog.format('COMMENT ON FUNCTION %I.crc32c(bytea) IS %L', pg_catalog.current_schema(),
		'CRC-32C (Castagnoli, RFC 3720) of a value; on PostgreSQL 18 an unqualified call finds the built-in function of the same name, which gives the same value');
END
$$;

CREATE FUNCTION crc32c_extend(crc bigint, data bytea)
RETURNS bigint
AS 'MODULE_PATHNAME', 'accel_crc32c_extend'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION crc32c_extend(bigint, bytea) IS
'CRC-32C of a concatenation: crc32c_extend(crc32c(a), b) = crc32c(a || b)';

CREATE FUNCTION crc32c_combine(crc1 bigint, crc2 bigint, len2 bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'accel_crc32c_combine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION crc32c_combine(bigint, bigint, bigint) IS
'CRC-32C of a || b from crc32c(a), crc32c(b) and the length of b in bytes';

CREATE FUNCTION crc32c_bytes(crc bigint)
RETURNS bytea
AS 'MODULE_PATHNAME', 'accel_crc32c_bytes'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION crc32c_bytes(bigint) IS
'a CRC as four bytes, big-endian, as object stores exchange it';

CREATE AGGREGATE crc32c_agg(data bytea) (
	SFUNC = crc32c_extend,
	STYPE = bigint,
	INITCOND = '0',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE crc32c_agg(bytea) IS
'CRC-32C of all values, concatenated in the order given by ORDER BY; NULL is skipped, no value gives 0';

CREATE FUNCTION crc32(data bytea)
RETURNS bigint
AS 'MODULE_PATHNAME', 'accel_crc32'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE LEAKPROOF;
DO $$	-- a bare name would be the built-in function on PostgreSQL 18
BEGIN
	EXECUTE pg_catalog.format('COMMENT ON FUNCTION %I.crc32(bytea) IS %L', pg_catalog.current_schema(),
		'CRC-32/ISO-HDLC (zlib, gzip, PNG; RFC 1952) of a value');
END
$$;

CREATE FUNCTION crc32_extend(crc bigint, data bytea)
RETURNS bigint
AS 'MODULE_PATHNAME', 'accel_crc32_extend'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION crc32_extend(bigint, bytea) IS
'CRC-32/ISO-HDLC of a concatenation: crc32_extend(crc32(a), b) = crc32(a || b)';

CREATE FUNCTION crc32_combine(crc1 bigint, crc2 bigint, len2 bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'accel_crc32_combine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION crc32_combine(bigint, bigint, bigint) IS
'CRC-32/ISO-HDLC of a || b from crc32(a), crc32(b) and the length of b in bytes';

--
-- Kernels
--

CREATE FUNCTION checksum_kernels(
	OUT algorithm text,
	OUT kernel text,
	OUT arch text,
	OUT requires text[],
	OUT compiled boolean,
	OUT available boolean,
	OUT selected boolean,
	OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_checksum_kernels'
LANGUAGE C STABLE STRICT PARALLEL SAFE ROWS 30;
COMMENT ON FUNCTION checksum_kernels() IS
'every kernel of every algorithm (crc32c, crc32, page), best first: what it requires of the CPU, whether it is compiled in, can run here and is in use, and why';

CREATE FUNCTION checksum_self_test(
	OUT algorithm text,
	OUT kernel text,
	OUT cases bigint,
	OUT failures bigint,
	OUT first_failure text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_checksum_self_test'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE ROWS 30;
COMMENT ON FUNCTION checksum_self_test() IS
'compares every kernel that this CPU can run with the bitwise reference: one row per kernel, failures is 0 if all is well';

--
-- Pages
--

CREATE FUNCTION verify_page(
	page bytea,
	blkno bigint,
	OUT status text,
	OUT stored_checksum integer,
	OUT computed_checksum integer,
	OUT lsn pg_lsn,
	OUT crc32c bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'accel_verify_page'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION verify_page(bytea, bigint) IS
'judges the raw image of a page, whatever its source: status, page checksums, LSN, and the CRC-32C of the image';

CREATE FUNCTION verify_relation(
	relation regclass,
	fork text DEFAULT NULL,
	first_block bigint DEFAULT NULL,
	last_block bigint DEFAULT NULL,
	include_toast boolean DEFAULT false,
	include_indexes boolean DEFAULT false,
	workers integer DEFAULT 0,
	max_rate integer DEFAULT 0,
	direct_io boolean DEFAULT false,
	OUT relation regclass,
	OUT fork text,
	OUT blkno bigint,
	OUT path text,
	OUT file_offset bigint,
	OUT status text,
	OUT stored_checksum integer,
	OUT computed_checksum integer,
	OUT lsn pg_lsn,
	OUT retries integer,
	OUT buffer_state text,
	OUT message text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_verify_relation'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION verify_relation(regclass, text, bigint, bigint, boolean, boolean, integer, integer, boolean) IS
'verifies the blocks of a relation on disk while the server runs: one row per finding, no row if all is well';
REVOKE ALL ON FUNCTION verify_relation(regclass, text, bigint, bigint, boolean, boolean, integer, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION verify_relation(regclass, text, bigint, bigint, boolean, boolean, integer, integer, boolean) TO pg_stat_scan_tables;

CREATE FUNCTION verify_relation_summary(
	relation regclass,
	fork text DEFAULT NULL,
	first_block bigint DEFAULT NULL,
	last_block bigint DEFAULT NULL,
	include_toast boolean DEFAULT false,
	include_indexes boolean DEFAULT false,
	workers integer DEFAULT 0,
	max_rate integer DEFAULT 0,
	direct_io boolean DEFAULT false,
	OUT relation regclass,
	OUT fork text,
	OUT blocks bigint,
	OUT verified_blocks bigint,
	OUT zero_blocks bigint,
	OUT bad_blocks bigint,
	OUT unverifiable_blocks bigint,
	OUT retried_blocks bigint,
	OUT read_bytes bigint,
	OUT elapsed interval,
	OUT bytes_per_second bigint,
	OUT status text,
	OUT message text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_verify_relation_summary'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 10;
COMMENT ON FUNCTION verify_relation_summary(regclass, text, bigint, bigint, boolean, boolean, integer, integer, boolean) IS
'verifies the blocks of a relation on disk while the server runs: one row per fork, with counts and rate';
REVOKE ALL ON FUNCTION verify_relation_summary(regclass, text, bigint, bigint, boolean, boolean, integer, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION verify_relation_summary(regclass, text, bigint, bigint, boolean, boolean, integer, integer, boolean) TO pg_stat_scan_tables;

CREATE FUNCTION relation_files(
	relation regclass,
	OUT fork text,
	OUT segment_number integer,
	OUT path text,
	OUT size bigint,
	OUT blocks bigint,
	OUT status text,
	OUT is_finding boolean)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_relation_files'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 5;
COMMENT ON FUNCTION relation_files(regclass) IS
'the files of a relation, by fork and number, and whether their sizes are valid';
REVOKE ALL ON FUNCTION relation_files(regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION relation_files(regclass) TO pg_stat_scan_tables;

CREATE FUNCTION read_disk_page(relation regclass, fork text, blkno bigint)
RETURNS bytea
AS 'MODULE_PATHNAME', 'accel_read_disk_page'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION read_disk_page(regclass, text, bigint) IS
'one block of a relation as it is on disk, valid or not; superusers only';
REVOKE ALL ON FUNCTION read_disk_page(regclass, text, bigint) FROM PUBLIC;

-- The two functions that write to a relation.
CREATE FUNCTION heal_block(
	relation regclass,
	fork text,
	blkno bigint,
	allow_unproven boolean DEFAULT false,
	direct_io boolean DEFAULT false,
	OUT status text,
	OUT copy text,
	OUT message text)
RETURNS record
AS 'MODULE_PATHNAME', 'accel_heal_block'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION heal_block(regclass, text, bigint, boolean, boolean) IS
'writes the good page of shared buffers over its damaged or older block on disk, with WAL, and reads it back; superusers only';
REVOKE ALL ON FUNCTION heal_block(regclass, text, bigint, boolean, boolean) FROM PUBLIC;

CREATE FUNCTION restore_block(
	relation regclass,
	fork text,
	blkno bigint,
	page bytea DEFAULT NULL,
	backup text DEFAULT NULL,
	prior_backups text[] DEFAULT NULL,
	directory text DEFAULT NULL,
	allow_unproven boolean DEFAULT false,
	OUT status text,
	OUT message text)
RETURNS record
AS 'MODULE_PATHNAME', 'accel_restore_block'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE;
COMMENT ON FUNCTION restore_block(regclass, text, bigint, bytea, text, text[], text, boolean) IS
'writes a given page, or that of a backup, over a block that is damaged, zeroed or stale, with WAL, if the WAL, or with it the page ledger, proves that the page is what the block must hold; backup is plain, tar or incremental to prior_backups; directory is a WAL archive, after which pg_wal is read; superusers only';
REVOKE ALL ON FUNCTION restore_block(regclass, text, bigint, bytea, text, text[], text, boolean) FROM PUBLIC;

CREATE FUNCTION page_digests(
	relation regclass,
	fork text DEFAULT 'main',
	first_block bigint DEFAULT NULL,
	last_block bigint DEFAULT NULL,
	masked boolean DEFAULT false,
	blocks_per_row integer DEFAULT 1,
	workers integer DEFAULT 0,
	max_rate integer DEFAULT 0,
	OUT blkno bigint,
	OUT lsn pg_lsn,
	OUT crc32c bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_page_digests'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 1000;
COMMENT ON FUNCTION page_digests(regclass, text, bigint, bigint, boolean, integer, integer, integer) IS
'CRC-32C of every block of a relation on disk, or of each blocks_per_row blocks, to compare copies; masked leaves out what replay does not reproduce (hint bits, unused space, checksum, new pages), so that primary and standby agree';
REVOKE ALL ON FUNCTION page_digests(regclass, text, bigint, bigint, boolean, integer, integer, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION page_digests(regclass, text, bigint, bigint, boolean, integer, integer, integer) TO pg_stat_scan_tables;

--
-- The whole database: what was verified and found
--
-- The procedure writes these tables with the rights of their owner, so nobody
-- else needs a right to write, and what a run trusts was written by a run.
-- There is no key: a dump may be restored into a database whose template had a
-- history.  The procedure numbers runs after the highest number that it finds.
-- Nothing refers to relations by name, so that dumps without one restore.

CREATE TABLE verify_runs (
	run bigint NOT NULL,
	started_at timestamptz NOT NULL,
	finished_at timestamptz,
	relations bigint NOT NULL,
	blocks bigint NOT NULL,
	read_bytes bigint NOT NULL,
	findings bigint NOT NULL,
	state text NOT NULL,
	not_verifiable bigint NOT NULL,
	zero_blocks bigint NOT NULL,
	files bigint NOT NULL,
	system_identifier bigint NOT NULL,
	timeline_id bigint NOT NULL,
	data_directory_inode bigint NOT NULL,
	datid oid NOT NULL);
CREATE INDEX verify_runs_run ON verify_runs (run);
COMMENT ON TABLE verify_runs IS 'runs of verify_database and verify_cluster';
COMMENT ON COLUMN verify_runs.run IS 'number of the run';
COMMENT ON COLUMN verify_runs.started_at IS 'start time; reverify_after => now() minus this resumes the run';
COMMENT ON COLUMN verify_runs.finished_at IS 'end time, NULL while running';
COMMENT ON COLUMN verify_runs.relations IS 'relations verified so far';
COMMENT ON COLUMN verify_runs.blocks IS 'blocks in these relations';
COMMENT ON COLUMN verify_runs.read_bytes IS 'bytes read';
COMMENT ON COLUMN verify_runs.findings IS 'findings so far, not verifiable ones included';
COMMENT ON COLUMN verify_runs.state IS 'running, completed, stopped (by max_duration), cancelled, failed; not_recorded: it ended, but from some point on the history could not be written; interrupted: the session ended without recording a state';
COMMENT ON COLUMN verify_runs.not_verifiable IS 'how many of the findings are not_verifiable';
COMMENT ON COLUMN verify_runs.zero_blocks IS 'blocks that are all zero';
COMMENT ON COLUMN verify_runs.files IS 'files of the cluster; 0: they were not verified';
COMMENT ON COLUMN verify_runs.system_identifier IS 'system identifier of the cluster that was verified';
COMMENT ON COLUMN verify_runs.timeline_id IS 'its timeline';
COMMENT ON COLUMN verify_runs.data_directory_inode IS 'inode of the file PG_VERSION in its data directory: tells copies apart';
COMMENT ON COLUMN verify_runs.datid IS 'OID of the database in which the run was called';

CREATE TABLE verify_run_relations (
	run bigint NOT NULL,
	relid oid NOT NULL,
	verified_at timestamptz NOT NULL,
	blocks bigint NOT NULL,
	findings bigint NOT NULL,
	began_at timestamptz NOT NULL,
	zero_blocks bigint NOT NULL,
	schema_name text,
	relation_name text,
	kind text,
	owner_table text,
	tablespace oid NOT NULL,
	filenode oid NOT NULL,
	datid oid NOT NULL DEFAULT 0,
	database text);
CREATE INDEX verify_run_relations_run ON verify_run_relations (run);
CREATE INDEX verify_run_relations_relid ON verify_run_relations (relid, verified_at);
COMMENT ON TABLE verify_run_relations IS 'relations that runs have verified to their end';
COMMENT ON COLUMN verify_run_relations.run IS 'the run';
COMMENT ON COLUMN verify_run_relations.relid IS 'OID of the relation';
COMMENT ON COLUMN verify_run_relations.verified_at IS 'when its last block had been verified';
COMMENT ON COLUMN verify_run_relations.blocks IS 'blocks of all its forks';
COMMENT ON COLUMN verify_run_relations.findings IS 'findings, not verifiable ones included';
COMMENT ON COLUMN verify_run_relations.began_at IS 'when its first block was verified, maybe by an earlier run';
COMMENT ON COLUMN verify_run_relations.zero_blocks IS 'blocks that are all zero';
COMMENT ON COLUMN verify_run_relations.schema_name IS 'its schema';
COMMENT ON COLUMN verify_run_relations.relation_name IS 'its name';
COMMENT ON COLUMN verify_run_relations.kind IS 'table, index, TOAST table, sequence or materialized view';
COMMENT ON COLUMN verify_run_relations.owner_table IS 'of an index or a TOAST table: the table that it belongs to';
COMMENT ON COLUMN verify_run_relations.tablespace IS 'OID of the tablespace of its file';
COMMENT ON COLUMN verify_run_relations.filenode IS 'number of its file: a rewritten relation has another one';
COMMENT ON COLUMN verify_run_relations.datid IS 'OID of the database of the relation; 0: shared by all';
COMMENT ON COLUMN verify_run_relations.database IS 'the name that the database had';

CREATE TABLE verify_findings (
	run bigint NOT NULL,
	relid oid,
	fork text,
	blkno bigint,
	path text,
	file_offset bigint,
	status text NOT NULL,
	stored_checksum integer,
	computed_checksum integer,
	lsn pg_lsn,
	retries integer,
	buffer_state text,
	message text,
	found_at timestamptz NOT NULL,
	schema_name text,
	relation_name text,
	kind text,
	owner_table text,
	tablespace oid,
	filenode oid,
	datid oid NOT NULL DEFAULT 0,
	database text);
CREATE INDEX verify_findings_run ON verify_findings (run);
CREATE INDEX verify_findings_relid ON verify_findings (relid, found_at);
COMMENT ON TABLE verify_findings IS 'what runs have found; columns as of verify_relation';
COMMENT ON COLUMN verify_findings.run IS 'the run';
COMMENT ON COLUMN verify_findings.relid IS 'OID of the relation; NULL: a file of the cluster, or the cluster, whose data checksums are disabled';
COMMENT ON COLUMN verify_findings.fork IS 'its fork; NULL: the relation as a whole';
COMMENT ON COLUMN verify_findings.blkno IS 'block number within the fork';
COMMENT ON COLUMN verify_findings.path IS 'the file, relative to the data directory';
COMMENT ON COLUMN verify_findings.file_offset IS 'where the block begins in the file';
COMMENT ON COLUMN verify_findings.status IS 'what is wrong';
COMMENT ON COLUMN verify_findings.stored_checksum IS 'pd_checksum as it lies on disk';
COMMENT ON COLUMN verify_findings.computed_checksum IS 'what it should be';
COMMENT ON COLUMN verify_findings.lsn IS 'pd_lsn as it lies on disk';
COMMENT ON COLUMN verify_findings.retries IS 'reads of the block beyond the first; NULL: a lost write, of which WAL tells';
COMMENT ON COLUMN verify_findings.buffer_state IS 'what shared buffers held of the block: uncached, clean, dirty, invalid';
COMMENT ON COLUMN verify_findings.message IS 'the finding in words';
COMMENT ON COLUMN verify_findings.found_at IS 'when it was recorded';
COMMENT ON COLUMN verify_findings.schema_name IS 'schema of the relation';
COMMENT ON COLUMN verify_findings.relation_name IS 'name of the relation';
COMMENT ON COLUMN verify_findings.kind IS 'table, index, TOAST table, sequence or materialized view';
COMMENT ON COLUMN verify_findings.owner_table IS 'of an index or a TOAST table: the table that it belongs to';
COMMENT ON COLUMN verify_findings.tablespace IS 'OID of the tablespace of its file';
COMMENT ON COLUMN verify_findings.filenode IS 'number of its file: a rewritten relation has another one';
COMMENT ON COLUMN verify_findings.datid IS 'OID of the database of the relation; 0: shared by all, or a file of the cluster';
COMMENT ON COLUMN verify_findings.database IS 'the name that the database had';

CREATE TABLE internal_positions (
	run bigint NOT NULL,
	relid oid NOT NULL,
	fork text NOT NULL,
	blkno bigint NOT NULL,
	recorded_at timestamptz NOT NULL,
	began_at timestamptz NOT NULL,
	blocks bigint NOT NULL,
	read_bytes bigint NOT NULL,
	zero_blocks bigint NOT NULL,
	findings bigint NOT NULL,
	tablespace oid NOT NULL,
	filenode oid NOT NULL,
	datid oid NOT NULL);
COMMENT ON TABLE internal_positions IS 'where runs stand in large relations: reverify_after goes on there';
COMMENT ON COLUMN internal_positions.run IS 'the run';
COMMENT ON COLUMN internal_positions.relid IS 'OID of the relation';
COMMENT ON COLUMN internal_positions.fork IS 'the fork to go on with';
COMMENT ON COLUMN internal_positions.blkno IS 'the block to go on with';
COMMENT ON COLUMN internal_positions.recorded_at IS 'when this was recorded';
COMMENT ON COLUMN internal_positions.began_at IS 'when the first block of the relation was verified';
COMMENT ON COLUMN internal_positions.blocks IS 'blocks verified so far';
COMMENT ON COLUMN internal_positions.read_bytes IS 'bytes read so far';
COMMENT ON COLUMN internal_positions.zero_blocks IS 'blocks so far that are all zero';
COMMENT ON COLUMN internal_positions.findings IS 'findings so far';
COMMENT ON COLUMN internal_positions.tablespace IS 'OID of the tablespace of the file';
COMMENT ON COLUMN internal_positions.filenode IS 'number of the file';
COMMENT ON COLUMN internal_positions.datid IS 'OID of the database of the relation; 0: shared by all';

-- One row per relation of any database, which each verification replaces in the
-- transaction that writes verify_run_relations, see write_verdict().  The oldest
-- good one is the first of an index.  A relation dropped or rewritten since is
-- known by its file, and one created since has no row.
CREATE TABLE internal_verdicts (
	datid oid NOT NULL,
	relid oid NOT NULL,
	tablespace oid NOT NULL,
	filenode oid NOT NULL,
	run bigint NOT NULL,
	verified_at timestamptz NOT NULL,
	good_at timestamptz,
	blocks bigint NOT NULL);
CREATE INDEX internal_verdicts_relid ON internal_verdicts (datid, relid);
CREATE INDEX internal_verdicts_good_at ON internal_verdicts (datid, good_at);
COMMENT ON TABLE internal_verdicts IS 'the last verdict on each relation, for verify_last_good and verify_metrics';
COMMENT ON COLUMN internal_verdicts.datid IS 'OID of the database of the relation; 0: shared by all';
COMMENT ON COLUMN internal_verdicts.relid IS 'OID of the relation';
COMMENT ON COLUMN internal_verdicts.tablespace IS 'OID of the tablespace of its file';
COMMENT ON COLUMN internal_verdicts.filenode IS 'number of its file';
COMMENT ON COLUMN internal_verdicts.run IS 'the run that verified it last';
COMMENT ON COLUMN internal_verdicts.verified_at IS 'when that was';
COMMENT ON COLUMN internal_verdicts.good_at IS 'when this file last had no finding; NULL: never';
COMMENT ON COLUMN internal_verdicts.blocks IS 'blocks of all its forks';

-- The page ledger: LSN and masked digest of each block, in arrays of 1,024
-- blocks, high byte first.  See src/page/ledger.c.
CREATE TABLE internal_page_digests (
	datid oid NOT NULL,
	tablespace oid NOT NULL,
	filenode oid NOT NULL,
	relid oid NOT NULL,
	first_block bigint NOT NULL,
	recorded_at timestamptz NOT NULL,
	taken_lsn pg_lsn NOT NULL,
	system_identifier bigint NOT NULL,
	timeline_id bigint NOT NULL,
	mask_version integer NOT NULL,
	checksums boolean NOT NULL,
	wal_log_hints boolean NOT NULL,
	full_page_writes boolean NOT NULL,
	lsns bytea NOT NULL,
	digests bytea NOT NULL);
ALTER TABLE internal_page_digests ALTER COLUMN lsns SET STORAGE EXTERNAL, ALTER COLUMN digests SET STORAGE EXTERNAL;
CREATE INDEX internal_page_digests_file ON internal_page_digests (filenode, first_block);
COMMENT ON TABLE internal_page_digests IS 'the page ledger: what verify_database and verify_cluster (record_digests => true) have read, for verify_page_digests';
COMMENT ON COLUMN internal_page_digests.datid IS 'OID of the database, 0 for a shared relation';
COMMENT ON COLUMN internal_page_digests.tablespace IS 'OID of the tablespace of the file';
COMMENT ON COLUMN internal_page_digests.filenode IS 'number of the file';
COMMENT ON COLUMN internal_page_digests.relid IS 'OID of the relation';
COMMENT ON COLUMN internal_page_digests.first_block IS 'the first of 1,024 blocks of the main fork';
COMMENT ON COLUMN internal_page_digests.recorded_at IS 'when this was recorded';
COMMENT ON COLUMN internal_page_digests.taken_lsn IS 'end of WAL after the blocks were read';
COMMENT ON COLUMN internal_page_digests.system_identifier IS 'system identifier of the cluster';
COMMENT ON COLUMN internal_page_digests.timeline_id IS 'its timeline';
COMMENT ON COLUMN internal_page_digests.mask_version IS 'version of the mask: digests of another one cannot be compared';
COMMENT ON COLUMN internal_page_digests.checksums IS 'whether data checksums were on';
COMMENT ON COLUMN internal_page_digests.wal_log_hints IS 'wal_log_hints of the server';
COMMENT ON COLUMN internal_page_digests.full_page_writes IS 'full_page_writes of the server';
COMMENT ON COLUMN internal_page_digests.lsns IS 'the oldest LSN, 8 bytes, and of each block how far its LSN is after that, plus 1, all in as few bytes; 0 if it is not recorded';
COMMENT ON COLUMN internal_page_digests.digests IS 'CRC-32C of each masked page, 4 bytes';

-- What is remembered of backups.  Names are compared by their bytes.

CREATE TABLE verify_backup_verdicts (
	directory text COLLATE pg_catalog."C" NOT NULL,
	backup text COLLATE pg_catalog."C" NOT NULL,
	system_identifier bigint,
	label text,
	format text,
	start_lsn pg_lsn,
	end_lsn pg_lsn,
	taken_at timestamptz,
	verified_at timestamptz NOT NULL,
	status text NOT NULL,
	is_finding boolean NOT NULL,
	unfinished boolean NOT NULL,
	findings bigint NOT NULL,
	files bigint NOT NULL,
	read_bytes bigint NOT NULL,
	prior_backups text[],
	message text,
	manifest_checksum text,
	listing_digest bigint,
	gone_at timestamptz,
	PRIMARY KEY (directory, backup));
COMMENT ON TABLE verify_backup_verdicts IS 'the last verdict of verify_backups on each backup of each directory';
COMMENT ON COLUMN verify_backup_verdicts.directory IS 'the directory';
COMMENT ON COLUMN verify_backup_verdicts.backup IS 'the backup, a path below the directory; a period: the directory itself';
COMMENT ON COLUMN verify_backup_verdicts.system_identifier IS 'system identifier of its cluster';
COMMENT ON COLUMN verify_backup_verdicts.label IS 'its label';
COMMENT ON COLUMN verify_backup_verdicts.format IS 'plain, incremental, tar or pgbackrest';
COMMENT ON COLUMN verify_backup_verdicts.start_lsn IS 'where its WAL starts';
COMMENT ON COLUMN verify_backup_verdicts.end_lsn IS 'where its WAL ends';
COMMENT ON COLUMN verify_backup_verdicts.taken_at IS 'when it was taken: the newest file that its manifest lists, or the time of the manifest if that is older; without a manifest its newest file';
COMMENT ON COLUMN verify_backup_verdicts.verified_at IS 'when it was last read, or seen to be unfinished';
COMMENT ON COLUMN verify_backup_verdicts.status IS 'ok, damaged or undecided; not_verifiable: unfinished, or it could not be verified';
COMMENT ON COLUMN verify_backup_verdicts.is_finding IS 'it is something to act on';
COMMENT ON COLUMN verify_backup_verdicts.unfinished IS 'it was being written, copied or removed: the next call judges it';
COMMENT ON COLUMN verify_backup_verdicts.findings IS 'rows that verify_backup returned';
COMMENT ON COLUMN verify_backup_verdicts.files IS 'files that were verified, those of prior_backups included';
COMMENT ON COLUMN verify_backup_verdicts.read_bytes IS 'bytes of them';
COMMENT ON COLUMN verify_backup_verdicts.prior_backups IS 'of an incremental backup those before it, full first; NULL: it was verified by itself';
COMMENT ON COLUMN verify_backup_verdicts.message IS 'the first finding in words';
COMMENT ON COLUMN verify_backup_verdicts.manifest_checksum IS 'SHA-256 that its manifest gives for itself';
COMMENT ON COLUMN verify_backup_verdicts.listing_digest IS 'digest of the names, sizes and times of its files; NULL: it is read again';
COMMENT ON COLUMN verify_backup_verdicts.gone_at IS 'when it was found to be gone; NULL: it is there';

-- What is remembered of WAL archives.  Names are compared by their bytes: the
-- index must outlive a change of collations.

CREATE TABLE verify_wal_files (
	directory text COLLATE pg_catalog."C" NOT NULL,
	segment text COLLATE pg_catalog."C" NOT NULL,
	timeline_id bigint NOT NULL,
	size bigint,
	modified_at timestamptz,
	crc32c bigint,
	sound_at timestamptz,
	verified_at timestamptz NOT NULL,
	status text NOT NULL,
	is_finding boolean NOT NULL,
	start_open boolean NOT NULL,
	end_open boolean NOT NULL,
	message text,
	system_identifier bigint NOT NULL,
	PRIMARY KEY (directory, segment));
COMMENT ON TABLE verify_wal_files IS 'what verify_wal_archive has found in each file of each archive';
COMMENT ON COLUMN verify_wal_files.directory IS 'the archive';
COMMENT ON COLUMN verify_wal_files.segment IS 'the file, a path below the archive; of a segment that was never there, its name';
COMMENT ON COLUMN verify_wal_files.timeline_id IS 'timeline in the name';
COMMENT ON COLUMN verify_wal_files.size IS 'bytes of the file as it is stored';
COMMENT ON COLUMN verify_wal_files.modified_at IS 'its modification time; NULL: it was written while it was read, and is read again';
COMMENT ON COLUMN verify_wal_files.crc32c IS 'CRC-32C of the segment, decompressed, when it was last sound';
COMMENT ON COLUMN verify_wal_files.sound_at IS 'when that was';
COMMENT ON COLUMN verify_wal_files.verified_at IS 'when it was last read, or found to be gone';
COMMENT ON COLUMN verify_wal_files.status IS 'as of verify_wal; or changed: other contents with the same size and modification time; or ok_expired: gone, as all older ones are';
COMMENT ON COLUMN verify_wal_files.is_finding IS 'it is something to act on';
COMMENT ON COLUMN verify_wal_files.start_open IS 'a record over the start is not verified: the segment before was not there';
COMMENT ON COLUMN verify_wal_files.end_open IS 'a record over the end is not verified: the segment after was not there';
COMMENT ON COLUMN verify_wal_files.message IS 'the finding in words';
COMMENT ON COLUMN verify_wal_files.system_identifier IS 'system identifier that was expected: with another one the file is read again';

-- The history is written without logical decoding, see src/run/history.c; its
-- deletions are not decoded for want of an identity.
ALTER TABLE verify_runs REPLICA IDENTITY NOTHING;
ALTER TABLE verify_run_relations REPLICA IDENTITY NOTHING;
ALTER TABLE verify_findings REPLICA IDENTITY NOTHING;
ALTER TABLE internal_positions REPLICA IDENTITY NOTHING;
ALTER TABLE internal_verdicts REPLICA IDENTITY NOTHING;
ALTER TABLE internal_page_digests REPLICA IDENTITY NOTHING;
ALTER TABLE verify_backup_verdicts REPLICA IDENTITY NOTHING;
ALTER TABLE verify_wal_files REPLICA IDENTITY NOTHING;

DO $$	-- as INFO: CREATE EXTENSION keeps NOTICEs back
DECLARE
	publication name;
BEGIN
	FOR publication IN
		SELECT p.pubname FROM pg_catalog.pg_publication p
		WHERE p.puballtables OR EXISTS (SELECT FROM pg_catalog.pg_publication_namespace n
			WHERE n.pnpubid OPERATOR(pg_catalog.=) p.oid
			AND n.pnnspid OPERATOR(pg_catalog.=) (SELECT s.oid FROM pg_catalog.pg_namespace s
				WHERE s.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema()))
		ORDER BY p.pubname USING OPERATOR(pg_catalog.<)
	LOOP
		RAISE INFO 'publication "%" has the tables of the history', publication
			USING DETAIL = 'Their rows are never sent, so present subscriptions go on. A new subscription, or a refresh of one, wants these tables on the subscriber.',
			HINT = 'See "Logical replication" in docs/operations.md.';
	END LOOP;
END
$$;

-- pg_dump takes the history along; positions, verdicts and digests are of no use
-- elsewhere.
SELECT pg_catalog.pg_extension_config_dump('verify_runs', '');
SELECT pg_catalog.pg_extension_config_dump('verify_run_relations', '');
SELECT pg_catalog.pg_extension_config_dump('verify_findings', '');
SELECT pg_catalog.pg_extension_config_dump('verify_backup_verdicts', '');
SELECT pg_catalog.pg_extension_config_dump('verify_wal_files', '');

REVOKE ALL ON TABLE verify_runs, verify_run_relations, verify_findings, internal_positions, internal_verdicts, internal_page_digests, verify_backup_verdicts, verify_wal_files FROM PUBLIC;
GRANT SELECT ON TABLE verify_runs, verify_run_relations, verify_findings, internal_positions, internal_verdicts, internal_page_digests, verify_backup_verdicts, verify_wal_files TO pg_stat_scan_tables;
GRANT SELECT ON TABLE verify_backup_verdicts, verify_wal_files TO pg_read_server_files;

CREATE PROCEDURE verify_database(
	relations regclass[] DEFAULT NULL,
	order_by text DEFAULT 'oid',
	include_catalogs boolean DEFAULT true,
	cluster_files boolean DEFAULT NULL,
	reverify_after interval DEFAULT NULL,
	resume_at text DEFAULT NULL,
	max_duration interval DEFAULT NULL,
	fail_on_findings boolean DEFAULT false,
	report_failures boolean DEFAULT true,
	report_interval interval DEFAULT NULL,
	verbose boolean DEFAULT false,
	record_digests boolean DEFAULT false,
	workers integer DEFAULT 0,
	max_rate integer DEFAULT 0,
	direct_io boolean DEFAULT false)
AS 'MODULE_PATHNAME', 'accel_verify_database'
LANGUAGE C;
COMMENT ON PROCEDURE verify_database(regclass[], text, boolean, boolean, interval, text, interval, boolean, boolean, interval, boolean, boolean, integer, integer, boolean) IS
'verifies the files of the cluster with a CRC of their own and the relations with storage of this database: WARNINGs for findings, an INFO line at the end, and rows in verify_runs, verify_run_relations and verify_findings (not on a standby)';
REVOKE ALL ON PROCEDURE verify_database(regclass[], text, boolean, boolean, interval, text, interval, boolean, boolean, interval, boolean, boolean, integer, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE verify_database(regclass[], text, boolean, boolean, interval, text, interval, boolean, boolean, interval, boolean, boolean, integer, integer, boolean) TO pg_stat_scan_tables;

CREATE PROCEDURE verify_cluster(
	databases text[] DEFAULT NULL,
	order_by text DEFAULT 'oid',
	include_catalogs boolean DEFAULT true,
	cluster_files boolean DEFAULT NULL,
	reverify_after interval DEFAULT NULL,
	resume_at text DEFAULT NULL,
	max_duration interval DEFAULT NULL,
	fail_on_findings boolean DEFAULT false,
	report_failures boolean DEFAULT true,
	report_interval interval DEFAULT NULL,
	verbose boolean DEFAULT false,
	record_digests boolean DEFAULT false,
	workers integer DEFAULT 0,
	max_rate integer DEFAULT 0,
	direct_io boolean DEFAULT false,
	lost_writes boolean DEFAULT true)
AS 'MODULE_PATHNAME', 'accel_verify_cluster'
LANGUAGE C;
COMMENT ON PROCEDURE verify_cluster(text[], text, boolean, boolean, interval, text, interval, boolean, boolean, interval, boolean, boolean, integer, integer, boolean, boolean) IS
'verifies the files of the cluster with a CRC of their own and the relations with storage of all databases, by a worker that connects to one after the other; these need no extension; with lost_writes holds their disk against the WAL in pg_wal first: messages and rows as of verify_database, in the database where it is called';
REVOKE ALL ON PROCEDURE verify_cluster(text[], text, boolean, boolean, interval, text, interval, boolean, boolean, interval, boolean, boolean, integer, integer, boolean, boolean) FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE verify_cluster(text[], text, boolean, boolean, interval, text, interval, boolean, boolean, interval, boolean, boolean, integer, integer, boolean, boolean) TO pg_stat_scan_tables;

CREATE FUNCTION verify_page_digests(
	relation regclass DEFAULT NULL,
	workers integer DEFAULT 0,
	max_rate integer DEFAULT 0,
	after_pg_upgrade boolean DEFAULT false,
	direct_io boolean DEFAULT false,
	OUT relation regclass,
	OUT blkno bigint,
	OUT path text,
	OUT status text,
	OUT disk_lsn pg_lsn,
	OUT known_lsn pg_lsn,
	OUT recorded_at timestamptz,
	OUT message text,
	OUT database text,
	OUT schema_name text,
	OUT relation_name text,
	OUT datid oid)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_verify_page_digests'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE ROWS 10;
COMMENT ON FUNCTION verify_page_digests(regclass, integer, integer, boolean, boolean) IS
'judges the blocks on this server''s disk by what verify_database or verify_cluster (record_digests => true) has recorded: stale_page, diverged and gone; on the same server, a standby or a restored backup; after_pg_upgrade judges by what the old cluster has recorded; direct_io reads past the page cache; relation NULL is all that are recorded, in other databases too, by a worker there';
REVOKE ALL ON FUNCTION verify_page_digests(regclass, integer, integer, boolean, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION verify_page_digests(regclass, integer, integer, boolean, boolean) TO pg_stat_scan_tables;

CREATE FUNCTION prune_history(older_than interval)
RETURNS bigint
AS 'MODULE_PATHNAME', 'accel_prune_history'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION prune_history(interval) IS
'deletes history older than older_than and returns the number of rows; the last verdict on each relation and findings that no later run has refuted stay';
REVOKE ALL ON FUNCTION prune_history(interval) FROM PUBLIC;

-- The views tell of what was verified from this database, and of files that are
-- still there.
-- pg_relation_filenode() would leave an entry in the session's caches for each
-- relation: it is asked where pg_class has no number, which are the mapped ones.
-- During recovery the history is the primary's, whose data directory is another.
-- Views call functions with the rights of their reader: this one is anybody's, so
-- that SELECT is enough.  All that it can give away is the number of an inode.

CREATE FUNCTION internal_is_own_run(system_identifier bigint, timeline_id bigint, data_directory_inode bigint, datid oid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'accel_internal_is_own_run'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION internal_is_own_run(bigint, bigint, bigint, oid) IS
'whether a row of verify_runs tells of this database in this data directory, or on a standby in that of the primary';

CREATE FUNCTION internal_file_exists(datid oid, tablespace oid, filenode oid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'accel_internal_file_exists'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION internal_file_exists(oid, oid, oid) IS
'whether the main fork of a relation of any database has a file that is not empty';

-- A lost write leaves a page that is good by itself, so that a later verification
-- refutes nothing.  It is open as long as the block is as it was found.
CREATE FUNCTION internal_block_has_lsn(datid oid, tablespace oid, filenode oid, fork text, blkno bigint, lsn pg_lsn)
RETURNS boolean
AS 'MODULE_PATHNAME', 'accel_internal_block_has_lsn'
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL SAFE;
COMMENT ON FUNCTION internal_block_has_lsn(oid, oid, oid, text, bigint, pg_lsn) IS
'whether a block of a relation of any database has this LSN on disk, or on the device below its page cache; lsn NULL: whether there is no such block; true where that cannot be read, and on a standby';

CREATE VIEW verify_bad_blocks AS
	WITH own AS MATERIALIZED (
		SELECT pg_catalog.array_agg(r.run) AS runs, pg_catalog.max(r.datid::bigint)::pg_catalog.oid AS datid FROM verify_runs r
		WHERE internal_is_own_run(r.system_identifier, r.timeline_id, r.data_directory_inode, r.datid)),
	block AS (
		SELECT f.datid, f.relid, f.fork, f.blkno, f.path, f.tablespace, f.filenode,
			f.datid OPERATOR(pg_catalog.=) 0::pg_catalog.oid OR f.datid OPERATOR(pg_catalog.=) (SELECT own.datid FROM own) AS here,
			(pg_catalog.array_agg(f.status ORDER BY f.found_at DESC))[1] AS status,
			(pg_catalog.array_agg(f.lsn ORDER BY f.found_at DESC))[1] AS lsn,
			(pg_catalog.array_agg(f.retries IS NULL ORDER BY f.found_at DESC))[1] AS lost,
			(pg_catalog.array_agg(f.database ORDER BY f.found_at DESC))[1] AS database,
			(pg_catalog.array_agg(f.schema_name ORDER BY f.found_at DESC))[1] AS schema_name,
			(pg_catalog.array_agg(f.relation_name ORDER BY f.found_at DESC))[1] AS relation_name,
			pg_catalog.min(f.found_at) AS first_seen_at, pg_catalog.max(f.found_at) AS last_seen_at,
			pg_catalog.count(*) AS times_seen
		FROM verify_findings f
		WHERE f.run OPERATOR(pg_catalog.=) ANY ((SELECT own.runs FROM own)::bigint[]) AND f.relid IS NOT NULL AND f.status OPERATOR(pg_catalog.<>) 'not_verifiable'
		GROUP BY f.datid, f.relid, f.fork, f.blkno, f.path, f.tablespace, f.filenode)
	SELECT CASE WHEN b.here THEN b.relid::pg_catalog.regclass END AS relation, b.fork, b.blkno, b.path, b.status,
		b.first_seen_at, b.last_seen_at, b.times_seen,
		coalesce(
			CASE WHEN NOT b.lost THEN (SELECT pg_catalog.min(v.verified_at) FROM verify_run_relations v
				WHERE v.relid OPERATOR(pg_catalog.=) b.relid AND v.datid OPERATOR(pg_catalog.=) b.datid
					AND v.verified_at OPERATOR(pg_catalog.>) b.last_seen_at
					AND v.run OPERATOR(pg_catalog.+) 0 OPERATOR(pg_catalog.=) ANY ((SELECT own.runs FROM own)::bigint[])
					AND v.began_at OPERATOR(pg_catalog.>) b.last_seen_at) END,
			CASE WHEN CASE WHEN b.here THEN coalesce((SELECT b.filenode OPERATOR(pg_catalog.<>)
						CASE WHEN c.relfilenode OPERATOR(pg_catalog.=) 0::pg_catalog.oid
							THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END
					FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) b.relid), true)
				ELSE NOT internal_file_exists(b.datid, b.tablespace, b.filenode) END
				OR CASE WHEN b.lost THEN NOT internal_block_has_lsn(b.datid, b.tablespace, b.filenode, b.fork, b.blkno, b.lsn) ELSE false END
			THEN pg_catalog.now() END) AS healed_at,
		b.database, b.schema_name, b.relation_name, b.datid
	FROM block b;
COMMENT ON VIEW verify_bad_blocks IS
'damaged blocks that runs in this database have found, one row per block of a file';
COMMENT ON COLUMN verify_bad_blocks.relation IS 'the relation; NULL: of another database';
COMMENT ON COLUMN verify_bad_blocks.fork IS 'its fork';
COMMENT ON COLUMN verify_bad_blocks.blkno IS 'block number within the fork';
COMMENT ON COLUMN verify_bad_blocks.path IS 'the file, relative to the data directory';
COMMENT ON COLUMN verify_bad_blocks.status IS 'what the last finding said';
COMMENT ON COLUMN verify_bad_blocks.first_seen_at IS 'when it was first recorded';
COMMENT ON COLUMN verify_bad_blocks.last_seen_at IS 'when it was last recorded';
COMMENT ON COLUMN verify_bad_blocks.times_seen IS 'how many findings tell of it';
COMMENT ON COLUMN verify_bad_blocks.healed_at IS 'when a later run verified the relation without it; now, where the file is gone, or a lost write is not on disk any more; NULL: open';
COMMENT ON COLUMN verify_bad_blocks.database IS 'its database, by the name that it had';
COMMENT ON COLUMN verify_bad_blocks.schema_name IS 'its schema, when it was last recorded';
COMMENT ON COLUMN verify_bad_blocks.relation_name IS 'its name, when it was last recorded';
COMMENT ON COLUMN verify_bad_blocks.datid IS 'OID of its database; 0: shared by all';

CREATE VIEW verify_last_good AS
	WITH own AS MATERIALIZED (
		SELECT r.run, r.datid FROM verify_runs r
		WHERE internal_is_own_run(r.system_identifier, r.timeline_id, r.data_directory_inode, r.datid))
	SELECT c.oid AS relid, c.oid::pg_catalog.regclass AS relation,
		v.verified_at AS last_verified_at, v.good_at AS last_good_at, v.blocks
	FROM pg_catalog.pg_class c
	LEFT JOIN (SELECT n.* FROM internal_verdicts n
			JOIN own ON own.run OPERATOR(pg_catalog.=) n.run
				AND n.datid OPERATOR(pg_catalog.=) ANY (ARRAY[0::pg_catalog.oid, own.datid])) v
		ON v.relid OPERATOR(pg_catalog.=) c.oid
			AND v.filenode OPERATOR(pg_catalog.=) CASE WHEN c.relfilenode OPERATOR(pg_catalog.=) 0::pg_catalog.oid
				THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END
	WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,i,S,t,m}'::pg_catalog."char"[]) AND c.relpersistence OPERATOR(pg_catalog.<>) 't';
COMMENT ON VIEW verify_last_good IS
'when the present file of each relation with storage was last verified, by its pages: lost writes, which these do not show, are in verify_bad_blocks';
COMMENT ON COLUMN verify_last_good.relid IS 'OID of the relation';
COMMENT ON COLUMN verify_last_good.relation IS 'the relation';
COMMENT ON COLUMN verify_last_good.last_verified_at IS 'when its file was last verified; NULL: never';
COMMENT ON COLUMN verify_last_good.last_good_at IS 'when its pages last had no finding; NULL: never';
COMMENT ON COLUMN verify_last_good.blocks IS 'blocks of all its forks at that time';

-- The oldest last good verdict on what is still there, of each database and of
-- what is shared (0).  It is the first of an index whose file is there.  Catalogs
-- are asked for one row at a time: a subquery that returns a value is not made a
-- join or a hash table, as EXISTS is.  So what is read does not grow with the
-- number of relations, but with that of those dropped since a run ended.
CREATE VIEW internal_oldest_good AS
	WITH own AS MATERIALIZED (
		SELECT pg_catalog.array_agg(r.run) AS runs FROM verify_runs r
		WHERE internal_is_own_run(r.system_identifier, r.timeline_id, r.data_directory_inode, r.datid))
	SELECT d.datid, d.database,
		(SELECT v.good_at FROM internal_verdicts v
			WHERE v.datid OPERATOR(pg_catalog.=) d.datid AND v.good_at IS NOT NULL
				AND v.run OPERATOR(pg_catalog.=) ANY ((SELECT own.runs FROM own)::bigint[])
				AND CASE WHEN d.here THEN (SELECT v.filenode OPERATOR(pg_catalog.=)
							CASE WHEN c.relfilenode OPERATOR(pg_catalog.=) 0::pg_catalog.oid
								THEN pg_catalog.pg_relation_filenode(c.oid) ELSE c.relfilenode END
						FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) v.relid)
					ELSE internal_file_exists(v.datid, v.tablespace, v.filenode) END
			ORDER BY v.good_at LIMIT 1) AS good_at
	FROM (SELECT b.oid AS datid, b.datname::pg_catalog.text AS database,
			b.datname OPERATOR(pg_catalog.=) pg_catalog.current_database() AS here FROM pg_catalog.pg_database b
		UNION ALL SELECT 0::pg_catalog.oid, pg_catalog.current_database()::pg_catalog.text, true) d;
COMMENT ON VIEW internal_oldest_good IS 'the oldest last good verdict of each database, and of what is shared';
COMMENT ON COLUMN internal_oldest_good.datid IS 'OID of the database; 0: shared by all';
COMMENT ON COLUMN internal_oldest_good.database IS 'its name, or that of this one';
COMMENT ON COLUMN internal_oldest_good.good_at IS 'when the relation that waits longest was last good; NULL: none is good';

-- A relation that is there, or a database as a whole, that no later run verified.
CREATE VIEW internal_unverified AS
	WITH own AS MATERIALIZED (
		SELECT pg_catalog.array_agg(r.run) AS runs, pg_catalog.max(r.datid::bigint)::pg_catalog.oid AS datid FROM verify_runs r
		WHERE internal_is_own_run(r.system_identifier, r.timeline_id, r.data_directory_inode, r.datid))
	SELECT DISTINCT f.datid, f.relid FROM verify_findings f
	WHERE f.status OPERATOR(pg_catalog.=) 'not_verifiable'
		AND f.run OPERATOR(pg_catalog.=) ANY ((SELECT own.runs FROM own)::bigint[])
		AND CASE WHEN f.relid IS NULL
			THEN EXISTS (SELECT FROM pg_catalog.pg_database d WHERE d.oid OPERATOR(pg_catalog.=) f.datid)
			WHEN f.datid OPERATOR(pg_catalog.=) ANY (ARRAY[0::pg_catalog.oid, (SELECT own.datid FROM own)])
			THEN (SELECT true FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) f.relid)
			ELSE internal_file_exists(f.datid, f.tablespace, f.filenode) END
		AND coalesce(f.found_at OPERATOR(pg_catalog.>=) CASE WHEN f.relid IS NULL
			THEN (SELECT pg_catalog.max(v.good_at) FROM internal_verdicts v WHERE v.datid OPERATOR(pg_catalog.=) f.datid)
			ELSE (SELECT pg_catalog.max(v.verified_at) FROM internal_verdicts v
				WHERE v.relid OPERATOR(pg_catalog.=) f.relid AND v.datid OPERATOR(pg_catalog.=) f.datid
					AND v.run OPERATOR(pg_catalog.=) ANY ((SELECT own.runs FROM own)::bigint[])) END, true);
COMMENT ON VIEW internal_unverified IS 'what a run could not verify, and none since';
COMMENT ON COLUMN internal_unverified.datid IS 'OID of the database; 0: shared by all';
COMMENT ON COLUMN internal_unverified.relid IS 'OID of the relation; NULL: the database as a whole';

CREATE VIEW verify_backup_metrics AS
	SELECT v.directory, v.system_identifier,
		pg_catalog.count(*) FILTER (WHERE v.gone_at IS NULL) AS backups,
		pg_catalog.count(*) FILTER (WHERE v.gone_at IS NULL AND v.is_finding) AS bad_backups,
		pg_catalog.count(*) FILTER (WHERE v.gone_at IS NULL AND v.status OPERATOR(pg_catalog.=) 'not_verifiable' AND NOT v.unfinished) AS unverified_backups,
		extract(epoch FROM pg_catalog.now() OPERATOR(pg_catalog.-) pg_catalog.min(v.taken_at)
			FILTER (WHERE v.gone_at IS NULL AND v.status OPERATOR(pg_catalog.=) 'ok'))::bigint AS oldest_good_seconds,
		extract(epoch FROM pg_catalog.now() OPERATOR(pg_catalog.-) pg_catalog.max(v.taken_at)
			FILTER (WHERE v.gone_at IS NULL AND v.status OPERATOR(pg_catalog.=) 'ok'))::bigint AS newest_good_seconds
	FROM verify_backup_verdicts v
	WHERE NOT v.unfinished OR NOT EXISTS (SELECT FROM verify_backup_verdicts o
		WHERE o.directory OPERATOR(pg_catalog.=) v.directory AND NOT o.unfinished)
	GROUP BY v.directory, v.system_identifier;
COMMENT ON VIEW verify_backup_metrics IS
'what verify_backups remembers of the backups of each cluster in each directory, for monitoring';
COMMENT ON COLUMN verify_backup_metrics.directory IS 'the directory';
COMMENT ON COLUMN verify_backup_metrics.system_identifier IS 'system identifier of the cluster; NULL: it is not known';
COMMENT ON COLUMN verify_backup_metrics.backups IS 'backups that are there; unfinished ones count where there is no other one';
COMMENT ON COLUMN verify_backup_metrics.bad_backups IS 'of these, damaged or undecided ones';
COMMENT ON COLUMN verify_backup_metrics.unverified_backups IS 'of these, those that could not be verified, unfinished ones left out';
COMMENT ON COLUMN verify_backup_metrics.oldest_good_seconds IS 'age of the oldest good backup that is there; NULL: none is good';
COMMENT ON COLUMN verify_backup_metrics.newest_good_seconds IS 'age of the newest good backup that is there; NULL: none is good';

-- What reads each relation is a subquery of its own, which is not executed where
-- its column is not asked for.
CREATE VIEW verify_metrics AS
	WITH own AS MATERIALIZED (
		SELECT r.run, r.started_at, r.finished_at, r.state, r.files, r.datid FROM verify_runs r
		WHERE internal_is_own_run(r.system_identifier, r.timeline_id, r.data_directory_inode, r.datid))
	SELECT b.bad_blocks, b.healed_blocks,
		-- of the last run that verified them: others say nothing of them
		(SELECT pg_catalog.count(DISTINCT f.path) FROM verify_findings f
			WHERE f.relid IS NULL AND f.status OPERATOR(pg_catalog.<>) 'not_verifiable'
				AND f.run OPERATOR(pg_catalog.=) (SELECT pg_catalog.max(n.run) FROM own n
					WHERE n.files OPERATOR(pg_catalog.>) 0)) AS bad_files,
		(SELECT pg_catalog.count(*) FROM internal_unverified) AS unverified_relations,
		(SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c
			WHERE c.relkind OPERATOR(pg_catalog.=) ANY ('{r,i,S,t,m}'::pg_catalog."char"[])
				AND c.relpersistence OPERATOR(pg_catalog.<>) 't') AS relations,
		(SELECT pg_catalog.count(*) FROM verify_last_good x WHERE x.last_verified_at IS NULL) AS never_verified,
		(SELECT extract(epoch FROM pg_catalog.now() OPERATOR(pg_catalog.-) pg_catalog.min(x.good_at))::bigint
			FROM internal_oldest_good x) AS oldest_good_seconds,
		r.last_run_seconds, r.last_run_state,
		-- a run holds the advisory lock of its number as long as its session lives
		(SELECT pg_catalog.count(*) FROM own n WHERE n.state OPERATOR(pg_catalog.=) 'running'
			AND EXISTS (SELECT FROM pg_catalog.pg_locks k
				WHERE k.locktype OPERATOR(pg_catalog.=) 'advisory'::pg_catalog.text AND k.objsubid OPERATOR(pg_catalog.=) 3::smallint
					AND k.database OPERATOR(pg_catalog.=) n.datid
					AND k.classid OPERATOR(pg_catalog.=) (n.run OPERATOR(pg_catalog.>>) 32 OPERATOR(pg_catalog.&) 4294967295)::pg_catalog.oid
					AND k.objid OPERATOR(pg_catalog.=) (n.run OPERATOR(pg_catalog.&) 4294967295)::pg_catalog.oid)) AS running,
		pg_catalog.current_setting('data_checksums') OPERATOR(pg_catalog.=) 'on' AS data_checksums,
		pg_catalog.pg_is_in_recovery() AS of_primary,
		k.bad_backups, k.oldest_good_backup_seconds, k.newest_good_backup_seconds,
		(SELECT pg_catalog.count(*) FROM verify_wal_files w WHERE w.is_finding) AS bad_wal_files
	FROM (SELECT pg_catalog.count(*) FILTER (WHERE x.healed_at IS NULL) AS bad_blocks,
			pg_catalog.count(x.healed_at) AS healed_blocks
		FROM verify_bad_blocks x) b
	LEFT JOIN LATERAL (SELECT x.state AS last_run_state,
			extract(epoch FROM coalesce(x.finished_at, pg_catalog.now()) OPERATOR(pg_catalog.-) x.started_at)::bigint AS last_run_seconds
		FROM own x WHERE x.state OPERATOR(pg_catalog.<>) 'running'
		ORDER BY x.started_at DESC LIMIT 1) r ON true
	CROSS JOIN (SELECT coalesce(pg_catalog.sum(x.bad_backups), 0)::bigint AS bad_backups,
			pg_catalog.max(x.oldest_good_seconds) AS oldest_good_backup_seconds,
			pg_catalog.max(x.newest_good_seconds) AS newest_good_backup_seconds
		FROM verify_backup_metrics x) k;
COMMENT ON VIEW verify_metrics IS 'what the runs of this database say, in one row, for monitoring; asked for no column that reads each relation, it takes milliseconds';
COMMENT ON COLUMN verify_metrics.bad_blocks IS 'open rows of verify_bad_blocks';
COMMENT ON COLUMN verify_metrics.healed_blocks IS 'healed rows of verify_bad_blocks';
COMMENT ON COLUMN verify_metrics.bad_files IS 'damaged files of the cluster, by the last run that verified them';
COMMENT ON COLUMN verify_metrics.unverified_relations IS 'relations that a run could not verify, and none since: locked, for instance';
COMMENT ON COLUMN verify_metrics.relations IS 'relations with storage, of this database, at this moment; reads each';
COMMENT ON COLUMN verify_metrics.never_verified IS 'of these, those whose present file was never verified: created or rewritten since, for instance; reads each';
COMMENT ON COLUMN verify_metrics.oldest_good_seconds IS 'age of the oldest last good verdict on a relation that is there, in all databases that runs have verified; one dropped or rewritten since does not count, nor one that was never good; NULL: none is good';
COMMENT ON COLUMN verify_metrics.last_run_seconds IS 'how long the last run took';
COMMENT ON COLUMN verify_metrics.last_run_state IS 'its state';
COMMENT ON COLUMN verify_metrics.running IS 'runs at work on this server; one whose session died is none';
COMMENT ON COLUMN verify_metrics.data_checksums IS 'whether pages have checksums; if not, all of this is about headers and files alone';
COMMENT ON COLUMN verify_metrics.of_primary IS 'this is a standby: the history is that of its primary, whose files are others';
COMMENT ON COLUMN verify_metrics.bad_backups IS 'damaged or undecided backups, of those that verify_backups has found and that are there';
COMMENT ON COLUMN verify_metrics.oldest_good_backup_seconds IS 'age of the oldest good backup; NULL: none is good';
COMMENT ON COLUMN verify_metrics.newest_good_backup_seconds IS 'age of the newest good backup of the cluster, in one directory, that waits longest for one; NULL: none is good';
COMMENT ON COLUMN verify_metrics.bad_wal_files IS 'damaged or missing files of WAL archives, of those that verify_wal_archive remembers';

CREATE VIEW verify_database_metrics AS
	WITH bad AS MATERIALIZED (
		SELECT x.datid, pg_catalog.count(*) AS blocks FROM verify_bad_blocks x WHERE x.healed_at IS NULL GROUP BY x.datid),
	unverified AS MATERIALIZED (
		SELECT x.datid, pg_catalog.count(*) AS relations FROM internal_unverified x GROUP BY x.datid)
	SELECT g.database, coalesce(pg_catalog.sum(bad.blocks), 0)::bigint AS bad_blocks,
		coalesce(pg_catalog.sum(unverified.relations), 0)::bigint AS unverified_relations,
		extract(epoch FROM pg_catalog.now() OPERATOR(pg_catalog.-) pg_catalog.min(g.good_at))::bigint AS oldest_good_seconds
	FROM internal_oldest_good g
	LEFT JOIN bad ON bad.datid OPERATOR(pg_catalog.=) g.datid
	LEFT JOIN unverified ON unverified.datid OPERATOR(pg_catalog.=) g.datid
	WHERE g.good_at IS NOT NULL OR bad.blocks IS NOT NULL OR unverified.relations IS NOT NULL
	GROUP BY g.database;
COMMENT ON VIEW verify_database_metrics IS
'what the runs of this database say of each database that they have verified, by its present name, for monitoring; a dropped one has no row';
COMMENT ON COLUMN verify_database_metrics.database IS 'the database; what is shared by all counts with the one that is asked';
COMMENT ON COLUMN verify_database_metrics.bad_blocks IS 'open rows of verify_bad_blocks';
COMMENT ON COLUMN verify_database_metrics.unverified_relations IS 'relations, or the database as a whole, that a run could not verify, and none since';
COMMENT ON COLUMN verify_database_metrics.oldest_good_seconds IS 'as of verify_metrics, of this database';
REVOKE ALL ON verify_bad_blocks, verify_last_good, internal_oldest_good, internal_unverified, verify_metrics, verify_database_metrics, verify_backup_metrics FROM PUBLIC;
GRANT SELECT ON verify_bad_blocks, verify_last_good, internal_oldest_good, internal_unverified, verify_metrics, verify_database_metrics, verify_backup_metrics TO pg_stat_scan_tables;

CREATE FUNCTION internal_progress(
	OUT pid integer,
	OUT datid oid,
	OUT relid oid,
	OUT fork text,
	OUT blocks_total bigint,
	OUT blocks_done bigint,
	OUT findings bigint,
	OUT started_at timestamptz,
	OUT relations_total bigint,
	OUT relations_done bigint,
	OUT bytes_total bigint,
	OUT bytes_done bigint,
	OUT bytes_per_second bigint,
	OUT estimated_end_at timestamptz,
	OUT backup text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_internal_progress'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 5;
COMMENT ON FUNCTION internal_progress() IS
'function underlying the view verify_progress';
REVOKE ALL ON FUNCTION internal_progress() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION internal_progress() TO pg_stat_scan_tables;

CREATE VIEW verify_progress AS
	SELECT p.pid, p.datid, p.relid, p.fork, p.blocks_total, p.blocks_done,
		p.findings, p.started_at, p.relations_total, p.relations_done,
		p.bytes_total, p.bytes_done, p.bytes_per_second, p.estimated_end_at, p.backup
	FROM internal_progress() p;
COMMENT ON VIEW verify_progress IS
'running verifications, one row per session (workers are counted under their leader); nothing of sessions whose track_activities is off';
COMMENT ON COLUMN verify_progress.pid IS 'the session';
COMMENT ON COLUMN verify_progress.datid IS 'its database';
COMMENT ON COLUMN verify_progress.relid IS 'the relation at work; NULL: none yet';
COMMENT ON COLUMN verify_progress.fork IS 'its fork';
COMMENT ON COLUMN verify_progress.blocks_total IS 'blocks of this fork to verify';
COMMENT ON COLUMN verify_progress.blocks_done IS 'blocks of this fork verified';
COMMENT ON COLUMN verify_progress.findings IS 'findings of the whole run so far';
COMMENT ON COLUMN verify_progress.started_at IS 'when the run began';
COMMENT ON COLUMN verify_progress.relations_total IS 'relations that the run verifies; NULL: not the run of a database';
COMMENT ON COLUMN verify_progress.relations_done IS 'relations done';
COMMENT ON COLUMN verify_progress.bytes_total IS 'bytes of the main forks of all these relations, or of the backups that verify_backups is to read, with those before an incremental one; NULL, as what follows: neither';
COMMENT ON COLUMN verify_progress.bytes_done IS 'bytes of them done';
COMMENT ON COLUMN verify_progress.bytes_per_second IS 'rate since the start';
COMMENT ON COLUMN verify_progress.estimated_end_at IS 'when the run ends at this rate';
COMMENT ON COLUMN verify_progress.backup IS 'the backup that verify_backups reads, by the first 63 bytes of its name; NULL: none';
REVOKE ALL ON verify_progress FROM PUBLIC;
GRANT SELECT ON verify_progress TO pg_stat_scan_tables;

--
-- Files and large objects
--

CREATE FUNCTION crc32c_file(
	filename text,
	"offset" bigint DEFAULT 0,
	length bigint DEFAULT NULL,
	missing_ok boolean DEFAULT false,
	direct_io boolean DEFAULT false)
RETURNS bigint
AS 'MODULE_PATHNAME', 'accel_crc32c_file'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL SAFE;
COMMENT ON FUNCTION crc32c_file(text, bigint, bigint, boolean, boolean) IS
'CRC-32C of a server file or of a part of it, as crc32c(pg_read_binary_file(...)) in bounded memory; relative names mean the data directory';
REVOKE ALL ON FUNCTION crc32c_file(text, bigint, bigint, boolean, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION crc32c_file(text, bigint, bigint, boolean, boolean)
TO pg_read_server_files;

CREATE FUNCTION crc32c_lo(loid oid)
RETURNS bigint
AS 'MODULE_PATHNAME', 'accel_crc32c_lo'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;
COMMENT ON FUNCTION crc32c_lo(oid) IS
'CRC-32C of a large object, as crc32c(lo_get(loid)) in bounded memory; needs the right to read the large object';

--
-- WAL.  A status is ok, ok_end_of_wal, ok_switched, ok_partial, ok_recycled,
-- ok_unused, ok_removed_during_scan, corrupt, missing, size_mismatch,
-- foreign_system, unsupported_version, io_error or not_verifiable.
--

CREATE FUNCTION verify_wal_segment(
	data bytea,
	segment text,
	OUT segment text,
	OUT timeline_id bigint,
	OUT start_lsn pg_lsn,
	OUT end_lsn pg_lsn,
	OUT status text,
	OUT is_finding boolean,
	OUT server_version text,
	OUT records bigint,
	OUT fpi_bytes bigint,
	OUT verified_bytes bigint,
	OUT unverified_head_bytes bigint,
	OUT unverified_tail_bytes bigint,
	OUT zero_bytes bigint,
	OUT skipped_bytes bigint,
	OUT findings bigint,
	OUT first_finding_lsn pg_lsn,
	OUT crc32c bigint,
	OUT message text,
	OUT compression text)
RETURNS record
AS 'MODULE_PATHNAME', 'accel_verify_wal_segment_bytes'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION verify_wal_segment(bytea, text) IS
'verifies a WAL segment given as bytes (decompressed, from another place) under its name; judged as a complete archived one';
REVOKE ALL ON FUNCTION verify_wal_segment(bytea, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION verify_wal_segment(bytea, text) TO pg_read_server_files;

-- Without bounds the whole directory is verified.  first_segment and last_segment
-- bound it by names; both the same: that file alone.  start_lsn, end_lsn and
-- timeline_id ask for the segments that hold a range of LSNs, along the history
-- of the timeline; damage outside the range does not count.
CREATE FUNCTION verify_wal(
	directory text DEFAULT NULL,
	first_segment text DEFAULT NULL,
	last_segment text DEFAULT NULL,
	start_lsn pg_lsn DEFAULT NULL,
	end_lsn pg_lsn DEFAULT NULL,
	timeline_id bigint DEFAULT NULL,
	workers integer DEFAULT 0,
	max_rate integer DEFAULT 0,
	direct_io boolean DEFAULT false,
	OUT segment text,
	OUT timeline_id bigint,
	OUT start_lsn pg_lsn,
	OUT end_lsn pg_lsn,
	OUT status text,
	OUT is_finding boolean,
	OUT server_version text,
	OUT records bigint,
	OUT fpi_bytes bigint,
	OUT verified_bytes bigint,
	OUT unverified_head_bytes bigint,
	OUT unverified_tail_bytes bigint,
	OUT zero_bytes bigint,
	OUT skipped_bytes bigint,
	OUT findings bigint,
	OUT first_finding_lsn pg_lsn,
	OUT crc32c bigint,
	OUT message text,
	OUT compression text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_verify_wal'
LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION verify_wal(text, text, text, pg_lsn, pg_lsn, bigint, integer, integer, boolean) IS
'verifies every record and page header of WAL segments, in order, gaps included; directory NULL is pg_wal, end_lsn NULL the end of WAL, timeline_id NULL the newest';
REVOKE ALL ON FUNCTION verify_wal(text, text, text, pg_lsn, pg_lsn, bigint, integer, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION verify_wal(text, text, text, pg_lsn, pg_lsn, bigint, integer, integer, boolean) TO pg_read_server_files;

CREATE PROCEDURE verify_wal_archive(
	directory text,
	system_identifier bigint DEFAULT NULL,
	reverify_after interval DEFAULT NULL,
	max_duration interval DEFAULT NULL,
	fail_on_findings boolean DEFAULT false,
	verbose boolean DEFAULT false,
	workers integer DEFAULT 0,
	max_rate integer DEFAULT 0,
	direct_io boolean DEFAULT false)
AS 'MODULE_PATHNAME', 'accel_verify_wal_archive'
LANGUAGE C;
COMMENT ON PROCEDURE verify_wal_archive(text, bigint, interval, interval, boolean, boolean, integer, integer, boolean) IS
'verifies what is new or has changed in a WAL archive: WARNINGs for findings, an INFO line at the end, and rows in verify_wal_files (not on a standby)';
REVOKE ALL ON PROCEDURE verify_wal_archive(text, bigint, interval, interval, boolean, boolean, integer, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE verify_wal_archive(text, bigint, interval, interval, boolean, boolean, integer, integer, boolean) TO pg_read_server_files;

-- lost writes

CREATE FUNCTION verify_lost_writes(
	directory text DEFAULT NULL,
	start_lsn pg_lsn DEFAULT NULL,
	end_lsn pg_lsn DEFAULT NULL,
	max_rate integer DEFAULT 0,
	direct_io boolean DEFAULT false,
	OUT relation regclass,
	OUT fork text,
	OUT blkno bigint,
	OUT path text,
	OUT status text,
	OUT disk_lsn pg_lsn,
	OUT expected_lsn pg_lsn,
	OUT segment text,
	OUT message text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_verify_lost_writes'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION verify_lost_writes(text, pg_lsn, pg_lsn, integer, boolean) IS
'names the blocks of this database whose page on disk is older than WAL allows: writes that storage has lost; directory NULL is pg_wal, start NULL its oldest segment, end NULL the redo point of the last checkpoint';
REVOKE ALL ON FUNCTION verify_lost_writes(text, pg_lsn, pg_lsn, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION verify_lost_writes(text, pg_lsn, pg_lsn, integer, boolean) TO pg_stat_scan_tables;

CREATE FUNCTION verify_wal_images(
	directory text DEFAULT NULL,
	start_lsn pg_lsn DEFAULT NULL,
	end_lsn pg_lsn DEFAULT NULL,
	max_rate integer DEFAULT 0,
	direct_io boolean DEFAULT false,
	OUT tablespace oid,
	OUT database oid,
	OUT relfilenode oid,
	OUT fork text,
	OUT blkno bigint,
	OUT status text,
	OUT page_lsn pg_lsn,
	OUT expected_lsn pg_lsn,
	OUT lsn pg_lsn,
	OUT segment text,
	OUT message text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_verify_wal_images'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION verify_wal_images(text, pg_lsn, pg_lsn, integer, boolean) IS
'names the full-page images in WAL that are older than the WAL before them: lost writes that the server has built upon; directory NULL is pg_wal, start NULL its oldest segment, end NULL its end';
REVOKE ALL ON FUNCTION verify_wal_images(text, pg_lsn, pg_lsn, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION verify_wal_images(text, pg_lsn, pg_lsn, integer, boolean) TO pg_read_server_files;

CREATE FUNCTION verify_wal_findings(
	directory text,
	segment text,
	max_findings integer DEFAULT 100,
	direct_io boolean DEFAULT false,
	OUT lsn pg_lsn,
	OUT file_offset bigint,
	OUT status text,
	OUT message text,
	OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_verify_wal_findings'
LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION verify_wal_findings(text, text, integer, boolean) IS
'each finding in one WAL segment: where it is, what it is, and its reason as a name for scripts';
REVOKE ALL ON FUNCTION verify_wal_findings(text, text, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION verify_wal_findings(text, text, integer, boolean) TO pg_read_server_files;

CREATE FUNCTION wal_block_history(
	relation regclass,
	fork text,
	blkno bigint,
	directory text DEFAULT NULL,
	start_lsn pg_lsn DEFAULT NULL,
	end_lsn pg_lsn DEFAULT NULL,
	OUT lsn pg_lsn,
	OUT end_lsn pg_lsn,
	OUT segment text,
	OUT rmgr text,
	OUT record text,
	OUT kind text,
	OUT compression text,
	OUT is_last boolean,
	OUT is_page boolean,
	OUT message text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_wal_block_history'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION wal_block_history(regclass, text, bigint, text, pg_lsn, pg_lsn) IS
'every WAL record that names a block, oldest first, and gaps; is_page: the full-page image of this record is the page, but for hint bits';
REVOKE ALL ON FUNCTION wal_block_history(regclass, text, bigint, text, pg_lsn, pg_lsn) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION wal_block_history(regclass, text, bigint, text, pg_lsn, pg_lsn) TO pg_read_server_files;

CREATE FUNCTION wal_page_image(
	relation regclass,
	fork text,
	blkno bigint,
	directory text,
	lsn pg_lsn)
RETURNS bytea
AS 'MODULE_PATHNAME', 'accel_wal_page_image'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION wal_page_image(regclass, text, bigint, text, pg_lsn) IS
'the page that the full-page image of the WAL record at lsn restores, with LSN and checksum, NULL if the record has none of the block; superusers only';
REVOKE ALL ON FUNCTION wal_page_image(regclass, text, bigint, text, pg_lsn) FROM PUBLIC;

--
-- Base backups.  A status is that of a file (missing, extra, size_mismatch,
-- checksum_mismatch, io_error, bad_format, foreign_system), of the manifest
-- (ok_no_manifest, bad_format, checksum_mismatch, unsupported_version), of a page
-- (corrupt, ok_healed_by_wal, ok_made_anew, ok_replaced, lsn_in_future,
-- zero_header, bad_header, partial_block, undecided) or of a WAL segment, as above.
--

CREATE FUNCTION verify_backup(
	directory text,
	wal_directory text DEFAULT NULL,
	prior_backups text[] DEFAULT NULL,
	check_pages boolean DEFAULT true,
	include_healed boolean DEFAULT false,
	workers integer DEFAULT 0,
	max_rate integer DEFAULT 0,
	direct_io boolean DEFAULT false,
	OUT path text,
	OUT blkno bigint,
	OUT status text,
	OUT stored text,
	OUT computed text,
	OUT lsn pg_lsn,
	OUT message text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_verify_backup'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION verify_backup(text, text, text[], boolean, boolean, integer, integer, boolean) IS
'verifies a base backup, plain, tar, incremental or in the repository of pgBackRest: one row per finding in its manifest, files, pages and WAL; no row: none';
REVOKE ALL ON FUNCTION verify_backup(text, text, text[], boolean, boolean, integer, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION verify_backup(text, text, text[], boolean, boolean, integer, integer, boolean) TO pg_read_server_files;

CREATE FUNCTION verify_backup_summary(
	directory text,
	wal_directory text DEFAULT NULL,
	prior_backups text[] DEFAULT NULL,
	check_pages boolean DEFAULT true,
	workers integer DEFAULT 0,
	max_rate integer DEFAULT 0,
	direct_io boolean DEFAULT false,
	OUT label text,
	OUT format text,
	OUT system_identifier bigint,
	OUT start_lsn pg_lsn,
	OUT end_lsn pg_lsn,
	OUT timelines text,
	OUT files bigint,
	OUT read_bytes bigint,
	OUT blocks bigint,
	OUT bad_blocks bigint,
	OUT healed_blocks bigint,
	OUT wal_records bigint,
	OUT findings bigint,
	OUT elapsed interval,
	OUT bytes_per_second bigint,
	OUT status text,
	OUT message text)
RETURNS record
AS 'MODULE_PATHNAME', 'accel_verify_backup_summary'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION verify_backup_summary(text, text, text[], boolean, integer, integer, boolean) IS
'verifies a base backup, plain, tar, incremental or in the repository of pgBackRest: one row with what it is and how much of it is in order';
REVOKE ALL ON FUNCTION verify_backup_summary(text, text, text[], boolean, integer, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION verify_backup_summary(text, text, text[], boolean, integer, integer, boolean) TO pg_read_server_files;

CREATE PROCEDURE verify_backups(
	directory text,
	wal_directory text DEFAULT NULL,
	check_pages boolean DEFAULT true,
	settled_after interval DEFAULT '5 minutes',
	reverify_after interval DEFAULT NULL,
	max_duration interval DEFAULT NULL,
	fail_on_findings boolean DEFAULT false,
	verbose boolean DEFAULT false,
	workers integer DEFAULT 0,
	max_rate integer DEFAULT 0,
	direct_io boolean DEFAULT false)
AS 'MODULE_PATHNAME', 'accel_verify_backups'
LANGUAGE C;
COMMENT ON PROCEDURE verify_backups(text, text, boolean, interval, interval, interval, boolean, boolean, integer, integer, boolean) IS
'verifies what is new or has changed of the base backups below a directory: WARNINGs for bad ones, an INFO line at the end, and rows in verify_backup_verdicts (not on a standby)';
REVOKE ALL ON PROCEDURE verify_backups(text, text, boolean, interval, interval, interval, boolean, boolean, integer, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON PROCEDURE verify_backups(text, text, boolean, interval, interval, interval, boolean, boolean, integer, integer, boolean) TO pg_read_server_files;

CREATE FUNCTION verify_backup_windows(
	directory text,
	wal_directory text DEFAULT NULL,
	check_pages boolean DEFAULT true,
	workers integer DEFAULT 0,
	max_rate integer DEFAULT 0,
	direct_io boolean DEFAULT false,
	OUT backup text,
	OUT from_lsn pg_lsn,
	OUT to_lsn pg_lsn,
	OUT timeline_id bigint,
	OUT is_finding boolean,
	OUT message text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_verify_backup_windows'
LANGUAGE C VOLATILE PARALLEL RESTRICTED;
COMMENT ON FUNCTION verify_backup_windows(text, text, boolean, integer, integer, boolean) IS
'up to where recovery from each backup below a directory can go, by the verdicts of verify_backups with the same wal_directory and check_pages, and by the WAL archive, which is read: one row per backup (not on a standby)';
REVOKE ALL ON FUNCTION verify_backup_windows(text, text, boolean, integer, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION verify_backup_windows(text, text, boolean, integer, integer, boolean) TO pg_read_server_files;

--
-- Files of the cluster with a CRC of their own
--

CREATE FUNCTION verify_cluster_files(
	directory text DEFAULT NULL,
	direct_io boolean DEFAULT false,
	OUT path text,
	OUT kind text,
	OUT status text,
	OUT is_finding boolean,
	OUT stored_crc bigint,
	OUT computed_crc bigint,
	OUT size bigint,
	OUT message text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_verify_cluster_files'
LANGUAGE C VOLATILE PARALLEL SAFE;
COMMENT ON FUNCTION verify_cluster_files(text, boolean) IS
'verifies pg_control, relation maps, prepared transactions, replication slots and origins, logical snapshots and WAL summaries; directory NULL is this server''s';
REVOKE ALL ON FUNCTION verify_cluster_files(text, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION verify_cluster_files(text, boolean) TO pg_read_server_files;

--
-- The server's own CRC
--

CREATE FUNCTION crc32c_server(
	OUT preloaded boolean,
	OUT swappable boolean,
	OUT accelerated boolean,
	OUT server_kernel text,
	OUT active_kernel text,
	OUT self_test text,
	OUT reason text)
RETURNS record
AS 'MODULE_PATHNAME', 'accel_crc32c_server'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION crc32c_server() IS
'what computes the server''s own CRC-32C in this session: the function that the server chose, the function or kernel in use, the comparison of the two, and why the server''s is not replaced';

--
-- Timing
--
-- They use CPU on request, so only pg_monitor may call them.
--

CREATE FUNCTION drive_crc32c(count integer, num integer, server boolean DEFAULT true)
RETURNS bigint
AS 'MODULE_PATHNAME', 'accel_drive_crc32c'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION drive_crc32c(integer, integer, boolean) IS
'computes the CRC-32C of num random bytes (the same in every call) count times, by the function that the server uses or, if not server, by the kernel in use, and returns it: time the call';
REVOKE ALL ON FUNCTION drive_crc32c(integer, integer, boolean) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drive_crc32c(integer, integer, boolean) TO pg_monitor;

CREATE FUNCTION checksum_bench(
	algorithm text DEFAULT 'crc32c',
	sizes integer[] DEFAULT NULL,
	kernels text[] DEFAULT NULL,
	min_time interval DEFAULT '100 ms',
	align integer DEFAULT 0,
	working_set bigint DEFAULT NULL,
	chained boolean DEFAULT false,
	trace text DEFAULT NULL,
	OUT kernel text,
	OUT bytes integer,
	OUT iterations bigint,
	OUT ns_min double precision,
	OUT ns_median double precision,
	OUT ns_max double precision,
	OUT gb_per_s double precision,
	OUT crc bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'accel_checksum_bench'
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED ROWS 100;
COMMENT ON FUNCTION checksum_bench(text, integer[], text[], interval, integer, bigint, boolean, text) IS
'times the kernels of an algorithm (crc32c, crc32, page), and the function that the server uses: nanoseconds per call over rounds that interleave them; sizes are bytes per call, 0 is a random mix of 20 to 300 bytes (the worst case of branch prediction), those of page are whole pages, NULL is a choice from 20 bytes to 64 kB, or 4 pages; working_set spreads the calls over so many bytes, chained feeds each CRC into the next call, trace times the records of a trace instead of sizes; crc of page is a digest of the page checksums';
REVOKE ALL ON FUNCTION checksum_bench(text, integer[], text[], interval, integer, bigint, boolean, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION checksum_bench(text, integer[], text[], interval, integer, bigint, boolean, text) TO pg_monitor;
