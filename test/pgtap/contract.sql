--
-- The SQL contract: every function's arguments, result, properties and grants
-- are exactly those of contract.tsv, which is read against the README and the
-- design when it changes.  The view "actual" gives the new rows: \copy (SELECT *
-- FROM actual ORDER BY name COLLATE "C", arguments COLLATE "C") TO a file.  They
-- stand after a COPY, and are found wherever psql runs.
--
\set QUIET 1
SET client_min_messages = warning;
BEGIN;
CREATE EXTENSION IF NOT EXISTS pgtap;
CREATE EXTENSION IF NOT EXISTS crc32c_accel;

CREATE TEMP VIEW actual AS
SELECT p.proname::text AS name,
	replace(pg_get_function_arguments(p.oid), 'public.', '') AS arguments,
	CASE WHEN prokind = 'p' THEN 'procedure' ELSE pg_get_function_result(p.oid) END AS result,
	concat_ws(' ',
		CASE provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
		CASE WHEN proisstrict THEN 'strict' END,
		CASE proparallel WHEN 's' THEN 'parallel safe' WHEN 'r' THEN 'parallel restricted'
			ELSE 'parallel unsafe' END,
		CASE WHEN proleakproof THEN 'leakproof' END) AS properties,
	coalesce((SELECT string_agg(CASE grantee WHEN 0 THEN 'PUBLIC' ELSE grantee::regrole::text END, ' '
			ORDER BY grantee)
		FROM aclexplode(coalesce(proacl, acldefault('f', proowner)))
		WHERE grantee <> proowner), 'superuser') AS grants
FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid
WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'crc32c_accel');

CREATE TEMP TABLE contract (name text, arguments text, result text, properties text, grants text);
\ir contract.tsv

SELECT plan(6);
SELECT is_empty('SELECT name, arguments FROM contract EXCEPT SELECT name, arguments FROM actual',
	'every function of the contract is there, with its arguments');
SELECT is_empty('SELECT name, arguments FROM actual EXCEPT SELECT name, arguments FROM contract',
	'no function is there that the contract does not have');
SELECT is_empty('SELECT name, result FROM actual EXCEPT SELECT name, result FROM contract',
	'results');
SELECT is_empty('SELECT name, properties FROM actual EXCEPT SELECT name, properties FROM contract',
	'volatility, strictness, parallel safety, leakproofness');
SELECT is_empty('SELECT name, grants FROM actual EXCEPT SELECT name, grants FROM contract',
	'privileges');
SELECT results_eq(
	$$ SELECT name::text FROM pg_settings WHERE name LIKE 'crc32c_accel.%' ORDER BY 1 $$,
	ARRAY['crc32c_accel.accelerate_server', 'crc32c_accel.history_keep_time', 'crc32c_accel.kernel', 'crc32c_accel.page_kernel'],
	'parameters');
SELECT * FROM finish();
ROLLBACK;
