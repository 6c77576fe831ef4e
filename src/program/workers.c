/*
 * workers.c
 *	  Forked processes that share work.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program/host.h"
#include "program/workers.h"

static void
kill_workers(void *arg)
{
	Workers    *workers = arg;

	for (int i = 0; i < workers->count; i++)
		if (workers->pids[i] != 0)
			kill(workers->pids[i], SIGKILL);
	for (int i = 0; i < workers->count; i++)
		if (workers->pids[i] != 0)
			waitpid(workers->pids[i], NULL, 0);
	workers->count = 0;
}

_Noreturn static void
work(const Workers *workers)
{
	program_become_worker();
	workers->work(workers->arg);
	_exit(EXIT_SOUND);
}

void
workers_start(Workers *workers, int wanted)
{
	workers->parent = getpid();
	workers->pids = host_alloc((size_t) wanted * sizeof(pid_t));
	program_at_end(kill_workers, workers);
	fflush(NULL);
	for (int i = 0; i < wanted; i++)
	{
		pid_t		worker = fork();

		if (worker == 0)
			work(workers);
		if (worker < 0 && i == 0)
			program_fail("could not start a process: %s", strerror(errno));
		if (worker < 0)
			break;
		workers->pids[workers->count++] = worker;
	}
}

void
workers_check_parent(const Workers *workers)
{
	if (getppid() != workers->parent)
		_exit(EXIT_FAILED);
}

void
workers_look(Workers *workers)
{
	for (int i = 0; i < workers->count; i++)
	{
		int			status;

		if (workers->pids[i] == 0 ||
			waitpid(workers->pids[i], &status, WNOHANG) != workers->pids[i])
			continue;
		workers->pids[i] = 0;
		if (status == 0)
			continue;
		host_interrupts();		/* it may be for the signal that we got */
		program_fail("a process that reads ended with %s %d",
					 WIFSIGNALED(status) ? "signal" : "status",
					 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
}

void
workers_end(Workers *workers)
{
	kill_workers(workers);
	program_forget_end();
}
