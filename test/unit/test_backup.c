/* needs: kernel verify */
/*
 * test_backup.c
 *	  What backups are judged by: manifests, names, labels, fates of pages.
 *
 * Fates: random WAL of records that are made here, beside a model that goes
 * over every page for each of them.  Incremental files: each thing that may be
 * wrong with one, and random blocks beside a list of flags.  Manifests: a whole one, then random events
 * and the same cut anywhere, which end in an error and nowhere else.  Their JSON:
 * texts that are none, strings with each escape, and a whole manifest that is
 * cut after each byte, or has each byte replaced.
 */
#include "unit.h"
#include "record_maker.h"
#include "backup/end.h"
#include "backup/fate.h"
#include "backup/increment.h"
#include "manifest/label.h"
#include "manifest/manifest.h"
#include "manifest/parse.h"
#include "page/format.h"
#include "page/status.h"

/* ---- names ---- */

static const struct
{
	const char *path;
	bool		relation;
	BackupRelationFile file;
}			names[] = {
	{"base/5/1259", true, {1663, 5, 1259, BACKUP_FORK_MAIN, 0}},
	{"base/5/1259.3", true, {1663, 5, 1259, BACKUP_FORK_MAIN, 3}},
	{"base/5/1259_fsm", true, {1663, 5, 1259, BACKUP_FORK_FSM, 0}},
	{"base/5/1259_vm.12", true, {1663, 5, 1259, BACKUP_FORK_VM, 12}},
	{"base/4294967295/4294967295_init", true, {1663, 4294967295u, 4294967295u, BACKUP_FORK_INIT, 0}},
	{"global/1262", true, {1664, 0, 1262, BACKUP_FORK_MAIN, 0}},
	{"pg_tblspc/16384/PG_15_202209061/5/16385", true, {16384, 5, 16385, BACKUP_FORK_MAIN, 0}},
	{"base/5/4294967296", false, {0}}, {"base/5/1259.", false, {0}},
	{"base/5/1259.0", false, {0}}, {"base/5/01259", false, {0}},
	{"base/5/1259_x", false, {0}}, {"base/5/t3_1259", false, {0}},
	{"base/5/1259.1.2", false, {0}}, {"base/5", false, {0}},
	{"base/5/PG_VERSION", false, {0}}, {"base//1259", false, {0}},
	{"base/5/6/1259", false, {0}}, {"global/5/1259", false, {0}},
	{"pg_tblspc/16384/5/16385", false, {0}}, {"1259", false, {0}},
	{"pg_tblspc/16384/PG_15", false, {0}}, {"pg_wal/1259", false, {0}},
};

static const char *const impossible[] = {
	"", "/", "/etc", "..", "../x", "x/..", "x/../y", "./x", "x/.", "x//y", "x/",
};
static const char *const possible[] = {
	"x", "...", "..x", "x..", "a/b/c", ".hidden", "a b",
};

static const struct
{
	const char *path;
	const char *full;
}			increments[] = {
	{"base/5/INCREMENTAL.1259_vm.12", "base/5/1259_vm.12"},
	{"global/INCREMENTAL.1262", "global/1262"},
	{"pg_tblspc/16384/PG_17_202406281/5/INCREMENTAL.16385.1", "pg_tblspc/16384/PG_17_202406281/5/16385.1"},
	{"base/5/INCREMENTAL.", NULL}, {"base/5/INCREMENTAL.x", NULL},
	{"base/5/INCREMENTAL.1259_x", NULL}, {"INCREMENTAL.1259", NULL},
	{"base/5/INCREMENTAL.INCREMENTAL.1259", NULL}, {"base/5/1259", NULL},
	{"base/INCREMENTAL.5/1259", NULL}, {"pg_wal/INCREMENTAL.1259", NULL},
};

static void
test_incremental_names(void)
{
	char		longest[BACKUP_PATH_MAX];
	char		path[BACKUP_PATH_MAX];

	for (size_t i = 0; i < sizeof(increments) / sizeof(increments[0]); i++)
	{
		BackupRelationFile file;
		BackupRelationFile whole;
		bool		is = backup_incremental_file(increments[i].path, &file);

		check(is == (increments[i].full != NULL), "%s: %d", increments[i].path, is);
		if (!is || increments[i].full == NULL)
			continue;
		check(backup_relation_file(increments[i].full, &whole) &&
			  file.tablespace == whole.tablespace && file.database == whole.database &&
			  file.number == whole.number && file.fork == whole.fork &&
			  file.segment == whole.segment, "%s: what it is", increments[i].path);
		backup_full_path(increments[i].path, path);
		check(strcmp(path, increments[i].full) == 0, "%s: full %s", increments[i].path, path);
		check(backup_incremental_path(increments[i].full, path) &&
			  strcmp(path, increments[i].path) == 0, "%s: back %s", increments[i].full, path);
	}
	memset(longest, 'x', sizeof(longest));
	longest[BACKUP_PATH_MAX - 13] = '\0';
	check(backup_incremental_path(longest, path) && strlen(path) == BACKUP_PATH_MAX - 1, "the longest path");
	longest[BACKUP_PATH_MAX - 13] = 'x';
	longest[BACKUP_PATH_MAX - 12] = '\0';
	check(!backup_incremental_path(longest, path), "one too long");
}

static void
test_names(void)
{
	BackupRelationFile file;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		bool		is = backup_relation_file(names[i].path, &file);

		check(is == names[i].relation, "%s: %d", names[i].path, is);
		if (is)
			check(file.tablespace == names[i].file.tablespace &&
				  file.database == names[i].file.database &&
				  file.number == names[i].file.number &&
				  file.fork == names[i].file.fork &&
				  file.segment == names[i].file.segment, "%s", names[i].path);
	}
	for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++)
		check(!backup_path_possible(impossible[i]), "\"%s\"", impossible[i]);
	for (size_t i = 0; i < sizeof(possible) / sizeof(possible[0]); i++)
		check(backup_path_possible(possible[i]), "\"%s\"", possible[i]);
	memset(&file, 0x7f, sizeof(file));
	check(backup_map_file("base/5/pg_filenode.map", &file) && file.database == 5, "a map");
	check(file.number == 0 && file.fork == BACKUP_FORK_MAIN && file.segment == 0, "a map has no number");
	check(backup_map_file("global/pg_filenode.map", &file) && file.database == 0, "the shared map");
	check(!backup_map_file("pg_filenode.map", &file), "no map");
	check(backup_version_file("base/5/PG_VERSION", &file) && file.database == 5, "the version of a database");
	check(!backup_version_file("PG_VERSION", &file), "the version of the cluster");
	check(!backup_version_file("global/PG_VERSION", &file), "no database");
	for (size_t n = 0; backup_folder_needed(n) != NULL; n++)
		check(backup_path_possible(backup_folder_needed(n)), "a folder");
	check(backup_folder_has("pg_xact", "pg_xact"), "a folder itself");
	check(backup_folder_has("pg_xact", "pg_xact/0000"), "a file in a folder");
	check(!backup_folder_has("pg_xact", "pg_xact2"), "another folder");
	test_incremental_names();
	check(backup_path_ignored("pg_wal/x") && !backup_path_ignored("pg_walx"), "pg_wal");
}

/* ---- labels ---- */

static void
test_labels(void)
{
	static const char text[] = "START WAL LOCATION: 1/A0000028 (file 00000001000000010000000A)\n"
		"CHECKPOINT LOCATION: 1/A0000060\nBACKUP METHOD: streamed\n"
		"BACKUP FROM: standby\nSTART TIME: x\nLABEL: my label\nSTART TIMELINE: 1\n";
	static const char *const not_labels[] = {
		"START WAL LOCATION: 1/2 (file 000000010000000100000000)\r\nCHECKPOINT LOCATION: 1/3\r\n",
		"START WAL LOCATION: 1/2 (file 000000010000000100000000)\nCHECKPOINT LOCATION: 1/3\r\n",
		"START WAL LOCATION: 1/2 (file 000000010000000100000000)\nCHECKPOINT LOCATION: 1/3",
		"START WAL LOCATION: 1/2\nCHECKPOINT LOCATION: 1/3\n",
		"\xef\xbb\xbfSTART WAL LOCATION: 1/2 (file 000000010000000100000000)\nCHECKPOINT LOCATION: 1/3\n",
		"CHECKPOINT LOCATION: 1/3\nSTART WAL LOCATION: 1/2 (file 000000010000000100000000)\n",
	};
	BackupLabel label;
	uint32_t	space;
	size_t		at = 0;

	check(backup_label_read(text, &label), "a label");
	check(label.start == UINT64_C(0x1A0000028) && label.checkpoint == UINT64_C(0x1A0000060) &&
		  label.timeline == 1 && label.from_standby && strcmp(label.label, "my label") == 0, "its fields");
#define LOCATIONS "START WAL LOCATION: 1/2 (file 000000010000000100000000)\nCHECKPOINT LOCATION: 1/3\n"
	check(backup_label_read(LOCATIONS "INCREMENTAL FROM LSN: A/B\nINCREMENTAL FROM TLI: 7\n", &label) &&
		  label.timeline == 1 &&
		  label.previous_start == UINT64_C(0xA0000000B) && label.previous_timeline == 7, "an incremental backup");
	check(!backup_label_read(LOCATIONS "INCREMENTAL FROM LSN: A/B\n", &label) &&
		  !backup_label_read(LOCATIONS "INCREMENTAL FROM TLI: 7\n", &label), "half of it");
	check(!backup_label_read(LOCATIONS "START TIMELINE: 2\n", &label), "two timelines");
	for (size_t i = 0; i < sizeof(not_labels) / sizeof(not_labels[0]); i++)
		check(!backup_label_read(not_labels[i], &label), "what the server refuses: %zu", i);
	for (size_t len = 0; len < strlen(text); len++)
	{
		char		cut[sizeof(text)];

		memcpy(cut, text, len);
		cut[len] = '\0';
		(void) backup_label_read(cut, &label);
	}
	check(!backup_label_read("LABEL: x\n", &label), "no label");
	check(backup_map_next("16384 /a\\\nb\n16385 /c\n", &at, &space) && space == 16384 && at == 12, "a map's first line");
	check(backup_map_next("16384 /a\\\nb\n16385 /c\n", &at, &space) && space == 16385 && at == 0, "its last");
	check(!backup_map_next("x /a\n", &at, &space) && !backup_map_next("1 \n", &at, &space) &&
		  !backup_map_next("4294967296 /a\n", &at, &space) && !backup_map_next("1 /a", &at, &space), "no map");
}

/* ---- pg_control ---- */

/*
 * Checksums that are not on yet, or no more, are no rule for pages.  The size of a
 * page of WAL is not that of this server.
 */
static void
test_control(void)
{
	static uint8_t bytes[BACKUP_CONTROL_BYTES];
	const uint32_t version = 1905;
	const uint32_t wal_page = 32768;
	BackupControl control;

	memcpy(bytes + 8, &version, sizeof(version));
	memcpy(bytes + 236, &wal_page, sizeof(wal_page));
	for (uint32_t state = 0; state < 4; state++)
	{
		memcpy(bytes + 268, &state, sizeof(state));
		check(backup_control_read(bytes, sizeof(bytes), &control) &&
			  control.checksums == (state == 1), "checksums in state %u", state);
		check(control.wal_block_size == wal_page, "the size of a page of WAL");
	}
}

/* ---- the end of a backup ---- */

/* A record of the resource manager XLOG whose main data begin with a location. */
static uint32_t
location_record(uint8_t *record, uint8_t info, uint64_t location)
{
	const uint32_t length = 34;

	memset(record, 0, 34);
	memcpy(record, &length, sizeof(length));
	record[WAL_REC_INFO] = info;
	record[WAL_REC_HEADER] = WAL_ID_DATA_SHORT;
	record[WAL_REC_HEADER + 1] = 8;
	memcpy(record + WAL_REC_HEADER + 2, &location, sizeof(location));
	return 34;
}

static bool
take(BackupEnd *ctx, uint64_t lsn, uint8_t info, uint64_t location)
{
	uint8_t		record[64];
	uint32_t	len = location_record(record, info, location);

	return backup_end_record(ctx, lsn, lsn + 40, record, len);
}

static void
test_ends(void)
{
	static BackupEnd ctx;

	ctx.start = 1000;
	ctx.checkpoint = 1100;
	check(take(&ctx, 1000, 0x10, 1000) && !ctx.has_checkpoint, "another checkpoint");
	check(take(&ctx, 1100, 0x50, 900) && ctx.end == 0 && !ctx.has_checkpoint, "the end of another backup");
	check(take(&ctx, 1100, 0x10, 1000) && ctx.has_checkpoint, "its checkpoint");
	check(take(&ctx, 1200, 0x40, 1000) && ctx.end == 0 && ctx.switched, "a switch");
	check(!take(&ctx, 1300, 0x50, 1000) && ctx.end == 1340 && ctx.began == 1000 && !ctx.switched, "its end");
	memset(&ctx, 0, sizeof(ctx));
	check(take(&ctx, 1100, 0x50, 900) && ctx.end == 1140 && ctx.began == 900, "the end of any");
	check(take(&ctx, 1200, 0x50, 901) && ctx.end == 1140, "the first one");
	memset(&ctx, 0, sizeof(ctx));
	ctx.start = 1000;
	ctx.checkpoint = 1100;
	check(take(&ctx, 1100, 0x00, 999) && !ctx.has_checkpoint, "a checkpoint that begins elsewhere");
}

/* ---- incremental files ---- */

#define SEGMENT	1000			/* blocks */

static const struct
{
	uint32_t	start[3];		/* magic, blocks, truncation length */
	size_t		present;
	uint64_t	size;
	BackupIncrementReason reason;
}			starts[] = {
	{{0xd3ae1f0d, 0, 0}, 12, 12, BACKUP_INCREMENT_OK},
	{{0xd3ae1f0d, 0, SEGMENT}, 12, 12, BACKUP_INCREMENT_OK},
	{{0xd3ae1f0d, 1, 0}, 12, 2 * 8192, BACKUP_INCREMENT_OK},
	{{0xd3ae1f0d, SEGMENT, 5}, 12, (1 + SEGMENT) * 8192, BACKUP_INCREMENT_OK},
	{{0xd3ae1f0d, 0, 0}, 11, 11, BACKUP_INCREMENT_SHORT},
	{{0xd3ae1f0d, 0, 0}, 0, 0, BACKUP_INCREMENT_SHORT},
	{{0xd3ae1f0c, 0, 0}, 12, 12, BACKUP_INCREMENT_MAGIC},
	{{0x0d1faed3, 0, 0}, 12, 12, BACKUP_INCREMENT_MAGIC},
	{{0xd3ae1f0d, SEGMENT + 1, 0}, 12, (2 + SEGMENT) * 8192, BACKUP_INCREMENT_COUNT},
	{{0xd3ae1f0d, UINT32_MAX, 0}, 12, 12, BACKUP_INCREMENT_COUNT},
	{{0xd3ae1f0d, 0, SEGMENT + 1}, 12, 12, BACKUP_INCREMENT_TRUNCATION},
	{{0xd3ae1f0d, 0, 0}, 12, 13, BACKUP_INCREMENT_SIZE},
	{{0xd3ae1f0d, 0, 0}, 12, 8192, BACKUP_INCREMENT_SIZE},
	{{0xd3ae1f0d, 1, 0}, 12, 2 * 8192 - 1, BACKUP_INCREMENT_SIZE},
	{{0xd3ae1f0d, 1, 0}, 12, 16 + 8192, BACKUP_INCREMENT_SIZE},
	{{0xd3ae1f0d, 1, 0}, 12, 3 * 8192, BACKUP_INCREMENT_SIZE},
};

static void
test_increment_starts(void)
{
	BackupIncrement increment;

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
	{
		uint8_t    *bytes = malloc(starts[i].present + 1);	/* valgrind guards it */
		BackupIncrementReason reason;

		memcpy(bytes, starts[i].start, starts[i].present);
		reason = backup_increment_read(bytes, starts[i].present, starts[i].size, SEGMENT, 8192, &increment);
		check(reason == starts[i].reason, "start %zu: %s", i, backup_increment_words(reason));
		if (reason == BACKUP_INCREMENT_OK)
			check(increment.header == (increment.blocks == 0 ? 12 : 8192) &&
				  increment.truncation == starts[i].start[2], "start %zu: what it says", i);
		free(bytes);
	}
	/* as many numbers as fill a block's header, and one more */
	for (uint32_t blocks = 2045; blocks <= 2046; blocks++)
	{
		const uint32_t start[3] = {0xd3ae1f0d, blocks, 0};
		uint64_t	header = blocks == 2045 ? 8192 : 16384;

		check(backup_increment_read((const uint8_t *) start, 12, header + (uint64_t) blocks * 8192, 131072, 8192, &increment) ==
			  BACKUP_INCREMENT_OK && increment.header == header, "%u blocks", blocks);
	}
}

static void
test_increment_blocks(const bool flags[SEGMENT])
{
	BackupIncrement increment = {0};
	uint32_t	numbers[SEGMENT];
	uint32_t	end = 0;

	for (uint32_t i = 0; i < SEGMENT; i++)
		if (flags[i])
		{
			numbers[increment.blocks++] = i;
			end = i + 1;
		}
	check(backup_increment_check(&increment, numbers, SEGMENT) == BACKUP_INCREMENT_OK, "blocks in order");
	check(backup_increment_end(&increment, numbers) == end, "the end");
	for (uint32_t i = 0; i <= SEGMENT; i++)
	{
		int64_t		n = backup_increment_find(&increment, numbers, i);

		check((n >= 0) == (i < SEGMENT && flags[i]) && (n < 0 || numbers[n] == i), "block %u", i);
	}
	for (uint32_t n = 0, run; n < increment.blocks; n += run)
	{
		run = backup_increment_run(&increment, numbers, n, 16);
		check(run >= 1 && run <= 16 && numbers[n + run - 1] == numbers[n] + run - 1, "a run");
		check(run == 16 || n + run == increment.blocks || !flags[numbers[n] + run], "all of it");
		check(n + run == increment.blocks || numbers[n + run] > numbers[n], "goes on");
		if (run == 0)
			break;
	}
	if (increment.blocks < 2)
		return;
	check(backup_increment_check(&increment, numbers, end - 1) == BACKUP_INCREMENT_RANGE, "a block too far");
	numbers[1] = numbers[0];
	check(backup_increment_check(&increment, numbers, SEGMENT) == BACKUP_INCREMENT_ORDER, "a block twice");
}

static void
test_increments(void)
{
	bool		flags[SEGMENT];

	test_increment_starts();
	for (uint32_t every = 1; every <= 1000; every = every * 3 + 1)
	{
		for (uint32_t i = 0; i < SEGMENT; i++)
			flags[i] = unit_random() % every == 0;
		test_increment_blocks(flags);
	}
	check(backup_increment_words(BACKUP_INCREMENT_OK)[0] == '\0', "no words");
}

/* ---- manifests ---- */

static int	nfiles;
static int	nranges;

static void
take_file(void *arg, const ManifestFile *file)
{
	(void) arg;
	nfiles++;
	check(backup_path_possible(file->path), "a path that comes through: %s", file->path);
}

static void
take_range(void *arg, const ManifestRange *range)
{
	(void) arg;
	nranges++;
	check(range->timeline != 0 && range->start <= range->end, "a range that comes through");
}

/* o O objects, a A arrays, f a field, s a string, n a number */
static const struct
{
	char		kind;
	const char *token;
}			whole[] = {
	{'o', ""}, {'f', "PostgreSQL-Backup-Manifest-Version"}, {'n', "2"},
	{'f', "System-Identifier"}, {'n', "18446744073709551615"},
	{'f', "Files"}, {'a', ""},
	{'o', ""}, {'f', "Path"}, {'s', "base/1/1259"}, {'f', "Size"}, {'n', "9223372036854775807"},
	{'f', "Checksum-Algorithm"}, {'s', "CRC32C"}, {'f', "Checksum"}, {'s', "01AbcdEF"}, {'O', ""},
	{'o', ""}, {'f', "Encoded-Path"}, {'s', "78FF79"}, {'f', "Size"}, {'n', "0"}, {'O', ""},
	{'A', ""},
	{'f', "WAL-Ranges"}, {'a', ""},
	{'o', ""}, {'f', "Timeline"}, {'n', "4294967295"}, {'f', "Start-LSN"}, {'s', "0/28"},
	{'f', "End-LSN"}, {'s', "FFFFFFFF/FFFFFFFF"}, {'O', ""},
	{'A', ""},
	{'f', "Manifest-Checksum"}, {'s', "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF"},
	{'O', ""},
};
#define NEVENTS	(sizeof(whole) / sizeof(whole[0]))

static void
feed_token(ManifestReader *reader, size_t event, const char *token)
{
	switch (whole[event].kind)
	{
		case 'o':
			manifest_object_start(reader);
			break;
		case 'O':
			manifest_object_end(reader);
			break;
		case 'a':
			manifest_array_start(reader);
			break;
		case 'A':
			manifest_array_end(reader);
			break;
		case 'f':
			manifest_field(reader, token);
			break;
		default:
			manifest_scalar(reader, token, whole[event].kind == 's',
							whole[event].kind == 'n');
	}
}

static void
feed(ManifestReader *reader, size_t event)
{
	feed_token(reader, event, whole[event].token);
}

static void
begin(ManifestReader *reader)
{
	memset(reader, 0x5A, sizeof(*reader));
	manifest_begin(reader);
	reader->file = take_file;
	reader->range = take_range;
	nfiles = nranges = 0;
}

static void
test_manifests(void)
{
	ManifestReader reader;

	begin(&reader);
	for (size_t i = 0; i < NEVENTS; i++)
		feed(&reader, i);
	check(manifest_finish(&reader) && nfiles == 2 && nranges == 1, "a whole manifest: %s",
		  reader.error ? reader.error : "");
	check(reader.version == 2 && reader.has_system && reader.system == UINT64_MAX &&
		  reader.own[31] == 0xFF && reader.own[1] == 0x11, "what it says");
	for (size_t cut = 0; cut < NEVENTS; cut++)
	{
		begin(&reader);
		for (size_t i = 0; i < cut; i++)
			feed(&reader, i);
		check(!manifest_finish(&reader), "cut after %zu events", cut);
	}
	/* without a field's name; without a field that has a plain value */
	for (size_t left = 0; left < NEVENTS; left++)
		for (size_t count = 1; count <= 2; count++)
		{
			if (whole[left].kind != 'f' ||
				(count == 2 && whole[left + 1].kind != 's' && whole[left + 1].kind != 'n'))
				continue;
			begin(&reader);
			for (size_t i = 0; i < NEVENTS; i++)
				if (i < left || i >= left + count)
					feed(&reader, i);
			check(!manifest_finish(&reader), "without event %zu (%zu)", left, count);
		}
	/* without a value, or the end of an array's last object; no parser does that */
	for (size_t left = 0; left < NEVENTS; left++)
	{
		if (whole[left].kind != 's' && whole[left].kind != 'n' && whole[left].kind != 'O')
			continue;
		begin(&reader);
		for (size_t i = 0; i < NEVENTS; i++)
			if (i != left)
				feed(&reader, i);
		check(!manifest_finish(&reader), "without the value or end %zu", left);
	}
	for (int round = 0; round < 20000; round++)
	{
		begin(&reader);
		for (int i = 0; i < 30; i++)
			feed(&reader, (size_t) (unit_random() % NEVENTS));
		check(!manifest_finish(&reader), "random events");
	}
}

/* Values that no server writes, each in the place of one that is in order. */
static void
test_manifest_values(void)
{
	static const struct
	{
		const char *token;
		const char *instead;
	}			values[] = {
		{"4294967295", "0"}, {"4294967295", "4294967296"},
		{"9223372036854775807", "9223372036854775808"},
		{"0/28", "0/123456789"}, {"0/28", "28"}, {"FFFFFFFF/FFFFFFFF", "/0"},
		{"78FF79", "780079"}, {"78FF79", "78FF7"}, {"78FF79", "78FG79"},
		{"base/1/1259", "/base/1/1259"}, {"CRC32C", "CRC32"},
		{"01AbcdEF", "01AbcdE"}
	};

	for (size_t n = 0; n < sizeof(values) / sizeof(values[0]); n++)
	{
		ManifestReader reader;

		begin(&reader);
		for (size_t i = 0; i < NEVENTS; i++)
			feed_token(&reader, i, strcmp(whole[i].token, values[n].token) == 0 ?
					   values[n].instead : whole[i].token);
		check(!manifest_finish(&reader), "%s in the place of %s",
			  values[n].instead, values[n].token);
	}
}

/* ---- their JSON ---- */

static char last_path[BACKUP_PATH_MAX];

static void
keep_path(void *arg, const ManifestFile *file)
{
	take_file(arg, file);
	snprintf(last_path, sizeof(last_path), "%s", file->path);
}

/* In memory that ends with the text, for who finds reads after it. */
static ManifestParsed
parse_bytes(ManifestReader *reader, const char *text, size_t size, size_t *at)
{
	char	   *bytes = malloc(size + (size == 0));
	ManifestParsed parsed;

	memcpy(bytes, text, size);
	begin(reader);
	reader->file = keep_path;
	parsed = manifest_parse(reader, bytes, size, at);
	free(bytes);
	return parsed;
}

static const char whole_text[] =
"{ \"PostgreSQL-Backup-Manifest-Version\": 1,\n\"Files\": [\n"
"{ \"Path\": \"base/1/1259\", \"Size\": 8192, \"Checksum-Algorithm\": \"CRC32C\", \"Checksum\": \"01abcdef\" },\n"
"\t{ \"Path\": \"PG_VERSION\", \"Size\": 3 }\r\n],\n"
"\"WAL-Ranges\": [ { \"Timeline\": 1, \"Start-LSN\": \"0/28\", \"End-LSN\": \"0/100\" } ],\n"
"\"Manifest-Checksum\": \"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"}\n";
#define WHOLE_SIZE	(sizeof(whole_text) - 1)

static void
test_json(void)
{
	static const struct
	{
		const char *text;
		size_t		at;
	}			invalid[] = {
		{"", 0}, {" \n", 2}, {"\"", 1}, {"tru", 0}, {"nul\"", 0}, {"-", 1}, {"-x", 1}, {"1.", 2}, {"1.e1", 2}, {"1e", 2}, {"1e+", 3}, {".5", 0}, {"+1", 0},
		{"{", 1}, {"{]", 1}, {"{1:2}", 1}, {"{,}", 1}, {"\"\\", 2}, {"\"\\x\"", 2},
		{"\"\\u12\"", 5}, {"\"\\u000g\"", 6}, {"\"\\u0000\"", 7}, {"\"\\uDC00\"", 7}, {"\"\\uD800\"", 7}, {"\"\\uD800\\n\"", 7}, {"\"\\uD800\\u0041\"", 13},
		{"\"\n\"", 1}, {"\"a\x1f\"", 2},
		{"{\"PostgreSQL-Backup-Manifest-Version\" 1}", 38}, {"{\"PostgreSQL-Backup-Manifest-Version\": 1 2}", 41}, {"{\"PostgreSQL-Backup-Manifest-Version\": 1,}", 41},
		{"{\"PostgreSQL-Backup-Manifest-Version\": 1]", 40}, {"{\"PostgreSQL-Backup-Manifest-Version\": 1, \"Files\": [,", 52}
	};
	static char long_text[9 * BACKUP_PATH_MAX];
	ManifestReader reader;
	size_t		at;

	check(parse_bytes(&reader, whole_text, WHOLE_SIZE, &at) == MANIFEST_PARSED &&
		  at == WHOLE_SIZE && manifest_finish(&reader) && nfiles == 2 && nranges == 1,
		  "a whole text: %s", reader.error ? reader.error : "");
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
		check(parse_bytes(&reader, invalid[i].text, strlen(invalid[i].text), &at) == MANIFEST_INVALID &&
			  at == invalid[i].at, "%s is invalid at %zu (%zu)", invalid[i].text, invalid[i].at, at);
	check(parse_bytes(&reader, "{\0}", 3, &at) == MANIFEST_INVALID && at == 1, "a zero");
	memset(long_text, 'x', sizeof(long_text));
	long_text[0] = '"';
	check(parse_bytes(&reader, long_text, sizeof(long_text), &at) == MANIFEST_EXCESSIVE, "a long string");
	memset(long_text, '9', sizeof(long_text));
	check(parse_bytes(&reader, long_text, sizeof(long_text), &at) == MANIFEST_EXCESSIVE, "a long number");
}

static void
test_json_strings(void)
{
	static const struct
	{
		const char *json;
		const char *path;
	}			strings[] = {
		{"a b", "a b"}, {"\\\"\\\\\\/x\\b\\f\\n\\r\\t", "\"\\/x\b\f\n\r\t"},
		{"\\u0041\\u00e9\\u20AC\\uD83D\\uDE00\\u0001", "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\x01"},
		{"\\uDBFF\\uDFFF\\u07ff\\u0800\\uFFFF", "\xF4\x8F\xBF\xBF\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"},
		{"\xFF\xC3", "\xFF\xC3"}
	};
	ManifestReader reader;
	char		text[512];
	size_t		at;

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
	{
		int			size = snprintf(text, sizeof(text),
									"{\"PostgreSQL-Backup-Manifest-Version\":1,\"Files\":[{\"Path\":\"%s\",\"Size\":0}]}",
									strings[i].json);

		last_path[0] = '\0';
		check(parse_bytes(&reader, text, (size_t) size, &at) == MANIFEST_PARSED &&
			  strcmp(last_path, strings[i].path) == 0, "string %s: %s", strings[i].json, last_path);
	}
}

/* What is cut never comes to its end. */
static void
test_json_damage(void)
{
	ManifestReader reader;
	char		text[sizeof(whole_text)];
	size_t		at;
	ManifestParsed parsed;

	for (size_t cut = 0; cut < WHOLE_SIZE - 1; cut++)
	{
		parsed = parse_bytes(&reader, whole_text, cut, &at);
		check(at <= cut && (parsed != MANIFEST_PARSED || !manifest_finish(&reader)),
			  "cut after %zu bytes", cut);
	}
	for (size_t i = 0; i < 20 * WHOLE_SIZE; i++)
	{
		memcpy(text, whole_text, sizeof(text));
		text[i % WHOLE_SIZE] = (char) unit_random();
		parsed = parse_bytes(&reader, text, WHOLE_SIZE, &at);
		check(at <= WHOLE_SIZE && (parsed != MANIFEST_PARSED || at == WHOLE_SIZE || reader.error != NULL),
			  "byte %zu replaced", i % WHOLE_SIZE);
	}
}

/* ---- fates ---- */

#define PAGES	64
#define BLOCK	8192

/* A reference without data, which may make the page anew. */
static void
make_reference(const WalBlockTag *tag, bool init)
{
	make_record(10, 0);
	put8(0);
	put8((uint8_t) (tag->fork | (init ? WAL_BLOCK_WILL_INIT : 0)));
	made_bytes += 2;				/* no data */
	put_locator(tag);
	put32(tag->block);
	put_end();
}

static void
make_drop(const WalBlockTag *tag, bool abort)
{
	make_record(1, (uint8_t) ((abort ? 0x20 : 0x00) | 0x80));
	put_main(8 + 4 + 8 + 4 + 8 + 4 + 12);
	made_bytes += 8;				/* time */
	put32(7);					/* database, subtransactions, relations */
	made_bytes += 8;
	put32(2);
	made_bytes += 8;
	put32(1);
	put_locator(tag);
	put_end();
}

static void
make_truncate(const WalBlockTag *tag)
{
	make_record(2, 0x20);
	put_main(20);
	put32(tag->block);
	put_locator(tag);
	put32(7);
	put_end();
}

/* What the database is a copy of, in the same tablespace. */
static uint32_t
source_of(uint32_t database)
{
	return database ^ 3;		/* 5 and 6 */
}

static void
make_database(const WalBlockTag *tag, bool drop)
{
	make_record(4, drop ? 0x20 : 0x00);
	put_main(drop ? 12 : 16);
	put32(tag->database);
	put32(drop ? 1 : tag->tablespace);
	put32(drop ? tag->tablespace : source_of(tag->database));
	if (!drop)
		put32(tag->tablespace);
	put_end();
}

/* Which of the files 100 to 103 the last map names, a bit for each. */
static uint32_t mapped_files;

static void
make_map(const WalBlockTag *tag)
{
	mapped_files = (uint32_t) unit_random() & 15;
	make_record(7, 0);
	put_main(12 + 8 + 8 * 4);
	put32(tag->database);
	put32(tag->tablespace);
	put32(512);
	put32(0x592717);
	put32(4);
	for (uint32_t i = 0; i < 4; i++)
	{
		put32(1247 + i);
		put32(mapped_files >> i & 1 ? 100 + i : 200 + i);
	}
	put_end();
}

static void
make_create(const WalBlockTag *tag)
{
	make_record(2, 0x10);
	put_main(16);
	put32(tag->tablespace);
	put32(tag->database);
	put32(tag->relation);
	put32(tag->fork);
	put_end();
}

/* CREATE DATABASE that logs what it makes. */
static void
make_version(const WalBlockTag *tag)
{
	make_record(4, 0x10);
	put_main(8);
	put32(tag->database);
	put32(tag->tablespace);
	put_end();
}

/*
 * What each kind of record makes of a page, or of a file that a map lacks, by
 * the words of backup/fate.h.
 */
static bool
concerns(int kind, const WalBlockTag *at, const WalBlockTag *page,
		 BackupSuspectKind what, BackupFate *fate)
{
	bool		database = at->tablespace == page->tablespace && at->database == page->database;
	bool		relation = database && at->relation == page->relation;

	*fate = BACKUP_FATE_GONE;
	switch (kind)
	{
		case 0:
			*fate = BACKUP_FATE_READ;
			return wal_block_tag_equal(at, page);
		case 1:
			*fate = BACKUP_FATE_RESTORED;
			return wal_block_tag_equal(at, page);
		case 2:
		case 3:
			return relation;
		case 4:
			/* two upper pages of an FSM stay */
			if (page->block == PAGE_BLOCK_MAX)
				return relation && what == BACKUP_SUSPECT_FILE && at->block == 0;
			return relation && (page->fork == 0 ? page->block >= at->block :
								at->block == 0 && page->fork < 3 &&
								(page->fork == 2 || page->block >= 2));
		case 5:
			return database;
		case 6:
			return database;
		case 7:
			*fate = BACKUP_FATE_RESTORED;
			return database && (what == BACKUP_SUSPECT_MAP ||
								(what == BACKUP_SUSPECT_MAPPED && (mapped_files >> (page->relation - 100) & 1) == 0));
		case 8:
			*fate = BACKUP_FATE_RESTORED;
			return relation && at->fork == page->fork &&
				(what == BACKUP_SUSPECT_MAPPED || what == BACKUP_SUSPECT_NAMED);
		case 9:
			*fate = BACKUP_FATE_RESTORED;
			return database && what == BACKUP_SUSPECT_VERSION;
		default:
			*fate = BACKUP_FATE_UNKNOWN;
			return true;
	}
}

static void
make(int kind, const WalBlockTag *tag)
{
	if (kind <= 1)
		make_reference(tag, kind == 1);
	else if (kind <= 3)
		make_drop(tag, kind == 3);
	else if (kind == 4)
		make_truncate(tag);
	else if (kind <= 6)
		make_database(tag, kind == 5);
	else if (kind == 7)
		make_map(tag);
	else if (kind == 8)
		make_create(tag);
	else
		make_version(tag);
}

static WalBlockTag
random_tag(void)
{
	uint32_t	n = (uint32_t) unit_random();
	WalBlockTag tag = {1663 + (n & 1), 5 + (n >> 1 & 1), 100 + (n >> 2 & 3), n >> 4 & 3, n >> 6 & 3};

	return tag;
}

/* Where a suspect may be: in the backup, or in a copy with one of four tags. */
#define PLACES	5

typedef struct Modelled
{
	BackupSuspectKind kind;
	WalBlockTag tags[PLACES];
	bool		open[PLACES];	/* without a fate there */
	WalLsn		copied[PLACES]; /* by this record */
	BackupFate	fate;
	WalLsn		lsn;
} Modelled;

static Modelled
modelled(BackupSuspectKind kind, WalBlockTag tag)
{
	Modelled	model = {.kind = kind, .tags = {tag}, .open = {true}};

	for (uint32_t n = 1; n < PLACES; n++)
	{
		model.tags[n] = tag;
		model.tags[n].tablespace = 1663 + (n & 1);
		model.tags[n].database = 5 + (n >> 1 & 1);
	}
	return model;
}

static bool
is_open(const Modelled *model)
{
	for (int n = 0; n < PLACES; n++)
		if (model->open[n])
			return true;
	return false;
}

/* What it takes away is gone before something is copied there. */
static void
take_record(Modelled *model, int kind, const WalBlockTag *at, WalLsn lsn)
{
	WalBlockTag source = *at;

	for (int n = 0; n < PLACES && model->fate == BACKUP_FATE_NONE; n++)
	{
		BackupFate	fate;

		if (!model->open[n] || !concerns(kind, at, &model->tags[n], model->kind, &fate))
			continue;
		model->open[n] = false;
		if ((fate == BACKUP_FATE_RESTORED || fate == BACKUP_FATE_GONE) && is_open(model))
			continue;
		model->fate = fate;
		model->lsn = kind == 10 ? 0 : lsn;
	}
	source.database = source_of(at->database);
	for (int n = 0; n < PLACES && kind == 6; n++)
		for (int copy = 1; copy < PLACES; copy++)
			if (model->open[n] && concerns(5, &source, &model->tags[n], model->kind, &(BackupFate) {0}) &&
				concerns(5, at, &model->tags[copy], model->kind, &(BackupFate) {0}))
			{
				model->open[copy] = true;
				model->copied[copy] = lsn;
			}
}

/* No record is left: a copy that stays was read by the one that made it. */
static bool
fits(const Modelled *model, const BackupSuspect *suspect)
{
	bool		copy = false;
	bool		by_copy = false;

	for (int n = 1; n < PLACES; n++)
		if (model->open[n])
		{
			copy = true;
			by_copy |= suspect->lsn == model->copied[n];
		}
	if (model->fate == BACKUP_FATE_NONE && copy)
		return suspect->fate == BACKUP_FATE_READ && by_copy;
	return suspect->fate == model->fate && suspect->lsn == model->lsn;
}

static void
walk_randomly(void)
{
	static BackupFates fates;
	BackupSuspect suspects[PAGES];
	Modelled	models[PAGES];

	for (uint32_t i = 0; i < PAGES; i++)
	{
		BackupSuspectKind kind = i % 4 == 0 ? 1 + i / 4 % 5 : BACKUP_SUSPECT_PAGE;
		WalBlockTag tag = random_tag();

		if (kind == BACKUP_SUSPECT_MAP || kind == BACKUP_SUSPECT_VERSION)
			tag.relation = tag.fork = tag.block = 0;
		else if (kind != BACKUP_SUSPECT_PAGE)
		{
			tag.fork = kind == BACKUP_SUSPECT_NAMED && tag.fork == 3 ? 3 : 0;
			tag.block = PAGE_BLOCK_MAX;
		}
		models[i] = modelled(kind, tag);
		suspects[i].kind = kind;
		suspects[i].tag = tag;
		suspects[i].number = i;
	}
	backup_fates_begin(&fates, suspects, PAGES, BLOCK);
	for (WalLsn lsn = 1; lsn < 40; lsn++)
	{
		WalBlockTag at = random_tag();
		uint64_t	dice = unit_random() % 100;
		int			kind = dice < 40 ? 0 : dice < 80 ? 1 : dice < 85 ? 6 : dice == 99 ? 10 : 2 + (int) (dice % 8);

		if (kind != 10)
			make(kind, &at);
		if (kind == 10)
			backup_fates_gap(&fates);
		else
			backup_fates_record(&fates, lsn, made, made_bytes);
		for (int i = 0; i < PAGES; i++)
			take_record(&models[i], kind, &at, lsn);
	}
	backup_fates_end(&fates);
	for (int i = 0; i < PAGES; i++)
	{
		const Modelled *model = &models[suspects[i].number];

		check(fits(model, &suspects[i]), "kind %d: fate %d at %d, expected %d at %d", model->kind,
			  suspects[i].fate, (int) suspects[i].lsn, model->fate, (int) model->lsn);
	}
}

/* What is copied too often is read, and what is dropped makes room. */
static void
test_copies(void)
{
	static BackupFates fates;
	WalBlockTag tag = {1663, 5, 100, 0, 1};
	WalBlockTag copy = tag;
	BackupSuspect suspect = {.tag = tag};

	for (int drops = 0; drops < 2; drops++)
	{
		backup_fates_begin(&fates, &suspect, 1, BLOCK);
		for (WalLsn lsn = 1; lsn <= BACKUP_COPIES_MAX + 1; lsn++)
		{
			check(suspect.fate == BACKUP_FATE_NONE, "no fate before copy %d", (int) lsn);
			make_record(4, 0x00);
			put_main(16);
			copy.database = 100 + (uint32_t) lsn;
			put32(copy.database);
			put32(copy.tablespace);
			put32(tag.database);
			put32(tag.tablespace);
			put_end();
			backup_fates_record(&fates, lsn, made, made_bytes);
			if (drops)
			{
				make_database(&copy, true);
				backup_fates_record(&fates, lsn, made, made_bytes);
			}
		}
		backup_fates_end(&fates);
		check(suspect.fate == (drops ? BACKUP_FATE_NONE : BACKUP_FATE_READ) &&
			  suspect.lsn == (drops ? 0 : BACKUP_COPIES_MAX + 1), "fate %d of %d copies",
			  suspect.fate, BACKUP_COPIES_MAX + 1);
	}
}

static void
test_fates(void)
{
	WalBlockTag tag = {1663, 5, 100, 0, 1};
	BackupSuspect suspect = {.tag = tag};
	static BackupFates fates;

	for (int round = 0; round < 2000; round++)
		walk_randomly();
	test_copies();
	/* lengths that lie are never followed */
	for (int kind = 2; kind < 8; kind++)
		for (int round = 0; round < 3000; round++)
		{
			make(kind, &tag);
			for (int n = 0; n < 3; n++)
				made[WAL_REC_HEADER + unit_random() % (made_bytes - WAL_REC_HEADER)] = (uint8_t) unit_random();
			backup_fates_begin(&fates, &suspect, 1, BLOCK);
			backup_fates_record(&fates, 1, made, made_bytes);
		}
	/* what cannot be decoded is as good as missing */
	make_reference(&tag, true);
	made[WAL_REC_HEADER] = 77;
	backup_fates_begin(&fates, &suspect, 1, BLOCK);
	backup_fates_record(&fates, 1, made, made_bytes);
	check(suspect.fate == BACKUP_FATE_UNKNOWN, "a record that cannot be decoded");
	/* so is what may have dropped the page, or not */
	make_truncate(&tag);
	made[WAL_REC_INFO] = 0x30;
	backup_fates_begin(&fates, &suspect, 1, BLOCK);
	backup_fates_record(&fates, 1, made, made_bytes);
	check(suspect.fate == BACKUP_FATE_UNKNOWN && suspect.lsn == 0,
		  "a record about storage that cannot be understood");
}

int
main(int argc, char **argv)
{
	unit_begin("test_backup", argc, argv);
	test_names();
	test_labels();
	test_ends();
	test_control();
	test_manifests();
	test_manifest_values();
	test_json();
	test_json_strings();
	test_json_damage();
	test_increments();
	test_fates();
	check(strcmp(backup_status_name(BACKUP_HEALED_BY_WAL), "ok_healed_by_wal") == 0, "a status");
	return unit_finish();
}
