/* needs: kernel find decode native */
/*
 * test_find.c
 *	  What backups there are below a directory, their files, and their chains.
 *
 * Folders are made here, with files of a few bytes.  What is found of them, and
 * which change of a file changes the digest, is known.  Chains are numbers
 * beside a search that goes from each backup to the one before it.  Manifests
 * of pgBackRest that lead out of the repository, or overflow, are refused.  Of
 * what barman writes, lines that it never would are passed over.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* nftw() */
#endif

#include "unit.h"
#include "host_memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>

#include "host/host.h"
#include "kernel/checksum.h"
#include "manifest/barman.h"
#include "manifest/find.h"
#include "manifest/listing.h"
#include "manifest/manifest.h"
#include "manifest/origin.h"
#include "manifest/parse.h"
#include "manifest/pgbackrest.h"

static char root[] = "/tmp/test_find.XXXXXX";

/* ---- the program around the rooms ---- */

void
host_interrupts(void)
{
}

HostAtEnd *
host_at_end(void (*fn) (void *arg), void *arg)
{
	(void) fn;
	(void) arg;
	return NULL;
}

void
host_forget(HostAtEnd *at_end)
{
	(void) at_end;
}

bool
host_list(const char *directory, void (*entry) (void *arg, const char *name), void *arg)
{
	DIR		   *dir = opendir(directory);
	struct dirent *file;

	if (dir == NULL)
		return false;
	while ((file = readdir(dir)) != NULL)
		entry(arg, file->d_name);
	closedir(dir);
	return true;
}

int
host_open(const char *path)
{
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

int
host_open_direct(const char *path)
{
	return host_open(path);
}

_Noreturn void
host_refuse_direct(const char *path)
{
	fprintf(stderr, "%s\n", path);
	abort();
}

ssize_t
host_read(int fd, void *buffer, size_t length, off_t offset)
{
	return pread(fd, buffer, length, offset);
}

void
host_close(int fd)
{
	close(fd);
}

size_t
host_turn(struct Throttle *throttle, size_t len)
{
	(void) throttle;
	return len;
}

/* No manifest of PostgreSQL is read here. */
HostSha *
host_sha_begin(HostShaAlgorithm algorithm)
{
	(void) algorithm;
	return NULL;
}

void
host_sha_add(HostSha *sha, const void *data, size_t len)
{
	(void) sha;
	(void) data;
	(void) len;
}

bool
host_sha_end(HostSha *sha, uint8_t *digest)
{
	(void) sha;
	(void) digest;
	return false;
}

/* ---- folders and files ---- */

static const char *
path_of(const char *name)
{
	static char paths[4][512];
	static int	turn;
	char	   *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", root, name);
	return path;
}

static void
make_folder(const char *name)
{
	check(mkdir(path_of(name), 0700) == 0, "mkdir %s: %s", name, strerror(errno));
}

static void
make_file(const char *name, const char *contents)
{
	FILE	   *file = fopen(path_of(name), "w");

	check(file != NULL && fputs(contents, file) >= 0, "%s: %s", name, strerror(errno));
	if (file != NULL)
		fclose(file);
}

/* So many seconds after 1970. */
static void
set_time(const char *name, time_t seconds)
{
	struct timespec times[2] = {{seconds, 1}, {seconds, 1}};

	check(utimensat(AT_FDCWD, path_of(name), times, 0) == 0, "time of %s", name);
}

static int
remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	(void) status;
	(void) kind;
	(void) at;
	return remove(path);
}

static void
remove_all(void)
{
	(void) nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- what is found ---- */

static char found[4096];

/* Each by a letter and its path, in order of paths. */
static void
note_found(void *arg, const char *path, BackupFindKind kind)
{
	static const char letters[] = {'p', 't', 'o', 's', 'l', 'f'};
	char		line[512];
	size_t		at = 0;
	size_t		len = (size_t) snprintf(line, sizeof(line), "%s:%c ", path, letters[kind]);

	(void) arg;
	while (found[at] != '\0' && strncmp(found + at, line, len) < 0)
		at += strcspn(found + at, " ") + 1;
	memmove(found + at + len, found + at, strlen(found + at) + 1);
	memcpy(found + at, line, len);
}

static const char *
find_all(void)
{
	found[0] = '\0';
	backup_find(root, note_found, NULL);
	return found;
}

static void
make_data_directory(const char *name, const char *mark)
{
	char		file[256];

	make_folder(name);
	snprintf(file, sizeof(file), "%s/PG_VERSION", name);
	make_file(file, "15\n");
	snprintf(file, sizeof(file), "%s/base", name);
	make_folder(file);
	snprintf(file, sizeof(file), "%s/base/backup_label", name);
	make_file(file, "");
	if (mark == NULL)
		return;
	snprintf(file, sizeof(file), "%s/%s", name, mark);
	make_file(file, "");
}

static void
test_find(void)
{
	check(strcmp(find_all(), "") == 0, "nothing: %s", found);
	make_data_directory("none", NULL);
	make_data_directory("copy", "backup_manifest");
	make_data_directory("young", "backup_label");
	make_data_directory("server", "backup_manifest");
	make_file("server/postmaster.pid", "1");
	make_folder("tar");
	make_file("tar/base.tar.gz", "");
	make_file("tar/pg_wal.tar", "");
	make_folder("tar/below");
	make_file("tar/below/base.tar", "");
	make_folder("wal only");
	make_file("wal only/pg_wal.tar", "");
	make_file("wal only/base.tar.txt", "");
	make_folder("deep");
	make_folder("deep/er");
	make_folder("deep/er/lost");
	make_file("deep/er/lost/backup_manifest", "");
	check(symlink("copy", path_of("latest")) == 0, "link");
	check(symlink("nowhere", path_of("dead")) == 0, "dead link");
	check(symlink("copy/PG_VERSION", path_of("to a file")) == 0, "link to a file");
	make_folder("repo");
	make_file("repo/backup.info", "");
	make_data_directory("repo/label", "backup.manifest");
	make_folder("barman");
	make_file("barman/backup.info", "");
	make_data_directory("barman/data", "backup_label");
	make_folder("barman_later");
	make_folder("barman_later/meta");
	make_file("barman_later/meta/20261129T020301-backup.info", "");
	make_folder("barman_later/base");
	make_folder("barman_later/base/20261129T020301");
	make_data_directory("barman_later/base/20261129T020301/data", "backup_label");
	make_folder("barman_later/base/20261129T020302");
	make_data_directory("barman_later/base/20261129T020302/data", "backup_label");
	check(strcmp(find_all(), "barman:o barman_later/base/20261129T020301:o "
				 "barman_later/base/20261129T020302/data:p copy:p deep/er/lost:p latest:l repo/label:o server:s tar/below:t tar:t young:p ") == 0, "all kinds: %s", found);
	make_file("backup_label", "");
	check(strcmp(find_all(), ".:p ") == 0, "the root is one: %s", found);
	check(unlink(path_of("backup_label")) == 0, "unlink");
	if (geteuid() == 0)
	{
		skip("root reads all");
		return;
	}
	check(chmod(path_of("deep"), 0) == 0, "chmod");
	check(strstr(find_all(), "deep:f ") != NULL, "a folder that may not be read: %s", found);
	check(chmod(path_of("deep"), 0700) == 0, "chmod");
}

/* ---- listings ---- */

static BackupListing
list(const char *name, bool tar)
{
	BackupListing listing;

	backup_listing_read(path_of(name), tar, &listing);
	return listing;
}

static void
check_changed(const char *name, BackupListing *before, bool changed, const char *what)
{
	BackupListing now = list(name, false);

	check((now.digest != before->digest) == changed, "%s", what);
	*before = now;
}

static const char manifest[] =
"{ \"PostgreSQL-Backup-Manifest-Version\": 2,\n\"System-Identifier\": 7215000000000000001,\n\"Files\": [\n"
"{ \"Path\": \"a\", \"Size\": 1, \"Last-Modified\": \"2024-02-29 23:59:58 GMT\" },\n"
"{ \"Path\": \"b\", \"Size\": 1, \"Last-Modified\": \"2023-12-31 00:00:00 GMT\" },\n"
"{ \"Path\": \"c\", \"Size\": 1, \"Last-Modified\": \"2031-12-31 00:00:00 CET\" }],\n"
"\"Manifest-Checksum\": \"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"}\n";

static void
test_listing(void)
{
	BackupListing listing = list("copy", false);
	BackupListing before;

	check(listing.files == 3 && listing.has_manifest && listing.manifest[0] == '\0', "three files, an empty manifest");
	/* a moment has 50 ms, which a busy machine may let pass */
	for (int i = 0; i < 1000 && listing.settled; i++)
	{
		make_file("copy/PG_VERSION", "15\n");
		listing = list("copy", false);
	}
	check(!listing.settled, "files of this moment may be written once more");
	set_time("copy/PG_VERSION", 1000);
	set_time("copy/base/backup_label", 2000);
	set_time("copy/backup_manifest", 1500);
	listing = list("copy", false);
	check(listing.settled && listing.written_at == INT64_C(2000000000) && listing.manifest_at == INT64_C(1500000000), "times");
	check(listing.changed_at > INT64_C(1500000000000000), "changes are of now");
	check_changed("copy", &listing, false, "the same");
	set_time("copy/PG_VERSION", 1001);
	check_changed("copy", &listing, true, "another time");
	make_file("copy/PG_VERSION", "16\n");
	set_time("copy/PG_VERSION", 1001);
	check_changed("copy", &listing, false, "other contents of the same size and time");
	make_file("copy/PG_VERSION", "160\n");
	set_time("copy/PG_VERSION", 1001);
	check_changed("copy", &listing, true, "another size");
	check(rename(path_of("copy/base/backup_label"), path_of("copy/base/label")) == 0, "rename");
	check_changed("copy", &listing, true, "another name");
	make_folder("copy/pg_wal");
	check_changed("copy", &listing, false, "a folder alone");
	make_file("copy/pg_wal/000000010000000000000001", "x");
	set_time("copy/pg_wal/000000010000000000000001", 1000);
	check_changed("copy", &listing, true, "its WAL counts");
	before = listing;
	make_file("copy/backup_manifest", manifest);
	check_changed("copy", &listing, true, "another manifest");
	check(strncmp(listing.manifest, "0011223344", 10) == 0 && strlen(listing.manifest) == 64, "its checksum: %s", listing.manifest);
	check(unlink(path_of("copy/backup_manifest")) == 0, "unlink");
	check_changed("copy", &listing, true, "no manifest");
	check(!listing.has_manifest && listing.digest != before.digest, "none");
	listing = list("tar", true);
	check(listing.files == 2, "archives, and nothing below: %d", (int) listing.files);
	listing = list("barman_later/base/20261129T020301", false);
	check(listing.files == 4 && listing.has_manifest, "with what barman says of it: %d", (int) listing.files);
	before = listing;
	make_file("barman_later/meta/20261129T020301-backup.info", "status=DONE");
	check(list("barman_later/base/20261129T020301", false).digest != before.digest, "barman says something else");
	listing = list("barman_later/base/20261129T020302", false);
	check(listing.files == 3 && !listing.has_manifest, "barman says nothing of it");
	listing = list("nowhere", false);
	check(listing.files == 0 && !listing.has_manifest, "what is gone");
}

/* ---- manifests of pgBackRest ---- */

#define SHA1	"\"checksum\":\"00112233445566778899aabbccddeeff00112233\""

/* A line of each section that counts, then one of the files. */
static BackupStatus
parse_stored(const char *before, const char *line, size_t len, PgBackRest *backup, BackupManifest *parsed)
{
	static const char start[] = "[backrest]\nbackrest-format=5\n[target:file]\npg_data/PG_VERSION={" SHA1 ",\"size\":3}\n";
	char		text[1024];
	size_t		at = (size_t) snprintf(text, sizeof(text), "%s%s", before, start);

	memcpy(text + at, line, len);
	text[at + len] = '\0';
	memset(backup, 0, sizeof(*backup));
	memset(parsed, 0, sizeof(*parsed));
	pgbackrest_parse(text, at + len, parsed, backup);
	return parsed->status;
}

static const struct
{
	const char *line;
	bool		good;
}			stored_lines[] = {
	{"", true}, {"\n", true},
	{"pg_data/a={" SHA1 ",\"size\":4}\n", true},
	{"pg_data/a={" SHA1 ",\"size\":4}", true},	/* without an end of line */
	{"pg_data/a={" SHA1 ",\"reference\":\"20261129-020000F\",\"size\":4}\n", true},
	{"pg_data/a={" SHA1 ",\"reference\":\"..\",\"size\":4}\n", false},
	{"pg_data/a={" SHA1 ",\"reference\":\".\",\"size\":4}\n", false},
	{"pg_data/a={" SHA1 ",\"reference\":\"\",\"size\":4}\n", false},
	{"pg_data/a={" SHA1 ",\"reference\":\"../../main/20261129-020000F\",\"size\":4}\n", false},
	{"pg_data/../a={" SHA1 ",\"size\":4}\n", false},
	{"pg_data//a={" SHA1 ",\"size\":4}\n", false},
	{"/a={" SHA1 ",\"size\":4}\n", false},
	{"pg_data/a={\"size\":4}\n", false},	/* without a checksum */
	{"pg_data/a={\"size\":0}\n", true},
	{"pg_data/a={" SHA1 ",\"size\":-1}\n", false},
	{"pg_data/a={" SHA1 ",\"size\":9223372036854775807}\n", true},
	{"pg_data/a={" SHA1 ",\"size\":9223372036854775808}\n", false},
	{"pg_data/a={" SHA1 ",\"bni\":1,\"bno\":9223372036854775807,\"repo-size\":0,\"size\":4}\n", true},
	{"pg_data/a={" SHA1 ",\"bni\":1,\"bno\":9223372036854775807,\"repo-size\":1,\"size\":4}\n", false},
	{"pg_data/a={" SHA1 ",\"bni\":1,\"bno\":9223372036854775806,\"size\":4}\n", false},
	{"pg_data/a={" SHA1 ",\"bni\":4294967296,\"size\":4}\n", false},
	{"pg_data/a={" SHA1 ",\"size\":4}{\n", false},
	{"pg_data/a={" SHA1 "}\"size\":4}\n", false},
	{"pg_data/a={" SHA1 ",\"size\":4,\"x\":\"\\", false},
	{"[backup:db]\ndb-version=\"15\"\n", true},
	{"[backup:db]\ndb-version=\"../15\"\n", false},
	{"[backup:db]\ndb-version=\"1234567890123456\"\n", false},
	{"[backup]\nbackup-lsn-start=\"0/FFFFFFFF\"\n", true},
	{"[backup]\nbackup-lsn-start=\"0/100000000\"\n", false},
	{"[backup]\nbackup-lsn-start=\"-1/1\"\n", false},
	{"[backup]\nbackup-lsn-start=\"1/1/\"\n", false},
	{"[backup]\nbackup-archive-start=\"0000000100000000000000FF\"\n", true},
	{"[backup]\nbackup-archive-start=\"-000000100000000000000FF\"\n", false},
};

static void
drop_stored(PgBackRest *backup, BackupManifest *parsed)
{
	free(parsed->message);
	free(backup->folders);
	backup_list_free(&parsed->list);
}

/* A section may come twice, or after the files. */
static void
test_stored_order(PgBackRest *backup, BackupManifest *parsed)
{
	static const char option[] = "[backup:option]\noption-compress-type=\"gz\"\n";
	static const char zeros[] = "pg_data/a\0b={" SHA1 ",\"size\":4}\n";

	check(parse_stored("[backup:option]\noption-compress-type=\"zst\"\n", option, strlen(option), backup, parsed) == BACKUP_OK &&
		  parsed->list.stored[0].format == DECODE_GZIP, "the last compression counts for all files");
	drop_stored(backup, parsed);
	check(parse_stored("", zeros, sizeof(zeros) - 1, backup, parsed) == BACKUP_BAD_FORMAT, "a byte of zero in a name");
	drop_stored(backup, parsed);
}

static void
test_stored_manifests(void)
{
	PgBackRest	backup;
	BackupManifest *parsed = malloc(sizeof(BackupManifest));

	for (size_t i = 0; i < sizeof(stored_lines) / sizeof(stored_lines[0]); i++)
	{
		const char *line = stored_lines[i].line;
		BackupStatus status = parse_stored("", line, strlen(line), &backup, parsed);

		check(status == (stored_lines[i].good ? BACKUP_OK : BACKUP_BAD_FORMAT), "%s: %d", line, (int) status);
		drop_stored(&backup, parsed);
	}
	test_stored_order(&backup, parsed);
	free(parsed);
}

/* Only folders of backups beside it are looked into, each of them once. */
static void
test_stored_references(void)
{
	PgBackRest	backup = {0};

	pgbackrest_parse_references("\nbackup-label=\"20261129-040000F\"\nbackup-reference=\"20261129-020000F,..,.,,a/b,"
								"20261129-020000F,20261129-040000F,20261129-020000F_20261129-030000D\"\n[x]\n"
								"y={\"size\":9223372036854775807}\nz={\"size\":5}\n", &backup);
	check(backup.nreferences == 2 && strcmp(backup.references[0], "20261129-020000F") == 0 &&
		  strcmp(backup.references[1], "20261129-020000F_20261129-030000D") == 0, "%zu references", backup.nreferences);
	check(backup.bytes == INT64_MAX, "a sum of sizes");
	for (size_t i = 0; i < backup.nreferences; i++)
		free(backup.references[i]);
	free(backup.references);
}

/* ---- what barman writes ---- */

static const struct
{
	const char *text;
	const char *status;
	const char *encryption;
	uint64_t	system;			/* 0 if it is not known */
	const char *tablespaces;	/* OIDs, each after a blank */
}			infos[] = {
	{"", "", "", 0, ""},
	{"\n\n=\n", "", "", 0, ""},
	{"status=DONE\nsystemid=7215000000000000001\nencryption=None\ntablespaces=None\n", "DONE", "", UINT64_C(7215000000000000001), ""},
	{"status=DONE", "DONE", "", 0, ""},	/* without an end of line */
	{"status=None\n", "", "", 0, ""},
	{"status=\n", "", "", 0, ""},
	{"status =DONE\nSTATUS=DONE\nxstatus=DONE\nstatusx=DONE\nstatus", "", "", 0, ""},
	{"status=STARTED\nstatus=DONE\n", "DONE", "", 0, ""},	/* the last one counts */
	{"status=DONE \n", "DONE ", "", 0, ""},
	{"status=0123456789012345678901234567890123456789\n", "0123456789012345678901234567890", "", 0, ""},
	{"encryption=gpg\nstatus=DONE\n", "DONE", "gpg", 0, ""},
	{"systemid=18446744073709551615\n", "", "", UINT64_MAX, ""},
	{"systemid=18446744073709551616\n", "", "", 0, ""},
	{"systemid=-1\n", "", "", 0, ""},
	{"systemid=7x\n", "", "", 0, ""},
	{"systemid=None\n", "", "", 0, ""},
	{"systemid=\n", "", "", 0, ""},
	{"systemid=7\nsystemid=x\n", "", "", 0, ""},
	{"tablespaces=[('one', 77, '/a'), (\"o'ne\", 4294967295, '/b')]\n", "", "", 0, " 77 4294967295"},
	{"tablespaces=[('o\\'ne', 77, '/a\\\\')]\n", "", "", 0, " 77"},
	{"tablespaces=[]\n", "", "", 0, ""},
	{"tablespaces=('one', 77, '/a')\n", "", "", 0, ""},
	{"tablespaces=[(one, 77, '/a')]\n", "", "", 0, ""},
	{"tablespaces=[('one', 4294967296, '/a')]\n", "", "", 0, ""},
	{"tablespaces=[('one', '77', '/a')]\n", "", "", 0, ""},
	{"tablespaces=[('one',77, '/a')]\n", "", "", 0, ""},
	{"tablespaces=[('one', 77,'/a')]\n", "", "", 0, ""},
	{"tablespaces=[('one', 77, /a)]\n", "", "", 0, ""},
	{"tablespaces=[('one', 77, '/a'\n", "", "", 0, ""},
	{"tablespaces=[('one', 77, '/a\nstatus=DONE\n", "DONE", "", 0, ""},
	{"tablespaces=[('one\\", "", "", 0, ""},
	{"tablespaces=[('one', 77, '/a'), ('two', x, '/b'), ('three', 99, '/c')]\n", "", "", 0, " 77"},
};

static void
test_infos(void)
{
	for (size_t i = 0; i < sizeof(infos) / sizeof(infos[0]); i++)
	{
		Barman		backup = {0};
		char		tablespaces[64] = "";
		size_t		at = 0;

		barman_parse(infos[i].text, &backup);
		for (size_t n = 0; n < backup.ntablespaces && at < sizeof(tablespaces); n++)
			at += (size_t) snprintf(tablespaces + at, sizeof(tablespaces) - at, " %u", backup.tablespaces[n]);
		check(strcmp(backup.status, infos[i].status) == 0, "%s: status %s", infos[i].text, backup.status);
		check(strcmp(backup.encryption, infos[i].encryption) == 0, "%s: encryption %s", infos[i].text, backup.encryption);
		check((backup.has_system ? backup.system : 0) == infos[i].system, "%s: another system", infos[i].text);
		check(strcmp(tablespaces, infos[i].tablespaces) == 0, "%s: tablespaces%s", infos[i].text, tablespaces);
		free(backup.tablespaces);
	}
}

static void
check_info(const char *name, const char *wanted, const char *status, const char *what)
{
	Barman		backup;
	char	   *info = barman_info(path_of(name));
	bool		done = barman_read(path_of(name), &backup);

	check(info == NULL ? wanted == NULL : wanted != NULL && strcmp(info, wanted) == 0, "%s: %s", what, info == NULL ? "none" : info);
	check(done == (status != NULL) && (status == NULL || strcmp(backup.status, status) == 0), "%s: status %s", what, backup.status);
	free(info);
	free(backup.info);
	free(backup.tablespaces);
}

/* The folder of the server has it, else that of the backup. */
static void
test_info_places(void)
{
	static const char later[] = "barman_later/base/20261129T020301";
	static const char meta[] = "../../meta/20261129T020301-backup.info";

	check_info(later, meta, "DONE", "the newer place");
	check_info("barman_later/base/20261129T020302/../20261129T020301/.", meta, "DONE", "a path with dots");
	make_file("barman_later/base/20261129T020301/backup.info", "status=FAILED");
	check_info(later, meta, "DONE", "both");
	check(unlink(path_of("barman_later/meta/20261129T020301-backup.info")) == 0, "unlink");
	check_info(later, "backup.info", "FAILED", "the older place");
	check_info("barman_later/base/20261129T020302", NULL, NULL, "none");
	check_info("nowhere", NULL, NULL, "no folder");
	check(barman_is(path_of(later)), "it is one");
	check(!barman_is(path_of("repo")), "without data it is none");
	check(!barman_is(path_of("barman_later/base/20261129T020302")), "without the file it is none");
	make_folder("barman_later/meta/20261129T020301-backup.info");
	check_info(later, meta, NULL, "a folder in its place");
}

/* ---- the time of a manifest ---- */

static void
no_file(void *arg, const ManifestFile *file)
{
	(void) arg;
	(void) file;
}

static void
test_newest(void)
{
	ManifestReader reader = {0};
	size_t		at;

	manifest_begin(&reader);
	reader.file = no_file;
	check(manifest_parse(&reader, manifest, sizeof(manifest) - 1, &at) == MANIFEST_PARSED && manifest_finish(&reader),
		  "a manifest: %s", reader.error == NULL ? "" : reader.error);
	check(reader.newest == INT64_C(1709251198), "the newest file, in GMT alone: %lld", (long long) reader.newest);
}

/* ---- origins ---- */

static const char label[] =
"START WAL LOCATION: 1/2000028 (file 000000030000000100000002)\n"
"CHECKPOINT LOCATION: 1/2000060\nBACKUP METHOD: streamed\nBACKUP FROM: primary\n"
"START TIME: 2024-02-29 23:59:58 UTC\nLABEL: x\nSTART TIMELINE: 3\n"
"INCREMENTAL FROM LSN: 1/1000028\nINCREMENTAL FROM TLI: 2\n";

/* A member of an archive. */
static void
put_member(FILE *file, const char *name, const char *contents)
{
	char		block[512] = {0};
	unsigned int sum = 0;

	snprintf(block, 100, "%s", name);
	memcpy(block + 100, "0000600", 7);
	snprintf(block + 124, 12, "%011o", (unsigned int) strlen(contents));
	memset(block + 148, ' ', 8);
	block[156] = '0';
	memcpy(block + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(block); i++)
		sum += (unsigned char) block[i];
	snprintf(block + 148, 8, "%06o", sum);
	fwrite(block, sizeof(block), 1, file);
	memset(block, 0, sizeof(block));
	strcpy(block, contents);
	fwrite(block, sizeof(block), 1, file);
}

static void
make_archive(const char *name, int before)
{
	FILE	   *file = fopen(path_of(name), "w");

	for (int i = 0; i < before; i++)
		put_member(file, "other", "x");
	put_member(file, "backup_label", label);
	fclose(file);
}

static void
check_origin(const char *name, bool tar, bool known, const char *what)
{
	BackupOrigin origin;

	backup_origin_read(path_of(name), tar, &origin);
	check(origin.known == known, "%s: known", what);
	if (!known)
		return;
	check(origin.start == UINT64_C(0x102000028) && origin.timeline == 3 &&
		  origin.previous_start == UINT64_C(0x101000028) && origin.previous_timeline == 2, "%s: places", what);
}

static void
test_origin(void)
{
	BackupOrigin origin;

	check_origin("young", false, false, "an empty label");
	make_file("young/backup_label", label);
	check_origin("young", false, true, "a label");
	backup_origin_read(path_of("young"), false, &origin);
	check(!origin.has_system, "no manifest");
	make_file("young/backup_manifest", manifest);
	backup_origin_read(path_of("young"), false, &origin);
	check(origin.has_system && origin.system == UINT64_C(7215000000000000001), "the identifier of a manifest");
	check_origin("tar", true, false, "an empty archive");
	make_archive("tar/below/base.tar", 0);
	check_origin("tar/below", true, true, "an archive");
	make_archive("tar/below/base.tar", 3);
	check_origin("tar/below", true, true, "a member before it");
	make_archive("tar/below/base.tar", 100);
	check_origin("tar/below", true, false, "too many");
	check_origin("nowhere", true, false, "none");
}

/* ---- chains ---- */

static const char *
chain(const BackupOrigin *origins, size_t count, size_t n, int most)
{
	static char text[256];
	size_t		priors[16];
	int			found_priors = backup_origin_priors(origins, count, n, priors, most);
	size_t		at = 0;

	at += (size_t) snprintf(text, sizeof(text), "%d:", found_priors);
	for (int i = 0; i < found_priors; i++)
		at += (size_t) snprintf(text + at, sizeof(text) - at, " %zu", priors[i]);
	return text;
}

static void
test_chains(void)
{
	static const BackupOrigin origins[] = {
		{true, true, 7, 30, 1, 20, 1},	/* 0, incremental to 2 */
		{true, true, 8, 10, 1, 0, 0},	/* 1, of another cluster */
		{true, true, 7, 20, 1, 10, 1},	/* 2, incremental to 3 */
		{true, true, 7, 10, 1, 0, 0},	/* 3, full */
		{true, true, 7, 40, 2, 30, 2},	/* 4, of another timeline */
		{true, false, 0, 50, 1, 10, 1}, /* 5, of nobody knows whom */
		{false, true, 7, 10, 1, 10, 1}, /* 6, without a label */
		{true, true, 7, 60, 1, 60, 1},	/* 7, incremental to itself */
		{true, true, 7, 70, 1, 80, 1},	/* 8 and 9, to each other */
		{true, true, 7, 80, 1, 70, 1},
	};
	static const char *const wanted[] = {
		"2: 3 2", "0:", "1: 3", "0:", "-1:", "-1:", "0:", "-1:", "-1:", "-1:"
	};
	size_t		count = sizeof(origins) / sizeof(origins[0]);

	for (size_t i = 0; i < count; i++)
		check(strcmp(chain(origins, count, i, 16), wanted[i]) == 0, "backup %zu: %s, not %s", i, chain(origins, count, i, 16), wanted[i]);
	check(strcmp(chain(origins, count, 0, 2), "2: 3 2") == 0, "as many as there may be");
	check(strcmp(chain(origins, count, 0, 1), "-1:") == 0, "more than there may be");
	check(strcmp(chain(origins, 3, 0, 16), "-1:") == 0, "the full one is not there");
}

int
main(int argc, char **argv)
{
	unit_begin("find", argc, argv);
	checksum_init();
	check(mkdtemp(root) != NULL, "%s: %s", root, strerror(errno));
	test_find();
	test_listing();
	test_stored_manifests();
	test_stored_references();
	test_infos();
	test_info_places();
	test_newest();
	test_origin();
	test_chains();
	remove_all();
	return unit_finish();
}
