--
-- Rules that hold for every object of the extension: read from the catalog, so
-- that nothing new can be forgotten.
--
\set QUIET 1
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE SCHEMA accel;
CREATE EXTENSION IF NOT EXISTS crc32c_accel;
ALTER EXTENSION crc32c_accel SET SCHEMA accel;
CREATE TEMP VIEW member AS
	SELECT classid, objid FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'crc32c_accel');
CREATE TEMP VIEW member_function AS
	SELECT p.* FROM pg_proc p JOIN member ON objid = p.oid AND classid = 'pg_proc'::regclass;
CREATE TEMP VIEW member_relation AS
	SELECT c.* FROM pg_class c JOIN member ON objid = c.oid AND classid = 'pg_class'::regclass;

SELECT plan(12);

SELECT cmp_ok((SELECT count(*) FROM member_function), '>', 12::bigint, 'the extension has functions');

-- comments
SELECT is_empty($$
	SELECT pg_describe_object(classid, objid, 0) FROM member
	WHERE obj_description(objid, classid::regclass::name) IS NULL
		AND classid NOT IN ('pg_type'::regclass) $$,
	'every function, aggregate, procedure, table and view has a comment');
SELECT is_empty($$
	SELECT c.relname, attname FROM member_relation c JOIN pg_attribute ON attrelid = c.oid
	WHERE c.relkind IN ('r', 'v', 'm') AND attnum > 0 AND NOT attisdropped
		AND col_description(c.oid, attnum) IS NULL $$,
	'every column has a comment');
SELECT is_empty($$
	SELECT objid::regprocedure FROM member JOIN pg_proc p ON p.oid = objid
	WHERE obj_description(objid, 'pg_proc') ~ '^\s|\.\s*$|^[A-Z][a-z]+ (the|a) ' $$,
	'comments of functions follow the style of the server''s: no full stop');

-- arguments
SELECT is_empty($$
	SELECT oid::regprocedure FROM member_function
	WHERE pronargs > 0 AND (proargnames IS NULL OR '' = ANY (proargnames)) $$,
	'every argument and result column has a name');

-- code
SELECT is_empty($$ SELECT oid::regprocedure FROM member_function WHERE prosecdef $$,
	'nothing is SECURITY DEFINER');
SELECT is_empty($$
	SELECT p.oid::regprocedure FROM member_function p JOIN pg_language l ON l.oid = prolang
	WHERE lanname NOT IN ('c', 'internal') AND prokind <> 'a' AND proconfig IS NULL $$,
	'what is not C pins its search_path');
SELECT is_empty($$
	SELECT p.oid::regprocedure FROM member_function p JOIN pg_language l ON l.oid = prolang
	WHERE lanname = 'c' AND prosrc !~ '^accel_' $$,
	'C functions are named accel_*');
SELECT is_empty($$
	SELECT oid::regprocedure FROM member_function
	WHERE proleakproof AND (pronargs <> 1 OR provolatile <> 'i') $$,
	'only checksums of one argument are leakproof');
SELECT is_empty($$
	SELECT oid::regprocedure FROM member_function
	WHERE proparallel = 's' AND prokind <> 'p' AND provolatile = 'v'
		AND prorettype = 'void'::regtype $$,
	'nothing that acts claims to be parallel safe');

-- names
SELECT is_empty($$
	SELECT objid FROM member WHERE classid = 'pg_cast'::regclass OR classid = 'pg_operator'::regclass
		OR classid = 'pg_event_trigger'::regclass $$,
	'no cast, operator or event trigger');

ALTER EXTENSION crc32c_accel SET SCHEMA public;
SELECT is(public.crc32c('123456789'), 3808858755, 'works after a change of schema');

SELECT * FROM finish();
ROLLBACK;
