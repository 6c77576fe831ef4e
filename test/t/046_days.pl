# Days of a database, one run each: damage appears and heals, relations are
# created, dropped and truncated, runs leave some out, the server crashes in a run.
# A model is told what happens and predicts, day by day, what the history and its
# views say.  SEED=n plays another month, LONG=1 a year.
use strict;
use warnings;
use Accel;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $days = $ENV{LONG} ? 365 : 24;
my $seed = $ENV{SEED} // 24;
srand($seed);
note("SEED=$seed");

my $node = Accel::new_node('main', conf => "autovacuum = off\ncheckpoint_timeout = 1h\nrestart_after_crash = on\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION crc32c_accel; CREATE SCHEMA days');

# --- what happens ----------------------------------------------------------

# name => path, blocks, those of all forks, damage (block => the page as it was)
my (%relation, $created);

# path and block => relation, first and last run that saw it, how often, the run
# that healed it
my %bad;

# name => [run, path, findings] of each verification, in order
my %verified;

sub query
{
	return $node->safe_psql('postgres', $_[0]);
}

sub chance
{
	return rand() < $_[0];
}

sub some_relation
{
	my @names = sort keys %relation;
	return $names[ rand @names ];
}

# No column of a size that varies, so no TOAST table; some 20 rows a block.
sub filling
{
	my ($name) = @_;
	my $rows = 20 * (1 + int rand 6);
	return "INSERT INTO days.$name SELECT i FROM generate_series(1, $rows) i;";
}

sub page
{
	my ($path, $block, $new) = @_;
	my ($name, $offset) = Accel::place($node->data_dir . "/$path", $block);
	open my $file, '+<:raw', $name or die "$name: $!";
	seek $file, $offset, 0;
	read $file, my ($old), $blcksz;
	seek $file, $offset, 0;
	print $file $new // substr($old, 0, -192) . (substr($old, -192) ^ ("\x55" x 192));
	close $file or die $!;
	return $old;
}

# A day's events; their SQL is one statement after the other, damage comes last.
sub happen
{
	my $sql = '';
	my @new;
	for (1 .. 3)
	{
		if (keys %relation < 6 || chance(0.3))
		{
			my $name = 'r' . ++$created;
			$relation{$name} = {};
			$sql .= "CREATE TABLE days.$name (i int) WITH (fillfactor = 10);" . filling($name);
		}
		elsif (chance(0.15))
		{
			my $name = some_relation();
			delete $relation{$name};
			$sql .= "DROP TABLE days.$name;";
		}
		elsif (chance(0.2))
		{
			my $name = some_relation();
			$relation{$name}{damage} = {};
			$sql .= "TRUNCATE days.$name;" . (chance(0.7) ? filling($name) : '');
		}
	}
	for my $line (split /\n/, query("$sql CHECKPOINT; SELECT relname, pg_relation_filepath(oid), pg_relation_size(oid) / $blcksz, pg_table_size(oid) / $blcksz
		FROM pg_class WHERE relnamespace = 'days'::regnamespace"))
	{
		my ($name, @facts) = split /\|/, $line;
		@{ $relation{$name} }{qw(path blocks all)} = @facts;
	}
	for my $name (sort keys %relation)
	{
		my $damage = $relation{$name}{damage} //= {};
		for my $block (sort { $a <=> $b } keys %$damage)
		{
			page($relation{$name}{path}, $block, delete $damage->{$block}) if chance(0.3);
		}
		next unless $relation{$name}{blocks} && chance(0.25);
		my $block = int rand $relation{$name}{blocks};
		$damage->{$block} //= page($relation{$name}{path}, $block);
	}
	return;
}

# --- what the history should say --------------------------------------------

# A run has verified these.
sub predict
{
	my ($run, @names) = @_;
	for my $name (@names)
	{
		my ($path, $damage) = @{ $relation{$name} }{qw(path damage)};
		for my $block (keys %$damage)
		{
			my $bad = $bad{"$name $path $block"} //= { name => $name, path => $path, first => $run };
			$bad->{last} = $run;
			$bad->{times}++;
			delete $bad->{healed};
		}
		for my $bad (grep { $_->{name} eq $name && $_->{last} != $run } values %bad)
		{
			$bad->{healed} //= $run;
		}
		push @{ $verified{$name} }, [ $run, $path, scalar keys %$damage ];
	}
	return;
}

sub bad_blocks	# as the query below gives them, and how many are open and healed
{
	my ($now) = @_;
	my (@lines, %count);
	for my $key (keys %bad)
	{
		my ($name, $path, $block) = split / /, $key;
		my $bad = $bad{$key};
		my $healed = $bad->{healed} // (exists $relation{$name} && $relation{$name}{path} eq $path ? '' : $now);
		push @lines, join('|', $path, $block, $bad->{first}, $bad->{last}, $bad->{times}, $healed);
		$count{ $healed eq '' ? 'open' : 'healed' }++;
	}
	return (join("\n", sort @lines), $count{open} // 0, $count{healed} // 0);
}

sub last_good	# as the query below, and how many files were ever verified
{
	my (@lines, $known);
	for my $name (sort keys %relation)
	{
		my @all = @{ $verified{$name} // [] };
		my $last = $all[-1];
		my ($good) = grep { $_->[2] == 0 } reverse @all;
		$last = undef if $last && $last->[1] ne $relation{$name}{path};
		$known++ if $last;
		$good = undef if !$last || !$good || $good->[1] ne $last->[1];
		push @lines, join('|', $name, $last ? $last->[0] : '', $good ? $good->[0] : '');
	}
	return (join("\n", @lines), $known // 0);
}

my $run_of = 'SELECT max(run) FROM verify_runs WHERE started_at <=';
sub check
{
	my ($title, $now) = @_;
	my ($bad, $open, $healed) = bad_blocks($now);
	my ($good, $known) = last_good();

	# from one snapshot, so that now() is one
	my ($is_bad, $is_good, $metrics) = split /^-- next\n/m, query(qq{
		SELECT path, blkno, ($run_of first_seen_at), ($run_of last_seen_at), times_seen, ($run_of healed_at)
			FROM verify_bad_blocks ORDER BY concat_ws('|', path, blkno, ($run_of first_seen_at)) COLLATE "C";
		SELECT '-- next';
		SELECT c.relname, ($run_of last_verified_at), ($run_of last_good_at) FROM verify_last_good g JOIN pg_class c ON c.oid = g.relid
			WHERE c.relnamespace = 'days'::regnamespace ORDER BY c.relname COLLATE "C";
		SELECT '-- next';
		SELECT bad_blocks, healed_blocks, relations - never_verified, last_run_state, running,
			relations = (SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'i', 'S', 't', 'm') AND relpersistence <> 't')
				AND (SELECT min(good_at) FROM internal_oldest_good) IS NOT DISTINCT FROM (SELECT min(last_good_at) FROM verify_last_good)
			FROM verify_metrics}) . "\n";
	chomp($is_bad, $is_good, $metrics);
	is(join("\n", sort split /\n/, $is_bad), $bad, "$title: verify_bad_blocks");
	is($is_good, $good, "$title: verify_last_good");
	is($metrics, "$open|$healed|$known|completed|0|t", "$title: verify_metrics");
	return;
}

sub recorded	# run: relation, blocks, findings
{
	return query("SELECT relation_name, blocks, findings FROM verify_run_relations WHERE run = $_[0] ORDER BY relation_name COLLATE \"C\"");
}

sub expected	# names
{
	return join("\n", map { "$_|$relation{$_}{all}|" . keys %{ $relation{$_}{damage} } } sort @_);
}

# Days on which the server crashes in the run.
my %crash = map { int($days * $_ / 5) => 1 } 2, 4;

for my $day (1 .. $days)
{
	my $today = "day $day";
	my $rest = '';
	my @names;

	happen();
	my @out = grep { chance(0.2) } sort keys %relation;
	my %out = map { $_ => 1 } @out;
	@names = grep { !$out{$_} } sort keys %relation;
	my $what = "relations => '{" . join(',', map { "days.$_" } @names) . "}'";
	if ($crash{$day} && @names)
	{
		# it waits for one of the relations, and comes no further
		my $call = "CALL verify_database($what)";
		my $barred = query("SELECT min(relname) FROM (SELECT relname, row_number() OVER (ORDER BY oid) AS n FROM pg_class
			WHERE relname IN ('" . join("', '", @names) . "')) r WHERE n = " . int(@names / 2 + 1));
		my $gate = Accel::gate($node, "days.$barred");
		my $started = query('SELECT clock_timestamp()');
		my $session = IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', $call ], '>', \my $o, '2>', \my $e);
		Accel::wait_at_gate($node, "days.$barred") or fail('the run never came to it');
		$node->stop('immediate');
		eval { $session->finish };
		eval { $gate->quit };
		$node->start;
		my $run = query("SELECT run FROM verify_runs WHERE state = 'running'");
		my @done = $run eq '' ? () : split /\n/, query("SELECT relation_name FROM verify_run_relations WHERE run = $run ORDER BY 1");
		if (@done)
		{
			is(recorded($run), expected(@done), "$today, a crash: what is recorded is the truth");
			predict($run, @done);
		}
		cmp_ok(scalar @done, '<', scalar @names, "$today, a crash: before the end");
		my %done = map { $_ => 1 } @done;
		@names = grep { !$done{$_} } @names;
		$rest = ", reverify_after => now() - '$started'";
	}
	$node->psql('postgres', "CALL verify_database($what$rest)");
	my $run = query('SELECT max(run) FROM verify_runs');
	predict($run, @names);
	is(recorded($run), expected(@names), "$today: what was verified");
	my $findings = 0;
	$findings += keys %{ $relation{$_}{damage} } for @names;
	is(query("SELECT relations, findings, state FROM verify_runs WHERE run = $run"), @names . "|$findings|completed", "$today: the run");
	is(query("SELECT count(*) FROM verify_runs WHERE state NOT IN ('completed', 'interrupted')"), '0', "$today: no run is left open");
	check($today, $run);
}
cmp_ok(scalar(keys %bad), '>', 10, 'there was damage');
cmp_ok(scalar(grep { $_->{healed} } values %bad), '>', 3, 'some healed');
$node->stop;
done_testing();
