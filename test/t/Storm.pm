# Storm.pm: what a storm of random shapes of load takes.
package Storm;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run ();
use POSIX ();
use PostgreSQL::Test::Utils;

our @EXPORT_OK = qw(fill in_background pick said_by session);
my $tmp;

# A folder for what a storm writes, made when it is asked for first
sub folder
{
	return $tmp if $tmp;
	$tmp = PostgreSQL::Test::Utils::tempdir();
	chmod 0755, $tmp;
	return $tmp;
}

sub pick { return $_[ int rand @_ ]; }

# A statement with its choices made: the same for each place with the same name
sub fill
{
	my ($text, $of) = @_;
	my %chosen;
	1 while $text =~ s/<([a-z]+)>/$chosen{$1} \/\/= ref $of->{$1} ? $of->{$1}->() : $of->{$1}/ge;
	$text =~ s/<(\d+)-(\d+)>/$1 + int rand($2 - $1 + 1)/ge;
	$text =~ s/<([^<>|]*(?:\|[^<>|]*)+)>/pick(split m{\|}, $1, -1)/ge;
	return $text =~ /\\gexec$/ ? "$text\n" : "$text;\n";
}

# What a command prints, whatever becomes of it
sub said_by
{
	my ($input, @command) = @_;
	my $out = '';
	unlink "$tmp/input_$$";
	append_to_file("$tmp/input_$$", $input);
	IPC::Run::run([ 'timeout', 300, @command ], '<', "$tmp/input_$$", '>', \$out, '2>&1');
	return $? >> 8 == 124 ? "$out\nnever ended" : $out;
}

sub session
{
	my ($node, $name, $script) = @_;
	local $ENV{PGOPTIONS} = '-c lock_timeout=300ms -c statement_timeout=120s';
	local $ENV{PGAPPNAME} = $name;
	return said_by("\\set SHOW_CONTEXT never\n$script", 'psql', '-XAtq', '-d', $node->connstr('postgres'));
}

# Does something over and over in a process of its own, up to the end
my @children;

sub in_background
{
	my ($until, $work) = @_;
	my $next = int rand 2**31;
	my $pid = fork // die "fork: $!";
	return push @children, $pid if $pid;
	srand $next;
	while (time < $until)
	{
		eval { $work->(); 1 } or append_to_file("$tmp/found", "died: $@");
	}
	POSIX::_exit(0);
}

sub wait_for_all
{
	waitpid $_, 0 foreach splice @children;
	return;
}

# What a storm's database has: the statements of looks call these functions.
our $objects = <<'SQL';
CREATE EXTENSION crc32c_accel;
CREATE TABLESPACE elsewhere LOCATION '';
CREATE DATABASE other;
SELECT pg_replication_origin_create('origin');
SELECT format('CREATE TABLE t%s (a int, b text)', g) FROM generate_series(0, 4) g \gexec
CREATE TABLE shared (a int, b text);
CREATE FUNCTION oldest() RETURNS text LANGUAGE sql AS $$ SELECT min(name COLLATE "C") FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$' $$;
CREATE FUNCTION is_gone(segment text) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN
	FOR i IN 1 .. 50 LOOP		-- segments are removed in no order
		IF right(segment, 16) < right(oldest(), 16) THEN RETURN true; END IF;
		PERFORM pg_sleep(0.1);
	END LOOP;
	RETURN false; END $$;
CREATE FUNCTION some_lsn() RETURNS pg_lsn LANGUAGE sql AS $$
	SELECT least(last, '0/0'::pg_lsn + first + trunc((last - '0/0' - first) * (1 - random() ^ 2)::numeric))
	FROM pg_size_bytes(current_setting('wal_segment_size')) size, oldest() o,
		LATERAL (SELECT (('x' || substr(o, 9, 8))::bit(32)::bigint * (4294967296 / size) + ('x' || substr(o, 17))::bit(32)::bigint) * size,
			CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END) f (first, last) $$;
CREATE FUNCTION some_segment() RETURNS text LANGUAGE sql AS $$
	SELECT name FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}(.partial)?$' ORDER BY random() LIMIT 1 $$;
CREATE FUNCTION some_relation() RETURNS regclass LANGUAGE sql AS $$
	SELECT oid::regclass FROM pg_class WHERE relkind IN ('r', 'i', 'S', 't', 'm') AND relpersistence <> 't'
	ORDER BY random() * CASE WHEN oid < 16384 THEN 9 ELSE 1 END LIMIT 1 $$;
CREATE FUNCTION some_block(regclass) RETURNS SETOF bigint LANGUAGE sql AS $$
	SELECT (random() * (size / 8192 - 1))::bigint FROM (SELECT pg_relation_size($1) AS size OFFSET 0) s WHERE size >= 8192 $$;
SQL

1;
