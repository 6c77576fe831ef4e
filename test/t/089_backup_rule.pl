# The rule for backups and data directories: whenever a server does not start from
# one, or starts with less, there is a finding.  Files are changed at random, each
# copy is verified and then started.
#
#	ACCEL_SEED=n	the same cases again
#	ACCEL_CASES=n	how many (40; LONG: 2000)
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Find;
use PostgreSQL::Test::Utils;
use Test::More;

my $cases = $ENV{ACCEL_CASES} || ($ENV{LONG} ? 2000 : 40);
my $seed = $ENV{ACCEL_SEED} || time;
srand($seed);
note("ACCEL_SEED=$seed ACCEL_CASES=$cases");

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $node = Accel::new_node(
	'main',
	extra => ['--wal-segsize=1'],
	allows_streaming => 1,
	conf => "autovacuum = off\nfull_page_writes = on\nshared_buffers = 1MB\nmax_prepared_transactions = 5\nmax_wal_size = 64MB\njit = off\n");
$node->start;
my $port = PostgreSQL::Test::Cluster::get_free_port();

sub sql { return $node->safe_psql('postgres', $_[0]); }
sql($_) foreach split /;\n/, <<'SQL';
CREATE EXTENSION crc32c_accel;
CREATE TABLE plain AS SELECT g, repeat('x', 100) AS filler FROM generate_series(1, 3000) g;
CREATE INDEX ON plain (g);
CREATE TABLE wide AS SELECT g, (SELECT string_agg(md5(random()::text), '') FROM generate_series(1, 200 + g)) AS doc FROM generate_series(1, 60) g;
CREATE TABLE locked (id int PRIMARY KEY);
INSERT INTO locked SELECT generate_series(1, 100);
CREATE SEQUENCE numbers;
SELECT nextval('numbers') FROM generate_series(1, 50);
CREATE UNLOGGED TABLE volatile AS SELECT 1 AS i;
VACUUM plain, wide
SQL

# rows that two transactions hold a lock on: pg_multixact
my $other = $node->background_psql('postgres');
$other->query_safe('BEGIN; SELECT count(*) FROM (SELECT 1 FROM locked WHERE id < 50 FOR KEY SHARE) l');
sql(q{BEGIN; SELECT count(*) FROM (SELECT 1 FROM locked WHERE id < 50 FOR SHARE) l; COMMIT});
$other->query_safe('COMMIT');
$other->quit;
sql(q{BEGIN; INSERT INTO plain VALUES (0, 'prepared'); PREPARE TRANSACTION 'later'});
sql('CHECKPOINT');

# --- a server on a copy ------------------------------------------------------------------

# All rows of all tables of two databases, their sum; and what is prepared.
my $digest = <<'SQL';
SELECT string_agg(format('SELECT %L, count(*), coalesce(sum(hashtext(t::text)), 0) FROM %s t', oid::regclass, oid::regclass),
	E'\nUNION ALL ' ORDER BY oid) FROM pg_class
WHERE relkind = 'r' AND relpersistence = 'p' AND NOT relisshared AND relname NOT LIKE 'checksum%' \gexec
SELECT 'sequence', sequencename, last_value FROM pg_sequences;
SELECT 'prepared', count(*) FROM pg_prepared_xacts WHERE database = current_database();
SELECT 'shared', count(*) FROM pg_database;
SELECT 'authority', count(*) FROM pg_authid;
SQL
AccelWal::put("$dir/digest.sql", $digest);

sub rows_of
{
	my ($host, $at) = @_;
	my $rows = '';
	foreach my $database (qw(postgres template1))
	{
		# Warnings are none of its rows: from 19 on, who reads a damaged map is told that it is made anew.
		$rows .= `psql -XAtq -v ON_ERROR_STOP=1 -h '$host' -p $at -d $database -f '$dir/digest.sql' 2>'$dir/said'`;
		$rows .= slurp_file("$dir/said") if $? != 0;
	}
	return $rows;
}

# What a start makes of it: its rows, or why there are none.
sub start_of
{
	my ($from) = @_;
	my $copy = "$dir/started";
	system_or_bail('cp', '-a', $from, $copy);
	unlink "$copy/postmaster.pid";
	append_to_file("$copy/postgresql.conf",
		"\nport = $port\nlisten_addresses = ''\nunix_socket_directories = '$dir'\nlogging_collector = off\narchive_mode = off\nfsync = off\nlog_min_messages = warning\nrestart_after_crash = off\n");
	my $said;
	if (system("pg_ctl -D '$copy' -l '$copy.log' -s -w start >'$dir/said' 2>&1"))
	{
		($said) = (-f "$copy.log" ? slurp_file("$copy.log") : '') =~ /((?:FATAL|PANIC):\s+.*)/;
		$said = 'no start: ' . ($said // 'and no reason');
	}
	else
	{
		$said = rows_of($dir, $port);
	}
	system("pg_ctl -D '$copy' -s -m immediate -w stop >'$dir/said' 2>&1");
	system('rm', '-rf', $copy, "$copy.log");
	return $said;
}

# --- the sources --------------------------------------------------------------------------

my %source;
$source{'with a manifest'} = "$dir/backup";
system_or_bail('pg_basebackup', '-D', "$dir/backup", '-h', $node->host, '-p', $node->port, '--checkpoint=fast', '--no-sync');
$source{'without a manifest'} = "$dir/bare";
system_or_bail('cp', '-al', "$dir/backup", "$dir/bare");
unlink "$dir/bare/backup_manifest";
sql($_) foreach 'CHECKPOINT', q{UPDATE plain SET filler = 'again' WHERE g % 3 = 0}, q{INSERT INTO plain SELECT g, 'new' FROM generate_series(5001, 7000) g};
$source{'of a server that crashed'} = "$dir/crashed";
$source{'of a server that was stopped'} = "$dir/stopped";
$node->stop('immediate');
system_or_bail('cp', '-a', $node->data_dir, "$dir/crashed");
unlink "$dir/crashed/postmaster.pid";
$node->start;
$node->stop;
system_or_bail('cp', '-a', $node->data_dir, "$dir/stopped");
$node->start;

my (%whole, %files);
foreach my $name (sort keys %source)
{
	my $root = $source{$name};
	find({ no_chdir => 1, wanted => sub { push @{ $files{$name} }, substr($_, length($root) + 1) if -f && !-l } }, $root);
	@{ $files{$name} } = sort @{ $files{$name} };
	$whole{$name} = start_of($root);
	unlike($whole{$name}, qr/no start|ERROR|FATAL/, "$name: it starts");
	is(sql("SELECT status FROM verify_backup_summary('$root')"), 'ok', "$name: it is ok");
}

# --- changes ------------------------------------------------------------------------------

sub pick { return $_[ int rand @_ ]; }

# Files of relations are most of all; each class comes as often as any other.
sub class_of
{
	my ($path) = @_;
	return 'relation' if $path =~ m{^(?:base/\d+|global)/\d+};
	return $1 if $path =~ m{^(pg_\w+|backup_\w+|global|base)(?:/|$)};
	return 'configuration' if $path =~ /\.conf/;
	return 'other';
}

# What is done to a file: its bytes, and those of another one of its class.
my %change = (
	flip => sub { my ($bytes) = @_; my $at = int rand(length($bytes) || 1); substr($bytes, $at, 1) ^= chr(1 << int rand 8) if $bytes ne ''; $bytes },
	empty => sub { '' },
	cut => sub { substr($_[0], 0, int rand(length($_[0]) + 1)) },
	cut_pages => sub { substr($_[0], 0, 8192 * int rand(1 + length($_[0]) / 8192)) },
	lengthen => sub { $_[0] . ("\0" x pick(1, 100, 8192)) },
	noise => sub { my ($bytes) = @_; substr($bytes, int rand(length($bytes) || 1), 512) = pack('C*', map { int rand 256 } 1 .. 512) if $bytes ne ''; substr($bytes, 0, length $_[0]) },
	zeros => sub { my ($bytes) = @_; my $at = 8192 * int rand(length($bytes) / 8192); substr($bytes, $at, 8192) = "\0" x length(substr($bytes, $at, 8192)); $bytes },
	swap => sub {
		my ($bytes) = @_;
		my ($first, $second) = map { 8192 * int rand(length($bytes) / 8192) } 1 .. 2;
		return $bytes if length($bytes) < 16384;
		my $kept = substr($bytes, $first, 8192);
		substr($bytes, $first, 8192) = substr($bytes, $second, 8192);
		substr($bytes, $second, 8192) = $kept;
		return $bytes;
	},
	exchange => sub { $_[1] });

# Nothing but a manifest says what these held: docs/backups.md, "Not found".
sub is_beyond
{
	my ($name, $path, $how) = @_;
	return 0 if $name eq 'with a manifest';
	my $class = class_of($path);
	return 'configuration' if $class eq 'configuration';
	return 'a prepared transaction' if $class eq 'pg_twophase' && $how eq 'remove' && $name !~ /stopped/;
	return 'status of transactions' if $class =~ /^pg_(?:xact|multixact)$/;
	return 'a file that is gone or was cut off' if $class eq 'relation' && $how =~ /^(?:remove|empty|cut|cut_pages)$/;
	return 'zeros, or pages of another relation' if $class eq 'relation' && $how =~ /^(?:zeros|exchange)$/;
	return 0;
}

sub changed
{
	my ($root, $path, $how, $donor) = @_;
	my $bytes = slurp_file("$root/$path");
	my $more = slurp_file("$root/$donor");
	unlink "$root/$path";
	return if $how eq 'remove';
	AccelWal::put("$root/$path", $change{$how}->($bytes, $more));
	chmod 0600, "$root/$path";
	return;
}

my @ways = sort(keys %change, 'remove');
my ($found, $harmless, $excused) = (0, 0, 0);
my @wrong;
foreach my $n (1 .. $cases)
{
	my $name = (sort keys %source)[ $n % keys %source ];
	my %of_class;
	push @{ $of_class{ class_of($_) } }, $_ foreach grep { !m{/pg_internal\.init$|^postmaster|^postgresql\.auto} } @{ $files{$name} };
	my $class = rand() < 0.4 ? 'relation' : pick(sort keys %of_class);
	my ($path, $donor) = map { pick(@{ $of_class{$class} }) } 1 .. 2;
	my $how = pick(@ways);
	my $root = "$dir/case";
	system_or_bail('cp', '-al', $source{$name}, $root);
	changed($root, $path, $how, $donor);
	my $verdict = sql("SELECT concat_ws('|', status, findings, message) FROM verify_backup_summary('$root')");
	my $says = start_of($root);
	my $loss = $says ne $whole{$name};
	my $case = "case $n, $name: $path: $how" . ($how eq 'exchange' ? " with $donor" : '');
	if ($verdict !~ /^ok\|0/) { $found++; }
	elsif (!$loss) { $harmless++; }
	elsif (is_beyond($name, $path, $how)) { $excused++; }
	else { push @wrong, "$case: called $verdict, but " . substr($says, 0, 300); }
	system('rm', '-rf', $root);
}
note($_) foreach @wrong;
is(join("\n", @wrong), '', 'whatever does not start, or starts with less, is found');
note("$found found, $harmless changed nothing, $excused beyond what can be known");
ok($found > $cases / 6, 'many changes are found');	# 43 % of 600, so no chance ends this

$node->stop;
done_testing();
