# Library and SQL objects of different ages: one error that says what to do, never
# a crash, and no row of the history is lost.
use strict;
use warnings;
use Accel;
use File::Basename qw(dirname);
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', conf => "autovacuum = off\n");
$node->start;

# Runs statements in one session, whatever becomes of each; returns what it said.
sub session
{
	my ($database, @statements) = @_;
	my ($out, $err) = ('', '');
	my $status = $node->psql($database, join(";\n", @statements), stdout => \$out, stderr => \$err,
		on_error_stop => 0, extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	is($status, 0, "the session lives on: $statements[0]");
	return ($out, $err);
}

my $misfit = qr/ERROR:  55000: (function|table) \S+ does not fit the loaded library of crc32c_accel/;
my $remedy = qr/HINT:  Execute ALTER EXTENSION crc32c_accel UPDATE in this database/;

# --- every C function, declared otherwise -------------------------------------------

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE SCHEMA altered;
CREATE TABLE routine AS
	SELECT row_number() OVER () AS number, p.oid, prosrc, prokind, proisstrict AS is_strict, proretset AS many, prorettype::regtype::text AS result,
		CASE WHEN pronargs > 0 THEN ARRAY(SELECT t::regtype::text FROM unnest(proargtypes) WITH ORDINALITY u(t, n) ORDER BY n) ELSE '{}' END AS inputs,
		ARRAY(SELECT t::regtype::text FROM unnest(proallargtypes, proargmodes) WITH ORDINALITY u(t, m, n) WHERE m = 'o' ORDER BY n) AS columns
	FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND objid = p.oid AND deptype = 'e' JOIN pg_extension e ON refobjid = e.oid
	WHERE extname = 'crc32c_accel' AND prolang = (SELECT oid FROM pg_language WHERE lanname = 'c');

CREATE FUNCTION other(type text) RETURNS text LANGUAGE sql AS $$ SELECT CASE type WHEN 'integer' THEN 'bytea' ELSE 'integer' END $$;
CREATE FUNCTION without(list text[], n int) RETURNS text[] LANGUAGE sql AS $$ SELECT list[:n - 1] || list[n + 1:] $$;
CREATE FUNCTION changed(list text[], n int) RETURNS text[] LANGUAGE sql AS $$ SELECT list[:n - 1] || other(list[n]) || list[n + 1:] $$;

CREATE TABLE variant AS SELECT 'as it is' AS what, r.* FROM routine r;
INSERT INTO variant
	SELECT 'without argument ' || n, v.number, v.oid, prosrc, prokind, is_strict, many, result, without(inputs, n), columns
	FROM routine v, generate_series(1, cardinality(inputs)) n
UNION ALL SELECT 'another argument ' || n, v.number, v.oid, prosrc, prokind, is_strict, many, result, changed(inputs, n), columns
	FROM routine v, generate_series(1, cardinality(inputs)) n
UNION ALL SELECT 'one argument more', v.number, v.oid, prosrc, prokind, is_strict, many, result, inputs || 'bigint'::text, columns FROM routine v
UNION ALL SELECT 'without column ' || n, v.number, v.oid, prosrc, prokind, is_strict, many, result, inputs, without(columns, n)
	FROM routine v, generate_series(1, cardinality(columns)) n
UNION ALL SELECT 'another column ' || n, v.number, v.oid, prosrc, prokind, is_strict, many, result, inputs, changed(columns, n)
	FROM routine v, generate_series(1, cardinality(columns)) n
UNION ALL SELECT 'one column more', v.number, v.oid, prosrc, prokind, is_strict, many, result, inputs, columns || 'bigint'::text
	FROM routine v WHERE columns <> '{}'
UNION ALL SELECT 'another result', v.number, v.oid, prosrc, prokind, is_strict, many, other(result), inputs, columns
	FROM routine v WHERE columns = '{}' AND prokind = 'f'
UNION ALL SELECT 'one row, or many', v.number, v.oid, prosrc, prokind, is_strict, NOT many, result, inputs, columns FROM routine v WHERE prokind = 'f'
UNION ALL SELECT 'NULL comes, or not', v.number, v.oid, prosrc, prokind, NOT is_strict, many, result, inputs, columns FROM routine v WHERE prokind = 'f'
UNION ALL SELECT 'a procedure', v.number, v.oid, prosrc, 'p', false, false, 'void', inputs, '{}' FROM routine v WHERE prokind = 'f'
UNION ALL SELECT 'a function', v.number, v.oid, prosrc, 'f', is_strict, many, result, inputs, columns FROM routine v WHERE prokind = 'p'
UNION ALL SELECT 'a window function', v.number, v.oid, prosrc, 'w', is_strict, false, 'bigint', inputs, '{}' FROM routine v
	WHERE result = 'bigint' AND prokind = 'f';

CREATE FUNCTION literal(type text, strict boolean) RETURNS text LANGUAGE sql AS $$
	SELECT CASE WHEN NOT strict THEN 'NULL' WHEN type = 'regclass' THEN '''pg_class''' WHEN type = 'pg_lsn' THEN '''0/1''' WHEN type LIKE '%[]' THEN '''{}'''
		WHEN type = 'interval' THEN '''1 s''' WHEN type ~ 'timestamp' THEN '''epoch''' WHEN type ~ 'bytea|text' THEN '''1''' ELSE '''0''' END || '::' || type $$;
CREATE FUNCTION list(types text[], strict boolean) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(literal(t, strict), ', ' ORDER BY n), '') FROM unnest(types) WITH ORDINALITY u(t, n) $$;
CREATE FUNCTION declaration(v variant) RETURNS text LANGUAGE sql AS $$
	SELECT format('CREATE %s altered.f(%s) %s AS %L, %L LANGUAGE C %s', CASE v.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END,
		concat_ws(', ', nullif(array_to_string(v.inputs, ', '), ''), (SELECT string_agg('OUT ' || t, ', ' ORDER BY n) FROM unnest(v.columns) WITH ORDINALITY u(t, n))),
		CASE WHEN v.prokind <> 'p' THEN 'RETURNS ' || CASE WHEN v.many THEN 'SETOF ' ELSE '' END ||
			CASE WHEN cardinality(v.columns) = 1 THEN v.columns[1] ELSE v.result END END,
		(SELECT probin FROM pg_proc WHERE oid = v.oid), v.prosrc,
		concat_ws(' ', CASE WHEN v.prokind = 'w' THEN 'WINDOW' END, CASE WHEN v.is_strict AND v.prokind <> 'p' THEN 'STRICT' END)) $$;

CREATE TABLE result (what text, prosrc text, number bigint, sqlstate text, message text);
CREATE PROCEDURE try_all(asked text) LANGUAGE plpgsql AS $$
DECLARE
	v variant;
	state text;
	said text;
BEGIN
	FOR v IN SELECT * FROM variant WHERE what ~ asked LOOP
		BEGIN
			EXECUTE declaration(v);
			EXECUTE CASE v.prokind WHEN 'p' THEN 'CALL' ELSE 'SELECT' END || ' altered.f(' || list(v.inputs, v.is_strict) || ')' ||
				CASE v.prokind WHEN 'w' THEN ' OVER ()' ELSE '' END;
			RAISE SQLSTATE 'OK000';
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, said = MESSAGE_TEXT;
			INSERT INTO result VALUES (v.what, v.prosrc, v.number, state, said);
		END;
	END LOOP;
END $$;
SQL
my ($out) = session('postgres', "CALL try_all('^(?!as it is)')",
	"SELECT count(*) FROM variant WHERE what <> 'as it is'", 'SELECT count(*) FROM result');
my ($variants, $tried) = split /\n/, $out;
cmp_ok($variants, '>', 500, "$variants other declarations of C functions");
is($tried, $variants, 'each was called');
is($node->safe_psql('postgres', <<'SQL'), '', '... and each gives the one error');
SELECT what, prosrc, sqlstate, message FROM result
WHERE sqlstate <> '55000' OR message NOT LIKE 'function altered.f(%) does not fit the loaded library of crc32c_accel' LIMIT 5
SQL

# what is declared as it is passes, under another name too, and by every way of calling
session('postgres', 'TRUNCATE result', "CALL try_all('as it is')");
is($node->safe_psql('postgres', "SELECT count(*) FILTER (WHERE message NOT LIKE '%does not fit%') = (SELECT count(*) FROM routine), count(*) FILTER (WHERE sqlstate = 'OK000') > 15 FROM result"),
	't|t', 'as the install script declares them they are called');
my ($got, $said) = session('postgres',
	'CREATE TABLE v AS SELECT i, i::text::bytea AS b FROM generate_series(1, 20000) i', 'ANALYZE v',
	"SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0",
	"SELECT sum(public.crc32c(b)) = sum(crc32c_extend(0, b)) FROM v",
	'SELECT crc32c_agg(b ORDER BY i) = crc32c_agg(DISTINCT b ORDER BY b) FROM v WHERE i < 2',
	'CREATE INDEX ON v (public.crc32c(b))', "ALTER FUNCTION public.crc32c(bytea) SET work_mem = '1MB'", "SELECT count(public.crc32c(b)) FROM v",
	'ALTER FUNCTION public.crc32c(bytea) RESET ALL');
is($got, "t\nt\n20000", 'workers, aggregates, indexes, functions with settings');
unlike($said, qr/ERROR/, '... without an error');
$node->safe_psql('postgres', 'DROP EXTENSION crc32c_accel CASCADE');

# --- scripts of other versions -----------------------------------------------------

chomp(my $libdir = `pg_config --pkglibdir`);
chomp(my $sharedir = `pg_config --sharedir`);
my ($stage) = map { s{\Q$libdir\E$}{}r } grep { -e "$_/crc32c_accel.so" } map { s/^\$libdir$/$libdir/r }
  split /:/, $node->safe_psql('postgres', 'SHOW dynamic_library_path');
my $scripts = "$stage$sharedir/extension";
my $present = slurp_file("$scripts/crc32c_accel--1.0.sql");

# As the present one, with changes; what is changed must be there.
sub script
{
	my ($version, @changes) = @_;
	my $text = $present;

	while (my ($from, $to) = splice @changes, 0, 2)
	{
		my $at = index $text, $from;
		die "not in the script: $from" if $at < 0;
		substr $text, $at, length $from, $to;
	}
	append_to_file("$scripts/crc32c_accel--$version.sql", $text);
	return;
}

# The declaration of a function, and all that is said about it.
sub declaration_of
{
	my ($name) = @_;
	return join '', $present =~ /^((?:CREATE|COMMENT ON|REVOKE ALL ON|GRANT EXECUTE ON) FUNCTION $name\(.*?;\n)/gms;
}

script('0.9',
	"verify_page(\n	page bytea,\n	blkno bigint", "verify_page(\n	page bytea,\n	blkno integer",
	'verify_page(bytea, bigint)', 'verify_page(bytea, integer)',
	"	OUT blocks bigint,\n	OUT status text,\n	OUT is_finding boolean)\n", "	OUT blocks bigint)\n",
	"'accel_crc32c_bytes'\nLANGUAGE C IMMUTABLE STRICT", "'accel_crc32c_bytes'\nLANGUAGE C IMMUTABLE",
	"	findings bigint NOT NULL,\n	state text", "	findings bigint NOT NULL,\n	note text,\n	state text");
append_to_file("$scripts/crc32c_accel--0.9.sql", 'ALTER TABLE internal_positions DROP COLUMN datid;');
append_to_file("$scripts/crc32c_accel--0.9--1.0.sql", join "\n",
	'DROP FUNCTION verify_page(bytea, integer), relation_files(regclass), crc32c_bytes(bigint);',
	(map { declaration_of($_) } qw(verify_page relation_files crc32c_bytes)),
	'ALTER TABLE verify_runs DROP COLUMN note;',
	'ALTER TABLE internal_positions ADD COLUMN datid oid NOT NULL;', '');

$node->safe_psql('postgres', "CREATE DATABASE $_") for qw(older newer);
my @calls = (
	"SELECT status FROM verify_page(decode(repeat('00', 8192), 'hex'), 0)",
	"SELECT count(*) > 1 FROM relation_files('pg_class')",
	'SELECT crc32c_bytes(NULL) IS NULL',
	"CALL verify_database(include_catalogs => false)",
	"CALL verify_wal_archive('" . $node->data_dir . "/base')",
	"SELECT prune_history('1 day')");

($got, $said) = session('older', "CREATE EXTENSION crc32c_accel VERSION '0.9'", "SELECT public.crc32c('123456789')", @calls,
	'SELECT count(*) FROM verify_runs');
is($got, "3808858755\n0", 'older SQL objects: what is the same is served, nothing is recorded');
is(scalar(() = $said =~ /$misfit/g), 6, '... the rest is refused');
is(scalar(() = $said =~ /$remedy/g), 6, '... with the remedy');
like($said, qr/$misfit\n.*expects another list of arguments\..*$misfit\n.*expects another result\..*$misfit\n.*expects another strictness\.(?:.*table \S+ does not fit\N+\n.*expects another list of columns\.){3}/s,
	'... which part it is');

($got, $said) = session('older', 'ALTER EXTENSION crc32c_accel UPDATE', @calls,
	'SELECT state, relations, findings, datid = (SELECT oid FROM pg_database WHERE datname = current_database()) FROM verify_runs');
unlike($said, qr/ERROR|could not record/, 'updated: all is served');
like($got, qr/^ok_new\nt\nt\n0\ncompleted\|[1-9]\d*\|0\|t$/, '... rightly, and recorded');

script('1.1',
	"	max_findings integer DEFAULT 100,\n	direct_io boolean DEFAULT false,\n", "	max_findings integer DEFAULT 100,\n	direct_io boolean DEFAULT false,\n	added boolean DEFAULT false,\n",
	'verify_wal_findings(text, text, integer, boolean)', 'verify_wal_findings(text, text, integer, boolean, boolean)',
	'verify_wal_findings(text, text, integer, boolean)', 'verify_wal_findings(text, text, integer, boolean, boolean)',
	'verify_wal_findings(text, text, integer, boolean)', 'verify_wal_findings(text, text, integer, boolean, boolean)');
append_to_file("$scripts/crc32c_accel--1.1.sql", 'ALTER TABLE verify_findings ADD COLUMN added text;');
($got, $said) = session('newer', "CREATE EXTENSION crc32c_accel VERSION '1.1'", @calls,
	"SELECT * FROM verify_wal_findings(NULL, '000000010000000000000001')", 'SELECT count(*) FROM verify_runs');
is($got, "ok_new\nt\nt\n0", 'newer SQL objects, as a preloaded library sees them: what is the same is served, nothing is recorded');
is(scalar(() = $said =~ /$misfit/g), 4, '... the rest is refused') or diag $said;

# --- what alters on the way ---------------------------------------------------------

# columns that trade places have their types, and would be written wrong
$node->safe_psql('older', <<'SQL');
ALTER TABLE verify_runs RENAME relations TO passing;
ALTER TABLE verify_runs RENAME blocks TO relations;
ALTER TABLE verify_runs RENAME passing TO blocks;
SQL
(undef, $said) = session('older', $calls[3], 'SELECT count(*) FROM verify_runs');
like($said, qr/ERROR:  55000: table verify_runs does not fit/, 'columns in another order: refused');
$node->safe_psql('older', 'DROP EXTENSION crc32c_accel; CREATE EXTENSION crc32c_accel');

# The file of the library, of another build: as after an installation.
sub other_build
{
	my ($library) = @_;

	open my $from, '<:raw', $library or die $!;
	my $bytes = do { local $/; <$from> };
	(my $other = $bytes) =~ s/(?<=\0)(\d{5,10}-\d{5,10})(?=\0)/$1 =~ tr{0-9}{1-90}r/e or die 'no build in the library';
	open my $to, '>:raw', "$library.other" or die $!;
	print $to $other;
	close $to or die $!;
	chmod 0755, "$library.other";
	return;
}

my $library = "$stage$libdir/crc32c_accel.so";
other_build($library);
my $old = $node->background_psql('older', on_error_stop => 0);
$old->query("SELECT public.crc32c(''); CREATE TABLE t AS SELECT i FROM generate_series(1, 50000) i");
rename $library, "$library.kept" or die $!;
rename "$library.other", $library or die $!;
my $log = -s $node->logfile;
my $workers = 'workers => 2, max_rate => 4000';
$old->query("SELECT count(*) FROM verify_relation('t', $workers)");
like($old->{stderr}, qr/ERROR:  the library of crc32c_accel has been replaced since this session loaded it/, 'a library that was replaced: workers of a scan say so');
$old->{stderr} = '';
is($old->query("SELECT count(*) FROM verify_relation('t')"), '0', '... and without them the session goes on');
$old->query("CALL verify_database($workers, include_catalogs => false)");
like($old->{stderr}, qr/INFO:  completed: /, 'a run does without its workers');
like(slurp_file($node->logfile, $log), qr/LOG:  crc32c_accel: a worker has loaded another library than its leader, and ends/, '... which end');
$old->quit;
is($node->safe_psql('older', "SELECT count(*) FROM verify_relation('t', $workers)"), '0', 'a new session has workers');
rename "$library.kept", $library or die $!;
$node->stop;
done_testing();
