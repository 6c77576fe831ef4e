/*
 * temporary_server.c
 *	  Temporary files of readers, of the server's own kinds.
 *
 * They are below the server's directory for temporary files, within
 * temp_file_limit and temp_tablespaces.  After a crash the server removes them
 * when it starts.
 */
#include "compat.h"

#include <fcntl.h>
#include <unistd.h>

#include "catalog/pg_tablespace_d.h"
#include "commands/tablespace.h"
#include "common/file_perm.h"
#include "common/file_utils.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "storage/fd.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "host/host.h"
#include "host/temporary.h"

StaticAssertDecl(HOST_FOLDER_PATH >= MAXPGPATH,
				 "a folder has room for the server's paths");

/* ---- a folder ---- */

/* Interrupts would leave a part of it. */
static void
remove_directory(void *arg)
{
	HostFolder *folder = arg;

	if (folder->path[0] == '\0')
		return;
	HOLD_INTERRUPTS();
	PathNameDeleteTemporaryDir(folder->path);
	RESUME_INTERRUPTS();
	folder->path[0] = '\0';
}

/* Where temporary files of this session go. */
static void
temporary_place(char place[MAXPGPATH])
{
	Oid			tablespace;

	PrepareTempTablespaces();
	tablespace = GetNextTempTableSpace();
	if (!OidIsValid(tablespace))
		tablespace = OidIsValid(MyDatabaseTableSpace) ?
			MyDatabaseTableSpace : DEFAULTTABLESPACE_OID;
	TempTablespacePath(place, tablespace);
}

void
host_folder_begin(HostFolder *folder)
{
	char		place[MAXPGPATH];

	folder->path[0] = '\0';
	temporary_place(place);
	host_at_end(remove_directory, folder);
	/* with the server's prefix, so that it removes it after a crash */
	snprintf(folder->path, MAXPGPATH,
			 "%s/%s%d.backup." INT64_FORMAT, place, PG_TEMP_FILE_PREFIX,
			 MyProcPid, (int64) GetCurrentTimestamp());
	PathNameCreateTemporaryDir(place, folder->path);
}

void
host_folder_end(HostFolder *folder)
{
	remove_directory(folder);
}

bool
host_folder_add(const char *path)
{
	return MakePGDirectory(path) == 0;
}

int
host_folder_create(const char *path)
{
	return OpenTransientFile(path, O_WRONLY | O_CREAT | O_EXCL | PG_BINARY);
}

bool
host_folder_close(int fd)
{
	return CloseTransientFile(fd) == 0;
}

void
host_folder_check(uint64_t bytes)
{
	if (temp_file_limit >= 0 && bytes > (uint64) temp_file_limit * 1024)
		ereport(ERROR,
				(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
				 errmsg("temporary file size exceeds \"temp_file_limit\" (%dkB)",
						temp_file_limit),
				 errhint("WAL in archives is written to temporary files: extract the archives first.")));
}

void
host_folder_failed(const HostFolder *folder)
{
	ereport(ERROR,
			(errcode_for_file_access(),
			 errmsg("could not write to temporary directory \"%s\": %m",
					folder->path)));
}

/* ---- a file without a name ---- */

struct HostScratch
{
	BufFile    *file;
};

HostScratch *
host_scratch_begin(void)
{
	HostScratch *scratch = palloc(sizeof(HostScratch));

	scratch->file = BufFileCreateTemp(false);
	return scratch;
}

void
host_scratch_write(HostScratch *scratch, const void *bytes, size_t size)
{
	BufFileWrite(scratch->file, unconstify(void *, bytes), size);
}

void
host_scratch_read(HostScratch *scratch, void *bytes, size_t size,
				  int64_t offset)
{
	if (BufFileSeek(scratch->file, 0, offset, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in temporary file: %m")));
	if (BufFileRead(scratch->file, bytes, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read from temporary file: %m")));
}

void
host_scratch_end(HostScratch *scratch)
{
	BufFileClose(scratch->file);
	pfree(scratch);
}
