# Segments behind one that a switch ended: the first record must lead back to the
# switch, as recovery demands.  The other log is that of a clone of the cluster,
# which wrote on after the copy.
use strict;
use warnings;
use Accel;
use AccelWal;
use File::Copy;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $size = 1024 * 1024;
my $conf = "autovacuum = off\nmax_wal_size = 1GB\nmin_wal_size = 1GB\nwal_level = replica\n" .
  "fsync = off\nbgwriter_delay = 10s\n";
my $node = Accel::new_node('main', extra => ['--wal-segsize=1'], allows_streaming => 1, conf => $conf);

sub sql { return $node->safe_psql('postgres', $_[0]); }

# A switch whose record begins 16 or 8 bytes before a multiple of so many bytes: a
# message fills the log up to there.  Another process may write between: then again.
# Returns the segment that is ended.
sub switch_across
{
	my ($every, $header) = @_;
	for (1 .. 20)
	{
		my ($end, $name) = split /\|/, sql("DO \$\$
			DECLARE rest int;
			BEGIN
				LOOP
					rest := $every - ((pg_current_wal_insert_lsn() - '0/0') % $every)::int - 16;
					EXIT WHEN rest IN (0, 8);
					PERFORM pg_logical_emit_message(false, 'a', repeat('x', CASE WHEN rest > 8000 OR rest < 56 THEN 3000
						WHEN rest - 26 < 256 THEN rest - 52 ELSE rest - 55 END));
				END LOOP;
			END \$\$;
			SELECT s - '0/0', pg_walfile_name(s) FROM pg_switch_wal() s");
		return $name if $end % $every == $header + 8 || $end % $every == $header + 16;
	}
	return '';
}

sub switch { return sql('SELECT pg_walfile_name(pg_switch_wal())'); }

$node->start;
sql('CREATE EXTENSION crc32c_accel');
switch();
sql(q{SELECT pg_logical_emit_message(false, 'a', 'before the copy')});
switch();
$node->backup('copy');
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($node, 'copy');
switch();
my $start = sql('SELECT pg_current_wal_insert_lsn()');
my @names;
push @names, switch_across($wal_blcksz, 24);
isnt($names[-1], '', 'a switch record lies in two pages');
my $border = switch_across($size, 40);
isnt($border, '', 'a switch record lies in two segments');
sql(q{SELECT pg_logical_emit_message(false, 'a', 'after it')});
push @names, switch();
sql(q{SELECT pg_logical_emit_message(false, 'a', repeat('y', 300000))});
push @names, switch();
for my $n (1 .. 5)
{
	sql("SELECT pg_logical_emit_message(false, 'a', repeat('z', $n))");
	push @names, switch();
}

# the clone writes more per segment, and in the end over a border
$clone->start;
$clone->safe_psql('postgres', q{SELECT pg_logical_emit_message(false, 'b', repeat('b', 20000)); SELECT pg_switch_wal()})
  until $clone->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_insert_lsn())') gt $names[-1];
sql(q{SELECT pg_logical_emit_message(false, 'a', 'a'); SELECT pg_switch_wal()}) for 1 .. 3;
my ($open) = $clone->safe_psql('postgres', q{SELECT pg_logical_emit_message(false, 'b', repeat('b', 2000000));
	SELECT pg_walfile_name(pg_current_wal_insert_lsn() - 1048576)}) =~ /(\S+)\z/;
$clone->safe_psql('postgres', 'SELECT pg_switch_wal()');
$clone->stop;

my $archives = PostgreSQL::Test::Utils::tempdir();
my $number = 0;

# An archive of what was switched; what is done to it is code.
sub archive
{
	my ($code) = @_;
	my $archive = "$archives/" . ++$number;
	my $pg_wal = $node->data_dir . '/pg_wal';
	mkdir $archive;
	foreach my $name (grep { -e "$pg_wal/$_" } map { sprintf '%s%08X', substr($names[0], 0, 16), $_ }
		hex(substr($names[0], 16)) .. hex(substr($names[-1], 16)) + 3)
	{
		copy("$pg_wal/$name", "$archive/$name") or die "$name: $!";
	}
	$code->($archive) if defined $code;
	return $archive;
}

sub findings
{
	my ($archive, $what) = @_;
	return sql("SELECT string_agg(w.segment || ' ' || w.status || ' ' || split_part(w.message, ' at ', 1), ', ') FROM "
		  . ($what // "verify_wal('$archive')") . q{ w WHERE w.status NOT LIKE 'ok%'});
}

my $healthy = archive();
is(findings($healthy), '', 'a sound archive has no finding');
cmp_ok(sql("SELECT count(*) FROM verify_wal('$healthy') WHERE status = 'ok_switched'"), '>=', @names, 'its segments are switched');
is(findings($healthy, "(SELECT w.* FROM unnest(ARRAY['" . join("','", @names) . "']) n, verify_wal('$healthy', n, n) w)"),
	'', 'nor has each segment alone');
is(sql("SELECT sum(unverified_head_bytes + unverified_tail_bytes) FROM verify_wal('$healthy')"), '0', 'no record over a border is open');

my $foreign = $names[-2];
my $swapped = archive(sub { copy($clone->data_dir . "/pg_wal/$foreign", "$_[0]/$foreign") or die $!; });
like(findings($swapped), qr/^$foreign corrupt [^,]*prev[^,]*, $names[-1] corrupt [^,]*prev/, "a clone's segment leads back elsewhere, and so does ours to it");
like(findings($swapped, "verify_wal('$swapped', '$foreign', '$foreign')"), qr/^$foreign corrupt .*prev/, 'alone, too');
like(findings($swapped, "verify_wal('$swapped', start_lsn => '$start')"), qr/^$foreign corrupt .*prev/, 'in a range, too');

# the tail of a switched segment is what a recycled file held
my $recycled = archive(
	sub {
		my $page = AccelWal::peek("$_[0]/$names[1]", 0, $wal_blcksz);
		substr($page, 8, 8) = pack('Q', unpack('Q', substr($page, 8, 8)) + $size - $wal_blcksz - 4 * $size);
		AccelWal::poke("$_[0]/$names[1]", $size - $wal_blcksz, $page);
		copy($clone->data_dir . "/pg_wal/$foreign", "$_[0]/$foreign") or die $!;
	});
like(findings($recycled), qr/^$foreign corrupt .*prev/, 'former contents behind the switch are passed over');

# its contrecord continues nothing
my $contrecord = archive(
	sub {
		my $dir = $clone->data_dir . '/pg_wal';
		copy("$dir/$open", "$_[0]/$open") or die "$open: $!";
		unlink grep { substr($_, -24) gt $open } glob("$_[0]/*");
	});
like(findings($contrecord), qr/^$open corrupt /, 'a segment that begins within a record is none behind a switch');
like(findings($contrecord, "verify_wal('$contrecord', '$open', '$open')"), qr/^$open corrupt /, 'alone, too');

# damage before the border proves nothing about what follows
my $zeroed = archive(
	sub {
		AccelWal::poke("$_[0]/$names[-3]", 0, "\0" x $size);
	});
unlike(findings($zeroed), qr/$names[-2]/, 'a segment behind a damaged one is sound');

$node->stop;
done_testing();
