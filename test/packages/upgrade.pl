# A database that was upgraded has the same objects as one in which the newest
# version was installed at once: from every version with an install script.
#
# Runs by upgrade.sh, which adds made-up versions to the tree: one whose step is
# whole ("made_up") and some whose step lacks a line each ("lacks_...").
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main');
$node->start;

# What an extension consists of, without what differs between any two databases
# (object identifiers, times).
my $catalog = <<'SQL';
WITH members AS (
	SELECT d.classid, d.objid FROM pg_depend d JOIN pg_extension e ON d.refobjid = e.oid
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND e.extname = 'crc32c_accel'),
relations AS (SELECT c.* FROM members JOIN pg_class c ON objid = c.oid WHERE classid = 'pg_class'::regclass)
SELECT string_agg(line, E'\n' ORDER BY line COLLATE "C") FROM (
	SELECT format('%s: %s', pg_describe_object(classid, objid, 0), obj_description(objid, classid::regclass::name)) AS line FROM members
UNION ALL
	SELECT format('function %s returns %s: %s', p.oid::regprocedure, pg_get_function_result(p.oid),
		(to_jsonb(p) || jsonb_build_object('arguments', pg_get_function_arguments(p.oid),
			'defaults', pg_get_expr(proargdefaults, 0)))
		- '{oid,prorettype,proallargtypes,proargtypes,pronamespace,proargdefaults}'::text[])
	FROM members JOIN pg_proc p ON objid = p.oid WHERE classid = 'pg_proc'::regclass
UNION ALL
	SELECT format('aggregate %s: %s', aggfnoid::regprocedure, to_jsonb(a) - 'aggfnoid')
	FROM members JOIN pg_aggregate a ON objid = aggfnoid WHERE classid = 'pg_proc'::regclass
UNION ALL
	SELECT format('relation %s: %s %s %s %s %s', oid::regclass, relkind, relpersistence, relacl, reloptions,
		CASE WHEN relkind = 'v' THEN pg_get_viewdef(oid) END) FROM relations
UNION ALL
	SELECT format('column %s.%s: %s %s %s %s %s %s %s %s', attrelid::regclass, attname, attnum, format_type(atttypid, atttypmod),
		attnotnull, attidentity, attgenerated, attacl, pg_get_expr(adbin, adrelid), col_description(attrelid, attnum))
	FROM relations r JOIN pg_attribute a ON attrelid = r.oid AND attnum > 0 AND NOT attisdropped
	LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
UNION ALL
	SELECT format('constraint %s on %s: %s', conname, conrelid::regclass, pg_get_constraintdef(c.oid))
	FROM relations r JOIN pg_constraint c ON conrelid = r.oid
UNION ALL
	SELECT format('index: %s', pg_get_indexdef(indexrelid)) FROM relations r JOIN pg_index ON indrelid = r.oid
UNION ALL
	SELECT format('trigger: %s', pg_get_triggerdef(t.oid)) FROM relations r JOIN pg_trigger t ON tgrelid = r.oid AND NOT tgisinternal
UNION ALL
	SELECT format('configuration %s: %s', extconfig[i]::regclass, extcondition[i])
	FROM pg_extension, generate_subscripts(extconfig, 1) i WHERE extname = 'crc32c_accel'
UNION ALL
	SELECT format('extension: %s %s', extrelocatable, obj_description(oid, 'pg_extension'))
	FROM pg_extension WHERE extname = 'crc32c_accel') lines
SQL

sub catalog_of
{
	my ($database, @statements) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, $_) for @statements;
	return $node->safe_psql($database, $catalog);
}

# of the tree that this runs in (Debian's 15 to 17 list no extension that is only staged)
my @versions = sort map { m{--([^-]+)\.sql$} && !m{--.*--} ? $1 : () } glob 'sql/crc32c_accel--*.sql';
my ($default) = slurp_file('crc32c_accel.control') =~ /^default_version = '(.*)'/m;

my $fresh = catalog_of('fresh', 'CREATE EXTENSION crc32c_accel');
cmp_ok(scalar(split /\n/, $fresh), '>', 100, 'a fresh install: many facts');

my $upgraded = 0;
for my $version (grep { $_ ne $default } @versions)
{
	(my $database = "from_$version") =~ s/\W/_/g;
	is(catalog_of($database, "CREATE EXTENSION crc32c_accel VERSION '$version'", 'ALTER EXTENSION crc32c_accel UPDATE'),
		$fresh, "$version upgraded to $default is $default");
	$upgraded++;
}
cmp_ok($upgraded, '>', 0, 'a step was taken');

# The library is the newest: it serves older SQL objects or refuses them, and
# after the update serves them all.
sub run_in
{
	my ($database) = @_;
	$node->psql($database, 'CALL verify_database(include_catalogs => false)', stderr => \my $said);
	return $said;
}
like(run_in('fresh'), qr/INFO:  completed/, 'a fresh install: a run');
for my $version (grep { $_ ne $default } @versions)
{
	(my $database = "before_$version") =~ s/\W/_/g;
	catalog_of($database, "CREATE EXTENSION crc32c_accel VERSION '$version'");
	like(run_in($database), $default eq 'made_up' ? qr/ERROR:  table verify_runs does not fit the loaded library/ :
			qr/INFO:  completed|does not fit the loaded library/, "$version before the update: a run");
	$node->safe_psql($database, 'ALTER EXTENSION crc32c_accel UPDATE');
	my $said = run_in($database);
	like($said, qr/INFO:  completed/, '... and after it');
	unlike($said, qr/could not record/, '... with its history');
}

# the comparison finds a step that lacks something
for my $version (map { m{--(lacks_\w+)\.sql$} } glob 'sql/*--lacks_*.sql')
{
	my $faulty = catalog_of($version, "CREATE EXTENSION crc32c_accel VERSION '1.0'",
		"ALTER EXTENSION crc32c_accel UPDATE TO '$version'");
	isnt($faulty, $fresh, "$version: found");
}
$node->stop;
done_testing();
