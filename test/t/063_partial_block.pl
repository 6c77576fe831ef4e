# A file that ends within a block, or before blocks that were there.  What an
# extension leaves that a full disk or a crash ended is healthy, and so is one
# that is under way; a tail that was a page, and blocks that the visibility map
# or the kind of a relation prove, are damage.
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = Accel::new_node('main', allows_streaming => 1,
	conf => "autovacuum = off\njit = off\nfsync = off\n");
$node->start;
my $q = sub { return $node->safe_psql('postgres', $_[0]) };
my @indexes = qw(btree hash gist gin spgist brin);
my $rows = $relseg_size < 128 ? 600 * $blcksz / 8192 : 5000;	# t has one file
$q->($_) foreach split /\n/, <<"SQL";
CREATE EXTENSION crc32c_accel
CREATE SEQUENCE s
SELECT nextval('s')
CREATE TABLE t AS SELECT g AS id, point(g, g) AS p, ARRAY[g % 9] AS a, repeat('t', 100) AS b FROM generate_series(1, $rows) g
CREATE INDEX btree ON t (id)
CREATE INDEX hash ON t USING hash (id)
CREATE INDEX gist ON t USING gist (p)
CREATE INDEX gin ON t USING gin (a)
CREATE INDEX spgist ON t USING spgist (b)
CREATE INDEX brin ON t USING brin (id)
CREATE TABLE empty (i int PRIMARY KEY)
CREATE TABLE unvacuumed AS SELECT * FROM t
CREATE UNLOGGED TABLE u (i int PRIMARY KEY, a int[])
CREATE INDEX u_gin ON u USING gin (a)
CREATE UNLOGGED SEQUENCE us
VACUUM t
CHECKPOINT
SQL
$node->backup('backup');
my %path = map { $_ => $q->("SELECT pg_relation_filepath('$_')") }
  qw(s t empty empty_pkey unvacuumed u_pkey u_gin us), @indexes;
my $all = q{SELECT coalesce(string_agg(concat_ws(' ', v.relation, v.fork, v.blkno, v.status), ', '), 'none')
	FROM pg_class c, verify_relation(c.oid) v WHERE c.relkind IN ('r', 'i', 't', 'm', 'S')};
is($q->($all), 'none', 'intact');
$node->stop;
my $data = $node->data_dir;

sub findings
{
	my ($on, $relation, $arguments) = @_;
	return $on->safe_psql('postgres', "SELECT coalesce(string_agg(concat_ws(' ', fork, blkno, status), ', '), 'none')
		FROM verify_relation('$relation'" . ($arguments // '') . ')');
}

sub segments
{
	my ($relation) = @_;
	return $q->("SELECT string_agg(fork || ' ' || status, ', ' ORDER BY n)
		FROM (SELECT fork, status, min(ordinality) FROM relation_files('$relation') WITH ORDINALITY GROUP BY 1, 2) f (fork, status, n)");
}

# Runs something on a file of the stopped or running server, and gets it back.
sub with_file
{
	my ($file, $change, $test) = @_;
	my %saved = map { $_ => slurp_file($_) } Accel::segments("$data/$file");
	$change->("$data/$file");
	$test->();
	unlink Accel::segments("$data/$file");
	AccelWal::put($_, $saved{$_}) foreach keys %saved;
	return;
}

# the first half of a block: of zeros, or of a page
my $half = $blcksz / 2;
my $header = pack 'VVvvvvvvV', 0, 1, 0, 0, 24, $blcksz, $blcksz, $blcksz | 4, 0;
my $more = sub { append_to_file((Accel::place($_[0], Accel::blocks($_[0])))[0], $_[1]) };
my $zeros = sub { $more->($_[0], "\0" x $half) };
my $page = sub { $more->($_[0], $header . "\0" x ($half - 24)) };
$node->start;

# what an extension leaves
foreach my $relation (qw(t unvacuumed empty empty_pkey s), @indexes)
{
	with_file($path{$relation}, $zeros, sub {
		is(findings($node, $relation), 'none', "$relation: half a block of zeros");
		like(segments($relation), qr/main ok_partial_tail/, '... relation_files says so');
	});
}
with_file($path{hash}, $page, sub { is(findings($node, 'hash'), 'none', 'hash: half a page') });
with_file("$path{t}_$_", $page, sub { is(findings($node, 't'), 'none', "$_: half a page") }) foreach qw(vm fsm);
with_file($path{t}, $zeros, sub {
	my ($code, $out, $err) = $node->psql('postgres', 'CALL verify_database(fail_on_findings => true, include_catalogs => false)');
	is($code, 0, 'a database run has no finding');
	$q->(q{INSERT INTO t SELECT g, point(g, g), ARRAY[g % 9], repeat('t', 100) FROM generate_series(5001, 6000) g; CHECKPOINT});
	is(findings($node, 't') . segments('t'), 'none' . 'main ok, fsm ok, vm ok', 'the next extension takes its place');
});
$q->('TRUNCATE t; VACUUM t; CHECKPOINT');
$q->($_) foreach split /\n/, <<"SQL";
INSERT INTO t SELECT g AS id, point(g, g) AS p, ARRAY[g % 9] AS a, repeat('t', 100) AS b FROM generate_series(1, $rows) g
VACUUM t
CHECKPOINT
SQL
$path{$_} = $q->("SELECT pg_relation_filepath('$_')") foreach 't', @indexes;
is($q->($all), 'none', 'intact again');

# what was a page
with_file($path{$_}, $page, sub {
	like(findings($node, $_), qr/^main \d+ partial_block$/, "$_: half a page");
	like(segments($_), qr/main partial_block/, '... relation_files says so');
}) foreach qw(t unvacuumed btree gin brin);

# a table that was cut; the map knows it
my $blocks = Accel::blocks("$data/$path{t}");
foreach my $case ([ 'by 10 blocks', $blocks - 10 ], [ 'to one block', 1 ], [ 'to nothing', 0 ])
{
	my ($name, $left) = @$case;
	my $segment = int($left / $relseg_size);
	with_file($path{t}, sub { Accel::resize($_[0], $left) }, sub {
		is(findings($node, 't'), "main $left size_mismatch", "a table that is cut $name");
		is(findings($node, 't', ", 'main', $left"), "main $left size_mismatch", '... from there on');
		is(findings($node, 't', ", 'main', 0, $left"), "main $left size_mismatch", '... up to there');
		is(segments('t'), ($segment ? 'main ok, ' : '') . 'main size_mismatch, fsm ok, vm ok', '... relation_files says so');
		is($q->("SELECT message FROM verify_relation('t')"), "segment $segment has " . $left % $relseg_size * $blcksz .
			" bytes, but the fork had $blocks blocks at least: the visibility map names them, or is damaged", '... in words');
	});
}
with_file($path{t}, sub {
	my $last = AccelWal::peek_block($_[0], $blocks - 1, 0, $half);
	Accel::resize($_[0], $blocks - 1);
	$more->($_[0], $last);
}, sub {
	is(findings($node, 't'), 'main ' . ($blocks - 1) . ' partial_block', 'a table that is cut within a block');
});
with_file($path{t}, sub { Accel::resize($_[0], $blocks - 3); $zeros->($_[0]) }, sub {
	is(findings($node, 't'), 'main ' . ($blocks - 3) . ' partial_block', '... and half a block of zeros: the map has more');
});
with_file($path{unvacuumed}, sub { Accel::resize($_[0], 1) }, sub {
	is(findings($node, 'unvacuumed'), 'none', 'a table without map: nothing knows');
});

# what has no beginning
foreach my $relation ('s', 'empty_pkey', 'us', 'u_pkey', @indexes)
{
	with_file($path{$relation}, sub { Accel::resize($_[0], 0) }, sub {
		is(findings($node, $relation), 'main 0 size_mismatch', "$relation: a file of nothing");
	});
}
with_file("$path{$_}_init", sub { Accel::resize($_[0], 0) }, sub {
	is(findings($node, $_), 'init 0 size_mismatch', "$_: an init fork of nothing");
}) foreach qw(us u_pkey u_gin);
with_file("$path{u_gin}_init", sub { AccelWal::poke($_[0], 0, "\0" x $blcksz) }, sub {
	is(findings($node, 'u_gin'), 'init 0 zeroed_page', 'an init fork of zeros');
});
$node->restart;
foreach my $relation ('s', 'empty_pkey', 'us', 'u_pkey', @indexes)
{
	with_file($path{$relation}, sub { AccelWal::poke($_[0], 0, "\0" x $blcksz) }, sub {
		is(findings($node, $relation), 'main 0 zeroed_page', "$relation: a first block of zeros");
	});
}
with_file($path{btree}, sub { AccelWal::poke($_[0], 0, "\0" x $blcksz) }, sub {
	is($q->("SELECT message FROM verify_relation('btree')"),
		'page is all zeros, but a B-tree index has none such at its beginning', '... in words');
});
is($q->($all), 'none', 'all healed');

# sequences that get new files all the time, an index that is built anew
my $stop = "$data/stop_here";
my $script = $node->basedir . '/sequences.sql';
append_to_file($script, "ALTER SEQUENCE s RESTART;\nSELECT nextval('s');\n");
my $bench = IPC::Run::start([ 'pgbench', '-n', '-c', '2', '-t', '400', '-f', $script, $node->connstr('postgres') ],
	'>', \my $out, '2>', \my $err);
my @seen;
for (1 .. 2000)
{
	last if !Accel::still_runs($bench);
	my $got = $q->(q{SELECT string_agg(status || message, ',') FROM generate_series(1, 200) g, verify_relation('s', CASE WHEN g > 0 THEN 'main' END)});
	push @seen, $got if $got ne '';
}
$bench->finish;
is("@seen", '', 'a sequence that gets new files');

# a standby whose extension is under way
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'backup', has_streaming => 1);
Accel::configure($standby);
$standby->start;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
$standby->safe_psql('postgres', 'CHECKPOINT');
my $file = $standby->data_dir . "/$path{unvacuumed}";
my $end = Accel::blocks($file);
$zeros->($file);
is(findings($standby, 'unvacuumed'), 'none', 'a standby in the middle of an extension');
Accel::resize($file, $end);
is($standby->safe_psql('postgres', $all =~ s/^(.*)$/$1 AND c.relpersistence = 'p'/sr), 'none', 'a standby: intact');
Accel::resize($standby->data_dir . "/$path{t}", 3);
is(findings($standby, 't'), 'main 3 size_mismatch', 'a standby whose table was cut');
$standby->stop('immediate');
$node->stop;
done_testing();
