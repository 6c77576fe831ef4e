/*
 * readers.c
 *	  Reads the files of a backup, in forked processes or here.
 *
 * Workers claim files, the largest first, and write what they find to one pipe.
 * A message is so short that the system does not divide it.  Those of a file
 * come in their order, and among them those of other files.  The parent keeps
 * what is of a later file, so that findings come in the order of the files.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "program/host.h"
#include "program/readers.h"
#include "program/workers.h"

typedef struct Message
{
	uint32_t	task;			/* number of the file in the order of reading */
	bool		totals;			/* the last of a file */
	union
	{
		BackupFileFinding finding;
		BackupFileTotals totals;
	}			body;
} Message;

_Static_assert(sizeof(Message) <= PIPE_BUF, "a message is written at once");

#define NONE	SIZE_MAX

/* A finding of a later file, as an item of a list. */
typedef struct Kept
{
	BackupFileFinding finding;
	size_t		next;			/* of the same file, or NONE */
} Kept;

/* What is known of a file, by its number in the order of reading. */
typedef struct Task
{
	bool		done;
	BackupFileTotals totals;	/* then */
	size_t		first;			/* of what was kept, NONE if nothing was */
	size_t		last;
} Task;

typedef struct Readers
{
	const BackupList *list;
	const BackupFileOptions *options;
	Workers		workers;
	int			pipe[2];
	uint32_t   *next;			/* shared and atomic, the file to claim */

	/* a worker's */
	uint32_t	task;

	/* the parent's */
	BackupFileFindingFn finding;
	void	   *arg;
	BackupFileTotals *sum;
	uint32_t	present;		/* the file whose messages are delivered */
	Task	   *tasks;
	Kept	   *kept;
	size_t		nkept;
	size_t		room;
} Readers;

/* ---- in workers ---- */

static void
send(const Readers *readers, const Message *message)
{
	ssize_t		done;

	do
	{
		host_interrupts();
		done = write(readers->pipe[1], message, sizeof(*message));
	} while (done < 0 && errno == EINTR);
	if (done != (ssize_t) sizeof(*message))
		_exit(EXIT_FAILED);		/* nobody reads it */
}

static void
send_finding(void *arg, const BackupFileFinding *finding)
{
	const Readers *readers = arg;
	Message		message;

	memset(&message, 0, sizeof(message));
	message.task = readers->task;
	message.body.finding = *finding;
	send(readers, &message);
}

static void
read_file(Readers *readers, BackupFileReader *reader)
{
	uint32_t	entry = readers->list->by_size[readers->task];
	Message		message;

	memset(&message, 0, sizeof(message));
	message.task = readers->task;
	message.totals = true;
	if (!readers->list->entries[entry].ignored)
		backup_files_read(reader, entry, &message.body.totals);
	send(readers, &message);
}

static void
work(void *arg)
{
	Readers    *readers = arg;
	BackupFileReader reader;

	close(readers->pipe[0]);
	backup_files_begin(&reader, readers->list, readers->options, send_finding,
					   readers);
	while ((readers->task = __atomic_fetch_add(readers->next, 1, __ATOMIC_SEQ_CST)) < readers->list->count)
	{
		host_interrupts();
		workers_check_parent(&readers->workers);
		read_file(readers, &reader);
	}
}

/* ---- in the parent ---- */

static void
deliver(const Readers *readers, const BackupFileFinding *finding)
{
	readers->finding(readers->arg, finding);
}

static void
keep(Readers *readers, const Message *message)
{
	uint32_t	task = message->task;
	size_t		n = readers->nkept;

	HOST_MAKE_ROOM(readers->kept, readers->nkept, readers->room);
	readers->kept[n].finding = message->body.finding;
	readers->kept[n].next = NONE;
	readers->nkept++;
	if (readers->tasks[task].first == NONE)
		readers->tasks[task].first = n;
	else
		readers->kept[readers->tasks[task].last].next = n;
	readers->tasks[task].last = n;
}

/* What was kept of the present file and, if that is done, of those after it. */
static void
deliver_kept(Readers *readers)
{
	while (readers->present < readers->list->count)
	{
		Task	   *task = &readers->tasks[readers->present];

		for (size_t n = task->first; n != NONE; n = readers->kept[n].next)
			deliver(readers, &readers->kept[n].finding);
		task->first = NONE;
		if (!task->done)
			return;
		backup_totals_add(readers->sum, &task->totals);
		readers->present++;
	}
}

/* Returns false at the end, which is early if a worker has ended. */
static bool
receive(Readers *readers, Message *message)
{
	size_t		got = 0;

	while (got < sizeof(*message))
	{
		ssize_t		some = read(readers->pipe[0], (char *) message + got,
								sizeof(*message) - got);

		host_interrupts();
		if (some == 0)
			return false;
		if (some > 0)
			got += (size_t) some;
		else if (errno != EINTR)
			program_fail("could not read what a process sent: %s", strerror(errno));
	}
	return true;
}

static void
take(Readers *readers, const Message *message)
{
	if (message->totals)
	{
		readers->tasks[message->task].totals = message->body.totals;
		readers->tasks[message->task].done = true;
		backup_progress(readers->options->progress, message->body.totals.bytes);
	}
	else if (message->task == readers->present)
		deliver(readers, &message->body.finding);
	else
		keep(readers, message);
	deliver_kept(readers);
}

static void
receive_all(Readers *readers)
{
	Message		message;

	while (readers->present < readers->list->count)
	{
		if (!receive(readers, &message))
		{
			workers_look(&readers->workers);
			program_fail("a process that reads ended");
		}
		take(readers, &message);
	}
}

static Task *
begin_tasks(uint32_t count)
{
	Task	   *tasks = host_alloc(((size_t) count + 1) * sizeof(Task));

	for (uint32_t i = 0; i < count; i++)
	{
		tasks[i].done = false;
		tasks[i].first = NONE;
	}
	return tasks;
}

static void
read_in_workers(Readers *readers)
{
	if (pipe(readers->pipe) != 0)
		program_fail("could not make a pipe: %s", strerror(errno));
	readers->next = program_share(sizeof(*readers->next));
	readers->tasks = begin_tasks(readers->list->count);
	readers->workers.work = work;
	readers->workers.arg = readers;
	workers_start(&readers->workers, readers->options->workers);
	close(readers->pipe[1]);
	receive_all(readers);
	workers_end(&readers->workers);
	close(readers->pipe[0]);
	munmap(readers->next, sizeof(*readers->next));
	host_free(readers->tasks);
	host_free(readers->kept);
}

void
readers_verify(const BackupList *list, const BackupFileOptions *options,
			   BackupFileFindingFn finding, void *arg,
			   BackupFileTotals *totals)
{
	Readers		readers = {list, options};

	if (options->workers < 2)
	{
		backup_files_verify(list, options, finding, arg, totals);
		return;
	}
	memset(totals, 0, sizeof(*totals));
	readers.finding = finding;
	readers.arg = arg;
	readers.sum = totals;
	read_in_workers(&readers);
}
