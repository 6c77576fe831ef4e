/*
 * barman.c
 *	  Reads what barman writes of a backup in its repository.
 *
 * The facts are those of its manual, and of what releases from 3.4 on write.
 * From 3.13.2 on, the folder meta of the server has what was backup.info in that
 * of the backup.  Where both are there, the older one may be out of date.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host/digits.h"
#include "host/file_scan.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/barman.h"

/* They have some kB, and more with many tablespaces. */
#define INFO_BYTES_MAX	((off_t) 16 * 1024 * 1024)

static bool
is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The folder has the name of the backup, whatever link or dots lead to it. */
static char *
path_in_meta(const char *root)
{
	char	   *real = realpath(root, NULL);
	char	   *path = NULL;

	if (real != NULL)
		path = host_print(BARMAN_META "/%s-" BARMAN_INFO, strrchr(real, '/') + 1);
	free(real);
	return path;
}

char *
barman_info(const char *root)
{
	char	   *path = path_in_meta(root);

	if (path != NULL && file_scan_exists(root, path))
		return path;
	host_free(path);
	return file_scan_exists(root, BARMAN_INFO) ? host_print("%s", BARMAN_INFO) : NULL;
}

bool
barman_is(const char *root)
{
	char	   *data = host_print("%s/" BARMAN_DATA, root);
	char	   *info = is_folder(data) ? barman_info(root) : NULL;
	bool		is = info != NULL;

	host_free(info);
	host_free(data);
	return is;
}

char *
barman_archive(const char *root)
{
	char	   *path = host_print("%s/../../wals", root);

	if (is_folder(path))
		return path;
	host_free(path);
	return NULL;
}

/* ---- lines ---- */

/* What follows the name of a value, or NULL. */
static const char *
value_of(const char *line, const char *name)
{
	size_t		len = strlen(name);

	return strncmp(line, name, len) == 0 && line[len] == '=' ?
		line + len + 1 : NULL;
}

/* The end of a string in single or double quotation marks. */
static const char *
after_string(const char *at)
{
	char		mark = *at;

	if (mark != '\'' && mark != '"')
		return NULL;
	for (at++; *at != '\0' && *at != '\n'; at++)
	{
		if (*at == mark)
			return at + 1;
		if (*at == '\\' && at[1] != '\0')
			at++;
	}
	return NULL;
}

/* A list of names, OIDs and locations: [('name', 16390, '/path'), ...] */
static void
parse_tablespaces(const char *at, Barman *backup)
{
	if (*at++ != '[')
		return;
	while (*at == '(')
	{
		uint64_t	oid;

		at = after_string(at + 1);
		if (at == NULL || strncmp(at, ", ", 2) != 0 ||
			(at = digits_read(at + 2, UINT32_MAX, &oid)) == NULL ||
			strncmp(at, ", ", 2) != 0 || (at = after_string(at + 2)) == NULL ||
			*at++ != ')')
			return;
		HOST_MAKE_ROOM(backup->tablespaces, backup->ntablespaces, backup->room);
		backup->tablespaces[backup->ntablespaces++] = (uint32_t) oid;
		if (strncmp(at, ", ", 2) == 0)
			at += 2;
	}
}

/* None is how Python writes that there is none. */
static void
parse_word(const char *value, char *word, size_t room)
{
	size_t		len = strcspn(value, "\n");

	snprintf(word, room, "%.*s", (int) len, value);
	if (strcmp(word, "None") == 0)
		word[0] = '\0';
}

static void
parse_line(const char *line, Barman *backup)
{
	const char *value;
	const char *end;

	if ((value = value_of(line, "status")) != NULL)
		parse_word(value, backup->status, sizeof(backup->status));
	else if ((value = value_of(line, "encryption")) != NULL)
		parse_word(value, backup->encryption, sizeof(backup->encryption));
	else if ((value = value_of(line, "systemid")) != NULL)
	{
		end = digits_read(value, UINT64_MAX, &backup->system);
		backup->has_system = end != NULL && (*end == '\n' || *end == '\0');
	}
	else if ((value = value_of(line, "tablespaces")) != NULL)
		parse_tablespaces(value, backup);
}

void
barman_parse(const char *info, Barman *backup)
{
	while (info != NULL && *info != '\0')
	{
		host_interrupts();
		parse_line(info, backup);
		info = strchr(info, '\n');
		if (info != NULL)
			info++;
	}
}

bool
barman_read(const char *root, Barman *backup)
{
	char	   *info = barman_info(root);
	char	   *path;
	FileScan	scan;
	bool		done = false;

	memset(backup, 0, sizeof(*backup));
	backup->info = info != NULL ? info : host_print("%s", BARMAN_INFO);
	path = host_print("%s/%s", root, backup->info);
	errno = EINVAL;
	if (file_scan_open(&scan, path) == FILE_SCAN_OK)
	{
		size_t		size = (size_t) (scan.size < INFO_BYTES_MAX ? scan.size : INFO_BYTES_MAX);
		char	   *lines = host_alloc(size + 1);
		ssize_t		got = file_scan_read(&scan, lines, size, 0);

		done = got >= 0;
		lines[done ? got : 0] = '\0';
		file_scan_close(&scan);
		barman_parse(lines, backup);
		host_free(lines);
	}
	host_free(path);
	return done;
}
