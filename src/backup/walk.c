/*
 * walk.c
 *	  All files of a plain backup, folder by folder.
 *
 * Folders that are still to be read wait in a list, so that the depth of a
 * tree costs no stack.
 */
#include "compat.h"

#include <dirent.h>
#include <sys/stat.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "backup/names.h"
#include "backup/walk.h"
#include "host/host.h"

typedef struct Walk
{
	const char *root;
	void		(*entry) (void *arg, const char *path, BackupWalkKind kind);
	void	   *arg;
	char	  **folders;		/* paths that wait */
	size_t		nfolders;
	size_t		room;
} Walk;

static void
add_folder(Walk *walk, const char *path)
{
	HOST_MAKE_ROOM(walk->folders, walk->nfolders, walk->room);
	walk->folders[walk->nfolders++] = pstrdup(path);
}

/* Is it a tablespace, which is a name right below pg_tblspc? */
static bool
is_tablespace(const char *path)
{
	return strncmp(path, "pg_tblspc/", 10) == 0 &&
		strchr(path + 10, '/') == NULL;
}

static void
look_at(Walk *walk, const char *path)
{
	char	   *full = psprintf("%s/%s", walk->root, path);
	struct stat link;
	struct stat target;

	if (lstat(full, &link) != 0 || stat(full, &target) != 0)
	{
		/* one that is gone is missing, if the manifest knows it */
		if (errno != ENOENT || is_tablespace(path))
			walk->entry(walk->arg, path, BACKUP_WALK_FAILED);
	}
	else if (S_ISREG(target.st_mode))
		walk->entry(walk->arg, path, BACKUP_WALK_FILE);
	else if (!S_ISDIR(target.st_mode))
		walk->entry(walk->arg, path, BACKUP_WALK_OTHER);
	else if (S_ISLNK(link.st_mode) && !is_tablespace(path))
		walk->entry(walk->arg, path, BACKUP_WALK_LINK);
	else
		add_folder(walk, path);
	pfree(full);
}

static void
look_at_name(Walk *walk, const char *folder, const struct dirent *file)
{
	char	   *path;

	if (strcmp(file->d_name, ".") == 0 || strcmp(file->d_name, "..") == 0)
		return;
	path = folder[0] == '\0' ? pstrdup(file->d_name) :
		psprintf("%s/%s", folder, file->d_name);
	if (backup_path_ignored(path))
		;
	else if (file->d_type == DT_REG)
		walk->entry(walk->arg, path, BACKUP_WALK_FILE);
	else if (strlen(path) >= BACKUP_PATH_MAX)
	{
		errno = ENAMETOOLONG;
		walk->entry(walk->arg, path, BACKUP_WALK_FAILED);
	}
	else
		look_at(walk, path);
	pfree(path);
}

static void
read_folder(Walk *walk, const char *folder)
{
	char	   *full = psprintf("%s/%s", walk->root, folder);
	DIR		   *dir = AllocateDir(full);
	struct dirent *file;

	pfree(full);
	if (dir == NULL)
	{
		walk->entry(walk->arg, folder, BACKUP_WALK_FAILED);
		return;
	}
	while ((errno = 0, file = readdir(dir)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		look_at_name(walk, folder, file);
	}
	if (errno != 0)
		walk->entry(walk->arg, folder, BACKUP_WALK_FAILED);
	FreeDir(dir);
}

void
backup_walk(const char *root,
			void (*entry) (void *arg, const char *path, BackupWalkKind kind),
			void *arg)
{
	Walk		walk = {root, entry, arg};

	add_folder(&walk, "");
	while (walk.nfolders > 0)
	{
		char	   *folder = walk.folders[--walk.nfolders];

		read_folder(&walk, folder);
		pfree(folder);
	}
	pfree(walk.folders);
}
