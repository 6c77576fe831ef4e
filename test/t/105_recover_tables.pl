# crc32c_verify recover --database gives tables back from a backup, as of a time
# before they were dropped or emptied: a data directory with the catalogs and those
# tables alone, whose rows, indexes and TOAST values are what they were.  What cannot
# be recovered is refused in words, and nothing is left.
use strict;
use warnings;
use Cwd qw(abs_path);
use Accel;
use AccelWal;
use File::Path qw(make_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $program = abs_path("crc32c_verify");
my $examples = abs_path("docs/examples");
chomp(my $bindir = `pg_config --bindir`);
my $scratch = PostgreSQL::Test::Utils::tempdir();
my $node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'], conf => <<'CONF');
autovacuum = off
jit = off
fsync = off
max_wal_size = 4GB
max_prepared_transactions = 5
allow_in_place_tablespaces = on
archive_mode = on
CONF
my $archive = "$scratch/archive";
mkdir $archive;
$node->append_conf('postgresql.conf', "archive_command = 'cp %p $archive/%f'");
$node->start;
$node->safe_psql('postgres', $_) foreach 'CREATE DATABASE shop', 'CREATE DATABASE other';
my $other = $node->safe_psql('postgres', q{SELECT oid FROM pg_database WHERE datname = 'other'});
sub sql { return $node->safe_psql('shop', $_[0]); }

sql($_) foreach split /\n/, <<'SQL';
CREATE TABLESPACE elsewhere LOCATION ''
CREATE TABLE orders (id int PRIMARY KEY, customer int, note text, big text)
ALTER TABLE orders ALTER big SET STORAGE EXTERNAL
INSERT INTO orders SELECT g, g % 100, 'before', CASE WHEN g % 50 = 0 THEN repeat(md5(g::text), 300) END FROM generate_series(1, 5000) g
CREATE INDEX orders_customer ON orders (customer)
CREATE TABLE items (id int, b text) TABLESPACE elsewhere
INSERT INTO items SELECT g, repeat('i', 200) FROM generate_series(1, 2000) g
CREATE TABLE large AS SELECT g, repeat('l', 500) AS b FROM generate_series(1, 20000) g
CREATE UNLOGGED TABLE fast (i int)
CREATE TABLE cold AS SELECT g FROM generate_series(1, 5000) g
VACUUM FULL pg_class
VACUUM FULL pg_database
REINDEX TABLE pg_attribute
VACUUM
SQL
my $backup = "$scratch/backup";
$node->command_ok([ 'pg_basebackup', '-D', $backup, '-c', 'fast', '--no-sync', '-d', $node->connstr('postgres') ], 'a plain backup');

# --- work, and a mistake ---------------------------------------------------------------------------

sql($_) foreach split /\n/, <<'SQL';
UPDATE orders SET note = 'after', big = big || 'x' WHERE id % 7 = 0
DELETE FROM orders WHERE id % 11 = 0
INSERT INTO orders SELECT g, g % 100, 'new', repeat(md5(g::text), 200) FROM generate_series(10001, 10500) g
UPDATE items SET b = repeat('j', 150) WHERE id % 3 = 0
UPDATE large SET b = repeat('m', 400)
CREATE TABLE young (id int PRIMARY KEY, b text)
INSERT INTO young SELECT g, 'young' FROM generate_series(1, 1000) g
ALTER TABLE items ADD COLUMN c int DEFAULT 5
CREATE TYPE mood AS ENUM ('sad', 'happy')
ALTER TABLE young ADD COLUMN m mood DEFAULT 'happy'
VACUUM ANALYZE orders, items, young
REINDEX TABLE pg_index
REINDEX TABLE pg_class
CHECKPOINT
BEGIN; UPDATE orders SET note = 'not committed' WHERE id % 13 = 0; PREPARE TRANSACTION 'open'
DELETE FROM orders WHERE id = 10500
VACUUM orders
SQL
my @tables = qw(orders items young cold);
my %truth = map { $_ => sql("SELECT count(*), sum(hashtextextended(t::text, 0)) FROM $_ t") } @tables, 'large';
my $oid = sql(q{SELECT oid FROM pg_database WHERE datname = 'shop'});

# Paths of tables with their indexes, their TOAST tables and the indexes of these.
my $paths = <<'SQL';
WITH r AS (SELECT oid, reltoastrelid FROM pg_class WHERE oid = ANY ('{%s}'::regclass[]))
SELECT pg_relation_filepath(o) FROM (SELECT oid FROM r UNION SELECT reltoastrelid FROM r WHERE reltoastrelid <> 0
	UNION SELECT indexrelid FROM pg_index WHERE indrelid IN (SELECT oid FROM r UNION SELECT reltoastrelid FROM r)) x (o) ORDER BY 1
SQL
sub paths_of { return sprintf $paths, join ',', @_; }
my $known = sql(paths_of(@tables));
my @rewritten = map { "--relation=$_" } split /\n/, sql('SELECT pg_relation_filepath(oid) FROM pg_class WHERE oid < 16384 AND pg_relation_filenode(oid) >= 16384');
cmp_ok(scalar @rewritten, '>', 5, 'some catalogs were rewritten');
my $fast = sql(q{SELECT pg_relation_filepath('fast')});
my $frozen = sql(q{SELECT pg_relation_filepath('cold')});
my $target = sql('SELECT pg_current_wal_insert_lsn()');
sql($_) foreach q{ROLLBACK PREPARED 'open'}, 'DROP DATABASE other', 'DROP TABLE orders', 'TRUNCATE items', 'DELETE FROM young', 'VACUUM young',
	'INSERT INTO large SELECT g, NULL FROM generate_series(1, 100) g', 'DROP TYPE mood CASCADE', 'VACUUM FULL pg_class', 'CHECKPOINT', 'SELECT pg_switch_wal()';
$node->stop;

# Runs the program: status, output, errors.
my $out;
my $run = 0;
sub recover
{
	my (@arguments) = @_;
	my ($said, $err) = ('', '');
	$out = "$scratch/out" . ++$run;
	my $session = IPC::Run::start([ $program, 'recover', "--bindir=$bindir", "--wal=$archive", '--wal=' . $node->data_dir . '/pg_wal', "--out=$out", @arguments ],
		'<', \undef, '>', \$said, '2>', \$err);
	$session->finish;
	return ($session->full_result(0) >> 8, $said, $err);
}

# --- the catalogs tell the paths, then the tables ----------------------------------------------------

# Starts what was recovered by the script of the documents, and asks it.
my $port = 5440;
local $ENV{PGHOST} = $node->host;
local $ENV{PATH} = "$bindir:$ENV{PATH}";
sub begin { return !system("sh $examples/start_alone.sh $out/data $port >$scratch/alone.log 2>&1"); }
sub end { return !system("pg_ctl -s -w -D $out/data -m fast stop"); }

# A test that dies leaves no server, and its status stays.
END
{
	local $?;
	end() if defined $out && -e "$out/data/postmaster.pid";
}

sub ask
{
	my ($query) = @_;
	my ($answer, $err) = ('', '');
	IPC::Run::run([ 'psql', '-XAtq', '-p', $port, '-d', 'shop', '-f', '-' ], '<', \$query, '>', \$answer, '2>', \$err);
	chomp $answer;
	note $err if $err ne '';
	return wantarray ? ($answer, $err) : $answer;
}
my ($status, $said, $err) = recover("--backup=$backup", "--database=$oid", "--target-lsn=$target");
is("$status$err", '0', 'catalogs, without those that were rewritten') or note $said;
ok(begin(), '... a server starts') or note slurp_file("$scratch/alone.log");
like((ask('SELECT 1'))[1], qr/could not open file "[^"]+": No such file/, '... and says which file is not there');
ok(end(), '... it stops');
($status, $said, $err) = recover("--backup=$backup", "--database=$oid", "--target-lsn=$target", @rewritten);
is("$status$err", '0', 'all catalogs') or note $said;
ok(begin(), '... a server starts') or note slurp_file("$scratch/alone.log");
is(ask(paths_of(@tables)), $known, '... and tells where the tables were');
my (undef, $why) = ask('SELECT count(*) FROM large');
like($why, qr/could not open file/, '... a table that was not asked for is not there');
ok(end(), '... it stops');

my @relations = (@rewritten, map { "--relation=$_" } split /\n/, $known);
($status, $said, $err) = recover("--backup=$backup", "--database=$oid", "--target-lsn=$target", @relations);
is("$status$err", '0', 'four tables') or note $said;
note $said;
like($said, qr/^\d+ relations and the catalogs of database $oid; WAL up to [0-9A-F\/]+: \d+ records are kept, \d+ taken out$/m, '... what is kept is said');
is(join(' ', map { s/.*\///r } glob("$out/*")), 'data', '... nothing else is left');
ok(begin(), '... a server starts') or note slurp_file("$scratch/alone.log");
is(ask("SELECT count(*), sum(hashtextextended(t::text, 0)) FROM $_ t"), $truth{$_}, "$_: its rows are what they were") foreach @tables;
is(ask("SELECT gid FROM pg_prepared_xacts"), 'open', 'a prepared transaction is prepared');
ask(q{ROLLBACK PREPARED 'open'});
is(ask("SET enable_seqscan = off; SELECT count(*) FROM orders WHERE customer = 7"), ask("SET enable_indexscan = off; SET enable_bitmapscan = off; SELECT count(*) FROM orders WHERE customer = 7"), 'indexes have the rows');
ok(!system("pg_dump -p $port -t orders -t items -t young -t cold -f $scratch/dump.sql shop"), 'pg_dump takes them out');
ok(end(), '... it stops');
$node->start;
sql('DROP TABLE items, young, cold');
sql("CREATE TYPE mood AS ENUM ('sad', 'happy')");
ok(!system('psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('shop'), '-o', "$scratch/restored", '-f', "$scratch/dump.sql"), 'the dump goes into the cluster');
is(sql("SELECT count(*), sum(hashtextextended(t::text, 0)) FROM $_ t"), $truth{$_}, "$_: as before the mistake") foreach @tables;
$node->stop;

# --- refused ------------------------------------------------------------------------------------------

my $damaged = "$scratch/damaged";
system('cp', '-a', $backup, $damaged) == 0 or die 'no copy';
AccelWal::poke("$damaged/$frozen", 8192 * 9 + 3000, 'damage');
foreach my $case (
	[ 'another database', [ "--backup=$backup", '--database=99999' ], qr/the backup has no database 99999/ ],
	[ 'a relation of another database', [ "--backup=$backup", "--database=$oid", '--relation=base/5/16384' ], qr/is not of database $oid/ ],
	[ 'no path', [ "--backup=$backup", "--database=$oid", '--relation=orders' ], qr/is no path as pg_relation_filepath/ ],
	[ 'a relation that is not there', [ "--backup=$backup", "--database=$oid", "--relation=base/$oid/99999" ], qr/there is no "base\/$oid\/99999" at the end of the WAL/ ],
	[ 'an unlogged table', [ "--backup=$backup", "--database=$oid", "--relation=$fast" ], qr/is unlogged/ ],
	[ 'a page that is damaged in the backup', [ "--backup=$damaged", "--database=$oid", "--target-lsn=$target", @relations ], qr/block 9 of "$frozen" has a wrong checksum, as it has in the backup/ ],
	[ 'a database that was dropped', [ "--backup=$backup", '--database=' . $other ], qr/it makes or drops the database/ ],
	[ 'a cluster', [ '--cluster=' . $node->data_dir, "--database=$oid" ], qr/not together with --database: "--cluster"/ ],
	[ 'blocks, too', [ "--backup=$backup", "--database=$oid", "--block=base/$oid/16384:0" ], qr/not together with --database: "--block"/ ],
	[ 'a relation without a database', [ "--backup=$backup", "--relation=base/$oid/16384", "--block=base/$oid/16384:0" ], qr/only together with --database/ ])
{
	my ($title, $arguments, $words) = @$case;
	($status, $said, $err) = recover(@$arguments);
	is($status, 1, "refused: $title") or note $said;
	like($err, $words, '... in words');
	is(join(' ', glob("$out/*")), '', '... nothing is left');
}

# Were it copied after all, its limit would end that before the disk is full.
my $large = "$scratch/large";
system('cp', '-a', $backup, $large) == 0 or die 'no copy';
AccelWal::put("$large/$frozen.1", '');
truncate "$large/$frozen.1", 2**42;		# no disk is used
system("trap '' XFSZ; ulimit -f 200000; exec $program recover --backup=$large --bindir=$bindir --wal=$archive --database=$oid"
	  . " --target-lsn=$target @relations --out=$scratch/no_room >$scratch/no_room.log 2>&1");
is($? >> 8, 1, 'refused: tables that are larger than the disk');
like(slurp_file("$scratch/no_room.log"), qr/the recovery needs \d{7,} MB below "[^"]*", and \d+ MB are free/, '... in words');
is(join(' ', glob("$scratch/no_room/*")), '', '... nothing is left');

done_testing();
