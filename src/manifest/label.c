/*
 * label.c
 *	  What backup_label, tablespace_map and pg_control say of a backup.
 */
#include <stdio.h>
#include <string.h>

#include "cluster/control.h"
#include "cluster/format.h"
#include "host/digits.h"
#include "manifest/label.h"

/* ---- backup_label ---- */

/*
 * Returns the value of a line that begins with this key, or NULL if there is
 * none.
 */
static const char *
line_of(const char *lines, const char *key)
{
	size_t		len = strlen(key);

	while (lines != NULL && strncmp(lines, key, len) != 0)
	{
		lines = strchr(lines, '\n');
		lines = lines == NULL ? NULL : lines + 1;
	}
	return lines == NULL ? NULL : lines + len;
}

static bool
read_lsn(const char *value, uint64_t *lsn)
{
	unsigned int high;
	unsigned int low;

	if (value == NULL || sscanf(value, "%8X/%8X", &high, &low) != 2)
		return false;
	*lsn = (uint64_t) high << 32 | low;
	return true;
}

/*
 * Reads the backup that an incremental one is based on, which is two lines, or
 * none.
 */
static bool
read_previous(const char *lines, BackupLabel *label)
{
	const char *lsn = line_of(lines, "INCREMENTAL FROM LSN: ");
	const char *timeline = line_of(lines, "INCREMENTAL FROM TLI: ");

	if (lsn == NULL && timeline == NULL)
		return true;
	return read_lsn(lsn, &label->previous_start) &&
		label->previous_start != 0 && timeline != NULL &&
		sscanf(timeline, "%10u", &label->previous_timeline) == 1;
}

/*
 * Reads the first two lines as strictly as the server does.  They come in this
 * order, and each ends with a newline at once.
 */
static bool
read_locations(const char *lines, BackupLabel *label)
{
	unsigned int start[2];
	unsigned int checkpoint[2];
	char		segment[17];
	char		ends[2] = "";

	if (sscanf(lines, "START WAL LOCATION: %8X/%8X (file %8X%16s)%c"
			   "CHECKPOINT LOCATION: %8X/%8X%c", &start[0], &start[1],
			   &label->timeline, segment, &ends[0], &checkpoint[0],
			   &checkpoint[1], &ends[1]) != 8)
		return false;
	label->start = (uint64_t) start[0] << 32 | start[1];
	label->checkpoint = (uint64_t) checkpoint[0] << 32 | checkpoint[1];
	return ends[0] == '\n' && ends[1] == '\n';
}

/* The timeline, which a newer server says once more. */
static bool
read_timeline(const char *lines, const BackupLabel *label)
{
	const char *value = line_of(lines, "START TIMELINE: ");
	unsigned int timeline;

	return value == NULL ||
		(sscanf(value, "%10u", &timeline) == 1 && timeline == label->timeline);
}

bool
backup_label_read(const char *lines, BackupLabel *label)
{
	const char *from = line_of(lines, "BACKUP FROM: ");
	const char *name = line_of(lines, "LABEL: ");
	size_t		len = name == NULL ? 0 : strcspn(name, "\n");

	memset(label, 0, sizeof(*label));
	if (!read_locations(lines, label) || !read_timeline(lines, label))
		return false;
	label->from_standby = from != NULL && strncmp(from, "standby\n", 8) == 0;
	if (len >= sizeof(label->label))
		len = sizeof(label->label) - 1;
	if (len > 0)
		memcpy(label->label, name, len);
	return read_previous(lines, label);
}

/* ---- tablespace_map ---- */

/*
 * A line is "OID path", and a path may hold newlines, each after a backslash.
 */
bool
backup_map_next(const char *lines, size_t *at, uint32_t *tablespace)
{
	uint64_t	oid;
	const char *end = digits_read(lines + *at, UINT32_MAX, &oid);
	size_t		i;
	size_t		path;

	if (end == NULL || oid == 0 || *end != ' ')
		return false;
	path = i = (size_t) (end + 1 - lines);
	while (lines[i] != '\0' && lines[i] != '\n')
		i += lines[i] == '\\' && lines[i + 1] != '\0' ? 2 : 1;
	if (i == path || lines[i] != '\n')
		return false;
	*tablespace = (uint32_t) oid;
	*at = lines[i + 1] == '\0' ? 0 : i + 1;
	return true;
}

/* ---- pg_control ---- */

/*
 * Every page has a checksum.  With other values than 0 some have none, or had
 * none.
 */
#define CHECKSUMS_ON		1

bool
backup_control_read(const uint8_t *bytes, size_t size, BackupControl *control)
{
	ClusterControl fields;
	bool		known;

	memset(control, 0, sizeof(*control));
	if (size < BACKUP_CONTROL_BYTES)
		return false;
	known = cluster_control_read(bytes, &fields);
	control->version = fields.version;
	if (!known)
		return false;
	control->system = fields.system;
	control->checkpoint = fields.checkpoint;
	control->redo = fields.redo;
	control->timeline = fields.timeline;
	control->min_recovery = fields.min_recovery;
	control->min_recovery_timeline = fields.min_recovery_timeline;
	control->shut_down = fields.state == CLUSTER_STATE_SHUTDOWNED;
	control->in_recovery = fields.state == CLUSTER_STATE_SHUTDOWNED_IN_RECOVERY ||
		fields.state == CLUSTER_STATE_IN_ARCHIVE_RECOVERY;
	control->block_size = fields.block_size;
	control->segment_blocks = fields.relation_segment_blocks;
	control->wal_block_size = fields.wal_block_size;
	control->checksums = fields.checksum_version == CHECKSUMS_ON;
	return true;
}
