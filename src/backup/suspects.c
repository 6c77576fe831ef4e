/*
 * suspects.c
 *	  Pages of a backup that are not in order, until the WAL has decided.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backup/suspects.h"
#include "host/host.h"
#include "host/print.h"

#define MESSAGE_SIZE	512

static void
grow(BackupSuspects *ctx)
{
	if (ctx->count < ctx->room)
		return;
	ctx->room = ctx->room == 0 ? 256 : 2 * ctx->room;
	ctx->pages = host_grow(ctx->pages, ctx->room * sizeof(BackupBadPage));
	ctx->suspects = host_grow(ctx->suspects, ctx->room * sizeof(BackupSuspect));
}

void
backup_suspects_add(BackupSuspects *ctx, const char *path,
					const BackupFileFinding *found)
{
	BackupRelationFile file;
	BackupBadPage *page;
	BackupSuspect *suspect;

	if (ctx->count == BACKUP_SUSPECTS_MAX)
	{
		ctx->beyond++;
		return;
	}
	grow(ctx);
	if (!backup_relation_file(path, &file))
		(void) backup_incremental_file(path, &file);
	suspect = &ctx->suspects[ctx->count];
	suspect->kind = BACKUP_SUSPECT_PAGE;
	suspect->tag.tablespace = file.tablespace;
	suspect->tag.database = file.database;
	suspect->tag.relation = file.number;
	suspect->tag.fork = (uint32_t) file.fork;
	suspect->tag.block = (uint32_t) found->blkno;
	suspect->number = (uint32_t) ctx->count;
	page = &ctx->pages[ctx->count++];
	page->entry = found->entry;
	page->status = found->status;
	page->size = (int32_t) found->size;
	page->page = found->page;
}

void
backup_suspects_forget(BackupSuspects *ctx)
{
	ctx->count = 0;
	ctx->beyond = 0;
	ctx->nfiles = 0;
}

/* Returns false if it is one too many. */
static bool
add_file(BackupSuspects *ctx, const char *path, const BackupRelationFile *file,
		 BackupSuspectKind kind, const char *status, const char *message)
{
	BackupSuspect *suspect;
	BackupBadFile *bad;

	if (ctx->nfiles == BACKUP_BAD_FILES_MAX)
		return false;
	if (ctx->files == NULL)
		ctx->files = host_alloc(BACKUP_BAD_FILES_MAX * sizeof(BackupBadFile));
	grow(ctx);
	suspect = &ctx->suspects[ctx->count++];
	memset(suspect, 0, sizeof(*suspect));
	suspect->kind = kind;
	suspect->tag.tablespace = file->tablespace;
	suspect->tag.database = file->database;
	suspect->tag.relation = file->number;
	suspect->tag.fork = (uint32_t) file->fork;
	/* no block restores it, but what removes or makes the relation names it */
	if (file->number != 0)
		suspect->tag.block = PAGE_BLOCK_MAX;
	suspect->number = (uint32_t) ctx->nfiles;
	bad = &ctx->files[ctx->nfiles++];
	bad->path = host_print("%s", path);
	bad->status = status;
	bad->message = host_print("%s", message);
	return true;
}

void
backup_suspects_add_file(BackupSuspects *ctx, const char *path,
						 const BackupRelationFile *file, BackupSuspectKind kind,
						 BackupStatus status, const char *message)
{
	if (!add_file(ctx, path, file, kind, backup_status_name(status), message))
		ctx->beyond++;
}

bool
backup_suspects_add_map(BackupSuspects *ctx, const char *path,
						uint32_t mapped, const char *status, const char *message)
{
	BackupRelationFile file;

	if (!backup_map_file(path, &file))
		return false;
	file.number = mapped;
	return add_file(ctx, path, &file, mapped == 0 ? BACKUP_SUSPECT_MAP :
					BACKUP_SUSPECT_MAPPED, status, message);
}

/* ---- telling ---- */

/*
 * The server writes a page of zeros over one of a free space or visibility map
 * that it cannot read.  Nothing is lost, since these are hints, or are set
 * again.
 */
static bool
is_made_anew(const BackupSuspect *suspect, const BackupBadPage *page)
{
	bool		map = suspect->tag.fork == BACKUP_FORK_FSM ||
		suspect->tag.fork == BACKUP_FORK_VM;

	return map && page->status != BACKUP_LSN_IN_FUTURE &&
		page->status != BACKUP_PARTIAL_BLOCK;
}

static BackupStatus
status_of(const BackupSuspect *suspect, const BackupBadPage *page)
{
	switch (suspect->fate)
	{
		case BACKUP_FATE_RESTORED:
		case BACKUP_FATE_GONE:
			return BACKUP_HEALED_BY_WAL;
		case BACKUP_FATE_REPLACED:
			return BACKUP_REPLACED;
		case BACKUP_FATE_RESET:
			return BACKUP_MADE_ANEW;
		case BACKUP_FATE_UNKNOWN:
			return is_made_anew(suspect, page) ? BACKUP_MADE_ANEW :
				BACKUP_UNDECIDED;
		default:
			return is_made_anew(suspect, page) ? BACKUP_MADE_ANEW :
				page->status;
	}
}

/* What recovery makes of it, in words. */
static void
words_of_fate(const BackupSuspect *suspect, char words[MESSAGE_SIZE])
{
	bool		map = suspect->tag.fork == BACKUP_FORK_FSM ||
		suspect->tag.fork == BACKUP_FORK_VM;
	uint32_t	high = (uint32_t) (suspect->lsn >> 32);
	uint32_t	low = (uint32_t) suspect->lsn;

	if (suspect->fate == BACKUP_FATE_RESTORED)
		snprintf(words, MESSAGE_SIZE, "recovery restores it by the record at %X/%X",
				 high, low);
	else if (suspect->fate == BACKUP_FATE_GONE)
		snprintf(words, MESSAGE_SIZE, "recovery removes it by the record at %X/%X",
				 high, low);
	else if (suspect->fate == BACKUP_FATE_REPLACED)
		snprintf(words, MESSAGE_SIZE, "a later backup of the chain replaces it");
	else if (suspect->fate == BACKUP_FATE_RESET)
		snprintf(words, MESSAGE_SIZE, "recovery empties its unlogged relation");
	else if (suspect->fate == BACKUP_FATE_UNKNOWN)
		snprintf(words, MESSAGE_SIZE, "WAL that may restore it is missing or damaged");
	else if (suspect->fate == BACKUP_FATE_READ)
		snprintf(words, MESSAGE_SIZE, "recovery reads it for the record at %X/%X%s",
				 high, low, map ? ", and makes it anew" : "");
	else
		snprintf(words, MESSAGE_SIZE, "no WAL of the backup restores it%s",
				 map ? "; the server makes it anew when it reads it" : "");
}

/* What is wrong with it, in words. */
static void
words_of_page(const BackupBadPage *page, char words[MESSAGE_SIZE])
{
	if (page->status == BACKUP_PARTIAL_BLOCK)
		snprintf(words, MESSAGE_SIZE, "file ends with %d bytes of a block",
				 page->size);
	else if (page->page.status == PAGE_CHECKSUM_MISMATCH)
		snprintf(words, MESSAGE_SIZE, "checksum is %u, but should be %u",
				 page->page.stored, page->page.computed);
	else
		snprintf(words, MESSAGE_SIZE, "%s",
				 page_status_name(page->page.status));
}

static void
report_page(const BackupSuspect *suspect, const BackupBadPage *page,
			const char *path, BackupSink *sink)
{
	BackupFinding finding = {path, (int64_t) suspect->tag.block,
	backup_status_name(status_of(suspect, page))};
	char		wrong[MESSAGE_SIZE];
	char		fate[MESSAGE_SIZE];
	char		message[2 * MESSAGE_SIZE];
	char		sums[2][16];

	if (page->page.status == PAGE_CHECKSUM_MISMATCH)
	{
		snprintf(sums[0], sizeof(sums[0]), "%u", page->page.computed);
		snprintf(sums[1], sizeof(sums[1]), "%u", page->page.stored);
		finding.expected = sums[0];
		finding.actual = sums[1];
	}
	words_of_page(page, wrong);
	words_of_fate(suspect, fate);
	snprintf(message, sizeof(message), "%s; %s", wrong, fate);
	finding.lsn = page->page.lsn;
	finding.message = message;
	backup_sink_emit(sink, &finding);
}

/* Returns a file as a whole, or NULL if it is a page. */
static const BackupBadFile *
file_of(const BackupSuspects *ctx, const BackupSuspect *suspect)
{
	return suspect->kind == BACKUP_SUSPECT_PAGE ? NULL :
		&ctx->files[suspect->number];
}

static bool
is_healed(const BackupSuspect *suspect)
{
	return suspect->fate == BACKUP_FATE_RESTORED ||
		suspect->fate == BACKUP_FATE_GONE ||
		suspect->fate == BACKUP_FATE_REPLACED;
}

static void
report_file(const BackupSuspect *suspect, const BackupBadFile *file,
			BackupSink *sink)
{
	BackupFinding finding = {file->path, -1, file->status};
	char		fate[MESSAGE_SIZE];
	char	   *message;

	if (is_healed(suspect))
		finding.status = backup_status_name(BACKUP_HEALED_BY_WAL);
	else if (suspect->fate == BACKUP_FATE_UNKNOWN)
		finding.status = backup_status_name(BACKUP_UNDECIDED);
	words_of_fate(suspect, fate);
	finding.message = message = host_print("%s; %s", file->message, fate);
	backup_sink_emit(sink, &finding);
	host_free(message);
}

/* Does it not count, whatever the reason? */
static bool
is_harmless(const BackupSuspects *ctx, const BackupSuspect *suspect)
{
	if (file_of(ctx, suspect) != NULL)
		return is_healed(suspect) || suspect->fate == BACKUP_FATE_RESET;
	return is_healed(suspect) ||
		status_of(suspect, &ctx->pages[suspect->number]) == BACKUP_MADE_ANEW;
}

static void
report_suspect(BackupSuspects *ctx, const BackupSuspect *suspect,
			   const BackupList *list, BackupSink *sink)
{
	const BackupBadFile *file = file_of(ctx, suspect);
	const BackupBadPage *page;

	if (file != NULL)
	{
		report_file(suspect, file, sink);
		return;
	}
	page = &ctx->pages[suspect->number];
	report_page(suspect, page, backup_list_path(list, page->entry), sink);
}

/* Pages that the restored cluster does not have. */
static void
replace(BackupSuspects *ctx, const BackupList *list)
{
	for (size_t i = 0; ctx->replaced != NULL && i < ctx->count; i++)
	{
		BackupSuspect *suspect = &ctx->suspects[i];
		const BackupBadFile *file = file_of(ctx, suspect);
		BackupFate	fate;

		host_interrupts();
		if (suspect->kind != BACKUP_SUSPECT_PAGE && suspect->kind != BACKUP_SUSPECT_FILE)
			continue;
		fate = ctx->replaced(ctx->arg, file != NULL ? file->path :
							 backup_list_path(list, ctx->pages[suspect->number].entry),
							 suspect->tag.block);
		if (fate != BACKUP_FATE_NONE)
			suspect->fate = fate;
	}
}

/*
 * A map that lacks many files is told once, healed or not.  So is a file that
 * is suspect for several reasons, by the most certain one.  *last is the file
 * that was told before.
 */
static bool
is_told(const BackupSuspects *ctx, const BackupSuspect *suspect,
		const BackupSuspect **last)
{
	const BackupSuspect *before = *last;

	if (file_of(ctx, suspect) == NULL)
		return false;
	*last = suspect;
	return before != NULL &&
		strcmp(ctx->files[before->number].path, ctx->files[suspect->number].path) == 0;
}

void
backup_suspects_decide(BackupSuspects *ctx, BackupWal *wal,
					   const BackupList *list, BackupSink *sink)
{
	const BackupSuspect *last[2] = {NULL, NULL};

	if (ctx->count == 0)
		return;
	backup_wal_decide(wal, ctx->suspects, ctx->count);
	replace(ctx, list);
	for (size_t i = 0; i < ctx->count; i++)
	{
		const BackupSuspect *suspect = &ctx->suspects[i];

		host_interrupts();
		if (is_healed(suspect) && file_of(ctx, suspect) == NULL)
			ctx->healed++;
		if ((ctx->include_healed || !is_harmless(ctx, suspect)) &&
			!is_told(ctx, suspect, &last[is_healed(suspect)]))
			report_suspect(ctx, suspect, list, sink);
	}
	if (ctx->beyond > 0)
		backup_sink_file(sink, ".", BACKUP_UNDECIDED,
						 "%" PRId64 " more pages are not in order",
						 ctx->beyond);
}
