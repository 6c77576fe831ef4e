/* needs: kernel tar max_len:16384 long:10000000 */
/*
 * fuzz_tar.c
 *	  Anything fed to the reader of tar archives.
 *
 * An archive is read twice, once with the bytes of its members and once without
 * them, in the same order: members and damages must be the same, lie within the
 * archive, and come in order.  The names of members must make paths of a backup
 * that leave it nowhere.
 *
 * A header's sum would stop nearly every mutation at the door, so the mutator
 * repairs sums, most of the time, and begins with a header.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tar_source.h"
#include "manifest/archive_names.h"
#include "manifest/tar.h"

/* One archive on its way. */
typedef struct Read
{
	Source		source;
	TarReader	reader;
	TarMember	member;
	TarDamage	damage;
} Read;

static TarResult
next(Read *read)
{
	memset(&read->member, 0, sizeof(read->member));
	memset(&read->damage, 0, sizeof(read->damage));
	return tar_next(&read->reader, &read->member, &read->damage);
}

static void
begin(Read *read, const uint8_t *data, size_t size)
{
	memset(read, 0, sizeof(*read));
	read->source.bytes = data;
	read->source.len = size;
	tar_begin(&read->reader, read_source, &read->source);
}

static void
check_member(const TarMember *member, size_t size)
{
	static const char *const names[] = {"base.tar", "16384.tar", "pg_wal.tar"};
	char		path[BACKUP_PATH_MAX];
	BackupArchive archive;

	must(member->offset + TAR_BLOCK <= size && member->offset % TAR_BLOCK == 0);
	must(member->size <= INT64_MAX);
	must(memchr(member->name, '\0', sizeof(member->name)) != NULL);
	for (int i = 0; i < 3; i++)
	{
		must(backup_archive_read(names[i], &archive));
		if (!backup_archive_path(&archive, member->name, path))
			continue;
		must(backup_path_possible(path));
		(void) backup_path_kept(path);
		(void) backup_folder_kept(path);
	}
}

/* All of a member's bytes; they are those of the archive. */
static void
read_member(Read *read)
{
	size_t		at = read->source.at;
	uint64_t	left = read->member.size;
	uint8_t		buffer[700];
	size_t		got;

	while ((got = tar_read(&read->reader, buffer, sizeof(buffer))) > 0)
	{
		must(got <= left && memcmp(buffer, read->source.bytes + at, got) == 0);
		at += got;
		left -= got;
	}
	must(left == 0 || at == read->source.len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static Read whole;
	static Read skipped;
	uint64_t	last = 0;
	TarResult	result;

	begin(&whole, data, size);
	begin(&skipped, data, size);
	do
	{
		result = next(&whole);
		must(next(&skipped) == result);
		must(memcmp(&whole.member, &skipped.member, sizeof(TarMember)) == 0);
		must(memcmp(&whole.damage, &skipped.damage, sizeof(TarDamage)) == 0);
		if (result == TAR_MEMBER)
		{
			must(whole.member.offset >= last);
			last = whole.member.offset + 1;
			check_member(&whole.member, size);
			read_member(&whole);
		}
		else if (result == TAR_DAMAGE)
			must(whole.damage.offset + whole.damage.skipped <= size &&
				 whole.damage.reason != TAR_FINE);
	} while (result != TAR_END);
	must(next(&whole) == TAR_END);
	return 0;
}

/* ---- mutations ---- */

static void
repair_sum(uint8_t *header)
{
	unsigned	sum = 0;

	memset(header + 148, ' ', 8);
	for (int i = 0; i < TAR_BLOCK; i++)
		sum += header[i];
	snprintf((char *) header + 148, 8, "%06o", sum);
}

static void
fresh_header(uint8_t *header, unsigned int seed)
{
	static const char types[] = "0000005xxLKg127SD";

	memset(header, 0, TAR_BLOCK);
	snprintf((char *) header, 100, "base/%u/x", seed % 7);
	snprintf((char *) header + 124, 12, "%011o", seed % 3 ? seed % 1500 : 0);
	header[156] = (uint8_t) types[seed % (sizeof(types) - 1)];
	memcpy(header + 257, "ustar\00000", 8);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
						unsigned int seed)
{
	if (seed % 8 == 0 && size + TAR_BLOCK <= max_size)
	{
		size_t		at = seed / 8 % (size / TAR_BLOCK + 1) * TAR_BLOCK;

		memmove(data + at + TAR_BLOCK, data + at, size - at);
		fresh_header(data + at, seed / 64);
		size += TAR_BLOCK;
	}
	else
		size = LLVMFuzzerMutate(data, size, max_size);
	if (seed % 16 != 1)
		for (size_t at = 0; at + TAR_BLOCK <= size; at += TAR_BLOCK)
			if (memcmp(data + at + 257, "ustar", 5) == 0)
				repair_sum(data + at);
	return size;
}
