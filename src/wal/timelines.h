/*
 * timelines.h
 *	  The timelines of a directory, from its history files.
 *
 * A history file tells of all ancestors of its timeline, so that the files of
 * those need not be read.  The newest is read first, each other one only if no
 * newer one tells of its timeline.  What is kept is bounded, whatever the
 * files say.
 */
#ifndef ACCEL_WAL_TIMELINES_H
#define ACCEL_WAL_TIMELINES_H

#include "wal/file.h"
#include "wal/walk.h"

/* A history file. */
typedef struct WalLineage
{
	uint32_t	timeline;
	int			nancestors;
	WalHistory *ancestors;		/* oldest first */
} WalLineage;

/* What is known of a timeline. */
typedef struct WalTimeline
{
	uint32_t	timeline;
	int			lineage;		/* that tells of it, -1 for timeline 1 */
	int			nancestors;		/* the first ones of that lineage */
	WalLsn		left;			/* the first timeline switch point,
								 * WAL_LSN_MAX if no newer timeline is known */
} WalTimeline;

typedef struct WalTimelines
{
	int			nlineages;
	WalLineage *lineages;		/* newest first */
	size_t		ntimelines;
	WalTimeline *timelines;		/* ascending */
} WalTimelines;

/* Returns the timeline of a history file's name, 0 if it is none. */
extern uint32_t wal_timelines_file(const char *name);

/*
 * Reads the history file of a timeline.  Returns no reason if it is one that
 * the server reads.  What it tells is allocated, whatever the verdict.
 */
extern WalVerdict wal_timelines_history(WalLineage *lineage, WalFile *file,
										const char *directory,
										uint32_t timeline);

/*
 * Reads the text of an open file of at most budget bytes, allocated, with a
 * terminator after it.  Returns its length, or -1, and *failed says why.
 */
extern int64_t wal_timelines_text(WalFile *file, char **contents,
								  int64_t budget, WalVerdict *failed);

/*
 * Reads the history files of these timelines, in any order, and sorts them.
 * What cannot be read, is too long or is none is as good as none.
 */
extern void wal_timelines_read(WalTimelines *ctx, const char *directory,
							   uint32_t *timelines, size_t ntimelines);

/* Returns a timeline's path, with known false if there is no history of it. */
extern WalPath wal_timelines_path(const WalTimelines *ctx, uint32_t timeline);

/* Returns where a newer timeline left it first, WAL_LSN_MAX if nowhere. */
extern WalLsn wal_timelines_left(const WalTimelines *ctx, uint32_t timeline);

/*
 * The search for descendants of a timeline begins with all but the first three
 * zero.
 */
typedef struct WalDescent
{
	uint32_t	timeline;
	WalLsn		begin;			/* of the next segment of the timeline */
	WalLsn		end;

	/* where it stands */
	int			lineages;		/* done with */
	int			ancestors;		/* likewise, of the next one */
	bool		below;			/* are those it has come to descendants? */
} WalDescent;

/*
 * Finds the path of the next descendant that may have a file with WAL between
 * begin and end, where the timeline itself has none.  Returns false if there
 * are no more.
 */
extern bool wal_timelines_descend(const WalTimelines *ctx, WalDescent *descent,
								  WalPath *path);

#endif							/* ACCEL_WAL_TIMELINES_H */
