/* needs: kernel find decode max_len:8192 long:10000000 */
/*
 * fuzz_repository.c
 *	  Anything fed to what reads the files of backup programs: pgBackRest's
 *	  backup.manifest and barman's backup.info.
 *
 * Input: a letter that chooses the reader, then the file.  What comes through
 * must keep the promises of the headers, and lead to no path out of the
 * repository.  The bytes have exactly the size that they need, and the byte of
 * zero that is promised, so that the sanitizer sees a byte too many.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "manifest/barman.h"
#include "manifest/names.h"
#include "manifest/pgbackrest.h"

/* ---- the program around the rooms ---- */

/* All that was allocated, which is freed together, as by a memory context. */
typedef struct Chunk
{
	struct Chunk *next;
	struct Chunk **link;		/* where it is pointed to */
} Chunk;

static Chunk *chunks;

static void *
take(Chunk *chunk)
{
	must(chunk != NULL);
	chunk->next = chunks;
	chunk->link = &chunks;
	if (chunks != NULL)
		chunks->link = &chunk->next;
	chunks = chunk;
	return chunk + 1;
}

static Chunk *
leave(void *memory)
{
	Chunk	   *chunk = (Chunk *) memory - 1;

	*chunk->link = chunk->next;
	if (chunk->next != NULL)
		chunk->next->link = chunk->link;
	return chunk;
}

void *
host_alloc(size_t size)
{
	return take(malloc(sizeof(Chunk) + size));
}

void *
host_grow(void *memory, size_t size)
{
	return take(realloc(memory == NULL ? NULL : leave(memory), sizeof(Chunk) + size));
}

void
host_free(void *memory)
{
	if (memory != NULL)
		free(leave(memory));
}

static void
free_all(void)
{
	while (chunks != NULL)
		host_free(chunks + 1);
}

void
host_interrupts(void)
{
}

/* No file is read here. */
bool
host_list(const char *directory, void (*entry) (void *arg, const char *name), void *arg)
{
	(void) directory;
	(void) entry;
	(void) arg;
	abort();
}

int
host_open(const char *path)
{
	(void) path;
	abort();
}

int
host_open_direct(const char *path)
{
	(void) path;
	abort();
}

_Noreturn void
host_refuse_direct(const char *path)
{
	(void) path;
	abort();
}

ssize_t
host_read(int fd, void *buffer, size_t length, off_t offset)
{
	(void) fd;
	(void) buffer;
	(void) length;
	(void) offset;
	abort();
}

void
host_close(int fd)
{
	(void) fd;
	abort();
}

size_t
host_turn(struct Throttle *throttle, size_t len)
{
	(void) throttle;
	return len;
}

HostAtEnd *
host_at_end(void (*fn) (void *arg), void *arg)
{
	(void) fn;
	(void) arg;
	abort();
}

void
host_forget(HostAtEnd *at_end)
{
	(void) at_end;
	abort();
}

HostSha *
host_sha_begin(HostShaAlgorithm algorithm)
{
	(void) algorithm;
	abort();
}

void
host_sha_add(HostSha *sha, const void *data, size_t len)
{
	(void) sha;
	(void) data;
	(void) len;
	abort();
}

bool
host_sha_end(HostSha *sha, uint8_t *digest)
{
	(void) sha;
	(void) digest;
	abort();
}

/* ---- pgBackRest ---- */

/* The name of a folder beside the backup's, and no other path. */
static void
check_folder(const char *name)
{
	must(backup_path_possible(name) && strchr(name, '/') == NULL);
}

static void
check_entry(const BackupList *list, uint32_t i)
{
	const BackupStored *stored = &list->stored[i];
	const char *path = backup_list_path(list, i);

	must(backup_path_possible(path) && list->entries[i].size >= 0);
	must(backup_list_find(list, path) == (int64_t) i);
	must(list->entries[i].algorithm == MANIFEST_SHA1 || list->entries[i].size == 0);
	must(stored->offset <= INT64_MAX && stored->bytes <= INT64_MAX - stored->offset);
	must(stored->bundle != 0 || stored->offset == 0);
	must(!stored->nothing || list->entries[i].size == 0);
	must(stored->format == list->stored[0].format);
	if (stored->folder != BACKUP_STORED_OWN)
		check_folder(list->names + stored->folder);
}

static void
check_manifest(const BackupManifest *manifest, const PgBackRest *backup)
{
	const BackupList *list = &manifest->list;

	must(list->count > 0 && list->count == list->stored_count);
	for (uint32_t i = 0; i < list->count; i++)
		check_entry(list, i);
	for (size_t i = 0; i < backup->nfolders; i++)
		must(backup_path_possible(backup->folders[i]));
	must(backup->incremental <= list->count);
	must(manifest->nranges <= 1);
	for (int i = 0; i < manifest->nranges; i++)
		must(manifest->ranges[i].timeline > 0 && manifest->ranges[i].start < manifest->ranges[i].end);
	must(memchr(backup->version, '\0', sizeof(backup->version)) != NULL && strchr(backup->version, '/') == NULL);
}

static void
read_pgbackrest(const char *bytes, size_t size)
{
	BackupManifest *manifest = host_alloc(sizeof(BackupManifest));
	PgBackRest	backup = {0};

	memset(manifest, 0, sizeof(*manifest));
	pgbackrest_parse(bytes, size, manifest, &backup);
	if (manifest->status == BACKUP_OK)
		check_manifest(manifest, &backup);
	else
		must(manifest->message != NULL && manifest->message[0] != '\0');
}

static void
read_references(const char *bytes, size_t size)
{
	PgBackRest	backup = {0};

	(void) size;
	pgbackrest_parse_references(bytes, &backup);
	for (size_t i = 0; i < backup.nreferences; i++)
	{
		check_folder(backup.references[i]);
		for (size_t before = 0; before < i; before++)
			must(strcmp(backup.references[before], backup.references[i]) != 0);
	}
	must(backup.bytes <= INT64_MAX);
	must(memchr(backup.own, '\0', sizeof(backup.own)) != NULL);
}

/* ---- barman ---- */

static void
read_barman(const char *bytes, size_t size)
{
	Barman		backup = {0};

	barman_parse(bytes, &backup);
	must(memchr(backup.status, '\0', sizeof(backup.status)) != NULL && strchr(backup.status, '\n') == NULL);
	must(backup.ntablespaces <= size && backup.ntablespaces <= backup.room);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* letters, so that inputs can be read */
	static const struct
	{
		uint8_t		letter;
		void		(*read) (const char *bytes, size_t size);
	}			readers[] = {
		{'p', read_pgbackrest}, {'r', read_references}, {'b', read_barman},
	};
	char	   *bytes;

	if (size == 0)
		return 0;
	bytes = malloc(size);
	memcpy(bytes, data + 1, size - 1);
	bytes[size - 1] = '\0';
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (data[0] == readers[i].letter)
			readers[i].read(bytes, size - 1);
	free_all();
	free(bytes);
	return 0;
}
