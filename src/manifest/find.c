/*
 * find.c
 *	  Finds the backups below a directory.
 *
 * Folders that are still to be read wait in a list, so that the depth of a
 * tree costs no stack.  A data directory is left alone, however many folders
 * it has.  One with a postmaster.pid is no backup: pg_basebackup leaves that
 * out, and a restored backup, at work, still has its manifest.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "host/host.h"
#include "host/print.h"
#include "manifest/archive_names.h"
#include "manifest/barman.h"
#include "manifest/find.h"
#include "manifest/pgbackrest.h"

/* Names, in memory of their own. */
typedef struct Names
{
	char	  **names;
	size_t		count;
	size_t		room;
} Names;

typedef struct Search
{
	const char *root;
	void		(*found) (void *arg, const char *path, BackupFindKind kind);
	void	   *arg;
	Names		waiting;		/* paths of folders, "." for root */

	/* the present folder */
	Names		inside;
	bool		labelled;		/* it has a manifest or a label */
	bool		plain;			/* and what is a data directory's alone */
	bool		archived;
	bool		served;
	bool		manifested;		/* by pgBackRest */
	bool		has_data;		/* an entry of this name, as barman's have */
} Search;

static void
add_name(Names *names, const char *name)
{
	HOST_MAKE_ROOM(names->names, names->count, names->room);
	names->names[names->count++] = host_print("%s", name);
}

static void
drop_names(Names *names)
{
	while (names->count > 0)
		host_free(names->names[--names->count]);
}

static void
note_name(void *arg, const char *name)
{
	Search	   *search = arg;
	BackupArchive archive;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	search->labelled |= strcmp(name, "backup_manifest") == 0 ||
		strcmp(name, "backup_label") == 0;
	search->plain |= strcmp(name, "PG_VERSION") == 0 ||
		strcmp(name, "backup_label") == 0;
	search->archived |= backup_archive_read(name, &archive) &&
		archive.kind == BACKUP_ARCHIVE_BASE;
	search->served |= strcmp(name, "postmaster.pid") == 0;
	search->manifested |= strcmp(name, PGBACKREST_MANIFEST) == 0;
	search->has_data |= strcmp(name, BARMAN_DATA) == 0;
	add_name(&search->inside, name);
}

/* What of a folder waits to be looked through, by their paths from the root. */
static void
add_folder(Search *search, const char *folder, const char *name)
{
	char	   *path = strcmp(folder, ".") == 0 ? host_print("%s", name) :
		host_print("%s/%s", folder, name);
	char	   *full = host_print("%s/%s", search->root, path);
	struct stat status;

	if (lstat(full, &status) == 0)
	{
		if (S_ISDIR(status.st_mode))
			add_name(&search->waiting, path);
		else if (S_ISLNK(status.st_mode) && stat(full, &status) == 0 &&
				 S_ISDIR(status.st_mode))
			search->found(search->arg, path, BACKUP_FIND_LINK);
	}
	host_free(full);
	host_free(path);
}

/*
 * Returns whether its folders are to be looked through, too.  A manifest alone
 * is a plain backup whose files are gone.
 */
static bool
judge_folder(Search *search, const char *folder, const char *full)
{
	bool		tar = search->archived && !search->plain;

	if (search->manifested || (search->has_data && barman_is(full)))
	{
		search->found(search->arg, folder, BACKUP_FIND_STORED);
		return false;
	}
	if (search->labelled && search->plain && search->served)
		search->found(search->arg, folder, BACKUP_FIND_SERVER);
	else if (search->labelled || tar)
		search->found(search->arg, folder,
					  tar ? BACKUP_FIND_TAR : BACKUP_FIND_PLAIN);
	return !search->plain;
}

static void
look_through(Search *search, const char *folder)
{
	char	   *full = host_print("%s/%s", search->root, folder);

	search->labelled = search->plain = search->archived = search->served = false;
	search->manifested = search->has_data = false;
	if (!host_list(full, note_name, search))
	{
		/* one that is gone meanwhile is none */
		if (errno != ENOENT)
			search->found(search->arg, folder, BACKUP_FIND_FAILED);
	}
	else if (judge_folder(search, folder, full))
		for (size_t i = 0; i < search->inside.count; i++)
			add_folder(search, folder, search->inside.names[i]);
	drop_names(&search->inside);
	host_free(full);
}

void
backup_find(const char *root,
			void (*found) (void *arg, const char *path, BackupFindKind kind),
			void *arg)
{
	Search		search = {.root = root,.found = found,.arg = arg};

	add_name(&search.waiting, ".");
	while (search.waiting.count > 0)
	{
		char	   *folder = search.waiting.names[--search.waiting.count];

		host_interrupts();
		look_through(&search, folder);
		host_free(folder);
	}
	host_free(search.waiting.names);
	host_free(search.inside.names);
}
