/* needs: kernel tar */
/*
 * test_tar.c
 *	  Archives of tar: whole ones in every form, then cut off, then damaged.
 *
 * Random archives are made here, beside a list of what is in them.  A whole one
 * must give that list; one that is cut off a beginning of it, and a reason; one
 * with a damaged header everything but that member.
 */
#include "tar_source.h"
#include "unit.h"
#include "manifest/archive_names.h"
#include "manifest/tar.h"

#define ROOM		(256 * 1024)
#define MEMBERS		12

typedef struct Made
{
	uint8_t		bytes[ROOM];
	size_t		len;
	size_t		count;
	TarMember	members[MEMBERS];
	size_t		headers[MEMBERS];	/* of the member itself, after extensions */
	size_t		data[MEMBERS];
} Made;

/* ---- archives ---- */

static void
set_sum(uint8_t *header, bool as_signed)
{
	int			sum = 0;

	memset(header + 148, ' ', 8);
	for (int i = 0; i < TAR_BLOCK; i++)
		sum += as_signed ? (int8_t) header[i] : header[i];
	snprintf((char *) header + 148, 8, "%06o", (unsigned) sum & 0777777);
}

static void
put_size(uint8_t *field, uint64_t size, bool binary)
{
	if (!binary)
	{
		char		digits[32];

		snprintf(digits, sizeof(digits), "%011llo", (unsigned long long) size);
		memcpy(field, digits, 12);
		return;
	}
	memset(field, 0, 12);
	field[0] = 0x80;
	for (int i = 0; i < 8; i++)
		field[11 - i] = (uint8_t) (size >> (8 * i));
}

static uint8_t *
put_header(Made *made, const char *name, const char *prefix, char type,
		   uint64_t size)
{
	uint8_t    *header = made->bytes + made->len;

	memset(header, 0, TAR_BLOCK);
	memcpy(header, name, strlen(name) < 100 ? strlen(name) : 100);
	put_size(header + 124, size, unit_random() % 2 == 0);
	header[156] = (uint8_t) type;
	memcpy(header + 257, "ustar\00000", 8);
	memcpy(header + 345, prefix, strlen(prefix));
	set_sum(header, false);
	made->len += TAR_BLOCK;
	return header;
}

static void
put_data(Made *made, const void *data, size_t size)
{
	size_t		padding = (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK;

	if (data != NULL)
		memcpy(made->bytes + made->len, data, size);
	else
		unit_fill(made->bytes + made->len, size);
	memset(made->bytes + made->len + size, 0, padding);
	made->len += size + padding;
}

static void
put_pax(Made *made, const char *name)
{
	char		record[TAR_NAME_MAX + 64];
	char		other[] = "16 mtime=12.345\n";
	size_t		body = strlen(" path=\n") + strlen(name);
	size_t		len = body + 1;

	while (snprintf(record, sizeof(record), "%zu", len) + body != len)
		len++;
	snprintf(record, sizeof(record), "%s%zu path=%s\n", other, len, name);
	put_header(made, "PaxHeader", "", 'x', strlen(record));
	put_data(made, record, strlen(record));
}

/* A name of a length that only some forms can hold. */
static void
make_name(char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		name[i] = (char) ('a' + unit_random() % 26);
	if (len > 20)
		name[len - 10] = '/';
	name[len] = '\0';
}

static void
put_member(Made *made)
{
	TarMember  *member = &made->members[made->count];
	bool		folder = unit_random() % 5 == 0;
	int			form = (int) (unit_random() % 4);
	char		prefix[160] = "";
	char	   *name = member->name;

	memset(member, 0, sizeof(*member));
	member->offset = made->len;
	member->kind = folder ? TAR_DIRECTORY : TAR_FILE;
	member->size = folder ? 0 : unit_random() % 6000;
	make_name(name, 1 + unit_random() % (form == 0 ? 100 : form == 1 ? 200 : 1000));
	if (form == 1)
	{
		char	   *slash = strrchr(name, '/');

		if (slash != NULL && slash - name < 155)
		{
			memcpy(prefix, name, (size_t) (slash - name));
			name = slash + 1;
		}
		else
			name[strlen(name) < 100 ? strlen(name) : 100] = '\0';
	}
	else if (form == 2)
	{
		put_header(made, "././@LongLink", "", 'L', strlen(name) + 1);
		put_data(made, name, strlen(name) + 1);
	}
	else if (form == 3)
		put_pax(made, name);
	made->headers[made->count] = made->len;
	put_header(made, name, prefix, folder ? '5' : unit_random() % 2 ? '0' : '\0',
			   member->size);
	made->data[made->count++] = made->len;
	put_data(made, NULL, (size_t) member->size);
}

static void
make_archive(Made *made)
{
	made->len = made->count = 0;
	while (made->count < 1 + unit_random() % MEMBERS && made->count < MEMBERS)
		put_member(made);
	memset(made->bytes + made->len, 0, 2 * TAR_BLOCK);
	made->len += 2 * TAR_BLOCK;
}

/* ---- reading ---- */

typedef struct Seen
{
	size_t		count;			/* members */
	TarMember	members[MEMBERS + 4];
	size_t		ndamages;
	TarDamage	first;
} Seen;

static TarReader reader;

/* Reads all; data of members are compared with what is there. */
static void
see(const uint8_t *bytes, size_t len, Seen *seen)
{
	Source		source = {bytes, len, 0};
	static TarMember member;
	TarDamage	damage;
	TarResult	result;
	static uint8_t data[1000];

	memset(seen, 0, sizeof(*seen));
	tar_begin(&reader, read_source, &source);
	while ((result = tar_next(&reader, &member, &damage)) != TAR_END)
	{
		if (result == TAR_DAMAGE && seen->ndamages++ == 0)
			seen->first = damage;
		if (result == TAR_DAMAGE)
			continue;
		if (seen->count < MEMBERS + 4)
			seen->members[seen->count] = member;
		seen->count++;
		if (unit_random() % 2 == 0)
		{
			size_t		at = source.at;
			size_t		wanted = member.size < sizeof(data) ?
				(size_t) member.size : sizeof(data);
			size_t		got = tar_read(&reader, data, sizeof(data));

			check(got == wanted || at + got == len, "%zu of %zu bytes", got, wanted);
			check(memcmp(data, bytes + at, got) == 0, "the bytes of a member");
		}
	}
	check(source.at == len || (seen->ndamages > 0 && seen->first.reason == TAR_TRAILING),
		  "%zu of %zu bytes were read", source.at, len);
}

static bool
same(const TarMember *a, const TarMember *b)
{
	return a->offset == b->offset && a->size == b->size &&
		a->kind == b->kind && strcmp(a->name, b->name) == 0;
}

/* ---- cases ---- */

static Made made;
static uint8_t copy[ROOM + 64 * 1024];

static void
test_whole(void)
{
	Seen		seen;

	see(made.bytes, made.len, &seen);
	check(seen.count == made.count && seen.ndamages == 0, "%zu of %zu members, %zu damages",
		  seen.count, made.count, seen.ndamages);
	for (size_t i = 0; i < made.count; i++)
		check(same(&seen.members[i], &made.members[i]), "member %zu: \"%s\" \"%s\"",
			  i, seen.members[i].name, made.members[i].name);
}

static void
test_cut(void)
{
	size_t		len = unit_random() % made.len;
	Seen		seen;

	see(made.bytes, len, &seen);
	check(seen.ndamages == 1 && (seen.first.reason == TAR_TRUNCATED ||
								 seen.first.reason == TAR_NO_END), "cut off at %zu of %zu: %zu damages, %d",
		  len, made.len, seen.ndamages, (int) seen.first.reason);
	check(seen.first.offset <= len, "its offset");
	for (size_t i = 0; i < seen.count; i++)
		check(i < made.count && same(&seen.members[i], &made.members[i]), "member %zu before it", i);
}

/* Any byte of a header: that member alone is lost. */
static void
test_header(void)
{
	size_t		victim = unit_random() % made.count;
	size_t		at = made.headers[victim] + unit_random() % TAR_BLOCK;
	Seen		seen;
	size_t		n = 0;

	/*
	 * Of the checksum itself, a zero in front may be a blank, what follows its
	 * digits is not looked at, and either sum will do: the rest is as it was.
	 */
	if (at - made.headers[victim] >= 148 && at - made.headers[victim] < 156)
		return;
	memcpy(copy, made.bytes, made.len);
	copy[at] ^= (uint8_t) (1 << unit_random() % 8);
	see(copy, made.len, &seen);
	check(seen.ndamages >= 1 && seen.first.reason == TAR_NO_HEADER &&
		  seen.first.offset == made.headers[victim], "a flip at %zu: %zu damages", at, seen.ndamages);
	for (size_t i = 0; i < made.count; i++)
		if (i != victim)
		{
			check(n < seen.count && same(&seen.members[n], &made.members[i]), "member %zu beside it", i);
			n++;
		}
}

static void
test_end(void)
{
	Seen		seen;
	size_t		zeros = TAR_BLOCK * (unit_random() % 20);

	memcpy(copy, made.bytes, made.len);
	memset(copy + made.len, 0, zeros + TAR_BLOCK);
	see(copy, made.len + zeros, &seen);
	check(seen.count == made.count && seen.ndamages == 0, "%zu zeros after the end", zeros);
	copy[made.len + zeros] = 1;
	see(copy, made.len + zeros + 1 + unit_random() % 100, &seen);
	check(seen.count == made.count && seen.ndamages == 1 && seen.first.reason == TAR_TRAILING &&
		  seen.first.offset == made.len + zeros, "garbage after the end");
	memmove(copy + made.headers[0] + TAR_BLOCK, copy + made.headers[0], made.len);
	memset(copy + made.headers[0], 0, TAR_BLOCK);
	see(copy, made.len + TAR_BLOCK, &seen);
	check(seen.count == made.count && seen.ndamages == 1 && seen.first.reason == TAR_NO_HEADER &&
		  seen.first.skipped == TAR_BLOCK, "a block of zeros within");
}

/* Zeros without an end are not read to it. */
static size_t
read_zeros(void *arg, uint8_t *buffer, size_t len)
{
	*(uint64_t *) arg += len;
	memset(buffer, 0, len);
	return len;
}

static void
test_odd(void)
{
	static TarMember member;
	TarDamage	damage;
	Seen		seen;
	uint8_t    *header;
	uint64_t	read = 0;

	tar_begin(&reader, read_zeros, &read);
	check(tar_next(&reader, &member, &damage) == TAR_DAMAGE && damage.reason == TAR_TRAILING &&
		  tar_next(&reader, &member, &damage) == TAR_END, "zeros without an end");
	check(read < 64 * 1024 * 1024, "as many were read");

	/* what a header may and may not say */
	for (int i = 0; i < 10; i++)
	{
		static const struct
		{
			const char *what;
			char		type;
			const char *size;	/* as in the field */
			const char *name;
			size_t		count;
			TarKind		kind;
			const char *stripped;
		}			cases[] = {
			{"blanks before digits", '0', "          0 ", "x", 1, TAR_FILE, "x"},
			{"no digits", '0', "\0", "x", 1, TAR_FILE, "x"},
			{"no number", '0', "12345678x90", "x", 0, TAR_FILE, ""},
			{"a negative one", '0', "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "x", 0, TAR_FILE, ""},
			{"one beyond 63 bits", '0', "\x80\1\1\1\xff\1\1\1\1\1\1\1", "x", 0, TAR_FILE, ""},
			{"a folder by its name", '0', "00000000000", "./a/b//", 1, TAR_DIRECTORY, "a/b"},
			{"the root", '5', "00000000000", "./", 1, TAR_DIRECTORY, ""},
			{"a link with a size", '2', "00000001000", "x", 1, TAR_LINK, "x"},
			{"a device", '3', "00000000000", "../x", 1, TAR_OTHER, "../x"},
			{"a hard link", '1', "00000000000", "/x", 1, TAR_OTHER, "/x"},
		};

		made.len = 0;
		header = put_header(&made, cases[i].name, "", cases[i].type, 0);
		memcpy(header + 124, cases[i].size, 12 < strlen(cases[i].size) + 1 ? 12 : strlen(cases[i].size) + 1);
		set_sum(header, i % 2 == 0);
		memset(made.bytes + made.len, 0, 2 * TAR_BLOCK);
		made.len += 2 * TAR_BLOCK;
		see(made.bytes, made.len, &seen);
		check(seen.count == cases[i].count, "%s: %zu members", cases[i].what, seen.count);
		if (seen.count > 0)
			check(seen.members[0].kind == cases[i].kind && seen.members[0].size == 0 &&
				  strcmp(seen.members[0].name, cases[i].stripped) == 0, "%s: \"%s\"", cases[i].what, seen.members[0].name);
	}
}

static void
end_archive(void)
{
	memset(made.bytes + made.len, 0, 2 * TAR_BLOCK);
	made.len += 2 * TAR_BLOCK;
}

/* Sizes of 256s that would be small ones if they were cut off to 64 bits. */
static void
test_large_numbers(void)
{
	Seen		seen;

	for (int digit = 1; digit < 12; digit++)
	{
		uint8_t    *header;
		bool		possible = digit >= 4;

		made.len = 0;
		header = put_header(&made, "x", "", '0', 0);
		memset(header + 124, 0, 12);
		header[124] = 0x80;
		header[124 + digit] = 1;
		set_sum(header, false);
		end_archive();
		see(made.bytes, made.len, &seen);
		check(seen.count == possible, "256 to the power of %d: %zu members", 11 - digit, seen.count);
		if (seen.count > 0)
			check(seen.members[0].size == UINT64_C(1) << (8 * (11 - digit)), "its size");
	}
}

/* Sums of signed bytes, as some old programs wrote them. */
static void
test_signed_sum(void)
{
	for (int as_signed = 0; as_signed < 3; as_signed++)
	{
		uint8_t    *header;
		Seen		seen;

		made.len = 0;
		header = put_header(&made, "\xff\xc3\xa4", "", '0', 0);
		set_sum(header, as_signed == 1);
		if (as_signed == 2)
			header[0] = 0x7f;
		end_archive();
		see(made.bytes, made.len, &seen);
		check(seen.count == (as_signed < 2), "sum %d: %zu members", as_signed, seen.count);
	}
}

/* An extension is of the member after it, not of one after damage. */
static void
test_stray_extension(void)
{
	Seen		seen;
	size_t		damaged;

	for (int zeros = 0; zeros < 2; zeros++)
	{
		made.len = 0;
		put_pax(&made, "far/away");
		damaged = made.len;
		put_header(&made, "x", "", '0', 0);
		put_header(&made, "y", "", '0', 0);
		end_archive();
		memset(made.bytes + damaged, zeros ? 0 : 'x', TAR_BLOCK);
		see(made.bytes, made.len, &seen);
		check(seen.ndamages == 1 && seen.count == 1 && strcmp(seen.members[0].name, "y") == 0,
			  "after damage: %zu members, \"%s\"", seen.count, seen.members[0].name);
	}
	/* a size that is none: that of the header counts */
	made.len = 0;
	put_header(&made, "pax", "", 'x', 11);
	put_data(&made, "11 size=-1\n", 11);
	put_header(&made, "x", "", '0', 700);
	put_data(&made, NULL, 700);
	put_header(&made, "y", "", '0', 0);
	end_archive();
	see(made.bytes, made.len, &seen);
	check(seen.ndamages == 1 && seen.first.reason == TAR_BAD_EXTENSION && seen.count == 2 && seen.members[0].size == 700,
		  "a size that is none: %zu members, %zu damages", seen.count, seen.ndamages);
}

/* Extensions that make no sense are damage, and no more than that. */
static void
test_extensions(void)
{
	static const char *const bad[] = {
		"x", "5 a=b", "99 path=x\n", "0 path=x\n", "9 pathxx\n", "-1 path=x\n", " path=x\n",
		"18446744073709551626 path=x\n", "10 size=x\n", "11 size=-1\n", "27 size=9999999999999999999\n", "4 \n",
	};
	Seen		seen;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
	{
		made.len = 0;
		put_header(&made, "pax", "", 'x', strlen(bad[i]));
		put_data(&made, bad[i], strlen(bad[i]));
		put_header(&made, "x", "", '0', 0);
		memset(made.bytes + made.len, 0, 2 * TAR_BLOCK);
		see(made.bytes, made.len + 2 * TAR_BLOCK, &seen);
		check(seen.ndamages == 1 && seen.first.reason == TAR_BAD_EXTENSION && seen.count == 1,
			  "pax \"%s\": %zu damages", bad[i], seen.ndamages);
	}
	for (int type = 0; type < 2; type++)
	{
		made.len = 0;
		put_header(&made, "long", "", type ? 'x' : 'L', TAR_EXTENSION_MAX + 1);
		put_data(&made, NULL, TAR_EXTENSION_MAX + 1);
		put_header(&made, "long", "", 'g', 5);
		put_data(&made, "xxxxx", 5);
		put_header(&made, "x", "", '0', 0);
		memset(made.bytes + made.len, 0, 2 * TAR_BLOCK);
		see(made.bytes, made.len + 2 * TAR_BLOCK, &seen);
		check(seen.ndamages == 1 && seen.first.reason == TAR_BAD_EXTENSION && seen.count == 1, "a long one");
	}
}

/* ---- the archives of a backup ---- */

static void
test_names(void)
{
	static const struct
	{
		const char *name;
		bool		is;
		BackupArchive archive;
	}			archives[] = {
		{"base.tar", true, {BACKUP_ARCHIVE_BASE, 0, DECODE_PLAIN}},
		{"base.tar.gz", true, {BACKUP_ARCHIVE_BASE, 0, DECODE_GZIP}},
		{"16384.tar.zst", true, {BACKUP_ARCHIVE_TABLESPACE, 16384, DECODE_ZSTD}},
		{"4294967295.tar.lz4", true, {BACKUP_ARCHIVE_TABLESPACE, 4294967295u, DECODE_LZ4}},
		{"pg_wal.tar", true, {BACKUP_ARCHIVE_WAL, 0, DECODE_PLAIN}},
		{"4294967296.tar", false, {0}}, {"0.tar", false, {0}}, {"1.tar.xz", false, {0}},
		{"01.tar", false, {0}}, {"1_fsm.tar", false, {0}}, {".tar", false, {0}}, {"base", false, {0}},
		{"base.tar.gz.gz", false, {0}}, {"basement.tar", false, {0}}, {"11111111111.tar", false, {0}},
	};
	static const char *const kept[] = {
		"PG_VERSION", "base/5/PG_VERSION", "base/5/pg_filenode.map", "global/pg_filenode.map",
		"pg_wal/x", "pg_wal/summaries/x", "pg_replslot/x/state", "pg_twophase/00000001",
		"pg_tblspc/16384/PG_15_1/5/PG_VERSION", "pg_logical/snapshots/0-1.snap",
	};
	static const char *const left[] = {
		"base/5/1259", "pg_wal/a/b", "x/PG_VERSION", "PG_VERSIONS", "pg_replslot/x/y/state", "pg_wal", "pg_xact/0000",
	};
	char		path[BACKUP_PATH_MAX];
	BackupArchive archive;

	for (size_t i = 0; i < sizeof(archives) / sizeof(archives[0]); i++)
	{
		bool		is = backup_archive_read(archives[i].name, &archive);

		check(is == archives[i].is, "%s: %d", archives[i].name, is);
		if (is)
			check(archive.kind == archives[i].archive.kind && archive.tablespace == archives[i].archive.tablespace &&
				  archive.format == archives[i].archive.format, "%s", archives[i].name);
	}
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		check(backup_path_kept(kept[i]), "%s is kept", kept[i]);
	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		check(!backup_path_kept(left[i]), "%s is not kept", left[i]);
	check(backup_folder_kept("pg_replslot/x") && !backup_folder_kept("pg_replslot") && !backup_folder_kept("base/5"), "folders");
	backup_archive_read("16384.tar", &archive);
	check(backup_archive_path(&archive, "PG_15/5/1", path) && strcmp(path, "pg_tblspc/16384/PG_15/5/1") == 0, "%s", path);
	check(!backup_archive_path(&archive, "../1", path) && !backup_archive_path(&archive, "/1", path), "hostile names");
	make_name(path, 1020);
	{
		char		long_name[BACKUP_PATH_MAX];

		strcpy(long_name, path);
		check(!backup_archive_path(&archive, long_name, path), "a path that becomes too long");
	}
}

int
main(int argc, char **argv)
{
	size_t		rounds;

	unit_begin("test_tar", argc, argv);
	rounds = unit.scale == UNIT_SMALL ? 20 : unit.scale == UNIT_QUICK ? 500 : 3000;
	test_names();
	for (size_t i = 0; i < rounds; i++)
	{
		make_archive(&made);
		test_whole();
		test_end();
		for (int n = 0; n < 5; n++)
		{
			test_cut();
			test_header();
		}
	}
	test_odd();
	test_large_numbers();
	test_signed_sum();
	test_stray_extension();
	test_extensions();
	return unit_finish();
}
