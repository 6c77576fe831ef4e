/* needs: kernel wal list */
/*
 * test_wal_list.c
 *	  Gaps in a directory of WAL that others fill, or empty, while it is listed.
 *
 * The directory is a list of numbers here, and each pause changes it.  Segments
 * that come late, or that a server removes in no order, are no gap.  One that
 * stays is found.
 */
#include "unit.h"
#include "host_memory.h"

#include "wal/list.h"
#include "wal/source.h"

#define MEGABYTE	(1024 * 1024)
#define NUMBERS_MAX	10

/* The numbers that are there at first, and after each pause. */
typedef struct Case
{
	const char *title;
	const char *listings[8];	/* digits; the last one stays */
	const char *missing;
	int			pauses;			/* that it must take */
	uint32_t	last;			/* that is asked for, 0 for all */
	bool		rest_elsewhere;
} Case;

static const Case *at_work;
static int	pauses;

/* ---- the program around the rooms ---- */

/* It is asked for each missing segment, too; only pauses count. */
void
host_interrupts(void)
{
}

int
usleep(useconds_t microseconds)
{
	(void) microseconds;
	pauses++;
	return 0;
}

bool
host_list(const char *directory, void (*entry) (void *arg, const char *name),
		  void *arg)
{
	const char *digits = at_work->listings[0];

	(void) directory;
	for (int i = 1; i <= pauses && at_work->listings[i] != NULL; i++)
		digits = at_work->listings[i];
	for (; *digits != '\0'; digits++)
	{
		char		name[25];

		snprintf(name, sizeof(name), "0000000100000000%08d", *digits - '0');
		entry(arg, name);
	}
	return true;
}

HostServer
host_server(void)
{
	HostServer	server = {0};

	return server;
}

int
host_limits(WalLiveLimit limits[WAL_LIVE_LIMITS_MAX])
{
	(void) limits;
	return 0;
}

uint64_t
host_removed(void)
{
	return 0;
}

WalPath
wal_timelines_path(const WalTimelines *ctx, uint32_t timeline)
{
	WalPath		path = {timeline, false, 0, NULL};

	(void) ctx;
	return path;
}

uint32_t
wal_timelines_file(const char *name)
{
	(void) name;
	return 0;
}

void
wal_timelines_read(WalTimelines *ctx, const char *directory, uint32_t *found,
				   size_t nfound)
{
	(void) ctx;
	(void) directory;
	(void) found;
	(void) nfound;
}

WalBackups
wal_backups_read(const WalDirectory *dir)
{
	WalBackups	none = {0};

	(void) dir;
	return none;
}

bool
wal_backups_between(const WalBackups *backups, uint32_t segment_size,
					const WalName *before, const WalName *after)
{
	(void) backups;
	(void) segment_size;
	(void) before;
	(void) after;
	return false;
}

/* No file is opened. */
void
wal_file_init(WalFile *file, bool direct)
{
	(void) file;
	(void) direct;
}

void
wal_file_end(WalFile *file)
{
	(void) file;
}

void
wal_file_close(WalFile *file)
{
	(void) file;
}

FileScanResult
wal_file_open(WalFile *file, const char *path, DecodeFormat named)
{
	(void) file;
	(void) path;
	(void) named;
	return FILE_SCAN_MISSING;
}

WalSource
wal_source_file(WalFile *file, uint8_t *buffer)
{
	(void) file;
	return wal_source_bytes(buffer, 0);
}

WalSource
wal_source_bytes(const uint8_t *data, uint64_t size)
{
	WalSource	source = {0};

	(void) data;
	(void) size;
	return source;
}

const uint8_t *
wal_source_piece(WalSource *source, uint64_t offset, size_t wanted, size_t *len)
{
	(void) source;
	(void) offset;
	(void) wanted;
	*len = 0;
	return NULL;
}

/* ---- gaps ---- */

static void
print_missing(const WalNames *list, char missing[NUMBERS_MAX + 1])
{
	size_t		count = 0;

	for (size_t i = 0; i < list->count; i++)
		if (list->names[i].kind == WAL_KIND_MISSING && count < NUMBERS_MAX)
			missing[count++] = (char) ('0' + list->names[i].low);
	missing[count] = '\0';
}

static void
test_case(const Case *it, bool by_name)
{
	WalListing	listing = {0};
	WalDirectory dir = {0};
	WalRange	range = {MEGABYTE, it->last == 0 ? WAL_LSN_MAX : (it->last + 1) * MEGABYTE};
	char		missing[NUMBERS_MAX + 1];
	WalNames	list;

	at_work = it;
	pauses = 0;
	dir.path = "somewhere";
	dir.limits.segment_size = MEGABYTE;
	dir.listing = &listing;
	if (by_name)
		wal_list_names(&dir, NULL, NULL, &list);
	else
		wal_list_range(&dir, range, 1, it->rest_elsewhere, &list);
	print_missing(&list, missing);
	check(strcmp(missing, it->missing) == 0 && pauses == it->pauses,
		  "%s, by %s: missing \"%s\" after %d pauses", it->title,
		  by_name ? "name" : "position", missing, pauses);
	host_free(list.names);
	host_free(listing.files.names);
}

static const Case cases[] = {
	{"no gap", {"1234"}, "", 0, 0, false},
	{"a gap that stays", {"124"}, "3", 3, 0, false},
	{"two gaps that stay", {"1357"}, "246", 3, 0, false},
	{"a segment that came while the others were listed", {"124", "1234"}, "", 1, 0, false},
	{"segments that come late", {"126", "126", "1246", "12456", "123456"}, "", 4, 0, false},
	{"a gap, and another one that closes", {"1257", "1257", "12567"}, "34", 5, 0, false},
	{"all is gone", {"124", ""}, "", 1, 0, false},
};

/* Who asks from a position on wants what was removed. */
static const Case removals[] = {
	{"removed in no order", {"12456", "1456", "456"}, "", 2, 0, false},
	{"removed in no order, slowly", {"12456", "12456", "12456", "1456", "1456", "1456", "456"}, "", 6, 0, false},
};

static const Case ranges[] = {
	{"the end is missing", {"1234"}, "56", 3, 6, false},
	{"the end comes", {"1234", "123456"}, "", 1, 6, false},
	{"the end is elsewhere", {"1234"}, "56", 0, 6, true},
	{"all is elsewhere", {""}, "123456", 0, 6, true},
	{"a gap before an end that is elsewhere", {"1245"}, "36", 3, 6, true},
	{"the beginning is too old", {"3456"}, "12", 0, 6, true},
	{"the beginning, where nothing else is asked", {"3456"}, "12", 3, 6, false},
};

int
main(int argc, char **argv)
{
	unit_begin("test_wal_list", argc, argv);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		test_case(&ranges[i], false);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (int by_name = 0; by_name < 2; by_name++)
			if (by_name || cases[i].listings[1] == NULL || cases[i].listings[1][0] != '\0')
				test_case(&cases[i], by_name);
	for (size_t i = 0; i < sizeof(removals) / sizeof(removals[0]); i++)
		test_case(&removals[i], true);
	return unit_finish();
}
