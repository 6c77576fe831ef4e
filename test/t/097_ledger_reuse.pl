# The page ledger where a number of a file is used again for another file, with
# wal_level minimal, whose bulk loads leave pages without an LSN.
use strict;
use warnings;
use Accel;
use Ledger;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', conf => <<'CONF');
autovacuum = off
bgwriter_lru_maxpages = 0
wal_level = minimal
max_wal_senders = 0
wal_skip_threshold = 0
CONF
$node->start;

sub query
{
	return $node->safe_psql('postgres', shift);
}

# Drops a relation, and makes the next one get its OID and the number of its file.
sub reuse
{
	my ($drop, $number, $create) = @_;

	query("$drop; VACUUM pg_class; CHECKPOINT");	# which remove its row and its file
	$node->stop;
	command_ok([ 'pg_resetwal', '-o', $number, '-D', $node->data_dir ], "the next OID is $number");
	$node->start;
	query($create);
	return;
}

query(<<'SQL');
CREATE EXTENSION crc32c_accel;
CREATE TABLE base AS SELECT g FROM generate_series(1, 20000) g;
CREATE TABLE small AS SELECT 1 AS g;
CREATE TABLE t (a int, b text);
INSERT INTO t SELECT g, repeat('a', 500) FROM generate_series(1, 400) g;
CREATE TABLE indexed (a int);
CREATE INDEX i ON indexed (a);
INSERT INTO indexed SELECT generate_series(1, 20000);
CHECKPOINT;
SQL
my %number = map { $_ => query("SELECT pg_relation_filenode('$_')") } qw(t i);
Ledger::record($node);
is(query("SELECT count(*) FROM internal_page_digests WHERE relid IN ('t'::regclass, 'i'::regclass)"), 2, 'recorded');

reuse('DROP TABLE t', $number{t}, "BEGIN; CREATE TABLE t (a int, b text); INSERT INTO t SELECT g, repeat('b', 500) FROM generate_series(1, 400) g; COMMIT; CHECKPOINT");
is(query("SELECT pg_relation_filenode('t')"), $number{t}, 'the number is used again, for a table');
is(query("SELECT count(*) FROM page_digests('t') WHERE lsn <> '0/0'"), 0, 'whose pages have no LSN');
is(Ledger::findings($node), '', 'no page of it is an old one');
like(Ledger::reasons($node, 't'), qr/^\d+ blocks: the page on disk has no LSN/, 'it is not verifiable');

reuse('DROP INDEX i', $number{i}, 'CREATE INDEX i ON small (g); CHECKPOINT');
is(query("SELECT pg_relation_filenode('i')"), $number{i}, 'and for an index');
is(Ledger::findings($node), '', 'of which no block is gone');
like(Ledger::reasons($node, 'i'), qr/^\d+ blocks: not in the file, of which no page is as old as the digests$/m, 'it is not verifiable');

# A run after the drop deletes the rows.
query('INSERT INTO t SELECT 1; DROP INDEX i; CHECKPOINT');
Ledger::record($node);
reuse('SELECT 1', $number{i}, 'CREATE INDEX i ON small (g); CHECKPOINT');
is(query("SELECT pg_relation_filenode('i')"), $number{i}, 'again');
is(Ledger::reasons($node, 'i'), 'no digests of its present file are recorded', 'after a recording nothing is known of the old file');
$node->stop;
done_testing();
