# A year in the life of a cluster that is verified each night: 365 nights (LONG=1;
# else 45) of a clock that the shim fault/clock.c moves.  Damage comes and is
# repaired, tables and databases are dropped and created, a standby takes over, the
# cluster is upgraded to the next major version, history is pruned.  A model knows
# what each night must find.
#
#	ACCEL_YEAR=n		nights
#	ACCEL_SEED=n		of what happens
#
# Next: a server of the next major version, where there is one
# Slow: half a minute
use strict;
use warnings;
use Accel;
use AccelWal;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $nights = $ENV{ACCEL_YEAR} || ($ENV{LONG} ? 365 : 45);
my $keep = $nights > 100 ? 30 : 8;		# days of history
my $late = 4;							# nights until all is verified again, in the thrifty third
my $seed = $ENV{ACCEL_SEED} || int(time);
note "ACCEL_SEED=$seed";
srand $seed;

# the clock of all servers
my $folder = PostgreSQL::Test::Utils::tempdir();
my $clock = "$folder/clock.so";
system_or_bail('cc', '-O1', '-Wall', '-shared', '-fPIC', '-o', $clock, 'test/fault/clock.c', '-ldl');
my $night = 0;
$ENV{FAULT_CLOCK} = "$folder/clock";
AccelWal::put($ENV{FAULT_CLOCK}, pack('q', 0));

my $conf = <<"CONF";
autovacuum_naptime = 1s
wal_sender_timeout = 0
wal_receiver_timeout = 0
crc32c_accel.history_keep_time = '${keep}d'
wal_keep_size = 0
max_wal_size = 64MB
jit = off
CONF
my $node = Accel::new_node('first', allows_streaming => 1, conf => $conf);
Accel::start_under($clock, $node);

sub query
{
	my ($sql, $database) = @_;
	return $node->safe_psql($database // 'postgres', $sql);
}

# What the model knows: tables, and damaged blocks by "database table block".
my %tables;
my %open;
my %mended;			# the same, of those that are no more
my ($made, $failovers) = (0, 0);
my @install;		# where the servers are, once they are of the next version

sub make_table
{
	my ($database) = @_;
	my $table = 't' . ++$made;

	query("CREATE TABLE $table WITH (autovacuum_enabled = false) AS
		SELECT i, repeat('x', 500) AS b FROM generate_series(1, 400) i;
		CREATE INDEX ${table}_i ON $table (i); VACUUM $table", $database);
	$tables{"$database $table"} = 1;
	return;
}

sub path_of
{
	my ($database, $table) = @_;
	return $node->data_dir . '/' . query("SELECT pg_relation_filepath('$table')", $database);
}

# In the second third of the year a night verifies what the last two did not.
sub thrifty { return $_[0] > $nights / 3 && $_[0] <= $nights * 2 / 3; }

# One of the tables that have no damage, in a database.
sub sound_table
{
	my @sound = grep {
		my $table = $_;
		!grep { /^\Q$table\E / } keys %open
	} sort keys %tables;
	return split / /, $sound[ rand @sound ];
}

sub damage
{
	my ($database, $table) = sound_table();
	my $block = int rand 20;

	query("SELECT count(b) FROM $table; CHECKPOINT", $database);	# in memory, and nothing to be written
	my $path = path_of($database, $table);
	my $page = AccelWal::peek($path, $block * 8192, 8192);
	AccelWal::poke($path, $block * 8192, AccelWal::spoiled($page));
	# what was mended after the last verification was not good in between
	my @before = map { $_->{bad} } grep { $_->{mended} >= $night - $late }
	  map { $mended{$_} } grep { /^$database $table / } keys %mended;
	$open{"$database $table $block"} = { page => $page, since => $night, bad => (sort { $a <=> $b } @before, $night - (thrifty($night - 1) ? $late : 0))[0] };
	return;
}

# In one of the ways in which a bad block comes to an end.
sub repair
{
	my ($key) = @_;
	my ($database, $table, $block) = split / /, $key;
	my $way = int rand 4;

	if ($way == 0)
	{
		my $status = query("SELECT status FROM heal_block('$table', 'main', $block)", $database);
		$way = 1 if $status ne 'healed';		# it has left memory
	}
	AccelWal::poke(path_of($database, $table), $block * 8192, $open{$key}{page}) if $way == 1;
	query("TRUNCATE $table; INSERT INTO $table SELECT i, repeat('y', 500) FROM generate_series(1, 400) i; VACUUM $table", $database) if $way == 2;
	if ($way == 3)
	{
		query("DROP TABLE $table", $database);
		delete $tables{"$database $table"};
		make_table($database);
	}
	query('CHECKPOINT');
	$mended{$key} = delete $open{$key};
	$mended{$key}{mended} = $night;
	return;
}

# The next server takes over, and nothing that is remembered of the last is its own.
sub succeed
{
	my ($next) = @_;
	$node = $next;
	%mended = ();
	$_->{since} = $_->{bad} = $night foreach values %open;
	return;
}

sub fail_over
{
	repair($_) foreach sort keys %open;
	$failovers++;
	$node->backup("backup$failovers");
	my $standby = PostgreSQL::Test::Cluster->new("standby$failovers", @install);
	$standby->init_from_backup($node, "backup$failovers", has_streaming => 1);
	Accel::start_under($clock, $standby);
	damage();
	$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
	my $old = $node;
	$old->stop('immediate');
	$standby->promote;
	%open = ();			# it had its own blocks
	succeed($standby);
	is(query('SELECT bad_blocks, oldest_good_seconds IS NULL FROM verify_metrics'), '0|t', "night $night: a standby took over, of whose disk nothing is known");
	return;
}

sub upgrade
{
	damage();			# it is copied
	my $next = Accel::upgrade($node, $conf);
	if (!$next)
	{
		Accel::start_under($clock, $node);
		return;
	}
	@install = (install_path => $ENV{ACCEL_NEXT_BINDIR} =~ s/\/bin$//r) if $ENV{ACCEL_NEXT_BINDIR};
	Accel::start_under($clock, $next);
	my $runs = 'SELECT count(*) FROM verify_runs';
	succeed($next);
	note 'upgraded to ' . query('SHOW server_version');
	cmp_ok(query($runs), '>', 0, '... takes the history along');
	is(query('SELECT bad_blocks, oldest_good_seconds IS NULL FROM verify_metrics'), '0|t', '... of which nothing holds here');
	return;
}

my @sizes;
my @times;
my $wrong = 0;
sub expect
{
	my ($got, $wanted, $what) = @_;
	return if $got eq $wanted;
	$wrong++;
	fail("night $night: $what: got $got, wanted $wanted") if $wrong < 10;
	note map { "$_: of $open{$_}{since}, not good since $open{$_}{bad}\n" } sort keys %open;
	return;
}

# A night, and what it must have found.
sub verify
{
	my $thrifty = thrifty($night);
	my $began = time;
	my ($out, $err);

	$node->psql('postgres', 'CALL verify_cluster(report_failures => false' .
		($thrifty ? q{, order_by => 'stalest', reverify_after => '50 hours')} : ')'), stdout => \$out, stderr => \$err);
	push @times, time - $began;
	expect($err =~ /(ERROR: .*)/ ? $1 : '', '', 'the call');
	my %seen = map { $_ => 1 } split /\n/, query(q{SELECT format('%s %s %s', database, relation_name, blkno) FROM verify_bad_blocks WHERE healed_at IS NULL});
	my $patience = $thrifty || $night <= $nights * 2 / 3 + $late ? $late : 0;
	foreach my $key (keys %open)
	{
		expect('not found', 'found', $key) if !$seen{$key} && $night - $open{$key}{since} >= $patience;
	}
	foreach my $key (keys %seen)
	{
		next if $open{$key};
		expect('open', 'closed', $key) if !$mended{$key} || $night - $mended{$key}{mended} >= $patience;
	}
	expect(query('SELECT bad_blocks, unverified_relations, last_run_state, running, bad_files FROM verify_metrics'),
		scalar(keys %seen) . '|0|completed|0|0', 'the metrics');
	# nothing waits longer than the patience and what is damaged allow, or was until just now
	my @waiting = (values %open, grep { $night - $_->{mended} < $patience } values %mended);
	my $longest = 0;
	foreach my $block (@waiting)
	{
		my $age = $night - $block->{bad} + 1;
		$longest = $age if $age > $longest;
	}
	my $days = query('SELECT oldest_good_seconds / 86400 FROM verify_metrics');
	expect("$days days", 'fewer', 'the oldest good verdict') if $days > $longest + $patience;
	# runs stay for the last good verdict on what is damaged, and for its findings
	my $kept = query("SELECT count(*) FROM verify_runs WHERE started_at < now() - interval '$keep days 1 hour'");
	expect("$kept runs", 'fewer', 'what should have been pruned') if $kept > 2 * @waiting;
	push @sizes, query(q{SELECT sum(pg_total_relation_size(objid)) FROM pg_depend d JOIN pg_class c ON c.oid = objid
		WHERE d.classid = 'pg_class'::regclass AND deptype = 'e' AND relkind = 'r'
			AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'crc32c_accel')});
	return;
}

query('CREATE EXTENSION crc32c_accel');
query('CREATE DATABASE shop');
query('CREATE EXTENSION crc32c_accel', 'shop');
make_table($_) foreach ('postgres') x 2, ('shop') x 8;

for ($night = 1; $night <= $nights; $night++)
{
	AccelWal::poke($ENV{FAULT_CLOCK}, 0, pack('q', $night * 86400));
	fail_over() if $night == int($nights / 5) || $night == int($nights * 4 / 5);
	upgrade() if $night == int($nights / 2);
	damage() if rand() < 0.3 && keys(%open) < 4;
	foreach my $key (sort keys %open)
	{
		repair($key) if $night - $open{$key}{since} > 1 && rand() < 0.25;
	}
	if ($night % 7 == 0)
	{
		my ($database, $table) = sound_table();
		query("DROP TABLE $table", $database);
		delete $tables{"$database $table"};
		delete @mended{ grep { /^$database $table / } keys %mended };
		make_table($database);
	}
	query('DROP DATABASE IF EXISTS guest') if $night % 10 == 9;
	query('CREATE DATABASE guest') if $night % 10 == 3;
	query('UPDATE t' . (grep { /^postgres / } sort keys %tables)[0] =~ s/.* t//r . ' SET i = i WHERE i % 10 = 1') if !grep { /^postgres / } keys %open;
	verify();
}
is($wrong, 0, "$nights nights found what they had to, and nothing else");

# After the upgrade all is as large and as slow as before.
sub median
{
	my @sorted = sort { $a <=> $b } @_;
	return $sorted[ @sorted / 2 ];
}
my ($early, $end) = (median(@times[ 4 .. 14 ]), median(@times[ -11 .. -1 ]));
cmp_ok($end, '<', 2 * $early + 0.5, sprintf('a night takes %.2f s at first and %.2f s in the end', $early, $end));
my ($full, $last) = ((sort { $a <=> $b } @sizes[ $keep .. $keep + 9 ])[-1], (sort { $a <=> $b } @sizes[ -10 .. -1 ])[-1]);
cmp_ok($last, '<', 2 * $full, sprintf('the tables of the history have %d kB when pruning begins and %d kB in the end', $full / 1024, $last / 1024));
$node->stop;
done_testing();
