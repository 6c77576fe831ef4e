/*
 * plan.c
 *	  Which backups of a directory to read, by what is remembered of them.
 *
 * A backup with the same listing as when it was read is not read again, nor is
 * one whose files may still be copied.  Nobody says when a backup without a
 * manifest is whole, so it is judged when nothing of it has changed for a while.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backup/archives.h"
#include "backup/plan.h"
#include "host/host.h"
#include "host/print.h"
#include "manifest/barman.h"
#include "page/status.h"

/* ---- what is there ---- */

void
backup_plan_add(BackupPlan *plan, const char *path, const char *name,
				BackupFindKind kind)
{
	PlannedBackup *backup;

	HOST_MAKE_ROOM(plan->backups, plan->count, plan->room);
	backup = &plan->backups[plan->count++];
	memset(backup, 0, sizeof(*backup));
	backup->name = name;
	backup->path = strcmp(path, ".") == 0 ? host_print("%s", plan->directory) :
		host_print("%s/%s", plan->directory, path);
	backup->tar = kind == BACKUP_FIND_TAR;
	backup->stored = kind == BACKUP_FIND_STORED;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(((const PlannedBackup *) a)->name,
				  ((const PlannedBackup *) b)->name);
}

/* Where one before it is missing, a backup is judged by itself. */
static void
find_priors(const BackupPlan *plan, size_t n)
{
	PlannedBackup *backup = &plan->backups[n];

	backup->priors = host_alloc(BACKUP_CHAIN_MAX * sizeof(size_t));
	backup->npriors = backup_origin_priors(plan->origins, plan->count, n,
										   backup->priors, BACKUP_CHAIN_MAX);
	backup->lacks_prior = backup->npriors < 0;
	if (backup->lacks_prior)
		backup->npriors = 0;
	backup->priors = host_grow(backup->priors,
							   ((size_t) backup->npriors + 1) * sizeof(size_t));
}

/*
 * What is the same is not read again.  Another server has not seen these
 * files, though a dump of this one brought it the verdicts.
 */
static void
compute_digest(const BackupPlan *plan, PlannedBackup *backup)
{
	char	   *how = host_print("%" PRIu64 " %d %d %s", plan->system,
								 plan->check_pages, backup->lacks_prior,
								 plan->wal == NULL ? "" : plan->wal);
	uint64_t	digest = backup_listing_mix(backup->listing.digest, how, strlen(how));

	backup->settled = backup->listing.settled;
	for (int i = 0; i < backup->npriors; i++)
	{
		const BackupListing *prior = &plan->backups[backup->priors[i]].listing;

		digest = backup_listing_mix(digest, &prior->digest, sizeof(prior->digest));
		backup->settled &= prior->settled;
	}
	backup->digest = digest;
	host_free(how);
}

/* barman has the data directory in a folder, and pgBackRest needs no word. */
static void
read_origin(const PlannedBackup *backup, BackupOrigin *origin)
{
	char	   *data = host_print("%s/" BARMAN_DATA, backup->path);

	if (backup->stored)
		backup_origin_read(data, backup_tar_is(data), origin);
	else
		backup_origin_read(backup->path, backup->tar, origin);
	host_free(data);
}

void
backup_plan_look(BackupPlan *plan,
				 const BackupVerdict *(*find) (void *arg, const char *name),
				 void *arg)
{
	if (plan->count > 1)
		qsort(plan->backups, plan->count, sizeof(PlannedBackup), compare_names);
	plan->origins = host_alloc((plan->count + 1) * sizeof(BackupOrigin));
	for (size_t i = 0; i < plan->count; i++)
	{
		PlannedBackup *backup = &plan->backups[i];

		host_interrupts();
		backup_listing_read(backup->path, backup->tar, &backup->listing);
		read_origin(backup, &plan->origins[i]);
		backup->remembered = find(arg, backup->name);
	}
	for (size_t i = 0; i < plan->count; i++)
	{
		find_priors(plan, i);
		compute_digest(plan, &plan->backups[i]);
	}
}

bool
backup_plan_has(const BackupPlan *plan, const char *name)
{
	PlannedBackup wanted;

	wanted.name = name;
	return plan->count > 0 &&
		bsearch(&wanted, plan->backups, plan->count, sizeof(PlannedBackup), compare_names) != NULL;
}

/* ---- what to read ---- */

bool
backup_verdict_unverifiable(const BackupVerdict *verdict)
{
	return strcmp(verdict->status, backup_status_name(BACKUP_NOT_VERIFIABLE)) == 0;
}

bool
backup_plan_unchanged(const PlannedBackup *backup)
{
	const BackupVerdict *known = backup->remembered;

	return known != NULL && !known->gone && known->has_digest &&
		known->digest == backup->digest;
}

/*
 * WAL of another directory, or of a repository, is not in the listing, and may
 * mend what it was found to lack.
 */
bool
backup_plan_wants(const BackupPlan *plan, const PlannedBackup *backup)
{
	const BackupVerdict *known = backup->remembered;

	return !backup_plan_unchanged(backup) || backup_verdict_unverifiable(known) ||
		known->verified_at <= plan->reverify ||
		((plan->wal != NULL || backup->stored) &&
		 status_is_finding(known->status));
}

bool
backup_plan_unfinished(const BackupPlan *plan, const PlannedBackup *backup,
					   int64_t now)
{
	return !backup->listing.has_manifest &&
		now - backup->listing.changed_at < plan->settled_after;
}

/*
 * Is it what was judged, by its listing, or since no file has changed after
 * that?
 */
bool
backup_plan_as_judged(const PlannedBackup *backup)
{
	const BackupVerdict *known = backup->remembered;

	if (known == NULL || known->gone || backup_verdict_unverifiable(known))
		return false;
	return (known->has_digest && known->digest == backup->digest) ||
		backup->listing.changed_at < known->verified_at;
}

static int
compare_turns(const void *a, const void *b)
{
	const PlannedBackup *x = *(const PlannedBackup *const *) a;
	const PlannedBackup *y = *(const PlannedBackup *const *) b;
	int64_t		x_at = x->remembered == NULL ? INT64_MIN : x->remembered->verified_at;
	int64_t		y_at = y->remembered == NULL ? INT64_MIN : y->remembered->verified_at;

	if (x_at != y_at)
		return x_at < y_at ? -1 : 1;
	if (x->listing.written_at != y->listing.written_at)
		return x->listing.written_at > y->listing.written_at ? -1 : 1;
	return strcmp(x->name, y->name);
}

size_t
backup_plan_turns(const BackupPlan *plan, const PlannedBackup **turns,
				  void (*pass_over) (void *arg, const PlannedBackup *backup),
				  void *arg, int64_t now)
{
	size_t		count = 0;

	for (size_t i = 0; i < plan->count; i++)
	{
		const PlannedBackup *backup = &plan->backups[i];

		if (backup_plan_wants(plan, backup) &&
			!backup_plan_unfinished(plan, backup, now))
			turns[count++] = backup;
		else
			pass_over(arg, backup);
	}
	if (count > 1)
		qsort(turns, count, sizeof(*turns), compare_turns);
	return count;
}

/* ---- one of them ---- */

int64_t
backup_plan_bytes(const BackupPlan *plan, const PlannedBackup *backup)
{
	int64_t		bytes = (int64_t) backup->listing.bytes;

	for (int i = 0; i < backup->npriors; i++)
		bytes += (int64_t) plan->backups[backup->priors[i]].listing.bytes;
	return bytes;
}

bool
backup_plan_removed(const PlannedBackup *backup)
{
	struct stat status;

	return lstat(backup->path, &status) != 0 &&
		(errno == ENOENT || errno == ENOTDIR);
}

static bool
has_changed(const PlannedBackup *backup)
{
	BackupListing now;

	backup_listing_read(backup->path, backup->tar, &now);
	return now.digest != backup->listing.digest;
}

bool
backup_plan_changed(const BackupPlan *plan, const PlannedBackup *backup)
{
	bool		changed = has_changed(backup);

	for (int i = 0; i < backup->npriors && !changed; i++)
		changed = has_changed(&plan->backups[backup->priors[i]]);
	return changed;
}

void
backup_plan_options(const BackupPlan *plan, const PlannedBackup *backup,
					BackupOptions *options)
{
	const char **priors = host_alloc(((size_t) backup->npriors + 1) * sizeof(char *));

	for (int i = 0; i < backup->npriors; i++)
		priors[i] = plan->backups[backup->priors[i]].path;
	options->root = backup->path;
	options->prior = priors;
	options->nprior = backup->npriors;
}
