/*
 * clock.c
 *	  Stands before the time of day, for servers that are to live through a year
 *	  in minutes: adds the seconds that a file holds.
 *
 * The environment variable FAULT_CLOCK names the file: 8 bytes, a signed integer
 * in this machine's byte order.  It is mapped, so that each process of a server
 * sees a change at once.  Monotonic clocks, of which waits are made, stay as they
 * are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t none;
static const volatile int64_t *seconds = &none;

__attribute__((constructor))
static void
map_file(void)
{
	const char *path = getenv("FAULT_CLOCK");
	int			fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void	   *mapped;

	if (fd < 0)
		abort();				/* a server with the right time would pass for one */
	mapped = mmap(NULL, sizeof(*seconds), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (mapped == MAP_FAILED)
		abort();
	seconds = mapped;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	static int	(*next) (clockid_t, struct timespec *);
	int			result;

	if (next == NULL)
		next = (int (*) (clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
	result = next(clock, now);
	if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += *seconds;
	return result;
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec precise;

	(void) zone;
	clock_gettime(CLOCK_REALTIME, &precise);
	now->tv_sec = precise.tv_sec;
	now->tv_usec = precise.tv_nsec / 1000;
	return 0;
}

time_t
time(time_t *result)
{
	struct timespec precise;

	clock_gettime(CLOCK_REALTIME, &precise);
	if (result != NULL)
		*result = precise.tv_sec;
	return precise.tv_sec;
}
