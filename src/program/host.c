/*
 * host.c
 *	  What a program without a server is to the readers of files.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE				/* O_DIRECT */
#endif

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "host/direct.h"
#include "host/pace.h"
#include "program/host.h"
#include "program/sha1.h"
#include "program/sha2.h"

#define AT_END_MAX	8

static volatile sig_atomic_t caught;
static bool is_worker;
static const char *failure_words;
static int	failure_status = EXIT_FAILED;

static struct
{
	void		(*fn) (void *arg);
	void	   *arg;
}			at_end[AT_END_MAX];
static int	nat_end;

/* ---- the end ---- */

static void
on_signal(int number)
{
	caught = number;
}

/*
 * What is read is waited for.  A second signal ends the program at once.  One
 * that was ignored, as by nohup, still is.
 */
void
program_catch_signals(void)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
	{
		struct sigaction action;

		if (sigaction(signals[i], NULL, &action) != 0 ||
			action.sa_handler == SIG_IGN)
			continue;
		memset(&action, 0, sizeof(action));
		action.sa_handler = on_signal;
		action.sa_flags = (int) SA_RESETHAND;
		sigaction(signals[i], &action, NULL);
	}
}

void
program_at_end(void (*fn) (void *arg), void *arg)
{
	if (nat_end == AT_END_MAX)
		program_fail("too much to clean up");
	at_end[nat_end].fn = fn;
	at_end[nat_end++].arg = arg;
}

void
program_forget_end(void)
{
	nat_end--;
}

static void
clean_up(void)
{
	while (nat_end > 0)
	{
		nat_end--;
		at_end[nat_end].fn(at_end[nat_end].arg);
	}
}

/* Ends as the signal would have ended the program, for who waits for that. */
static void
end_by_signal(int number)
{
	if (is_worker)
		_exit(EXIT_FAILED);
	clean_up();
	fflush(NULL);
	signal(number, SIG_DFL);
	raise(number);
	_exit(EXIT_FAILED);
}

void
program_become_worker(void)
{
	is_worker = true;
	nat_end = 0;
}

static void
__attribute__((format(printf, 1, 0)))
print_message(const char *format, va_list arguments)
{
	char		words[4096];

	vsnprintf(words, sizeof(words), format, arguments);
	fflush(stdout);
	fprintf(stderr, PROGRAM_NAME ": %s\n", words);
}

void
program_warn(const char *format,...)
{
	va_list		arguments;

	va_start(arguments, format);
	print_message(format, arguments);
	va_end(arguments);
}

void
program_fail_as(const char *words, int status)
{
	failure_words = words;
	failure_status = status;
}

void
program_fail(const char *format,...)
{
	va_list		arguments;

	va_start(arguments, format);
	print_message(format, arguments);
	va_end(arguments);
	if (is_worker)
		_exit(EXIT_FAILED);
	clean_up();
	if (failure_words != NULL)
	{
		va_start(arguments, format);
		fputs(failure_words, stdout);
		vprintf(format, arguments);
		putchar('\n');
		va_end(arguments);
	}
	exit(failure_status);
}

void
host_interrupts(void)
{
	if (caught != 0)
		end_by_signal(caught);
}

/* ---- memory ---- */

/*
 * Blocks are in a ring, the latest one first, so that all since a mark can be
 * freed.
 */
typedef struct Block
{
	struct Block *next;
	struct Block *before;
	uint64_t	number;			/* 0 of the ring's own */
	void		(*at_end) (void *arg);
	void	   *arg;
				_Alignas(max_align_t) char data[];
} Block;

static Block ring = {&ring, &ring};
static uint64_t nblocks;

static Block *
block_of(void *memory)
{
	return (Block *) ((char *) memory - offsetof(Block, data));
}

void
host_no_memory(void)
{
	program_fail("out of memory");
}

static Block *
resize(Block *block, size_t size)
{
	if (size > SIZE_MAX - sizeof(Block) ||
		(block = realloc(block, sizeof(Block) + size)) == NULL)
		host_no_memory();
	return block;
}

void *
host_alloc(size_t size)
{
	Block	   *block = resize(NULL, size);

	block->number = ++nblocks;
	block->at_end = NULL;
	block->next = ring.next;
	block->before = &ring;
	block->next->before = block;
	ring.next = block;
	return block->data;
}

void *
host_grow(void *memory, size_t size)
{
	Block	   *block;

	if (memory == NULL)
		return host_alloc(size);
	block = resize(block_of(memory), size);
	block->next->before = block;
	block->before->next = block;
	return block->data;
}

static void
end_block(Block *block)
{
	if (block->at_end != NULL)
		block->at_end(block->arg);
	free(block);
}

void
host_free(void *memory)
{
	Block	   *block;

	if (memory == NULL)
		return;
	block = block_of(memory);
	block->next->before = block->before;
	block->before->next = block->next;
	end_block(block);
}

HostAtEnd *
host_at_end(void (*fn) (void *arg), void *arg)
{
	Block	   *block = block_of(host_alloc(0));

	block->at_end = fn;
	block->arg = arg;
	return (HostAtEnd *) block;
}

void
host_forget(HostAtEnd *at_end)
{
	Block	   *block = (Block *) at_end;

	block->at_end = NULL;
	host_free(block->data);
}

uint64_t
program_mark(void)
{
	return nblocks;
}

void
program_release(uint64_t mark)
{
	while (ring.next->number > mark)
	{
		Block	   *first = ring.next;

		ring.next = first->next;
		first->next->before = &ring;
		end_block(first);
	}
}

void *
program_share(size_t size)
{
	void	   *memory = mmap(NULL, size == 0 ? 1 : size, PROT_READ | PROT_WRITE,
							  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		program_fail("out of memory");
	return memory;
}

/* ---- the rate ---- */

struct Throttle
{
	Pace		pace;
	uint64_t	next;			/* atomic, when the next turn may start, in
								 * microseconds */
};

#define RATE_UNIT	8192
#define RATE_PIECE	(128 * 1024)

struct Throttle *
program_throttle(int64_t rate)
{
	struct Throttle *throttle;

	if (rate == 0)
		return NULL;
	throttle = program_share(sizeof(struct Throttle));
	throttle->pace = pace_of((uint64_t) rate * 1024, RATE_UNIT, RATE_PIECE);
	return throttle;
}

int64_t
program_time(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (int64_t) time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Sleeps until a time, but not so long that a signal would wait. */
static void
sleep_until(uint64_t then, uint64_t time)
{
	uint64_t	wait = then - time < PACE_SECOND / 10 ? then - time : PACE_SECOND / 10;
	struct timespec pause = {0, (long) wait * 1000};

	nanosleep(&pause, NULL);
}

size_t
host_turn(struct Throttle *throttle, size_t len)
{
	if (throttle == NULL)
		return len;
	if (len > throttle->pace.max_piece)
		len = throttle->pace.max_piece;
	for (;;)
	{
		uint64_t	time = (uint64_t) program_time(CLOCK_MONOTONIC);
		uint64_t	next = __atomic_load_n(&throttle->next, __ATOMIC_SEQ_CST);
		uint64_t	claimed = next;

		host_interrupts();
		if (!pace_turn(&throttle->pace, time, (uint32_t) len, &claimed))
			sleep_until(next, time);
		else if (__atomic_compare_exchange_n(&throttle->next, &next, claimed, false,
											 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return len;
	}
}

/* ---- files ---- */

int
host_open(const char *path)
{
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

int
host_open_direct(const char *path)
{
	int			fd = -1;

	errno = EINVAL;				/* as from file systems that have no such flag */
	if (DIRECT_OPEN != 0)
		fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | DIRECT_OPEN);
	if (direct_is_refused(fd))
		host_refuse_direct(path);
	return fd;
}

void
host_refuse_direct(const char *path)
{
	char		name[DIRECT_NAME_SIZE];

	program_fail("file system of \"%s\" does not read past its page cache: its type is %s",
				 path, direct_file_system(path, name));
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

bool
host_list(const char *directory,
		  void (*entry) (void *arg, const char *name), void *arg)
{
	DIR		   *dir = opendir(directory);
	struct dirent *file;
	int			save_errno;

	if (dir == NULL)
		return false;
	while ((errno = 0, file = readdir(dir)) != NULL)
	{
		host_interrupts();
		entry(arg, file->d_name);
	}
	save_errno = errno;
	closedir(dir);
	errno = save_errno;
	return save_errno == 0;
}

/* ---- SHA ---- */

struct HostSha
{
	HostShaAlgorithm algorithm;
	union
	{
		Sha1		sha1;
		Sha2		sha2;
	}			context;
};

HostSha *
host_sha_begin(HostShaAlgorithm algorithm)
{
	static const uint32_t bytes[] = {
		[HOST_SHA224] = HOST_SHA224_BYTES,
		[HOST_SHA256] = HOST_SHA256_BYTES,
		[HOST_SHA384] = HOST_SHA384_BYTES,
		[HOST_SHA512] = HOST_SHA512_BYTES,
	};
	HostSha    *sha = host_alloc(sizeof(HostSha));

	sha->algorithm = algorithm;
	if (algorithm == HOST_SHA1)
		sha1_begin(&sha->context.sha1);
	else
		sha2_begin(&sha->context.sha2, bytes[algorithm]);
	return sha;
}

void
host_sha_add(HostSha *sha, const void *data, size_t len)
{
	if (sha->algorithm == HOST_SHA1)
		sha1_add(&sha->context.sha1, data, len);
	else
		sha2_add(&sha->context.sha2, data, len);
}

bool
host_sha_end(HostSha *sha, uint8_t *digest)
{
	if (sha->algorithm == HOST_SHA1)
		sha1_end(&sha->context.sha1, digest);
	else
		sha2_end(&sha->context.sha2, digest);
	host_free(sha);
	return true;
}

/* ---- the server that is not there ---- */

/* A page of WAL.  make takes its size from the server that it builds for. */
#ifndef WAL_PAGE_BYTES
#define WAL_PAGE_BYTES	8192
#endif

/*
 * A system identifier and a version of 0 are those of any cluster.  The sizes
 * are what most have, where a file does not tell.
 */
static HostServer server = {0, 0, WAL_PAGE_BYTES, 16 * 1024 * 1024};

HostServer
host_server(void)
{
	return server;
}

void
program_segment_size(uint32_t size)
{
	server.segment_size = size;
}

int
host_limits(WalLiveLimit limits[WAL_LIVE_LIMITS_MAX])
{
	(void) limits;
	return 0;
}

uint64_t
host_removed(void)
{
	return 0;
}
