/*
 * stored_names.c
 *	  Which files belong into the folder of a backup, where pgBackRest stores it.
 *
 * With its option repo-hardlink, files of earlier backups are there, too, and
 * links to the tablespaces.  A file that is stored block by block has a suffix
 * of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "host/digits.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/names.h"
#include "manifest/pgbackrest.h"
#include "manifest/stored_names.h"

#define DATA		PGBACKREST_DATA "/"
#define BUNDLES		PGBACKREST_BUNDLES "/"
#define TABLESPACES	"pg_tblspc/"
#define BLOCKS		".pgbi"

struct StoredNames
{
	const BackupList *list;
	const char *suffix;			/* of its compression */
	uint32_t   *bundles;		/* their numbers, in order */
	size_t		count;
	size_t		room;
};

static int
compare_numbers(const void *a, const void *b)
{
	uint32_t	x = *(const uint32_t *) a;
	uint32_t	y = *(const uint32_t *) b;

	return x < y ? -1 : x > y;
}

StoredNames *
stored_names_new(const BackupList *list)
{
	StoredNames *names = host_alloc(sizeof(StoredNames));

	memset(names, 0, sizeof(*names));
	names->list = list;
	names->suffix = decode_format_suffix((DecodeFormat) list->stored[0].format);
	for (uint32_t i = 0; i < list->stored_count; i++)
	{
		const BackupStored *stored = &list->stored[i];

		if (stored->bundle == 0 || stored->folder != BACKUP_STORED_OWN)
			continue;
		HOST_MAKE_ROOM(names->bundles, names->count, names->room);
		names->bundles[names->count++] = stored->bundle;
	}
	if (names->count > 0)
		qsort(names->bundles, names->count, sizeof(uint32_t), compare_numbers);
	return names;
}

static bool
has_bundle(const StoredNames *names, const char *digits)
{
	uint64_t	number;
	const char *end = digits[0] == '0' ? NULL :
		digits_read(digits, UINT32_MAX, &number);
	uint32_t	key;

	if (end == NULL || *end != '\0' || names->count == 0)
		return false;
	key = (uint32_t) number;
	return bsearch(&key, names->bundles, names->count, sizeof(key),
				   compare_numbers) != NULL;
}

/* Has the path this suffix, and a file of the manifest the rest? */
static bool
has_file(const StoredNames *names, const char *path, const char *suffix)
{
	size_t		len = strlen(path);
	size_t		rest = strlen(suffix);
	char	   *name;
	bool		has;

	if (len <= rest || strcmp(path + len - rest, suffix) != 0)
		return false;
	name = host_print("%.*s", (int) (len - rest), path);
	has = backup_list_find(names->list, name) >= 0;
	host_free(name);
	return has;
}

bool
stored_names_has(const StoredNames *names, const char *path,
				 BackupWalkKind kind)
{
	const char *inside = backup_skip_prefix(path, DATA);

	if (kind == BACKUP_WALK_LINK)
		return inside != NULL && backup_skip_prefix(inside, TABLESPACES) != NULL;
	if (kind != BACKUP_WALK_FILE)
		return false;
	if (strcmp(path, PGBACKREST_MANIFEST) == 0 ||
		strcmp(path, PGBACKREST_COPY) == 0)
		return true;
	if (backup_skip_prefix(path, BUNDLES) != NULL)
		return has_bundle(names, backup_skip_prefix(path, BUNDLES));
	if (inside == NULL && backup_skip_prefix(path, TABLESPACES) != NULL)
		inside = path;
	return inside != NULL &&
		(backup_path_ignored(inside) || has_file(names, inside, names->suffix) ||
		 has_file(names, inside, BLOCKS));
}
