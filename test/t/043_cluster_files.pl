# Files with a CRC-32C of their own: every kind, in the running server and in a
# copy of its directory; intact, then one damage after the other.
# Slow: runs with sh test/run.sh all.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Copy;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 'logical', conf => <<'CONF');
max_prepared_transactions = 10
autovacuum = off
checkpoint_timeout = 1h
log_statement = none
CONF
my $version = int($node->pg_version);
Accel::summarize_wal($node);
my $space = PostgreSQL::Test::Utils::tempdir();
$node->start;
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
my $data = $node->data_dir;
my $copy = PostgreSQL::Test::Utils::tempdir() . '/copy';

# A file of every kind, and two of those that have names
$node->safe_psql('postgres', $_) foreach split /\n/, <<"SQL";
CREATE EXTENSION crc32c_accel
CREATE TABLE t (a int)
CREATE DATABASE other
CREATE TABLESPACE elsewhere LOCATION '$space'
CREATE DATABASE third TABLESPACE elsewhere
CREATE TABLE in_space (a int) TABLESPACE elsewhere
SELECT pg_create_physical_replication_slot('physical', true)
SELECT pg_create_physical_replication_slot('physical2', true)
SELECT pg_replication_origin_create('origin')
SELECT pg_replication_origin_advance('origin', '0/123')
SELECT pg_replication_origin_create('gone')
SELECT pg_replication_origin_advance('gone', '0/456')
CHECKPOINT
BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'first'
BEGIN; INSERT INTO t VALUES (2); CREATE TABLE made (b int); PREPARE TRANSACTION 'second'
SQL
$node->safe_psql('postgres', 'COMMIT PREPARED \'second\'');
$node->safe_psql('postgres', q{BEGIN; INSERT INTO t VALUES (2); SAVEPOINT s; INSERT INTO t VALUES (3); PREPARE TRANSACTION 'second'});
my $logical = !Accel::missing_modules('test_decoding');
if ($logical)
{
	# the prepared transactions have to end before a slot is consistent
	$q->(q{COMMIT PREPARED 'first'});
	$q->(q{COMMIT PREPARED 'second'});
	$q->(q{SELECT pg_create_logical_replication_slot('logical', 'test_decoding')});
	$q->('CHECKPOINT');
	$q->(q{SELECT count(*) FROM pg_logical_slot_peek_changes('logical', NULL, NULL)});
	$q->(q{BEGIN; INSERT INTO t VALUES (1); PREPARE TRANSACTION 'first'});
	$q->(q{BEGIN; INSERT INTO t VALUES (2); SAVEPOINT s; INSERT INTO t VALUES (3); PREPARE TRANSACTION 'second'});
}
# origins go on with commits, by hand also back, and away
my $older_origins = slurp_file("$data/pg_logical/replorigin_checkpoint");
$q->($_) foreach ("SELECT pg_replication_origin_session_setup('origin');
	BEGIN; SELECT pg_replication_origin_xact_setup('0/789', now()); INSERT INTO t VALUES (0); COMMIT",
	q{SELECT pg_replication_origin_drop('gone')},
	q{SELECT pg_replication_origin_create('back')},
	q{SELECT pg_replication_origin_advance('back', '0/900')},
	q{SELECT pg_replication_origin_advance('back', '0/800')});
$node->safe_psql('other', 'VACUUM FULL pg_class');
$q->('SELECT pg_switch_wal()');
$q->('CHECKPOINT');
$node->poll_query_until('postgres', 'SELECT count(*) > 0 FROM pg_available_wal_summaries()') or die 'no summary' if $version >= 17;

# pairs of path and verdict, those that are not ok
sub verdicts
{
	my ($directory, $where) = @_;
	my $argument = defined $directory ? "'$directory'" : '';
	return $q->("SELECT coalesce(string_agg(path || ' ' || status, ', ' ORDER BY path), 'none')
		FROM verify_cluster_files($argument) WHERE " . ($where // "status <> 'ok'"));
}

sub findings
{
	return $q->("SELECT coalesce(string_agg(path || ' ' || status || ': ' || message, ', '), 'none') FROM verify_cluster_files('$copy') WHERE status <> 'ok'");
}

my $kinds = 'control, relation_map, two_phase, replication_slot, replication_origins' .
  ($logical ? ', logical_snapshot' : '') . ($version >= 17 ? ', wal_summary' : '');
my $list = "SELECT string_agg(kind, ', ' ORDER BY n) FROM (SELECT kind, min(n) AS n FROM verify_cluster_files(%s)
	WITH ORDINALITY f(path, kind, status, is_finding, stored_crc, computed_crc, size, message, n) GROUP BY kind) k";
is($q->(sprintf $list, ''), $kinds, 'running: every kind has a row');
is(verdicts(), 'none', 'running: all are ok');
is($q->("SELECT count(*) FROM verify_cluster_files() WHERE kind = 'relation_map'"), 6, 'a map of each database, and the shared one');
is($q->("SELECT count(*) FROM verify_cluster_files() WHERE stored_crc <> computed_crc OR message IS NOT NULL OR size IS NULL"), 0, 'ok: equal CRCs, no message');
is($q->("SELECT bool_and(crc32c_bytes(crc32c_file(path, 0, size - 4)) = pg_read_binary_file(path, size - 4, 4))
	FROM verify_cluster_files() WHERE kind IN ('two_phase', 'replication_origins', 'wal_summary')"), 't', 'the CRC is that of the file') if $q->("SELECT crc32c_bytes(1) = '\\x01000000'") eq 't';
is($q->("SELECT count(*) FROM verify_cluster_files('$data') WHERE status = 'ok'"), $q->('SELECT count(*) FROM verify_cluster_files()'),
	'this directory by its name');

# A copy, as a file-level backup has it
$q->('CHECKPOINT');
my $at_work = slurp_file("$data/global/pg_control");
$node->stop;
system_or_bail('cp', '-a', $data, $copy);
$node->start;
is($q->(sprintf $list, "'$copy'"), $kinds, 'a copy: every kind has a row');
is(verdicts($copy), 'none', 'a copy: all are ok');
my @took = sort { $a <=> $b } map { $q->("SELECT extract(epoch FROM clock_timestamp() - statement_timestamp()) FROM (SELECT count(*) FROM verify_cluster_files('$copy')) v") } 1 .. 20;
cmp_ok($took[0], '<', 0.3, "... and no pause waits for old WAL, which nobody brings back: $took[0] s");

my %file = map { split /\|/, $_, 2 } split /\n/,
  $q->("SELECT DISTINCT ON (kind) kind, path FROM verify_cluster_files('$copy') ORDER BY kind, path");
$file{global} = 'global/pg_filenode.map';
my ($own, $other) = map { $q->("SELECT 'base/' || oid || '/pg_filenode.map' FROM pg_database WHERE datname = '$_'") } qw(postgres other);
my @prepared = split /\n/, $q->("SELECT path FROM verify_cluster_files('$copy') WHERE kind = 'two_phase' ORDER BY path");
my $slot = 'pg_replslot/physical/state';
my $slot2 = 'pg_replslot/physical2/state';

sub bytes
{
	my ($path) = @_;
	return slurp_file($path);
}

sub flipped
{
	my ($bytes, $bit) = @_;
	vec($bytes, $bit, 1) ^= 1;
	return $bytes;
}

# Replaces a file of a directory, asks, puts it back.
sub with
{
	my ($directory, $path, $bytes, $ask) = @_;
	my $intact = bytes("$directory/$path");
	AccelWal::put("$directory/$path", $bytes);
	my $answer = $ask->();
	AccelWal::put("$directory/$path", $intact);
	return $answer;
}

# Each kind: a bit flipped in its first, a middle and its last byte; cut short;
# longer; empty.  What status is expected is a pattern.
foreach my $kind (sort keys %file)
{
	my $path = $file{$kind};
	my $intact = bytes("$copy/$path");
	my $len = length $intact;
	my $crc = qr/checksum_mismatch|bad_format|size_mismatch|unsupported_version/;
	my %damage = (
		'first bit' => [ flipped($intact, 0), $crc ],
		'a middle bit' => [ flipped($intact, 4 * $len), $crc ],
		'last bit' => [ flipped($intact, 8 * $len - 1), $crc ],
		'half of it' => [ substr($intact, 0, $len / 2), qr/size_mismatch|checksum_mismatch/ ],
		'three bytes' => [ substr($intact, 0, 3), qr/size_mismatch/ ],
		'one byte more' => [ "$intact\0", qr/size_mismatch|checksum_mismatch/ ],
		'nothing' => [ '', qr/size_mismatch/ ],
		'zeros' => [ "\0" x $len, $kind eq 'control' ? qr/checksum_mismatch/ : qr/checksum_mismatch|bad_format/ ]);
	foreach my $what (sort keys %damage)
	{
		my ($bytes, $status) = @{ $damage{$what} };
		like(with($copy, $path, $bytes, sub { verdicts($copy) }), qr/^\Q$path\E (?:$status)$/, "$kind: $what");
	}
}

# Bits at random, of every kind
my $flips = $ENV{LONG} ? 2000 : 4;
foreach my $kind (sort keys %file)
{
	my $path = $file{$kind};
	my $intact = bytes("$copy/$path");
	my @missed;
	for (1 .. $flips)
	{
		my $bit = int rand(8 * length $intact);
		AccelWal::put("$copy/$path", flipped($intact, $bit));
		push @missed, $bit if verdicts($copy, "status <> 'ok' AND path = '$path'") eq 'none';
	}
	AccelWal::put("$copy/$path", $intact);
	is("@missed", '', "$kind: $flips bits at random, each is found");
}

# Valid files in the place of others: the same CRC-32C over the whole file
sub swapped
{
	my ($title, $path, $source, $expected) = @_;
	is(with($copy, $path, bytes("$copy/$source"), sub { $q->("SELECT string_agg(path || ' ' || status || ': ' || message, ', ')
		FROM verify_cluster_files('$copy') WHERE status <> 'ok'") }), "$path $expected", $title);
	return;
}
is($q->("SELECT crc32c_file('$copy/$own') = crc32c_file('$copy/$file{global}')"), 't', 'all maps have one CRC-32C') if $version >= 16;
swapped('the shared map for a database\'s', $own, $file{global}, 'foreign_file: it is the map of the shared catalogs, not of a database');
swapped('a database\'s map for the shared one', $file{global}, $own, 'foreign_file: it is the map of a database, not of the shared catalogs');
like(with($copy, $own, bytes("$copy/$other"), sub { $q->("SELECT string_agg(path || ' ' || status || ': ' || message, ', ')
	FROM verify_cluster_files('$copy') WHERE status <> 'ok'") }), qr/^$own bad_format: relation \d+ is mapped to file \d+, which is not there$/,
	'the map of another database, which was rewritten');
like(with($copy, $prepared[0], bytes("$copy/$prepared[1]"), sub { $q->("SELECT string_agg(path || ' ' || status || ': ' || message, ', ')
	FROM verify_cluster_files('$copy') WHERE status <> 'ok'") }), qr/^$prepared[0] foreign_file: it is the state of transaction \d+, not of \d+$/,
	'the state of another prepared transaction');
swapped('the state of another slot', $slot, $slot2, 'foreign_file: it is the state of another replication slot');

# What is not there
sub without
{
	my ($path, $expected, $title) = @_;
	my $intact = bytes("$copy/$path");
	unlink "$copy/$path" or die "$path: $!";
	is(verdicts($copy), $expected, $title);
	AccelWal::put("$copy/$path", $intact);
	return;
}
without($_, "$_ missing", "$_ is not there") foreach ('global/pg_control', $file{global}, $own, $slot);
without($_, "$_ missing", "$_ is not there, and WAL says that it must be") foreach ($prepared[0], $file{replication_origins});
AccelWal::put("$copy/backup_label", '');
without($_, 'none', "$_ need not be there in a backup") foreach ($prepared[0], $file{replication_origins});
unlink "$copy/backup_label";

# Origins that WAL has further on
my $origins = bytes("$copy/$file{replication_origins}");
like(with($copy, $file{replication_origins}, $older_origins, \&findings),
	qr{^pg_logical/replorigin_checkpoint foreign_file: it is older than pg_wal: replication origin 1 is at 0/123, expected at 0/789 or later$}, 'the origins of an earlier checkpoint');
my $none = substr($origins, 0, 4);
$none .= pack('L', $q->("SELECT crc32c('\\x" . unpack('H*', $none) . "'::bytea)"));
like(with($copy, $file{replication_origins}, $none, \&findings),
	qr{^pg_logical/replorigin_checkpoint foreign_file: it is older than pg_wal: it lacks replication origin 1, expected at 0/789 or later$}, 'no origins, and a right CRC');

# A tablespace that is not mounted
my ($link) = glob("$copy/pg_tblspc/*");
my $target = readlink $link;
unlink $link;
symlink "$copy/nowhere", $link;
like(findings(), qr{^pg_tblspc/\d+ missing: what the symbolic link leads to is not there$}, 'a tablespace that is not mounted');
unlink $link;
symlink $target, $link;

# A map without its files, where a server may run and have written here
AccelWal::put("$copy/postmaster.pid", '');
my ($folder) = $own =~ m{(.*)/};
rename "$copy/$own", "$copy/away" or die $!;
is(verdicts($copy), "$own not_verifiable", 'a map that may be on its way');
my $long_ago = time - 120;
utime $long_ago, $long_ago, "$copy/$folder", glob("$copy/$folder/*") or die $!;
is(verdicts($copy), "$own missing", 'a map that is not on its way');
rename "$copy/away", "$copy/$own" or die $!;
unlink "$copy/postmaster.pid";

# What is no file
unlink "$copy/$slot";
mkdir "$copy/$slot";
is(verdicts($copy), "$slot bad_format", 'a folder in the place of a file');
rmdir "$copy/$slot";
AccelWal::put("$copy/$slot", bytes("$copy/$slot2") =~ s/physical2/physical\0/r);
is(verdicts($copy), "$slot checksum_mismatch", 'a name changed by hand');
copy("$data/$slot", "$copy/$slot");
mkdir "$copy/pg_replslot/half.tmp";
AccelWal::put("$copy/pg_replslot/half.tmp/state", 'half');
AccelWal::put("$copy/pg_twophase/junk", 'junk');
is(verdicts($copy), 'none', 'what the server does not read is not read');

# pg_control and the WAL beside it: of another cluster, without its checkpoint,
# of before WAL that was written later
my $control = bytes("$copy/global/pg_control");
my $crc_at = $version >= 19 ? 308 : $version >= 18 ? 292 : 288;
my $foreign = $control;
vec($foreign, 0, 8) ^= 1;
substr($foreign, $crc_at, 4) = pack('L', $q->("SELECT crc32c('\\x" . unpack('H*', substr($foreign, 0, $crc_at)) . "'::bytea)"));
like(with($copy, 'global/pg_control', $foreign, \&findings),
	qr{^global/pg_control foreign_file: it is of another cluster than pg_wal: system identifier \d+, in pg_wal \d+$}, 'pg_control of another cluster');

# a map of before a rewrite, which redo has put back
my $recovering = $control;
substr($recovering, 16, 4) = pack('L', 4);
substr($recovering, $crc_at, 4) = pack('L', $q->("SELECT crc32c('\\x" . unpack('H*', substr($recovering, 0, $crc_at)) . "'::bytea)"));
like(with($copy, 'global/pg_control', $recovering, sub { with($copy, $own, bytes("$copy/$other"), \&findings) }),
	qr{^$own not_verifiable: not verified: relation \d+ is mapped to file \d+, which is not there or empty, as in an older map}m, 'a map beside a server that recovers');
is(with($copy, 'global/pg_control', $recovering, \&findings), 'none', 'a server that recovers: all other files are judged');

my $wal = $q->("SELECT pg_walfile_name('" . join('/', map { sprintf '%X', $_ } reverse unpack('LL', substr($control, 32, 8))) . "'::pg_lsn + 1)");
rename "$copy/pg_wal/$wal", "$copy/wal" or die $!;
my $no_checkpoint = qr{^global/pg_control bad_format: no server starts with it: pg_wal has no valid record of its checkpoint at [0-9A-F]+/[0-9A-F]+$};
like(findings(), $no_checkpoint, 'the segment of its checkpoint is not there');
foreach my $file ('standby.signal', 'recovery.signal', 'backup_label')
{
	AccelWal::put("$copy/$file", '');
	is(findings(), 'none', "... with $file, it need not be");
	unlink "$copy/$file";
}
rename "$copy/wal", "$copy/pg_wal/$wal" or die $!;

$q->($_) foreach ('INSERT INTO t VALUES (4)', 'SELECT pg_switch_wal()');
my $newer = bytes("$data/pg_wal/$wal");
like(with($copy, "pg_wal/$wal", $newer, \&findings),
	qr{^global/pg_control foreign_file: it is older than pg_wal: a start would overwrite what follows its shutdown checkpoint at \S+, such as the record at \S+$},
	'pg_control of before a start');
AccelWal::put("$copy/standby.signal", '');
is(with($copy, "pg_wal/$wal", $newer, \&findings), 'none', '... a standby replays what follows');
unlink "$copy/standby.signal";
like(with($copy, 'global/pg_control', $at_work, \&findings),
	qr{^global/pg_control foreign_file: it is older than pg_wal: the server was shut down later, at \S+, and would recover as after a crash$},
	'pg_control of before a shutdown');

# The running server: the same, and what it alone can know
sub live
{
	my ($title, $path, $bytes, $expected) = @_;
	like(with($data, $path, $bytes, sub { $q->("SELECT string_agg(path || ' ' || status || ': ' || message, ', ')
		FROM verify_cluster_files() WHERE status <> 'ok'") }), qr/^\Q$path\E $expected$/, "running: $title");
	return;
}
my $crc = 'checksum_mismatch: calculated CRC does not match the value stored in the file';
live('a bit of pg_control', 'global/pg_control', flipped(bytes("$data/global/pg_control"), 100), "$crc; run CHECKPOINT.*");
live('a bit of a slot', $slot, flipped(bytes("$data/$slot"), 200), "$crc; advance the slot.*");
live('a bit of a two-phase file', $prepared[0], flipped(bytes("$data/$prepared[0]"), 1000), "$crc; put back the file.*");
live('a bit of the map of an idle database', $other, flipped(bytes("$data/$other"), 1000), "$crc; put back the file.*");
live('a bit of the origins', $file{replication_origins}, flipped(bytes("$data/$file{replication_origins}"), 70), "$crc; run CHECKPOINT.*");
live('a short slot', $slot, substr(bytes("$data/$slot"), 0, 100), 'size_mismatch: 100 bytes, expected at least 200; .*');

# pg_control of an earlier checkpoint, of a stopped server, of another cluster
my $earlier = bytes("$data/global/pg_control");
$q->('CHECKPOINT');
live('pg_control of an earlier checkpoint', 'global/pg_control', $earlier,
	'foreign_file: it is not what the server wrote last: redo LSN \S+, expected \S+; run CHECKPOINT.*');
live('pg_control of the stopped server', 'global/pg_control', bytes("$copy/global/pg_control"),
	'foreign_file: it is not what the server wrote last: database state 1, expected 6; .*');

# a slot that the server does not know, and one that it misses
mkdir "$data/pg_replslot/planted";
AccelWal::put("$data/pg_replslot/planted/state", bytes("$copy/$slot"));
is($q->("SELECT path || ' ' || status || ': ' || message FROM verify_cluster_files() WHERE status <> 'ok'"),
	'pg_replslot/planted/state foreign_file: the server has no such slot now, and reads this file at its next start; move its folder out of pg_replslot',
	'running: a slot\'s folder copied under another name');
unlink "$data/pg_replslot/planted/state";
rmdir "$data/pg_replslot/planted";
rename "$data/pg_replslot/physical2", "$data/../physical2";
like($q->("SELECT path || ' ' || status || ': ' || message FROM verify_cluster_files() WHERE status <> 'ok'"),
	qr{^pg_replslot/physical2/state missing: the file is not there; make the slot's folder}, 'running: the folder of a slot is gone');
rename "$data/../physical2", "$data/pg_replslot/physical2";
$q->(q{SELECT pg_drop_replication_slot('physical2')});
system_or_bail('cp', '-a', "$copy/pg_replslot/physical2", "$data/pg_replslot/physical2");
like($q->("SELECT path || ' ' || status || ': ' || message FROM verify_cluster_files() WHERE status <> 'ok'"),
	qr{^pg_replslot/physical2/state foreign_file: the server has no such slot now, and reads this file at its next start; }, 'running: a slot that was dropped is back on disk');
unlink "$data/$slot2";
rmdir "$data/pg_replslot/physical2";

# an earlier map of the same database: its files are cut already, or gone
my $stale = bytes("$data/$own");
$q->('VACUUM FULL pg_class');
like(with($data, $own, $stale, sub { $node->safe_psql('other', 'CREATE EXTENSION IF NOT EXISTS crc32c_accel');
	$node->safe_psql('other', "SELECT path || ' ' || status || ': ' || message FROM verify_cluster_files() WHERE status <> 'ok'") }),
	qr/^$own bad_format: relation \d+ is mapped to file \d+, which is empty/, 'running: the map of before a rewrite');
is($q->('BEGIN; REINDEX TABLE pg_class; SELECT count(*) FROM verify_cluster_files() WHERE status <> \'ok\'; ROLLBACK'), '0',
	'running: a rewrite of our own that is not committed');

# a folder that cannot be read: nothing is known of its files
foreach my $folder (qw(pg_replslot pg_twophase base))
{
	chmod 0, "$copy/$folder" or die $!;
	is(verdicts($copy), "$folder io_error", "a folder that cannot be read: $folder");
	chmod 0700, "$copy/$folder" or die $!;
}
chmod 0, "$data/pg_twophase" or die $!;
is(verdicts(), 'pg_twophase io_error', 'running: a folder that cannot be read');
chmod 0700, "$data/pg_twophase" or die $!;

# the directory
sub error
{
	my ($argument) = @_;
	my ($out, $err) = ('', '');
	$node->psql('postgres', "SELECT * FROM verify_cluster_files('$argument')", stdout => \$out, stderr => \$err,
		extra_params => [ '-v', 'VERBOSITY=verbose' ]);
	return $err =~ /^psql:<stdin>:1: (ERROR: .*)$/m ? $1 : $err;
}
is(error('no/such/folder'), 'ERROR:  58P01: could not open directory "no/such/folder": No such file or directory', 'no directory');
is(error('PG_VERSION'), 'ERROR:  42809: "PG_VERSION" is not a directory', 'a file');
chmod 0, "$data/pg_twophase" or die $!;
is(error('pg_twophase'), 'ERROR:  42501: could not open directory "pg_twophase": Permission denied', 'an unreadable folder');
chmod 0700, "$data/pg_twophase" or die $!;
is(error('base'), 'ERROR:  22023: "base" is not a data directory', 'a folder without PG_VERSION');

# a standby
$q->($_) foreach ('DROP DATABASE third', 'DROP TABLE in_space', 'DROP TABLESPACE elsewhere');
my $backup = 'backup';
$node->backup($backup);
is(verdicts($node->backup_dir . "/$backup"), 'none', 'a base backup is clean');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, $backup, has_streaming => 1);
Accel::configure($standby);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is($standby->safe_psql('postgres', "SELECT count(*) >= 5 AND bool_and(status = 'ok') FROM verify_cluster_files()"), 't', 'a standby: all are ok');
$q->(q{ROLLBACK PREPARED 'first'});
$q->(q{ROLLBACK PREPARED 'second'});
$node->stop('immediate');
is($standby->safe_psql('postgres', "SELECT count(*) FROM verify_cluster_files('$data') WHERE status <> 'ok'"), '0', 'after a crash: all are ok');
$standby->stop;
done_testing();
