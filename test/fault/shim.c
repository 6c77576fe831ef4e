/*
 * shim.c
 *	  Makes the n-th system call on certain files fail, inside a real backend.
 *
 * Preloaded into the server (LD_PRELOAD), it stands before the C library's
 * open, read, pread, pwrite, fstat, lseek and stat families.  The same file is a module with
 * two SQL functions, so a session arms its own process and nobody else's:
 *
 *	fault_arm(call text, fault text, nth integer, for_good boolean, pattern text)
 *	fault_fired() -> integer	how many calls failed since, then disarms
 *
 * call		open | read | coldread | farread | write | fstat | lseek | stat
 *			(coldread: as read, and nothing is in the page cache: a read that
 *			must not wait fails with EAGAIN unless another came before it;
 *			farread: as read, and the file system knows no read that must not
 *			wait)
 * fault	eio | eintr | short (read only: half of the bytes) | end (read only: none,
 *			as at the end of the file) | emfile | enoent |
 *			pause (not failing: before the call, makes a file fault_paused in
 *			the data directory and waits for one called fault_go, which goes
 *			where more calls are to come; a write has written half of its bytes
 *			by then)
 * pattern	part of the path of the file (resolved through /proc/self/fd), its end
 *			where the last character is $
 *
 * With FAULT_READ_LOG in the server's environment every process appends a line
 * a read of files below base/ or pg_wal/ to that file: microseconds (monotonic),
 * process, bytes, path.
 *
 * It uses functions of the server, no variables: the shells and tools that the
 * environment also preloads it into find no undefined symbol (lazy binding).
 */
#define _GNU_SOURCE
#include "postgres.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "fmgr.h"

#undef snprintf					/* the C library's: tools read files, too */

PG_MODULE_MAGIC;

typedef enum FaultCall
{
	CALL_NONE, CALL_open, CALL_read, CALL_write, CALL_fstat, CALL_lseek,
	CALL_stat, CALL_coldread, CALL_farread
} FaultCall;

static FaultCall armed_call;
static char armed_fault[16];
static char armed_pattern[256];
static int	armed_nth;
static bool armed_for_good;
static bool refused;			/* a read that must not wait */
static bool warm;				/* another came after it */
static int	matched;
static int	fired;

/* Ten minutes at most. */
static void
pause_here(void)
{
	int			fd = open("fault_paused", O_WRONLY | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
	for (int i = 0; i < 60000 && access("fault_go", F_OK) != 0; i++)
		usleep(10000);
	if (armed_for_good)
		unlink("fault_go");
}

static bool
is_armed_for(const char *path)
{
	size_t		wanted = strlen(armed_pattern);
	size_t		len = strlen(path);

	if (wanted == 0 || armed_pattern[wanted - 1] != '$')
		return strstr(path, armed_pattern) != NULL;
	wanted--;
	return len >= wanted &&
		strncmp(path + len - wanted, armed_pattern, wanted) == 0;
}

/* Whether this call on this path is to fail. */
static bool
fails_path(FaultCall call, const char *path)
{
	if (armed_call != call || path == NULL || !is_armed_for(path))
		return false;
	matched++;
	if (matched < armed_nth || (matched > armed_nth && !armed_for_good))
		return false;
	fired++;
	if (strcmp(armed_fault, "pause") == 0 && call != CALL_write)
	{
		pause_here();
		return false;
	}
	return true;
}

static bool
fails_fd(FaultCall call, int fd)
{
	char		link[64];
	char		path[4096];
	ssize_t		len;

	if (armed_call == CALL_coldread && call == CALL_read)
	{
		call = CALL_coldread;
		warm |= refused;
		refused = false;
	}
	if (armed_call == CALL_farread && call == CALL_read)
		call = CALL_farread;
	if (armed_call != call)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return false;
	path[len] = '\0';
	return fails_path(call, path);
}

/* The server moves its environment about to make room for its title. */
static void
log_read(int fd, ssize_t bytes)
{
	static char name[1024];
	static int	log = -2;
	char		link[64];
	char		path[4096];
	char		line[4200];
	ssize_t		len;
	struct timespec now;

	if (log == -2)
	{
		const char *value = getenv("FAULT_READ_LOG");

		snprintf(name, sizeof(name), "%s", value ? value : "");
		log = -1;
	}
	if (name[0] == '\0' || bytes <= 0)
		return;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return;
	path[len] = '\0';
	if (strstr(path, "/base/") == NULL && strstr(path, "/pg_wal/") == NULL)
		return;
	if (log < 0)
		log = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	clock_gettime(CLOCK_MONOTONIC, &now);
	len = snprintf(line, sizeof(line), "%lld %d %zd %s\n",
				   (long long) now.tv_sec * 1000000 + now.tv_nsec / 1000,
				   (int) getpid(), bytes, path);
	if (write(log, line, len) != len)
		abort();
}

static int
fault_errno(void)
{
	if (strcmp(armed_fault, "eintr") == 0)
		return EINTR;
	if (strcmp(armed_fault, "emfile") == 0)
		return EMFILE;
	if (strcmp(armed_fault, "enoent") == 0)
		return ENOENT;
	return EIO;
}

static bool
fault_is_short(void)
{
	return strcmp(armed_fault, "short") == 0;
}

#define NEXT(result, name, args) \
	static result (*next) args; \
	if (next == NULL) \
		next = (result (*) args) dlsym(RTLD_NEXT, #name)

#define FAIL_IF(condition) \
	do { \
		if (condition) \
		{ \
			errno = fault_errno(); \
			return -1; \
		} \
	} while (0)

#define DEFINE_OPEN(name) \
int name(const char *path, int flags,...); \
int name(const char *path, int flags,...) \
{ \
	va_list		args; \
	mode_t		mode; \
	NEXT(int, name, (const char *, int, ...)); \
	va_start(args, flags); \
	mode = va_arg(args, mode_t); \
	va_end(args); \
	FAIL_IF(fails_path(CALL_open, path)); \
	return next(path, flags, mode); \
}

#define DEFINE_OPENAT(name) \
int name(int dir, const char *path, int flags,...); \
int name(int dir, const char *path, int flags,...) \
{ \
	va_list		args; \
	mode_t		mode; \
	NEXT(int, name, (int, const char *, int, ...)); \
	va_start(args, flags); \
	mode = va_arg(args, mode_t); \
	va_end(args); \
	FAIL_IF(fails_path(CALL_open, path)); \
	return next(dir, path, flags, mode); \
}

#define DEFINE_OPEN_2(name) \
int name(const char *path, int flags); \
int name(const char *path, int flags) \
{ \
	NEXT(int, name, (const char *, int)); \
	FAIL_IF(fails_path(CALL_open, path)); \
	return next(path, flags); \
}

/* A short read really reads, but half of what was asked. */
#define READ_BODY(call_short, call_full) \
	ssize_t		got; \
	if (fails_fd(CALL_read, fd)) \
	{ \
		if (fault_is_short()) \
			return len > 1 ? (call_short) : (call_full); \
		if (strcmp(armed_fault, "end") == 0) \
			return 0; \
		errno = fault_errno(); \
		return -1; \
	} \
	got = (call_full); \
	log_read(fd, got); \
	return got

#define DEFINE_READ(name) \
ssize_t name(int fd, void *buf, size_t len); \
ssize_t name(int fd, void *buf, size_t len) \
{ \
	NEXT(ssize_t, name, (int, void *, size_t)); \
	READ_BODY(next(fd, buf, len / 2), next(fd, buf, len)); \
}

#define DEFINE_READ_CHK(name) \
ssize_t name(int fd, void *buf, size_t len, size_t room); \
ssize_t name(int fd, void *buf, size_t len, size_t room) \
{ \
	NEXT(ssize_t, name, (int, void *, size_t, size_t)); \
	READ_BODY(next(fd, buf, len / 2, room), next(fd, buf, len, room)); \
}

#define DEFINE_PREAD(name) \
ssize_t name(int fd, void *buf, size_t len, off_t offset); \
ssize_t name(int fd, void *buf, size_t len, off_t offset) \
{ \
	NEXT(ssize_t, name, (int, void *, size_t, off_t)); \
	READ_BODY(next(fd, buf, len / 2, offset), next(fd, buf, len, offset)); \
}

#define DEFINE_PREAD_CHK(name) \
ssize_t name(int fd, void *buf, size_t len, off_t offset, size_t room); \
ssize_t name(int fd, void *buf, size_t len, off_t offset, size_t room) \
{ \
	NEXT(ssize_t, name, (int, void *, size_t, off_t, size_t)); \
	READ_BODY(next(fd, buf, len / 2, offset, room), \
			  next(fd, buf, len, offset, room)); \
}

/* Short: the first piece alone. */
#define DEFINE_PREADV(name) \
ssize_t name(int fd, const struct iovec *iov, int len, off_t offset); \
ssize_t name(int fd, const struct iovec *iov, int len, off_t offset) \
{ \
	NEXT(ssize_t, name, (int, const struct iovec *, int, off_t)); \
	READ_BODY(next(fd, iov, 1, offset), next(fd, iov, len, offset)); \
}

/*
 * A read that must not wait (its only use); short: half of the piece.  In a
 * session that is armed it may wait: what is in the page cache, and whether the
 * file system can tell, would decide how many reads there are.
 */
static bool
is_cold(int fd)
{
	char		link[64];
	char		path[4096];
	ssize_t		len;
	bool		was_warm = warm;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return false;
	path[len] = '\0';
	if (!is_armed_for(path))
		return false;
	warm = false;
	refused = armed_call == CALL_farread || !was_warm;
	return refused;
}

#define DEFINE_PREADV2(name) \
ssize_t name(int fd, const struct iovec *iov, int len, off_t offset, int flags); \
ssize_t name(int fd, const struct iovec *iov, int len, off_t offset, int flags) \
{ \
	NEXT(ssize_t, name, (int, const struct iovec *, int, off_t, int)); \
	struct iovec half = {iov->iov_base, iov->iov_len / 2}; \
	if (armed_call != CALL_NONE) \
		flags = 0; \
	if (armed_call == CALL_coldread || armed_call == CALL_farread) \
	{ \
		if (!is_cold(fd)) \
			return next(fd, iov, len, offset, flags); \
		errno = armed_call == CALL_farread ? EOPNOTSUPP : EAGAIN; \
		return -1; \
	} \
	READ_BODY(next(fd, &half, 1, offset, flags), \
			  next(fd, iov, len, offset, flags)); \
}

/* Torn: half of it is there, and after the pause all of it. */
#define DEFINE_PWRITE(name) \
ssize_t name(int fd, const void *buf, size_t len, off_t offset); \
ssize_t name(int fd, const void *buf, size_t len, off_t offset) \
{ \
	NEXT(ssize_t, name, (int, const void *, size_t, off_t)); \
	if (fails_fd(CALL_write, fd)) \
	{ \
		FAIL_IF(strcmp(armed_fault, "pause") != 0 || \
				next(fd, buf, len / 2, offset) < 0); \
		pause_here(); \
	} \
	return next(fd, buf, len, offset); \
}

#define DEFINE_FSTAT(name, type) \
int name(int fd, struct type *st); \
int name(int fd, struct type *st) \
{ \
	NEXT(int, name, (int, struct type *)); \
	FAIL_IF(fails_fd(CALL_fstat, fd)); \
	return next(fd, st); \
}

#define DEFINE_LSEEK(name) \
off_t name(int fd, off_t offset, int whence); \
off_t name(int fd, off_t offset, int whence) \
{ \
	NEXT(off_t, name, (int, off_t, int)); \
	FAIL_IF(fails_fd(CALL_lseek, fd)); \
	return next(fd, offset, whence); \
}

#define DEFINE_STAT(name, type) \
int name(const char *path, struct type *st); \
int name(const char *path, struct type *st) \
{ \
	NEXT(int, name, (const char *, struct type *)); \
	FAIL_IF(fails_path(CALL_stat, path)); \
	return next(path, st); \
}

#undef open
#undef open64
#undef stat
#undef stat64
#undef openat
#undef openat64
#undef pread
#undef pread64
#undef preadv
#undef preadv64
#undef preadv2
#undef preadv64v2
#undef pwrite
#undef pwrite64
#undef fstat
#undef fstat64
#undef lseek
#undef lseek64
DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)
DEFINE_OPEN_2(__open_2)
DEFINE_OPEN_2(__open64_2)
DEFINE_READ(read)
DEFINE_READ_CHK(__read_chk)
DEFINE_PREAD(pread)
DEFINE_PREAD(pread64)
DEFINE_PREAD_CHK(__pread_chk)
DEFINE_PREAD_CHK(__pread64_chk)
DEFINE_PREADV(preadv)
DEFINE_PREADV(preadv64)
DEFINE_PREADV2(preadv2)
DEFINE_PREADV2(preadv64v2)
DEFINE_PWRITE(pwrite)
DEFINE_PWRITE(pwrite64)
DEFINE_FSTAT(fstat, stat)
DEFINE_FSTAT(fstat64, stat64)
DEFINE_LSEEK(lseek)
DEFINE_LSEEK(lseek64)
DEFINE_STAT(stat, stat)
DEFINE_STAT(stat64, stat64)

PG_FUNCTION_INFO_V1(fault_arm);
Datum
fault_arm(PG_FUNCTION_ARGS)
{
	char	   *call = PG_GETARG_CSTRING(0);

	strlcpy(armed_fault, PG_GETARG_CSTRING(1), sizeof(armed_fault));
	armed_nth = PG_GETARG_INT32(2);
	armed_for_good = PG_GETARG_BOOL(3);
	strlcpy(armed_pattern, PG_GETARG_CSTRING(4), sizeof(armed_pattern));
	warm = refused = false;
	matched = 0;
	fired = 0;
	armed_call = strcmp(call, "open") == 0 ? CALL_open :
		strcmp(call, "read") == 0 ? CALL_read :
		strcmp(call, "coldread") == 0 ? CALL_coldread :
		strcmp(call, "farread") == 0 ? CALL_farread :
		strcmp(call, "write") == 0 ? CALL_write :
		strcmp(call, "fstat") == 0 ? CALL_fstat :
		strcmp(call, "stat") == 0 ? CALL_stat : CALL_lseek;
	PG_RETURN_VOID();
}

PG_FUNCTION_INFO_V1(fault_fired);
Datum
fault_fired(PG_FUNCTION_ARGS)
{
	armed_call = CALL_NONE;
	PG_RETURN_INT32(fired);
}

/* How many calls have matched since the arming. */
PG_FUNCTION_INFO_V1(fault_matched);
Datum
fault_matched(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(matched);
}
