# restore_block() with a chain of incremental backups (17 and later): each block is
# the one of the newest backup that has it, whether the backups are directories or
# archives.  A chain that lacks a link, or has one of another server, proves nothing.
use strict;
use warnings;
use Accel;
use AccelWal;
use BackupTar;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('version');
plan skip_all => 'incremental backups came with 17' if $node->pg_version < 17;

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $archive = PostgreSQL::Test::Utils::tempdir();
$node = Accel::new_node('main', allows_streaming => 1, extra => ['--wal-segsize=1'], conf => <<"CONF");
autovacuum = off
fsync = off
summarize_wal = on
bgwriter_lru_maxpages = 0
wal_keep_size = 4MB
min_wal_size = 2MB
max_wal_size = 4MB
archive_mode = on
archive_command = 'cp %p $archive/%f'
CONF
$node->start;
sub sql { return $node->safe_psql('postgres', $_[0]); }

# Segments that begin with many small records
sub pass_wal
{
	my ($where, $times) = @_;
	$where->safe_psql('postgres', "SELECT count(pg_logical_emit_message(false, 'x', 'x')) FROM generate_series(1, 50); SELECT pg_switch_wal()") for 1 .. $times;
	return;
}

mkdir "$dir/ts";
sql($_) foreach 'CREATE EXTENSION crc32c_accel', "CREATE TABLESPACE ts LOCATION '$dir/ts'", q{
	CREATE TABLE t (id int, filler text);
	INSERT INTO t SELECT g, repeat('x', 900) FROM generate_series(1, 400) g;
	CREATE TABLE placed TABLESPACE ts AS TABLE t;
	CREATE TABLE cut AS TABLE t;
	VACUUM FREEZE;
	UPDATE pg_database SET datistemplate = false;
	CHECKPOINT}, 'DROP DATABASE template0', 'DROP DATABASE template1';
my %file = map { $_ => sql("SELECT pg_relation_filepath('$_')") } qw(t placed cut);
sub path { return $node->data_dir . "/$file{ $_[0] }"; }
sub page { return AccelWal::peek(path($_[0]), $_[1] * 8192, 8192); }

# Changes blocks, and no others.
sub change
{
	my ($relation, @blocks) = @_;
	sql("DELETE FROM $relation WHERE ctid IN (" . join(', ', map { "'($_,2)'" } @blocks) . ')');
	return;
}

# The segments that a backup needs are noted.
my %needs;
sub backup
{
	my ($name, $from, $prior) = @_;
	pass_wal($from, 1);
	my $first = $from->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_lsn())');
	system_or_bail('pg_basebackup', '-D', "$dir/$name", '-Ft', '-h', $from->host, '-p', $from->port, '--checkpoint=fast', '--no-sync',
		defined $prior ? "--incremental=$dir/$prior/backup_manifest" : ());
	my $last = $from->safe_psql('postgres', 'SELECT pg_walfile_name(pg_current_wal_lsn())');
	$needs{$name} = [ $first, $last ];
	pass_wal($from, 3);
	return;
}

# Pages of blocks 1 to 4 are in the full backup, 11 to 14 in the first one after
# it, 21 to 24 in the last one, and 31 has changed since.
pass_wal($node, 7);
backup('full', $node);
change($_, 11 .. 14, 21 .. 24) foreach qw(t placed);
sql('DELETE FROM cut WHERE id > 40; VACUUM (FREEZE) cut; CHECKPOINT');
backup('first', $node, 'full');
change($_, 21 .. 24) foreach qw(t placed);
sql("INSERT INTO cut SELECT g, repeat('n', 900) FROM generate_series(1, 400) g; CHECKPOINT");
backup('last', $node, 'first');
change('t', 31);
sql('CHECKPOINT');
pass_wal($node, 7);
sql('CHECKPOINT');
$node->stop;

my @names = qw(full first last);
foreach (@names)
{
	BackupTar::extract("$dir/$_", "$dir/${_}_plain");
}
my $part = $file{t} =~ s{([^/]+)$}{INCREMENTAL.$1}r;
ok(-e "$dir/full_plain/$file{t}" && -e "$dir/first_plain/$part" && -e "$dir/last_plain/$part", 'a full backup and two incremental ones');

my @blocks = (1 .. 4, 11 .. 14, 21 .. 24, 31);
my (%good, %bad);
foreach my $relation (qw(t placed))
{
	foreach my $block (@blocks)
	{
		$good{"$relation/$block"} = page($relation, $block);
		AccelWal::poke(path($relation), $block * 8192, AccelWal::spoiled($good{"$relation/$block"}));
		$bad{"$relation/$block"} = page($relation, $block);
	}
}
AccelWal::poke(path('cut'), 20 * 8192 + 8000, 'damage');
$node->start;

sub written { return join ' ', grep { my ($relation, $block) = split m{/}; page($relation, $block) ne $bad{$_} } sort keys %bad; }

# The directory of WAL of these backups, and of all since the last one's start
sub wal_of
{
	my (@backups) = @_;
	my $to = PostgreSQL::Test::Utils::tempdir();
	foreach my $segment (grep { /^[0-9A-F]{24}$/ } slurp_dir($archive))
	{
		my $wanted = grep { $segment ge $needs{$_}[0] && $segment le $needs{$_}[1] } @backups;
		system_or_bail('cp', "$archive/$segment", $to) if $wanted || $segment ge $needs{last}[0];
	}
	return $to;
}
my $wal = wal_of(@names);

sub restored
{
	my ($relation, $block, $directory, @chain) = @_;
	my $backup = pop @chain;
	return sql("SELECT status, message FROM restore_block('$relation', 'main', $block, backup => '$backup', prior_backups => ARRAY["
		  . join(', ', map { "'$_'" } @chain) . "]::text[], directory => '$directory')");
}

# --- what proves nothing -----------------------------------------------------------------------

sub crc
{
	my ($path) = @_;
	return sql("SELECT encode(substring(int8send(crc32c(pg_read_binary_file('$path'))) FROM 5), 'hex')") =~ s/(..)(..)(..)(..)/$4$3$2$1/r;
}

# A copy of a plain backup, a file of which says something else, and its manifest agrees.
sub forged
{
	my ($from, $path, $change) = @_;
	my $to = PostgreSQL::Test::Utils::tempdir() . '/forged';
	system_or_bail('cp', '-a', $from, $to);
	AccelWal::put("$to/$path", $change->(BackupTar::bytes_of("$to/$path")));
	BackupTar::relist($to, \&crc, $path);
	return $to;
}

# a clone of before the chain, that goes on by itself
my $clone = PostgreSQL::Test::Cluster->new('clone');
system_or_bail('rm', '-rf', $clone->data_dir);
system_or_bail('cp', '-a', "$dir/full_plain", $clone->data_dir);
chmod 0700, $clone->data_dir;
unlink $clone->data_dir . '/tablespace_map' or die;	# its tablespace is a folder here
$clone->append_conf('postgresql.conf', "port = " . $clone->port . "\nunix_socket_directories = '" . $clone->host . "'\narchive_mode = off\nallow_in_place_tablespaces = on\n");
$clone->start;
pass_wal($clone, 1);
backup('theirs', $clone, 'full');
$clone->stop;
my $theirs = BackupTar::extract("$dir/theirs", "$dir/theirs_plain");

my @chain = map { "$dir/${_}_plain" } @names;
my ($full, $first, $last) = @chain;
my @nothing = (
	[ 'no backup before', 1, [$last], qr/^not_proven\|.*is the same as in the backup before "\Q$last\E", which starts at \S+ on timeline 1: name that one in prior_backups/ ],
	[ 'the first link is missing', 1, [ $first, $last ], qr/^not_proven\|.*the backup before "\Q$first\E"/ ],
	[ 'a link is missing', 1, [ $full, $last ], qr/^not_proven\|.*"\Q$full\E": it starts at \S+ on timeline 1, but the backup "\Q$last\E" is incremental to one that starts at / ],
	[ 'links in the wrong order', 1, [ $first, $full, $last ], qr/^not_proven\|.*it starts at / ],
	[ 'a link that is none', 1, [ $full, '/nowhere', $last ], qr{^not_proven\|.*"/nowhere": backup_manifest: } ]);
my ($their_start) = slurp_file("$theirs/backup_label") =~ m{^START WAL LOCATION: ([0-9A-F/]+)}m;
my $to_theirs = forged($last, 'backup_label', sub { $_[0] =~ s{^INCREMENTAL FROM LSN: \S+}{INCREMENTAL FROM LSN: $their_start}mr });
my $to_none = forged($last, 'backup_label', sub { $_[0] =~ s{^INCREMENTAL FROM.*\n}{}mgr });
my $no_label = forged($last, 'backup_label', sub { 'none' });
my $no_part = forged($first, $part, sub { "\0" . substr($_[0], 1) });
my $other_part = PostgreSQL::Test::Utils::tempdir() . '/other';
system_or_bail('cp', '-a', $first, $other_part);
AccelWal::poke("$other_part/$part", 9000, 'forged');
push @nothing,
  [ 'the label of the last one names none', 1, [ $full, $first, $to_none ], qr/^not_proven\|.*names no backup before it/ ],
  [ 'a label that is none', 1, [ $full, $first, $no_label ], qr/^not_proven\|.*names no backup before it/ ],
  [ 'a part that is none', 1, [ $full, $no_part, $last ], qr/^not_proven\|.*"\Q$no_part\E": file "\S+" of the backup: incremental file has a wrong magic number/ ],
  [ 'a part that was changed', 1, [ $full, $other_part, $last ], qr/^not_proven\|.*"\Q$other_part\E": file "\S+" of the backup is not the one that its manifest lists/ ],
  [ 'a link of a clone', 1, [ $full, $theirs, $last ], qr/^not_proven\|.*"\Q$theirs\E": it starts at / ],
  [ 'a link of a clone that starts where it should', 1, [ $full, $theirs, $to_theirs ], qr/^invalid_page\|.*of another server or of a clone: \Q$theirs\E$/, $archive ],
  [ 'the last one of a clone', 1, [ $full, $theirs ], qr/^invalid_page\|.*of another server or of a clone: \Q$theirs\E$/, $archive ],
  [ 'WAL of a link is missing', 1, \@chain, qr/^not_proven\|.*nothing tells whose it is: \Q$first\E: /, wal_of('full') ],
  [ 'WAL of the full one is missing', 1, \@chain, qr/^not_proven\|.*nothing tells whose it is: \Q$full\E: /, wal_of('first') ],
  [ 'a block that has changed since', 31, \@chain, qr/^outdated\|/ ];
foreach (@nothing)
{
	my ($what, $block, $chain, $words, $directory) = @$_;
	like(restored('t', $block, $directory // $wal, @$chain), $words, $what);
}
like(restored('cut', 20, $wal, $full, $first), qr/^not_proven\|.*ends before the block/, 'a block that was cut off before an incremental backup');
# archives, one of which ends early
my $half = "$dir/half";
system_or_bail('cp', '-r', "$dir/first", $half);
my $bytes = BackupTar::bytes_of("$half/base.tar");
BackupTar::put_bytes("$half/base.tar", substr($bytes, 0, (BackupTar::member($bytes, $part))[2] + 100));
like(restored('t', 1, $wal, "$dir/full", $half, "$dir/last"), qr/^not_proven\|.*"\Q$half\E": file "\S+" of the backup could not be read to its end/, 'a link that is cut');
is(written(), '', '... nothing was written');

foreach my $form ('', '_plain')
{
	my @chain = map { "$dir/$_$form" } @names;
	my $block = $form eq '' ? 1 : 2;
	foreach my $relation (qw(t placed))
	{
		foreach ([ 0, 'the full backup' ], [ 10, 'the first one after it' ], [ 20, 'the last one' ])
		{
			my ($more, $what) = @$_;
			my $n = $block + $more;
			like(restored($relation, $n, $wal, @chain), qr/^restored\|.*: the backup is of this server/, "a page of $what, of $relation$form");
			ok(substr(page($relation, $n), 24) eq substr($good{"$relation/$n"}, 24), '... is what it was, but for its LSN');
		}
	}
}
$node->stop;
done_testing();
