# The page ledger on one server: what is recorded, what is written again, what
# is found of damage that every checksum passes, and what is no evidence.
use strict;
use warnings;
use Accel;
use IPC::Run;
use Ledger;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', conf => <<'CONF');
autovacuum = off
bgwriter_lru_maxpages = 0
shared_buffers = 32MB
wal_level = replica
CONF
$node->start;

sub query
{
	return $node->safe_psql('postgres', shift);
}

query(<<"SQL");
CREATE EXTENSION crc32c_accel;
$Ledger::relations
CREATE MATERIALIZED VIEW mv AS SELECT id, word FROM t;
CREATE UNLOGGED TABLE u AS SELECT p FROM t;
CREATE INDEX u_gist ON u USING gist (p);
INSERT INTO u SELECT point(g, g) FROM generate_series(1, 1000) g;
CREATE SEQUENCE s;
SELECT nextval('s');
CREATE TABLE marked AS SELECT g, repeat('m', 500) AS b FROM generate_series(1, 400) g;
CREATE TABLE plain AS SELECT g, repeat('p', 500) AS b FROM generate_series(1, 400) g;
VACUUM (FREEZE) marked;
CHECKPOINT;
SQL

$node->restart;	# which writes pages of unlogged relations, those of GiST with LSNs of their own

my $rows = sub { query("SELECT count(*), sum(length(digests)) / 4 FROM internal_page_digests WHERE relid = '$_[0]'::regclass") };

# Nothing is recorded unless that was asked for.
query('CALL verify_database(cluster_files => false)');
is(query('SELECT count(*) FROM internal_page_digests'), 0, 'no digests by default');
is(query('SELECT relation, status, message FROM verify_page_digests()'),
	'|not_verifiable|no digests of its present file are recorded', 'which is said');

# Recording
Ledger::record($node);
foreach my $relation (qw(t t_btree t_hash t_gin t_gist t_spgist t_brin mv s pg_class pg_database pg_class_oid_index))
{
	my $blocks = query("SELECT max(blkno) + 1 FROM page_digests('$relation', masked => true)");
	like($rows->($relation), qr/^1\|$blocks$/, "$relation: all blocks are recorded")
	  unless $relation =~ /gist|hash|pg_/;	# whose pages may be without an LSN, or new
}
is($rows->($_), '0|', "nothing of $_, which is unlogged") foreach 'u', 'u_gist';
is(query("SELECT count(*) FROM internal_page_digests WHERE relid = 'pg_database'::regclass AND datid = 0"), 1, 'a shared relation is of no database');
is(query(<<'SQL'), 't', 'the digests are those of page_digests()');
SELECT string_agg(lpad(to_hex(crc32c), 8, '0'), '' ORDER BY blkno) =
	(SELECT encode(digests, 'hex') FROM internal_page_digests WHERE relid = 't'::regclass)
FROM page_digests('t', masked => true)
SQL
is(Ledger::findings($node), '', 'all is as it was recorded');
is(query("SELECT message FROM verify_page_digests('u')"), 'no digests of its present file are recorded', 'an unlogged table is not verifiable');
is(query("SELECT bool_and(system_identifier = (SELECT system_identifier FROM pg_control_system()) AND timeline_id = 1
	AND checksums AND NOT wal_log_hints AND full_page_writes AND taken_lsn < pg_current_wal_insert_lsn()) FROM internal_page_digests"), 't', 'where it was recorded');

# Nothing is written where nothing has changed.
my $versions = "SELECT string_agg(ctid || ' ' || xmin, ',' ORDER BY ctid) FROM internal_page_digests WHERE relid >= 16384
	AND relid NOT IN (SELECT oid FROM pg_class WHERE relname ~ '^(verify|internal)_' UNION SELECT reltoastrelid FROM pg_class WHERE relname ~ '^(verify|internal)_'
		UNION SELECT i.indexrelid FROM pg_index i JOIN pg_class c ON c.reltoastrelid = i.indrelid WHERE relname ~ '^(verify|internal)_')";
my $before = query($versions);
Ledger::record($node);
is(query($versions), $before, 'the second run writes nothing');
query("UPDATE t SET k = k + 1 WHERE id = 1; CHECKPOINT");
Ledger::record($node);
isnt(query($versions), $before, 'but what has changed');
like($rows->('t'), qr/^1\|/, 'in the same row');

# A relation of several rows, in batches, by workers, or below a bound on the rate
query("CREATE TABLE large AS SELECT g, repeat('l', 1000) AS b FROM generate_series(1, 20000) g; CREATE INDEX large_g ON large (g); CHECKPOINT");
my $array = "SELECT crc32c_agg(lsns || digests ORDER BY relid, first_block), count(*) FROM internal_page_digests
	WHERE relid IN ('large'::regclass, 'large_g'::regclass, 't'::regclass, 's'::regclass)";
my %arrays;
foreach my $how ('', 'workers => 2', 'max_rate => 20000', 'workers => 2, max_rate => 100000')
{
	query('DELETE FROM internal_page_digests');
	Ledger::record($node, $how);
	$arrays{ query($array) } = $how;
	is(Ledger::findings($node, "'large', workers => 2"), '', "recorded with $how");
}
is(keys %arrays, 1, 'all ways to read record the same') or diag(join "\n", %arrays);
is($rows->('large'), '3|2858', 'a row for 1024 blocks');

# Lost writes: the old page is put back while the server is stopped.
my %path = map { $_ => Ledger::path($node, $_) } qw(t t_btree t_gin large s marked plain);
my $old = Ledger::page($node, $path{t}, 0);
my $old_large = Ledger::page($node, $path{large}, 2000);
my $old_s = Ledger::page($node, $path{s}, 0);
query("UPDATE t SET k = k + 1 WHERE ctid >= '(0,0)' AND ctid < '(1,0)'; UPDATE large SET g = -1 WHERE ctid = '(2000,1)';
	SELECT nextval('s') FROM generate_series(1, 100); CHECKPOINT");
Ledger::record($node);
my %good = (t => Ledger::page($node, $path{t}, 0), large => Ledger::page($node, $path{large}, 2000), s => Ledger::page($node, $path{s}, 0));
Ledger::while_stopped($node, sub {
	Ledger::put($node, $path{t}, 0, $old);
	Ledger::put($node, $path{large}, 2000, $old_large);
	Ledger::put($node, $path{s}, 0, $old_s);
});
is(query("SELECT count(*) FROM verify_relation('t', 'main')") . query("SELECT count(*) FROM verify_relation('s')"), '00', 'their checksums are valid');
is(Ledger::findings($node), "large|2000|stale_page\ns|0|stale_page\nt|0|stale_page", 'lost writes are named');
is(query("SELECT path, disk_lsn < known_lsn, recorded_at < now(), message FROM verify_page_digests('t') WHERE status = 'stale_page'"),
	"$path{t}|t|t|the page on disk is older than the one that was recorded: a write was lost", 'with what is known of them');
is(Ledger::findings($node, "'large', workers => 2, max_rate => 50000"), 'large|2000|stale_page', 'by workers, too');
my (undef, undef, $warnings) = $node->psql('postgres', 'SELECT FROM verify_page_digests()');
like($warnings, qr/^psql:<stdin>:1: WARNING:  3 blocks are not what the page ledger knows\nHINT:  Replace the storage. restore_block\(\) writes .* See ".*corruption.md"\.$/m, 'a hint leads to the repair');

# Recording anew does not destroy evidence.
Ledger::record($node);
is(Ledger::findings($node), "large|2000|stale_page\ns|0|stale_page\nt|0|stale_page", 'another recording keeps what is known');
Ledger::while_stopped($node, sub {
	Ledger::put($node, $path{t}, 0, $good{t});
	Ledger::put($node, $path{large}, 2000, $good{large});
	Ledger::put($node, $path{s}, 0, $good{s});
});
is(Ledger::findings($node), '', 'and nothing is found once they are healed');

# An LSN that lags, as that of hint bits may, is no lost write.
my $lags = Ledger::sealed($node, Ledger::with_lsn($good{large}, Ledger::lsn($good{large}) - 8), 2000);
# Other contents with the same LSN, two blocks that were swapped, and zeros
my $other = $good{t};
substr($other, 8000, 1) ^= "\x01";
$other = Ledger::sealed($node, $other, 0);
my @pages = map { Ledger::page($node, $path{t_btree}, $_) } 1, 2;
my @swapped = (Ledger::sealed($node, $pages[1], 1), Ledger::sealed($node, $pages[0], 2));
my $zeros = "\0" x 8192;
my %whole = map { $_ => slurp_file($node->data_dir . "/$path{$_}") =~ s/(?:\0{8192})+\z//r } qw(t large t_btree t_gin marked plain);
Ledger::while_stopped($node, sub {
	Ledger::put($node, $path{large}, 2000, $lags);
	Ledger::put($node, $path{t}, 0, $other);
	Ledger::put($node, $path{t_btree}, $_, $swapped[ $_ - 1 ]) foreach 1, 2;
	Ledger::put($node, $path{t_gin}, 3, $zeros);
	Ledger::put($node, $path{marked}, 2, $zeros);
	Ledger::put($node, $path{plain}, 2, $zeros);
});
is(Ledger::findings($node, "'large'"), '', 'an LSN that lags behind the same page is nothing');
is(Ledger::findings($node, "'t'"), 't|0|diverged', 'the same LSN, another page');
# of two pages that were built at one moment both have the other's LSN
like(Ledger::findings($node, "'t_btree'"), qr/^t_btree\|[12]\|(stale_page|diverged)/, 'swapped blocks');
is(Ledger::findings($node, "'t_gin'"), 't_gin|3|gone', 'zeros in an index');
(undef, undef, $warnings) = $node->psql('postgres', "SELECT FROM verify_page_digests('t_gin')");
like($warnings, qr/WARNING:  1 block is not what the page ledger knows\nHINT:  REINDEX the indexes/, 'which is rebuilt');
is(Ledger::findings($node, "'marked'"), 'marked|2|gone', 'zeros in a table, which the visibility map knows');
is(Ledger::findings($node, "'plain'"), '', 'which it does not');
is(Ledger::reasons($node, 'plain'), '1 block: not in the file any more, or empty: VACUUM may have cut it off', 'VACUUM may have done that');

# Recording anew keeps what is known of the index, and believes the table's file.
Ledger::record($node);
is(Ledger::findings($node, "'t_gin'") . Ledger::findings($node, "'t'"), 't_gin|3|gonet|0|diverged', 'another recording forgets no block of an index');
is(Ledger::reasons($node, 'plain'), '', 'and a table as it is');
Ledger::while_stopped($node, sub { Ledger::put($node, $path{$_}, 0, $whole{$_}) foreach keys %whole });
query('DELETE FROM internal_page_digests');
Ledger::record($node);
is(Ledger::findings($node), '', 'all is as it was');

# The tail that was cut
Ledger::while_stopped($node, sub {
	Ledger::cut($node, $path{t_btree}, length($whole{t_btree}) / 8192 - 2);
	Ledger::cut($node, $path{marked}, length($whole{marked}) / 8192 - 2);
	Ledger::cut($node, $path{plain}, length($whole{plain}) / 8192 - 2);
});
my @end = map { length($whole{$_}) / 8192 } qw(t_btree marked);
is(Ledger::findings($node), join("\n", map({ "marked|$_|gone" } $end[1] - 2, $end[1] - 1), map({ "t_btree|$_|gone" } $end[0] - 2, $end[0] - 1)),
	'the tail of an index, and of a table that the map knows');
like(Ledger::reasons($node, 'plain'), qr/^2 blocks: not in the file any more/, 'of another table it is not verifiable');
Ledger::while_stopped($node, sub { Ledger::put($node, $path{$_}, 0, $whole{$_}) foreach keys %whole });

# A page that a checksum names is not judged.
Ledger::while_stopped($node, sub { Ledger::put($node, $path{plain}, 1, 'x' x 8192) });
is(Ledger::findings($node, "'plain'") . Ledger::reasons($node, 'plain'), '1 block: damaged or unreadable: see verify_relation()', 'damage is not judged');
Ledger::while_stopped($node, sub { Ledger::put($node, $path{plain}, 0, $whole{plain}) });

# What the server does itself
query("DELETE FROM plain WHERE g > 200; VACUUM plain; TRUNCATE mv_is_none" =~ s/; TRUNCATE.*//r);
query('CHECKPOINT');
is(Ledger::findings($node, "'plain'"), '', 'VACUUM cuts off a table');
like(Ledger::reasons($node, 'plain'), qr/blocks: not in the file any more/, 'which is not verifiable');
Ledger::record($node);
is(Ledger::reasons($node, 'plain'), '', 'until it is recorded again');
query("DELETE FROM large WHERE g > 1000 OR g < 0; VACUUM large; CHECKPOINT");
Ledger::record($node);
is($rows->('large'), '1|143', 'rows of what was cut off go');
query('TRUNCATE large; REFRESH MATERIALIZED VIEW mv; REINDEX INDEX t_btree; ALTER SEQUENCE s INCREMENT 2; CHECKPOINT');
is(Ledger::findings($node), '', 'new files');
is(Ledger::reasons($node, 't_btree'), 'no digests of its present file are recorded', 'of which nothing is known');
my $files = "SELECT count(*) FROM internal_page_digests WHERE filenode NOT IN (SELECT pg_relation_filenode(oid) FROM pg_class WHERE relkind IN ('r', 'i', 'S', 't', 'm'))";
isnt(query($files), 0, 'rows of old files');
Ledger::record($node);
is(query($files), 0, 'go with the next recording');

# What is no evidence: another system, another history, another mask
foreach (
	[ 'system_identifier = system_identifier + 1', 'system_identifier = system_identifier - 1', 'another system identifier' ],
	[ 'timeline_id = 2', 'timeline_id = 1', "an LSN that is not in this server's history" ],
	[ "taken_lsn = taken_lsn + (2::numeric ^ 50)", 'taken_lsn = taken_lsn - (2::numeric ^ 50)', "an LSN that is not in this server's history" ],
	[ 'mask_version = mask_version + 1', 'mask_version = mask_version - 1', 'the mask of another release' ])
{
	my ($set, $reset, $why) = @$_;
	Ledger::while_stopped($node, sub { Ledger::put($node, $path{t}, 0, $old) });
	is(Ledger::findings($node, "'t'"), 't|0|stale_page', 'evidence');
	query("UPDATE internal_page_digests SET $set");
	is(Ledger::findings($node), '', "none with $set");
	like(Ledger::reasons($node, 't'), qr/^\d+ blocks: .*\Q$why\E$/, 'which is said');
	query("UPDATE internal_page_digests SET $reset");
	Ledger::while_stopped($node, sub { Ledger::put($node, $path{t}, 0, $good{t}) });
}
query('UPDATE internal_page_digests SET system_identifier = system_identifier + 1');
Ledger::record($node);
is(Ledger::reasons($node, 't'), '', 'a recording replaces rows of another system');
query('CREATE DATABASE copy TEMPLATE postgres');
is($node->safe_psql('copy', 'SELECT count(*), min(status), min(relation::text) FROM verify_page_digests() WHERE relation NOT IN (SELECT oid FROM pg_class WHERE relisshared)'), '0||', 'rows of another database are none of a copy');
$node->safe_psql('copy', 'CHECKPOINT');
$node->safe_psql('copy', 'CALL verify_database(record_digests => true)');
is($node->safe_psql('copy', "SELECT count(DISTINCT datid) FROM internal_page_digests"), 3, 'but stay there, since that one is there');

# They are kept as long as the history is, and written again before that.
$node->append_conf('postgresql.conf', "crc32c_accel.history_keep_time = '10 d'");
$node->reload;
my $age = "SELECT count(*) FROM internal_page_digests WHERE recorded_at < now() - interval '1 d'";
query("UPDATE internal_page_digests SET recorded_at = now() - interval '4 d' WHERE relid = 't'::regclass");
Ledger::record($node);
is(query($age), 1, 'a row of four days stays as it is');
query("UPDATE internal_page_digests SET recorded_at = now() - interval '6 d' WHERE relid = 't'::regclass");
Ledger::record($node);
is(query($age), 0, 'after half the time it is written again');
query("UPDATE internal_page_digests SET recorded_at = now() - interval '11 d' WHERE relid = 't'::regclass;
	UPDATE verify_runs SET started_at = started_at - interval '11 d'");
query("CALL verify_database(relations => '{s}', cluster_files => false)");
is($rows->('t'), '0|', 'and old ones are deleted');
Ledger::record($node);
query("SELECT prune_history('0 s')");
is(query('SELECT count(*) FROM internal_page_digests'), 0, 'or by hand');
$node->append_conf('postgresql.conf', "crc32c_accel.history_keep_time = '90 d'");
$node->reload;
Ledger::record($node);

# A table that VACUUM cut off, and that has grown again: its map has all blocks, and
# none of them was written yet.
query("CREATE TABLE grown AS SELECT g, repeat('g', 500) AS b FROM generate_series(1, 400) g; CHECKPOINT");
Ledger::record($node, "relations => '{grown}'");
query($_) foreach 'CHECKPOINT', 'DELETE FROM grown', 'VACUUM grown', "INSERT INTO grown SELECT g, repeat('h', 500) FROM generate_series(1, 400) g", 'VACUUM grown';
is(Ledger::findings($node, "'grown'"), '', 'a table that has grown again');
query('CHECKPOINT');
is(Ledger::findings($node, "'grown'"), '', '... and was written');

# The lock is held while blocks are judged.
query("CREATE TABLE slow AS SELECT g, repeat('l', 1000) AS b FROM generate_series(1, 7000) g; CHECKPOINT");
Ledger::record($node, "relations => '{slow}'");
my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "SELECT * FROM verify_page_digests('slow', max_rate => 1000)" ],
	'<', \undef, '>', \my $slow_out, '2>', \my $slow_err);
ok(Accel::seen_in($node, $session, "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'slow'::regclass AND granted)"), 'at work') or note("$slow_out\n$slow_err");
my ($code, undef, $stderr) = $node->psql('postgres', 'BEGIN; LOCK TABLE slow IN ACCESS EXCLUSIVE MODE NOWAIT');
like($stderr, qr/could not obtain lock/, 'nobody cuts off a table that is judged');
$node->psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ~ '^SELECT \\* FROM verify_page_digests'");
$session->finish;

# Who may
query('CREATE ROLE reader LOGIN; CREATE ROLE scanner LOGIN; GRANT pg_stat_scan_tables TO scanner');
($code, undef, $stderr) = $node->psql('postgres', 'SELECT * FROM verify_page_digests()', extra_params => [ '-U', 'reader' ]);
like($stderr, qr/permission denied for function verify_page_digests/, 'not anybody');
is($node->safe_psql('postgres', "SELECT count(*) FROM verify_page_digests('t')", extra_params => [ '-U', 'scanner' ]), 0, 'members of pg_stat_scan_tables');
is($node->psql('postgres', "CALL verify_database(record_digests => true, relations => '{t}', cluster_files => false)", extra_params => [ '-U', 'scanner' ]), 0, 'who record, too');
($code, undef, $stderr) = $node->psql('postgres', 'INSERT INTO internal_page_digests SELECT * FROM internal_page_digests', extra_params => [ '-U', 'scanner' ]);
like($stderr, qr/permission denied for table internal_page_digests/, 'but write no evidence by hand');

$node->stop;
done_testing();
