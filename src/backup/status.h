/*
 * status.h
 *	  Verdicts on the files and pages of a backup, and their words.
 *
 * WAL of a backup has the statuses of page/status.h.
 */
#ifndef ACCEL_BACKUP_STATUS_H
#define ACCEL_BACKUP_STATUS_H

#define BACKUP_STATUS_LIST \
	BACKUP_STATUS(BACKUP_OK, "ok") \
	BACKUP_STATUS(BACKUP_MISSING, "missing") \
	BACKUP_STATUS(BACKUP_EXTRA, "extra") \
	BACKUP_STATUS(BACKUP_SIZE_MISMATCH, "size_mismatch") \
	BACKUP_STATUS(BACKUP_CHECKSUM_MISMATCH, "checksum_mismatch") \
	BACKUP_STATUS(BACKUP_IO_ERROR, "io_error") \
	BACKUP_STATUS(BACKUP_BAD_FORMAT, "bad_format") \
	BACKUP_STATUS(BACKUP_FOREIGN, "foreign_system") \
	BACKUP_STATUS(BACKUP_NO_MANIFEST, "ok_no_manifest") \
	BACKUP_STATUS(BACKUP_UNSUPPORTED_VERSION, "unsupported_version") \
	BACKUP_STATUS(BACKUP_HEALED_BY_WAL, "ok_healed_by_wal") \
	BACKUP_STATUS(BACKUP_REPLACED, "ok_replaced") \
	BACKUP_STATUS(BACKUP_MADE_ANEW, "ok_made_anew") \
	BACKUP_STATUS(BACKUP_DAMAGED, "damaged") \
	BACKUP_STATUS(BACKUP_CORRUPT, "corrupt") \
	BACKUP_STATUS(BACKUP_LSN_IN_FUTURE, "lsn_in_future") \
	BACKUP_STATUS(BACKUP_ZERO_HEADER, "zero_header") \
	BACKUP_STATUS(BACKUP_BAD_HEADER, "bad_header") \
	BACKUP_STATUS(BACKUP_PARTIAL_BLOCK, "partial_block") \
	BACKUP_STATUS(BACKUP_UNDECIDED, "undecided") \
	BACKUP_STATUS(BACKUP_NOT_VERIFIABLE, "not_verifiable")

typedef enum BackupStatus
{
#define BACKUP_STATUS(id, words) id,
	BACKUP_STATUS_LIST
#undef BACKUP_STATUS
} BackupStatus;

extern const char *backup_status_name(BackupStatus status);

#endif							/* ACCEL_BACKUP_STATUS_H */
