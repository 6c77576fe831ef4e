/*
 * walk.c
 *	  All files of a plain backup, folder by folder.
 *
 * Folders that are still to be read wait in a list, so that the depth of a
 * tree costs no stack.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "host/host.h"
#include "host/print.h"
#include "manifest/names.h"
#include "manifest/walk.h"

typedef struct Walk
{
	const char *root;
	void		(*entry) (void *arg, const char *path, BackupWalkKind kind);
	void	   *arg;
	char	  **folders;		/* paths that wait */
	size_t		nfolders;
	size_t		room;
	const char *folder;			/* that is read */
} Walk;

static void
add_folder(Walk *walk, const char *path)
{
	HOST_MAKE_ROOM(walk->folders, walk->nfolders, walk->room);
	walk->folders[walk->nfolders++] = host_print("%s", path);
}

static void
look_at(Walk *walk, const char *path)
{
	char	   *full = host_print("%s/%s", walk->root, path);
	struct stat link;
	struct stat target;
	bool		there = lstat(full, &link) == 0;

	if (there && S_ISREG(link.st_mode))
		walk->entry(walk->arg, path, BACKUP_WALK_FILE);
	else if (strlen(path) >= BACKUP_PATH_MAX)
	{
		errno = ENAMETOOLONG;
		walk->entry(walk->arg, path, BACKUP_WALK_FAILED);
	}
	else if (!there || stat(full, &target) != 0)
	{
		/* one that is gone is missing, if the manifest knows it */
		if (errno != ENOENT || backup_path_is_tablespace(path))
			walk->entry(walk->arg, path, BACKUP_WALK_FAILED);
	}
	else if (S_ISREG(target.st_mode))
		walk->entry(walk->arg, path, BACKUP_WALK_FILE);
	else if (!S_ISDIR(target.st_mode))
		walk->entry(walk->arg, path, BACKUP_WALK_OTHER);
	else if (S_ISLNK(link.st_mode) && !backup_path_is_tablespace(path))
		walk->entry(walk->arg, path, BACKUP_WALK_LINK);
	else
		add_folder(walk, path);
	host_free(full);
}

static void
look_at_name(void *arg, const char *name)
{
	Walk	   *walk = arg;
	char	   *path;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return;
	path = walk->folder[0] == '\0' ? host_print("%s", name) :
		host_print("%s/%s", walk->folder, name);
	if (!backup_path_ignored(path))
		look_at(walk, path);
	host_free(path);
}

static void
read_folder(Walk *walk, const char *folder)
{
	char	   *full = host_print("%s/%s", walk->root, folder);

	walk->folder = folder;
	if (!host_list(full, look_at_name, walk))
		walk->entry(walk->arg, folder, BACKUP_WALK_FAILED);
	host_free(full);
}

void
backup_walk(const char *root,
			void (*entry) (void *arg, const char *path, BackupWalkKind kind),
			void *arg)
{
	Walk		walk = {.root = root,.entry = entry,.arg = arg};

	add_folder(&walk, "");
	while (walk.nfolders > 0)
	{
		char	   *folder = walk.folders[--walk.nfolders];

		read_folder(&walk, folder);
		host_free(folder);
	}
	host_free(walk.folders);
}
