/*
 * archive.c
 *	  What to read of a WAL archive, by what is remembered of its files.
 *
 * Segments of an archive are written once.  So one that was sound, and whose
 * size and modification time are the same, needs no second reading.  If it is
 * read again, after a time, its CRC-32C must be the one that is remembered.  A
 * file that changes without being written is decaying, whether or not the WAL
 * in it can still be decoded.
 *
 * What was not sound is read again, too, and so is a file that was written in
 * the very moment when it was read.  A border is open if a record over it
 * could not be judged for lack of the neighbour.  Its segment is read again
 * once that neighbour is read.
 *
 * A file that is gone is missing, unless all that is left is newer, since
 * archives are pruned from their old end.  Where another file has the same
 * segment, it was compressed, say, or completed, and takes over what is
 * remembered.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "host/file_time.h"
#include "wal/archive.h"

/* ---- memory ---- */

static WalArchiveFile *
add_file(WalArchive *archive, const WalName *name)
{
	WalArchiveFile *file;

	HOST_MAKE_ROOM(archive->files, archive->count, archive->room);
	file = &archive->files[archive->count++];
	memset(file, 0, sizeof(*file));
	file->name = *name;
	return file;
}

void
wal_archive_remember(WalArchive *archive, const WalName *name,
					 const WalArchiveMemory *memory)
{
	WalArchiveFile *file = add_file(archive, name);

	file->state = WAL_ARCHIVE_MISSING;	/* unless it is listed */
	file->remembered = true;
	file->memory = *memory;
}

static int
compare_files(const void *a, const void *b)
{
	return wal_name_compare(&((const WalArchiveFile *) a)->name,
							&((const WalArchiveFile *) b)->name);
}

static void
sort_files(WalArchive *archive)
{
	if (archive->count > 1)
		qsort(archive->files, archive->count, sizeof(WalArchiveFile),
			  compare_files);
}

/* Is its WAL what it should be, as far as it alone can tell? */
static bool
is_sound(WalStatus status)
{
	switch (status)
	{
		case WAL_OK:
		case WAL_OK_END_OF_WAL:
		case WAL_OK_SWITCHED:
		case WAL_OK_PARTIAL:
		case WAL_OK_RECYCLED:
		case WAL_OK_UNUSED:
		case WAL_FOREIGN_SYSTEM:
			return true;
		default:
			return false;
	}
}

/* ---- files ---- */

/* One that may be written again at the same time is not known. */
static int64_t
settled_time(const struct timespec *mtime)
{
	return file_time_is_settled(mtime) ? file_time_microseconds(mtime) :
		WAL_MTIME_UNKNOWN;
}

/*
 * Takes the stat of a file.  Returns false if that fails, and errno says why.
 * Nothing is then known of the file.
 */
static bool
read_stat(const WalDirectory *dir, const WalName *name, WalArchiveStat *result)
{
	char	   *path = wal_directory_file(dir, name);
	struct stat status;
	bool		done = stat(path, &status) == 0;

	result->size = done ? (uint64_t) status.st_size : 0;
	result->mtime = done ? settled_time(&status.st_mtim) : WAL_MTIME_UNKNOWN;
	host_free(path);
	return done;
}

static bool
is_same(const WalArchiveStat *a, const WalArchiveStat *b)
{
	return a->size == b->size && a->mtime == b->mtime &&
		a->mtime != WAL_MTIME_UNKNOWN;
}

bool
wal_archive_look(const WalArchive *archive, WalArchiveFile *file)
{
	bool		there = read_stat(archive->dir, &file->name, &file->stat);

	file->same = file->remembered && is_same(&file->stat, &file->memory.stat);
	return there || errno != ENOENT;
}

/* ---- what is there ---- */

static WalArchiveFile *
find_remembered(WalArchive *archive, size_t remembered, const WalName *name)
{
	WalArchiveFile wanted;

	wanted.name = *name;
	return remembered == 0 ? NULL :
		bsearch(&wanted, archive->files, remembered, sizeof(WalArchiveFile),
				compare_files);
}

/* What is remembered is in order. */
static void
add_listed(WalArchive *archive)
{
	size_t		remembered = archive->count;
	WalNames	list;

	wal_list_names(archive->dir, NULL, NULL, &list);
	for (size_t i = 0; i < list.count; i++)
	{
		bool		gap = list.names[i].kind == WAL_KIND_MISSING;
		WalArchiveFile *file = gap ? NULL :
			find_remembered(archive, remembered, &list.names[i]);

		host_interrupts();
		if (file == NULL)
			file = add_file(archive, &list.names[i]);
		file->state = gap ? WAL_ARCHIVE_GAP : WAL_ARCHIVE_THERE;
		archive->there += gap ? 0 : 1;
	}
	host_free(list.names);
}

static uint64_t
segno_of(const WalArchive *archive, const WalArchiveFile *file)
{
	return wal_name_segno(&file->name, archive->dir->limits.segment_size);
}

/* Returns the lowest number of a file that is there, 0 if none is. */
static uint64_t
lowest_segno(const WalArchive *archive)
{
	uint64_t	lowest = UINT64_MAX;

	for (size_t i = 0; i < archive->count; i++)
		if (archive->files[i].state == WAL_ARCHIVE_THERE &&
			segno_of(archive, &archive->files[i]) < lowest)
			lowest = segno_of(archive, &archive->files[i]);
	return archive->there > 0 ? lowest : 0;
}

/* ---- files of one segment ---- */

/*
 * Returns one of the files of a segment that is there and can take a file's
 * place.
 */
static WalArchiveFile *
replacement(WalArchiveFile *files, size_t count, const WalArchiveFile *gone)
{
	for (size_t i = 0; i < count; i++)
		if (files[i].state == WAL_ARCHIVE_THERE &&
			(files[i].name.kind == gone->name.kind ||
			 files[i].name.kind == WAL_KIND_SEGMENT))
			return &files[i];
	return NULL;
}

/* A file is gone, and another one has its segment. */
static void
inherit_memory(WalArchiveFile *file, const WalArchiveFile *gone)
{
	if (file->remembered || file->name.kind != gone->name.kind)
		return;
	file->memory.has_crc = gone->memory.has_crc;
	file->memory.crc = gone->memory.crc;
	file->memory.sound_at = gone->memory.sound_at;
}

/* Judges what of one segment is gone, and why.  A gap is reported once. */
static void
judge_absence(WalArchiveFile *files, size_t count, bool expired)
{
	bool		missing = false;

	for (size_t i = 0; i < count; i++)
	{
		WalArchiveFile *other;

		if (files[i].state != WAL_ARCHIVE_MISSING)
			continue;
		other = replacement(files, count, &files[i]);
		if (other != NULL)
		{
			files[i].state = WAL_ARCHIVE_REPLACED;
			inherit_memory(other, &files[i]);
		}
		else if (expired)
			files[i].state = WAL_ARCHIVE_EXPIRED;
		else
			missing = true;
	}
	for (size_t i = 0; missing && i < count; i++)
		if (files[i].state == WAL_ARCHIVE_GAP)
			files[i].state = WAL_ARCHIVE_REPLACED;
}

/* The gap at work. */
typedef struct Between
{
	WalBackups	backups;
	size_t		before;			/* a file that is there, once a gap has begun */
	size_t		after;			/* the next one, count if there is none */
	bool		by_design;
} Between;

/* Takes the files from one that is there to the next one that is. */
static void
begin_gap(const WalArchive *archive, Between *between, size_t before)
{
	size_t		after = before + 1;

	while (after < archive->count &&
		   archive->files[after].state != WAL_ARCHIVE_THERE)
		after++;
	between->before = before;
	between->after = after;
	between->by_design = after > before + 1 && after < archive->count &&
		wal_list_by_design(archive->dir, &between->backups,
						   &archive->files[before].name,
						   &archive->files[after].name);
}

/* Is a file among those that an archive drops between two backups? */
static bool
is_between_backups(const WalArchive *archive, Between *between, size_t i)
{
	if (i > 0 && archive->files[i - 1].state == WAL_ARCHIVE_THERE)
		begin_gap(archive, between, i - 1);
	return between->by_design && i > between->before && i < between->after;
}

static void
judge_absences(WalArchive *archive)
{
	uint64_t	lowest = lowest_segno(archive);
	Between		between = {{0}};
	size_t		end;

	for (size_t i = 0; i < archive->count; i = end)
	{
		const WalName *name = &archive->files[i].name;

		for (end = i + 1; end < archive->count; end++)
		{
			const WalName *other = &archive->files[end].name;

			if (other->timeline != name->timeline ||
				other->high != name->high || other->low != name->low)
				break;
		}
		judge_absence(&archive->files[i], end - i,
					  is_between_backups(archive, &between, i) ||
					  segno_of(archive, &archive->files[i]) < lowest);
	}
	host_free(between.backups.items);
}

/* ---- what is to be read ---- */

static bool
is_wanted(const WalArchiveFile *file, int64_t verified_before)
{
	return !file->remembered || !file->same ||
		!is_sound(file->memory.status) ||
		file->memory.verified_at <= verified_before;
}

typedef struct Numbered
{
	uint64_t	segno;
	WalArchiveFile *file;
} Numbered;

static int
compare_numbers(const void *a, const void *b)
{
	uint64_t	x = ((const Numbered *) a)->segno;
	uint64_t	y = ((const Numbered *) b)->segno;

	return (x > y) - (x < y);
}

/*
 * Of the files of one segment, wants those with an open border that can be
 * closed now.  Returns whether any of them is wanted.
 */
static bool
want_open(const Numbered *files, size_t count, bool start, bool closable)
{
	bool		wanted = false;

	for (size_t i = 0; i < count; i++)
	{
		WalArchiveFile *file = files[i].file;

		if (closable && file->remembered &&
			(start ? file->memory.start_open : file->memory.end_open))
			file->wanted = true;
		wanted = wanted || file->wanted;
	}
	return wanted;
}

/*
 * A record over many segments opens the borders of all of them.  So what is
 * wanted spreads to earlier segments with an open end, then to later ones with
 * an open start.  The files are in order of their numbers, of all timelines.
 */
static void
spread(const Numbered *files, size_t count)
{
	bool		wanted = false;
	size_t		end;
	size_t		begin;

	for (end = count; end > 0; end = begin)
	{
		uint64_t	segno = files[end - 1].segno;

		for (begin = end - 1; begin > 0 && files[begin - 1].segno == segno;)
			begin--;
		wanted = want_open(files + begin, end - begin, false, wanted &&
						   files[end].segno == segno + 1);
	}
	for (begin = 0; begin < count; begin = end)
	{
		uint64_t	segno = files[begin].segno;

		for (end = begin + 1; end < count && files[end].segno == segno;)
			end++;
		wanted = want_open(files + begin, end - begin, true, begin > 0 &&
						   wanted && files[begin - 1].segno + 1 == segno);
	}
}

static void
want_neighbours(WalArchive *archive)
{
	Numbered   *files = host_alloc((archive->there + 1) * sizeof(Numbered));
	size_t		count = 0;

	for (size_t i = 0; i < archive->count; i++)
		if (archive->files[i].state == WAL_ARCHIVE_THERE)
		{
			files[count].segno = segno_of(archive, &archive->files[i]);
			files[count++].file = &archive->files[i];
		}
	if (count > 1)
		qsort(files, count, sizeof(Numbered), compare_numbers);
	spread(files, count);
	host_free(files);
}

void
wal_archive_plan(WalArchive *archive, int64_t verified_before)
{
	sort_files(archive);
	add_listed(archive);
	sort_files(archive);
	judge_absences(archive);
	for (size_t i = 0; i < archive->count; i++)
	{
		WalArchiveFile *file = &archive->files[i];

		host_interrupts();
		if (file->state != WAL_ARCHIVE_THERE)
			continue;
		wal_archive_look(archive, file);
		file->wanted = is_wanted(file, verified_before);
	}
	want_neighbours(archive);
}

/* ---- verdicts ---- */

/* Is the segment another one than when it was sound? */
static bool
has_changed(const WalArchiveMemory *memory, const WalSegmentResult *result)
{
	if (!memory->has_crc)
		return false;
	return result->has_crc ? result->crc != memory->crc :
		result->message.reason == WAL_REASON_FILE_UNREADABLE;
}

/* Was the file not written meanwhile either? */
static bool
is_still_same(const WalArchive *archive, const WalArchiveFile *file)
{
	WalArchiveStat stat;

	return read_stat(archive->dir, &file->name, &stat) &&
		is_same(&stat, &file->stat);
}

/*
 * The CRC-32C is that of a sound file.  What is found instead is compared with
 * it the next time, too.
 */
WalArchiveVerdict
wal_archive_judge(const WalArchive *archive, const WalArchiveFile *file,
				  const WalSegmentResult *result, int64_t now)
{
	WalArchiveVerdict verdict = {0};
	WalArchiveMemory *memory = &verdict.memory;
	bool		sound = is_sound(result->status);
	bool		changed = has_changed(&file->memory, result);

	memory->status = result->status;
	memory->stat = file->stat;
	memory->verified_at = now;
	memory->start_open = result->counts.head_bytes > 0;
	memory->end_open = result->counts.tail_bytes > 0;
	verdict.rotten = changed && file->same && is_still_same(archive, file);
	if (verdict.rotten && (sound || result->status == WAL_NOT_VERIFIABLE))
		memory->status = WAL_CHANGED;
	verdict.rewritten = changed && sound && !verdict.rotten &&
		file->name.kind == WAL_KIND_SEGMENT;
	if (is_sound(memory->status))
	{
		memory->has_crc = result->has_crc;
		memory->crc = result->crc;
		memory->sound_at = now;
	}
	else if (file->same)
	{
		memory->has_crc = file->memory.has_crc;
		memory->crc = file->memory.crc;
		memory->sound_at = file->memory.sound_at;
	}
	return verdict;
}

void
wal_archive_words(const WalArchiveFile *file, const WalSegmentResult *result,
				  const WalArchiveVerdict *verdict, const char *when,
				  char words[WAL_ARCHIVE_WORDS])
{
	char		own[WAL_MESSAGE_SIZE] = "";
	char		crcs[64] = "no page is valid";

	wal_verdict_words(&result->message, own);
	if (result->status != WAL_NOT_VERIFIABLE)
		snprintf(crcs, sizeof(crcs), "CRC-32C %08X, was %08X", result->crc,
				 file->memory.crc);
	if (verdict->memory.status == WAL_CHANGED)
		snprintf(words, WAL_ARCHIVE_WORDS,
				 "other contents than at %s, with the same size and modification time: %s",
				 when, crcs);
	else if (verdict->rotten)
		snprintf(words, WAL_ARCHIVE_WORDS,
				 "%s (it was sound at %s and was not written since)",
				 own[0] == '\0' ? "no more is known" : own, when);
	else if (verdict->rewritten)
		snprintf(words, WAL_ARCHIVE_WORDS,
				 "written anew, with other contents than at %s", when);
	else
		strcpy(words, own);
}
