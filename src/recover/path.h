/*
 * path.h
 *	  Paths of files and folders, allocated by the host.
 */
#ifndef ACCEL_RECOVER_PATH_H
#define ACCEL_RECOVER_PATH_H

#include <stdbool.h>

/* Makes a folder with those above it, for the owner alone. */
extern bool recover_make_folder(const char *path);

/* Makes the folders above a path. */
extern bool recover_make_above(const char *path);

/* Removes a folder with all that is in it. */
extern void recover_remove(const char *path);

/* Reads at most size - 1 bytes of a text.  Returns false if it cannot. */
extern bool recover_read_text(const char *path, char *words, size_t size);

/*
 * Copies a file, or the files of a folder, one that is missing not.  If direct,
 * they are read past the page cache.
 */
extern bool recover_copy(const char *from, const char *to, bool direct);

#endif							/* ACCEL_RECOVER_PATH_H */
