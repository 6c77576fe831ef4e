# Who may call what: every function, view and table, read from the catalog, is
# called as a nobody and as each role that the contract names.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;

my $space = PostgreSQL::Test::Utils::tempdir();
my $logs = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node('main', conf => "max_connections = 20\nlog_directory = '$logs'\n");
$node->start;
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
$q->(q{
	CREATE EXTENSION crc32c_accel;
	CREATE TABLE mine (x int);
	CREATE ROLE nobody LOGIN;
	CREATE ROLE scanner LOGIN IN ROLE pg_stat_scan_tables;
	CREATE ROLE reader LOGIN IN ROLE pg_read_server_files;
	CREATE ROLE monitor LOGIN IN ROLE pg_monitor;
	CREATE ROLE dumper LOGIN IN ROLE pg_read_all_data;
	CREATE ROLE dashboard LOGIN;
	GRANT SELECT ON verify_bad_blocks, verify_last_good, verify_metrics, verify_database_metrics, verify_backup_metrics TO dashboard});

# The contract: everything else than these is revoked from PUBLIC
my %public = map { $_ => 1 } qw(crc32c crc32c_extend crc32c_combine
  crc32c_agg crc32c_bytes crc32 crc32_extend crc32_combine crc32c_lo
  checksum_kernels checksum_self_test
  verify_page crc32c_server internal_is_own_run internal_file_exists internal_block_has_lsn);
my %granted = (
	(map { $_ => 'reader' } qw(crc32c_file verify_wal_segment verify_wal
		  verify_wal_findings verify_backup verify_backup_summary verify_backup_windows
		  verify_cluster_files)),
	(map { $_ => 'reader' } qw(wal_block_history verify_wal_archive verify_backups verify_wal_images)),
	(map { $_ => 'scanner' } qw(verify_relation verify_relation_summary
		  verify_lost_writes verify_page_digests verify_database verify_cluster relation_files page_digests
		  internal_progress)),
	(map { $_ => 'monitor' } qw(drive_crc32c checksum_bench)));

# A call with every argument NULL, by its types; not as constants, which the
# planner would use to do away with the call of a strict function
my @calls = map { [ split /\t/ ] } split /\n/, $q->(q{
	SELECT format(E'%s\t%s\t%s %I(%s)', proname, oidvectortypes(proargtypes),
		CASE prokind WHEN 'p' THEN 'CALL' ELSE 'SELECT' END, proname,
		(SELECT string_agg(format(CASE prokind WHEN 'p' THEN 'NULL::%s' ELSE '(SELECT NULL::%s)' END,
				format_type(t, NULL)), ', ' ORDER BY n)
			FROM unnest(proargtypes) WITH ORDINALITY u(t, n)))
	FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid
	WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'crc32c_accel')
	ORDER BY 1});
cmp_ok(scalar(@calls), '>', 15, 'functions to try: ' . scalar(@calls));

sub refused
{
	my ($role, $sql) = @_;
	my ($out, $err) = ('', '');
	$node->psql('postgres', $sql, stdout => \$out, stderr => \$err,
		extra_params => [ '-U', $role, '-v', 'VERBOSITY=sqlstate' ]);
	return $err =~ /42501/ ? 1 : 0;
}

for my $call (@calls)
{
	my ($name, $types, $sql) = @$call;
	my @allowed = $public{$name} ? qw(nobody scanner reader monitor)
	  : $granted{$name} ? ($granted{$name}) : ();
	my %allowed = map { $_ => 1 } @allowed;
	# pg_monitor is a member of pg_stat_scan_tables
	$allowed{monitor} = 1 if $allowed{scanner};

	for my $role (qw(nobody scanner reader monitor))
	{
		is(refused($role, $sql), $allowed{$role} ? 0 : 1,
			"$role " . ($allowed{$role} ? 'may' : 'may not') . " call $name($types)");
	}
}

# Tables and views: readable by who may scan, writable by no one else
for my $relation (split /\n/, $q->(q{
	SELECT relname FROM pg_class c JOIN pg_depend d ON d.objid = c.oid
	WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e' AND relkind IN ('r', 'v')
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'crc32c_accel')
	ORDER BY 1}))
{
	is(refused('nobody', "SELECT * FROM $relation"), 1, "nobody may not read $relation");
	is(refused('nobody', "DELETE FROM $relation"), 1, "nobody may not change $relation")
	  unless $relation =~ /^(verify_(progress|bad_blocks|last_good|metrics|database_metrics|backup_metrics)|internal_oldest_good|internal_unverified)$/;	# nobody can: no updatable views
	is(refused('scanner', "SELECT * FROM $relation"), 0, "scanner may read $relation");
}

# SELECT is enough for what tells of the history, also where there is a run
$q->('CALL verify_database(include_catalogs => false, cluster_files => false)');
foreach my $role (qw(dumper dashboard))
{
	is(refused($role, "SELECT * FROM $_"), 0, "$role may read $_") foreach qw(verify_bad_blocks verify_last_good verify_metrics verify_database_metrics verify_backup_metrics);
	is(refused($role, 'SELECT * FROM verify_progress'), 1, "$role may not see what sessions do");
}
is(refused('dumper', "SELECT * FROM $_"), 0, "dumper may read $_")
  foreach qw(verify_runs verify_run_relations verify_findings internal_positions internal_verdicts internal_page_digests verify_wal_files verify_backup_verdicts);
is(refused('dashboard', 'SELECT * FROM verify_runs'), 1, 'dashboard may not read the tables below');

# Parameters
for my $parameter (split /\n/, $q->(q{SELECT name FROM pg_settings WHERE name LIKE 'crc32c_accel.%' AND name NOT LIKE '%work%'}))
{
	is(refused('nobody', "LOAD 'crc32c_accel'; SET $parameter = 'auto'") ||
		refused('nobody', "SELECT public.crc32c(''); SET $parameter = 'auto'"), 1,
		"nobody may not set $parameter");
}

# Files: a function that was granted to someone without the role still refuses
# what lies outside the cluster, and says so before it touches the file system.
$q->('GRANT EXECUTE ON ALL ROUTINES IN SCHEMA public TO nobody');
for my $path ('/etc/hostname', '/no/such/file', '../outside', 'base/../../outside', '/etc/../etc/hostname')
{
	is(refused('nobody', "SELECT crc32c_file('$path')"), 1, "granted only: no way to $path");
	for my $function (qw(verify_wal verify_backup verify_backup_summary verify_backup_windows verify_cluster_files))
	{
		next unless grep { $_->[0] eq $function } @calls;
		is(refused('nobody', "SELECT * FROM $function('$path')"), 1, "granted only: no $function of $path");
	}
	is(refused('nobody', "CALL verify_backups('$path')"), 1, "granted only: no verify_backups of $path");
}
is(refused('nobody', q{SELECT crc32c_file('PG_VERSION')}), 0, 'granted only: a file of the cluster');

# Files that belong to the cluster wherever they are: tablespaces, log_directory
$q->("CREATE TABLESPACE elsewhere LOCATION '$space'");
$q->('CREATE TABLE far TABLESPACE elsewhere AS SELECT i FROM generate_series(1, 1000) i; CHECKPOINT');
my $data = $node->data_dir;
my $far = $q->(q{SELECT pg_relation_filepath('far')});
append_to_file("$logs/server.log", 'logged');
symlink('/etc/passwd', "$logs/out.log");
my $right = $q->("SELECT crc32c_file('$far') || ' ' || public.crc32c('logged')");
is($q->("SET ROLE nobody; SELECT crc32c_file('$far') || ' ' || crc32c_file('$logs/server.log')"),
	$right, 'granted only: a tablespace and log_directory');
is($q->("SET ROLE nobody; SELECT crc32c_file('$data/$far') || ' ' || crc32c_file('$logs/./server.log')"),
	$right, 'granted only: by absolute names');
is(refused('nobody', "SELECT crc32c_file('$logs/out.log')"), 1, 'granted only: a link that leads out of log_directory');
is(refused('nobody', "SELECT crc32c_file('$logs/../x')"), 1, 'granted only: the folder above log_directory');
my (undef, undef, $none) = $node->psql('postgres', "\\set VERBOSITY sqlstate\nSET ROLE nobody;\nSELECT crc32c_file('pg_tblspc/1/x')");
like($none, qr/ERROR:  58P01/, 'granted only: a tablespace that is not there');

# Large objects follow their own privileges
$q->(q{SELECT lo_from_bytea(4711, 'secret')});
is(refused('nobody', 'SELECT crc32c_lo(4711)'), 1, 'no way to another role\'s large object');
$q->('GRANT SELECT ON LARGE OBJECT 4711 TO nobody');
is(refused('nobody', 'SELECT crc32c_lo(4711)'), 0, 'a granted large object');

$node->stop;
done_testing();
