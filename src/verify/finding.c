/*
 * finding.c
 *	  Verdicts in words.
 */
#include "verify/finding.h"

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
