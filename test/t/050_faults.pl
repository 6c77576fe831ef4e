# The n-th open, read, fstat or lseek of every reading function fails, for every
# n: a finding, a clean error, or the healthy answer; the backend lives on and
# keeps no descriptor.  A shim that the server preloads makes the calls fail.
use strict;
use warnings;
use Accel;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $most = $ENV{LONG} ? 1000 : 24;	# how many n of one call are tried

my $shim = Accel::fault_shim();

my $node = Accel::new_node('main', extra => ['--wal-segsize=1'],
	conf => "autovacuum = off\njit = off\n");
Accel::start_under($shim, $node);
my $q = sub { return $node->safe_psql('postgres', $_[0]) };

$q->(qq{
	CREATE EXTENSION crc32c_accel;
	CREATE FUNCTION fault_arm(cstring, cstring, int, bool, cstring) RETURNS void AS '$shim' LANGUAGE C;
	CREATE FUNCTION fault_fired() RETURNS int AS '$shim' LANGUAGE C;
	CREATE FUNCTION fault_matched() RETURNS int AS '$shim' LANGUAGE C;
	CREATE TABLE t (i int, x text);
	INSERT INTO t SELECT i, repeat('x', 500) FROM generate_series(1, 3000) i;
	CHECKPOINT;
});

# A finished segment and a file of its own, out of the server's way
my $dir = $node->basedir . '/copies';
mkdir $dir or die $!;
my $segment = $q->('SELECT pg_walfile_name(pg_current_wal_lsn())');
$q->("INSERT INTO t SELECT i, repeat('y', 500) FROM generate_series(1, 3000) i; SELECT pg_switch_wal();");
$segment = $q->("SELECT name FROM pg_ls_waldir() WHERE name > '$segment' AND name ~ '^[0-9A-F]{24}\$' ORDER BY name LIMIT 1");
copy($node->data_dir . "/pg_wal/$segment", "$dir/$segment") or die "$segment: $!";
my $table = $q->("SELECT pg_relation_filepath('t')");

# [function, part of the path of what it reads, query of one text]
my @cases = (
	[ 'crc32c_file', $segment, "SELECT crc32c_file('$dir/$segment')::text" ],
	[ 'verify_relation_summary', $table,
		q{SELECT string_agg(concat_ws(' ', fork, blocks, verified_blocks, bad_blocks, unverifiable_blocks, status), '; ' ORDER BY fork)
			FROM verify_relation_summary('t')} ],
	[ 'verify_relation', $table,
		q{SELECT 'findings: ' || count(*) FROM verify_relation('t')} ],
	[ 'relation_files', $table,
		q{SELECT string_agg(concat_ws(' ', fork, segment_number, size, status), '; ' ORDER BY fork, segment_number) FROM relation_files('t')} ],
	[ 'page_digests', $table,
		q{SELECT count(*) || ' ' || sum(crc32c) FROM page_digests('t')} ],
	[ 'read_disk_page', $table,
		q{SELECT md5(read_disk_page('t', 'main', 3))} ],
	[ 'verify_wal, one', $segment,
		"SELECT concat_ws(' ', status, records, findings) FROM verify_wal('$dir', '$segment', '$segment')" ],
	[ 'verify_wal_findings', $segment,
		"SELECT 'findings: ' || count(*) FROM verify_wal_findings('$dir', '$segment')" ],
	[ 'verify_wal, a directory', $segment,
		"SELECT string_agg(concat_ws(' ', status, records, findings), '; ') FROM verify_wal('$dir')" ],
	[ 'verify_cluster_files', 'global/pg_filenode.map',
		q{SELECT string_agg(concat_ws(' ', path, status), '; ') FROM verify_cluster_files()} ]);

# [call, fault, from the n-th on]
my @faults = (
	[ 'open', 'eio', 0 ], [ 'open', 'emfile', 1 ], [ 'open', 'enoent', 1 ],
	[ 'read', 'eio', 0 ], [ 'read', 'eio', 1 ], [ 'read', 'eintr', 0 ],
	[ 'read', 'short', 0 ], [ 'fstat', 'eio', 0 ], [ 'fstat', 'eio', 1 ],
	[ 'lseek', 'eio', 0 ]);

# One session for everything: the same process, so its descriptors can be
# counted.  Returns what psql printed after each marker.
sub session
{
	my @statements = @_;
	my ($out, $err) = ('', '');
	$node->psql('postgres', join("\n", @statements), stdout => \$out,
		stderr => \$err, on_error_stop => 0, on_error_die => 0);
	return ($out, $err);
}

my $fds = q{SELECT 'fds=' || count(*) FROM pg_ls_dir('/proc/self/fd');};
my ($tried, $found, $errors, $healthy_answers) = (0, 0, 0, 0);

for my $case (@cases)
{
	my ($function, $pattern, $query) = @$case;

	if ($q->("SELECT count(*) FROM pg_proc WHERE proname = '$function'") eq '0')
	{
	  SKIP: { skip "$function is not there", 5; }
		next;
	}

	# how many calls of each kind there are, in a warm session
	my ($out) = session($query . ';', map {
		("SELECT fault_arm('$_', 'eio', 1000000000, false, '$pattern');",
			"$query;", "SELECT '$_=' || fault_matched(); SELECT fault_fired();")
	} qw(open read fstat lseek));
	my ($healthy) = split /\n/, $out;
	my %calls = $out =~ /^(open|read|fstat|lseek)=(\d+)$/mg;

	my @runs;
	for my $fault (@faults)
	{
		my ($call, $kind, $for_good) = @$fault;
		my $last = $calls{$call} < $most ? $calls{$call} : $most;
		push @runs, map { [ $call, $kind, $for_good, $_ ] } 1 .. $last;
	}
	my @script = ("$query;", $fds, q{SELECT 'pid=' || pg_backend_pid();});
	for my $i (0 .. $#runs)
	{
		my ($call, $kind, $for_good, $n) = @{ $runs[$i] };
		push @script, "SELECT 'run=$i';",
		  "SELECT fault_arm('$call', '$kind', $n, "
		  . ($for_good ? 'true' : 'false') . ", '$pattern');",
		  "$query;", q{SELECT 'fired=' || fault_fired();};
	}
	push @script, "$query;", $fds, q{SELECT 'pid=' || pg_backend_pid();}, q{SELECT 'end';};
	my $err;
	($out, $err) = session(@script);

	my @bad;
	my %output = $out =~ /^run=(\d+)\n(.*?)(?=^run=|\z)/msg;
	for my $i (0 .. $#runs)
	{
		my ($call, $kind, $for_good, $n) = @{ $runs[$i] };
		my $text = $output{$i} // '';
		my $situation = "$call $n, $kind" . ($for_good ? ' for good' : '');
		my ($fired) = $text =~ /^fired=(\d+)$/m;
		$text =~ s/^fired=.*//ms;
		$text =~ s/^\s+|\s+$//g;
		$tried++;
		if (!defined $fired) { push @bad, "$situation: no answer"; next; }
		if ($text eq '') { $errors++; $kind =~ /eintr|short/ and push @bad, "$situation: an error"; next; }
		if ($text ne $healthy)
		{
			$found++;
			push @bad, "$situation: damage reported: $text" if $kind =~ /eintr|short/;
			next;
		}
		$healthy_answers++;
		# what can never be read cannot be found healthy
		push @bad, "$situation: said healthy, $fired calls failed"
		  if $fired && $for_good && $call eq 'read';
	}
	is(join("\n", @bad), '', "$function: " . scalar(@runs)
		  . " faults (calls: " . join(', ', map { "$_ $calls{$_}" } sort keys %calls) . ')');

	like($out, qr/^\Q$healthy\E\nfds=\d+\npid=\d+\nend/m, "$function: healthy again after them")
	  or diag(substr($out, -500) . "\n" . substr($err, -500));
	my @pids = $out =~ /^pid=(\d+)$/mg;
	is($pids[-1], $pids[0], "$function: the same backend to the end");
	my @counts = $out =~ /^fds=(\d+)$/mg;
	cmp_ok($counts[-1], '<=', $counts[0], "$function: no descriptor leaked");
	unlike($err, qr/server closed|PANIC|leak/, "$function: clean findings");
}
note("$tried faults: $found findings, $errors findings, $healthy_answers healthy answers");
my $log = slurp_file($node->logfile);
unlike($log, qr/PANIC|terminated by signal|resource (was not closed|leak)|leak:/, 'no crash, no leak reported');
$node->stop;
done_testing();
