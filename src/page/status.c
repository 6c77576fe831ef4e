/*
 * status.c
 *	  Verdicts in words.
 */
#include <string.h>

#include "page/status.h"

const char *
page_status_name(PageStatus status)
{
	static const char *const names[] = {
#define PAGE_STATUS(id, words) words,
		PAGE_STATUS_LIST
#undef PAGE_STATUS
	};

	return names[status];
}

const char *
wal_status_name(WalStatus status)
{
	static const char *const names[] = {
#define WAL_STATUS(id, words) words,
		WAL_STATUS_LIST
#undef WAL_STATUS
	};

	return names[status];
}

WalStatus
wal_status_of(const char *name)
{
	int			status = 0;

	while (status < WAL_STATUSES &&
		   strcmp(wal_status_name((WalStatus) status), name) != 0)
		status++;
	return (WalStatus) status;
}

const char *
cluster_kind_name(ClusterKind kind)
{
	static const char *const names[] = {
#define CLUSTER_KIND(id, words) words,
		CLUSTER_KIND_LIST
#undef CLUSTER_KIND
	};

	return names[kind];
}

const char *
cluster_status_name(ClusterStatus status)
{
	static const char *const names[] = {
#define CLUSTER_STATUS(id, words) words,
		CLUSTER_STATUS_LIST
#undef CLUSTER_STATUS
	};

	return names[status];
}

bool
status_is_finding(const char *name)
{
	return strncmp(name, "ok", 2) != 0 &&
		strcmp(name, page_status_name(PAGE_NOT_VERIFIABLE)) != 0;
}

bool
wal_status_is_finding(WalStatus status)
{
	return status_is_finding(wal_status_name(status));
}
