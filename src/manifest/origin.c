/*
 * origin.c
 *	  Where a backup began, and where the one before it did.
 *
 * The server sends backup_label first, and the system identifier stands at the
 * beginning of the manifest.  So neither archives nor manifests are read
 * further.  Nothing is verified here: that the backups of a chain fit is seen
 * when they are read.
 */
#include <stdio.h>
#include <string.h>

#include "decode/decode.h"
#include "host/file_scan.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/archive_names.h"
#include "manifest/label.h"
#include "manifest/origin.h"
#include "manifest/parse.h"
#include "manifest/tar.h"

#define LABEL_FILE		"backup_label"
#define MANIFEST_FILE	"backup_manifest"

/* The label is not after more members, or more bytes. */
#define MEMBERS_MAX		8
#define ARCHIVE_MAX		UINT64_C(1048576)

#define TEXT_MAX		4096
#define MANIFEST_START	512

/* ---- the beginning of an archive ---- */

typedef struct Archive
{
	FileScan	scan;
	char	   *name;			/* of the file, NULL if there is none */
	DecodeFormat format;
	Decoder    *decoder;		/* NULL for a plain one */
	uint64_t	offset;			/* of what is read next */
	TarReader	reader;
} Archive;

static void
note_archive(void *arg, const char *name)
{
	Archive    *archive = arg;
	BackupArchive read;

	if (!backup_archive_read(name, &read) || read.kind != BACKUP_ARCHIVE_BASE ||
		(archive->name != NULL && strcmp(archive->name, name) <= 0))
		return;
	host_free(archive->name);
	archive->name = host_print("%s", name);
}

static ssize_t
read_stored(void *arg, void *buffer, size_t len, uint64_t offset)
{
	Archive    *archive = arg;

	return file_scan_read(&archive->scan, buffer, len, (off_t) offset);
}

static size_t
read_archive(void *arg, uint8_t *buffer, size_t len)
{
	Archive    *archive = arg;
	size_t		got;

	host_interrupts();
	if (archive->offset >= ARCHIVE_MAX)
		return 0;
	if (archive->decoder != NULL)
		got = decode_read(archive->decoder, buffer, len);
	else
	{
		ssize_t		stored = read_stored(archive, buffer, len, archive->offset);

		got = stored < 0 ? 0 : (size_t) stored;
	}
	archive->offset += got;
	return got;
}

static void
free_decoder(void *arg)
{
	Archive    *archive = arg;

	decode_free(archive->decoder);
	archive->decoder = NULL;
}

/* Begins a decoder by the first bytes.  Returns false without memory. */
static bool
begin_decoding(Archive *archive)
{
	uint8_t		start[DECODE_MAGIC_MAX];
	ssize_t		got = read_stored(archive, start, sizeof(start), 0);
	DecodeFormat format = got > 0 ? decode_format_of(start, (size_t) got) :
		DECODE_PLAIN;

	if (format == DECODE_PLAIN)
		return true;
	archive->decoder = decode_new();
	if (archive->decoder == NULL)
		return false;
	decode_begin(archive->decoder, format, read_stored, archive);
	return true;
}

/* Reads the text of the label, if it is among the first members. */
static void
read_members(Archive *archive, char text[TEXT_MAX])
{
	TarMember  *member = host_alloc(sizeof(TarMember));
	TarDamage	damage;
	TarResult	result = TAR_MEMBER;

	tar_begin(&archive->reader, read_archive, archive);
	for (int i = 0; i < MEMBERS_MAX && result == TAR_MEMBER; i++)
	{
		result = tar_next(&archive->reader, member, &damage);
		if (result != TAR_MEMBER || member->kind != TAR_FILE ||
			strcmp(member->name, LABEL_FILE) != 0)
			continue;
		text[		tar_read(&archive->reader, (uint8_t *) text, TEXT_MAX - 1)] = '\0';

		break;
	}
	host_free(member);
}

static void
read_from_archive(const char *root, char text[TEXT_MAX])
{
	Archive    *archive = host_alloc(sizeof(Archive));
	HostAtEnd  *at_end;
	char	   *path;

	memset(archive, 0, sizeof(*archive));
	at_end = host_at_end(free_decoder, archive);
	(void) host_list(root, note_archive, archive);
	path = host_print("%s/%s", root, archive->name == NULL ? "" : archive->name);
	if (archive->name != NULL &&
		file_scan_open(&archive->scan, path) == FILE_SCAN_OK)
	{
		if (begin_decoding(archive))
			read_members(archive, text);
		file_scan_close(&archive->scan);
	}
	free_decoder(archive);
	host_forget(at_end);
	host_free(path);
	host_free(archive->name);
	host_free(archive);
}

/* ---- files ---- */

/* The first bytes of a file, as a text, which is empty if there is none. */
static void
read_start(const char *root, const char *name, char *text, size_t size)
{
	char	   *path = host_print("%s/%s", root, name);
	ssize_t		got = 0;
	FileScan	scan;

	if (file_scan_open(&scan, path) == FILE_SCAN_OK)
	{
		got = file_scan_read(&scan, text, size - 1, 0);
		file_scan_close(&scan);
	}
	text[		got < 0 ? 0 : got] = '\0';

	host_free(path);
}

static void
drop_file(void *arg, const ManifestFile *file)
{
	(void) arg;
	(void) file;
}

static void
drop_range(void *arg, const ManifestRange *range)
{
	(void) arg;
	(void) range;
}

/* The parser stops where the text does, after the identifier. */
static void
read_system(const char *root, BackupOrigin *origin)
{
	ManifestReader *reader = host_alloc(sizeof(ManifestReader));
	char text[	MANIFEST_START];
	size_t		at;

	read_start(root, MANIFEST_FILE, text, sizeof(text));
	memset(reader, 0, sizeof(*reader));
	manifest_begin(reader);
	reader->file = drop_file;
	reader->range = drop_range;
	(void) manifest_parse(reader, text, strlen(text), &at);
	origin->has_system = reader->has_system && reader->system != 0;
	origin->system = origin->has_system ? reader->system : 0;
	host_free(reader);
}

void
backup_origin_read(const char *root, bool tar, BackupOrigin *origin)
{
	BackupLabel *label = host_alloc(sizeof(BackupLabel));
	char text[	TEXT_MAX] = "";

	memset(origin, 0, sizeof(*origin));
	if (tar)
		read_from_archive(root, text);
	else
		read_start(root, LABEL_FILE, text, sizeof(text));
	origin->known = backup_label_read(text, label);
	if (origin->known)
	{
		origin->start = label->start;
		origin->timeline = label->timeline;
		origin->previous_start = label->previous_start;
		origin->previous_timeline = label->previous_timeline;
	}
	read_system(root, origin);
	host_free(label);
}

/* ---- chains ---- */

/* Is it the backup before this one?  It begins earlier, so chains end. */
static bool
is_prior(const BackupOrigin *prior, const BackupOrigin *of)
{
	return prior->known && prior->has_system == of->has_system &&
		prior->system == of->system &&
		prior->start == of->previous_start &&
		prior->timeline == of->previous_timeline &&
		prior->start < of->start;
}

/* Returns the first that is, or count. */
static size_t
find_prior(const BackupOrigin *origins, size_t count, size_t n)
{
	size_t		i = 0;

	while (i < count && !is_prior(&origins[i], &origins[n]))
		i++;
	return i;
}

int
backup_origin_priors(const BackupOrigin *origins, size_t count, size_t n,
					 size_t *priors, int most)
{
	int			found = 0;

	while (origins[n].known && origins[n].previous_start != 0)
	{
		n = find_prior(origins, count, n);
		if (n == count || found == most)
			return -1;
		priors[found++] = n;
	}
	for (int i = 0; i < found / 2; i++)
	{
		size_t		last = priors[found - 1 - i];

		priors[found - 1 - i] = priors[i];
		priors[i] = last;
	}
	return found;
}
