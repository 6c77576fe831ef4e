# The storm: updates, extension, truncation, index builds, rewrites and drops
# with few shared buffers, while the verifier loops over everything, half of it on
# the device.  No finding may come of it.
#
#	ACCEL_STORM_SECONDS		how long (default 30)
#	ACCEL_STORM_BUFFERS		shared_buffers (default 1MB)
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{ACCEL_STORM_SECONDS} // 30;
my $buffers = $ENV{ACCEL_STORM_BUFFERS} // '1MB';

my $node = Accel::new_node('storm', conf => <<"CONF");
shared_buffers = $buffers
max_connections = 20
autovacuum_naptime = 1
bgwriter_delay = 10
bgwriter_lru_maxpages = 1000
checkpoint_timeout = 30
max_wal_size = 64MB
log_statement = none
CONF
my $space = PostgreSQL::Test::Utils::tempdir();
$node->start;
$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION crc32c_accel;
CREATE TABLESPACE elsewhere LOCATION '$space';
CREATE TABLE hot (id int, filler text, n int) WITH (fillfactor = 70);
INSERT INTO hot SELECT g, repeat('f', 300), 0 FROM generate_series(1, 40000) g;
CREATE INDEX hot_id ON hot (id);
CREATE INDEX hot_hash ON hot USING hash (n);
CREATE UNLOGGED TABLE unlogged (id int PRIMARY KEY, filler text);
CREATE TABLE grows (id serial, filler text, p point);
CREATE INDEX grows_hash ON grows USING hash (id);
CREATE INDEX grows_gin ON grows USING gin (to_tsvector('simple', filler));
CREATE INDEX grows_gist ON grows USING gist (p);
CREATE TABLE rewritten AS SELECT g, repeat('r', 200) AS filler FROM generate_series(1, 5000) g;
CREATE INDEX rewritten_g ON rewritten (g);
CREATE TABLE tiny (n int, filler text) WITH (fillfactor = 40);
INSERT INTO tiny SELECT 0, repeat('t', 500) FROM generate_series(1, 400);
CREATE TABLE big (a text);
ALTER TABLE big ALTER a SET STORAGE EXTERNAL;

CREATE UNLOGGED TABLE seen (relid oid, relation text, fork text, blocks bigint, retried bigint,
	findings text, status text);
SQL
my $direct = Accel::sometimes_direct($node, 'hot');
$node->safe_psql('postgres', <<"SQL");
CREATE PROCEDURE verify_all() LANGUAGE plpgsql AS \$\$
DECLARE
	target oid;
BEGIN
	FOR target IN SELECT oid FROM pg_class WHERE relkind IN ('r', 'i', 'S', 't', 'm') ORDER BY oid
	LOOP
		BEGIN
			INSERT INTO seen SELECT target, s.relation::text, s.fork, s.blocks, s.retried_blocks, s.message, s.status
			FROM verify_relation_summary(target, direct_io => $direct) s;
		EXCEPTION WHEN undefined_table THEN
			NULL;	-- dropped meanwhile
		END;
		COMMIT;
		-- a few blocks that are written all the time: caught in the act
		CONTINUE WHEN target < 16384;
		INSERT INTO seen SELECT 'tiny'::regclass, 'tiny', s.fork, sum(s.blocks), sum(s.retried_blocks), min(s.message), max(s.status)
		FROM generate_series(1, 40) g, LATERAL verify_relation_summary(CASE WHEN g > 0 THEN 'tiny'::regclass END, direct_io => $direct) s
		GROUP BY s.fork, s.status;
		COMMIT;
	END LOOP;
END \$\$;
SQL

my $dir = PostgreSQL::Test::Utils::tempdir();
append_to_file("$dir/rows", join '', map { "$_\t" . 'c' x 300 . "\n" } 1 .. 4000);
chmod 0755, $dir;

my %script = (
	update => <<'SQL',
\set id random(1, 40000)
UPDATE hot SET n = n + 1, filler = repeat(chr(97 + :id % 26), 300) WHERE id BETWEEN :id AND :id + 20;
SQL
	grow => <<'SQL',
INSERT INTO grows (filler, p) SELECT 'word' || g || ' ' || repeat('g', 200), point(g, g) FROM generate_series(1, 300) g;
INSERT INTO unlogged SELECT g, repeat('u', 200) FROM generate_series(1, 500) g ON CONFLICT (id) DO UPDATE SET filler = 'v';
INSERT INTO big SELECT repeat('b', 50000) FROM generate_series(1, 5);
SQL
	# the same few blocks, written over and over
	duel => <<'SQL',
UPDATE tiny SET n = n + 1;
CHECKPOINT;
SQL
	# pgbench skips the rest of a script after a deadlock
	admin => <<"SQL",
DROP TABLE IF EXISTS frozen, short_lived;
DROP INDEX IF EXISTS hot_new;
BEGIN;
CREATE TABLE frozen (n int, filler text);
COPY frozen FROM '$dir/rows' (FREEZE);
COMMIT;
VACUUM hot;
CHECKPOINT;
DELETE FROM grows WHERE id > (SELECT max(id) / 4 FROM grows);
VACUUM grows;
CREATE INDEX CONCURRENTLY hot_new ON hot (n, id);
REINDEX INDEX CONCURRENTLY hot_id;
DROP INDEX CONCURRENTLY hot_new;
TRUNCATE big;
CHECKPOINT;
VACUUM FULL rewritten;
DELETE FROM unlogged;
VACUUM unlogged;
CREATE TABLE short_lived AS SELECT g, repeat('s', 500) AS filler FROM generate_series(1, 3000) g;
CREATE INDEX ON short_lived (g);
UPDATE short_lived SET filler = 't';
ALTER TABLE rewritten SET TABLESPACE elsewhere;
CLUSTER rewritten USING rewritten_g;
DROP TABLE short_lived;
ALTER TABLE rewritten SET TABLESPACE pg_default;
DELETE FROM frozen WHERE n > 1000;
VACUUM (FREEZE) frozen;
INSERT INTO frozen SELECT g, repeat('i', 300) FROM generate_series(1, 4000) g;
VACUUM frozen;
DROP TABLE frozen;
SQL
);

my @storm;
my %clients = (update => 3, grow => 2, duel => 1, admin => 1);
foreach my $name (sort keys %script)
{
	append_to_file("$dir/$name.sql", $script{$name});
	my ($out, $err) = ('', '');
	push @storm,
	  {
		name => $name,
		out => \$out,
		err => \$err,
		run => IPC::Run::start(
			[
				'pgbench', '-n', '-c', $clients{$name}, '-T', $seconds + 5,
				'-f', "$dir/$name.sql", $node->connstr('postgres')
			],
			'<', \undef, '>', \$out, '2>', \$err)
	  };
}

my $until = time + $seconds;
my $rounds = 0;
my $failed = '';
while (time < $until && $failed eq '')
{
	my ($out, $err);
	my $status = $node->psql('postgres', 'CALL verify_all()', stderr => \$err);
	$failed = $err if $status != 0;
	$rounds++;
}
foreach my $load (@storm)
{
	$load->{run}->finish;
	is($load->{run}->result(0), 0, "load \"$load->{name}\" went through")
	  or diag(${ $load->{err} });
}
is($failed, '', "the verifier went through");

# Nothing caught in the act yet?  Go on until something is, for a while.  Where a
# read hardly ever overlaps a write, as on one core, none is; 018 makes it happen.
my $caught = "SELECT sum(retried) > 0 FROM seen";
my $patience = time + 60;
while (time < $patience && $node->safe_psql('postgres', $caught) ne 't')
{
	my $script = "$dir/duel.sql";
	my $load = IPC::Run::start(
		[ 'pgbench', '-n', '-T', 5, '-f', $script, $node->connstr('postgres') ],
		'<', \undef, '>', \my $out, '2>', \my $err);
	$node->safe_psql('postgres', 'CALL verify_all()');
	$load->finish;
}

my ($blocks, $retried, $bad) = split /\|/, $node->safe_psql('postgres', <<'SQL');
SELECT coalesce(sum(blocks), 0), coalesce(sum(retried), 0),
	count(*) FILTER (WHERE status NOT IN ('ok', 'not_verifiable')) FROM seen
SQL
is($bad, '0', 'no finding')
  or diag($node->safe_psql('postgres',
		"SELECT * FROM seen WHERE status NOT IN ('ok', 'not_verifiable') LIMIT 20"));
diag("storm: direct_io => $direct, $rounds rounds, $blocks blocks, $retried read again, in $seconds s with shared_buffers = $buffers");
SKIP:
{
	skip 'no read met a write that was half done', 1 if $retried == 0;
	pass("blocks were caught while they were written");
}

# What is left is as good offline as online.
$node->stop;
command_ok([ 'pg_checksums', '--check', '-D', $node->data_dir ],
	'pg_checksums agrees');

done_testing();
