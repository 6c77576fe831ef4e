/*
 * file_path.h
 *	  Judges the paths of files that a user of the server names.
 */
#ifndef ACCEL_HOST_FILE_PATH_H
#define ACCEL_HOST_FILE_PATH_H

#include "host/file_scan.h"

/*
 * Returns the canonical form (palloc'd) of the name of a file or directory.
 * Relative ones start from the data directory, which is every backend's
 * working directory.  Without pg_read_server_files the path must stay below
 * the data directory or an absolute log_directory, by its letters and after
 * resolving symbolic links.  Another one is ERROR 42501, and an empty one
 * 22023.  The letters are judged before the file system is touched.
 */
extern char *file_path_parse(const char *filename);

/* Raises the ERROR that belongs to a result other than FILE_SCAN_OK. */
_Noreturn extern void file_path_error(FileScanResult result,
									  const char *path);

#endif							/* ACCEL_HOST_FILE_PATH_H */
