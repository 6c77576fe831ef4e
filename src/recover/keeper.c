/*
 * keeper.c
 *	  A process that runs the server, and removes it and its folder at the end.
 *
 * The end may be anything, a signal that no handler sees, too.  So the keeper
 * is a process of its own, out of reach of the terminal's signals.  It holds
 * one end of a pair of sockets.  When the other one is closed, whoever held it
 * has ended.  Then the keeper stops the server by its pid, waits for it, and
 * removes the folder, which it has made itself.
 *
 * The server says in postmaster.pid that it has recovered and takes
 * connections.  Nobody can connect, since its one socket lies in its own data
 * directory and pg_hba.conf rejects all.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "host/host.h"
#include "host/print.h"
#include "recover/keeper.h"
#include "recover/path.h"

#define LOOK_MS			20		/* between two looks at the server */
#define STATUS_LINE		8		/* of postmaster.pid, LOCK_FILE_LINE_PM_STATUS */
#define VERSION_WORDS	"postgres (PostgreSQL) "

/* What the keeper knows. */
typedef struct Keeping
{
	char	   *folder;
	const char *postgres;
	char	   *data;
	char	   *log;
	int			fd;
	pid_t		server;			/* 0 if there is none */
	bool		stopping;
} Keeping;

/* ---- the server ---- */

static void
redirect(int fd, const char *path, int flags)
{
	int			opened = open(path, flags, S_IRUSR | S_IWUSR);

	if (opened >= 0 && opened != fd)
	{
		dup2(opened, fd);
		close(opened);
	}
}

/* The server is not to hear of another one's settings. */
static void
clear_environment(void)
{
	static const char *const names[] = {
		"PGDATA", "PGHOST", "PGPORT", "PGOPTIONS", "PGCLIENTENCODING",
		"PGDATESTYLE", "PGTZ", "LANGUAGE"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	setenv("LC_ALL", "C", 1);
}

static void
become_server(const Keeping *ctx)
{
	close(ctx->fd);
	redirect(STDOUT_FILENO, ctx->log, O_WRONLY | O_CREAT | O_APPEND);
	dup2(STDOUT_FILENO, STDERR_FILENO);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGQUIT);
#endif
	clear_environment();
	execl(ctx->postgres, ctx->postgres, "-D", ctx->data, (char *) NULL);
	_exit(127);
}

/* Does the server take connections? */
static bool
has_recovered(const Keeping *ctx)
{
	char	   *path = host_print("%s/postmaster.pid", ctx->data);
	char		words[1024] = "";
	const char *line = words;

	if (!recover_read_text(path, words, sizeof(words)))
		words[0] = '\0';
	host_free(path);
	for (int i = 1; i < STATUS_LINE && line != NULL; i++)
	{
		line = strchr(line, '\n');
		line = line == NULL ? NULL : line + 1;
	}
	return line != NULL && strncmp(line, "ready", 5) == 0;
}

/* ---- the keeper ---- */

static void
clean_up(const Keeping *ctx)
{
	if (ctx->server > 0)
	{
		kill(ctx->server, SIGQUIT);
		while (waitpid(ctx->server, NULL, 0) < 0 && errno == EINTR)
			;
	}
	recover_remove(ctx->folder);
	_exit(0);
}

/* Waits for the other end.  Returns false if it is gone. */
static bool
hears(const Keeping *ctx, int timeout, bool *asked)
{
	struct pollfd wait = {ctx->fd, POLLIN, 0};
	char		byte;
	int			events = poll(&wait, 1, timeout);

	*asked = false;
	if (events <= 0)
		return events == 0 || errno == EINTR;
	*asked = read(ctx->fd, &byte, 1) == 1;
	return *asked;
}

/* Looks at the server, stops it in time, and tells of its end. */
static bool
attend(Keeping *ctx)
{
	int			status;

	if (waitpid(ctx->server, &status, WNOHANG) == ctx->server)
	{
		ctx->server = 0;
		return write(ctx->fd, &status, sizeof(status)) == sizeof(status);
	}
	if (!ctx->stopping && has_recovered(ctx))
	{
		ctx->stopping = true;
		kill(ctx->server, SIGINT);
	}
	return true;
}

/* No signal of the terminal ends the keeper. */
static void
withdraw(void)
{
	static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE};

	setsid();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
	redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
	redirect(STDOUT_FILENO, "/dev/null", O_WRONLY);
	redirect(STDERR_FILENO, "/dev/null", O_WRONLY);
}

/* Makes the folder, and tells its name, or why there is none. */
static void
make_folder(Keeping *ctx)
{
	int			why = mkdtemp(ctx->folder) == NULL ? errno : 0;
	size_t		len = strlen(ctx->folder);
	bool		told = write(ctx->fd, &why, sizeof(why)) == sizeof(why);

	if (why != 0)
		_exit(1);
	if (!told || write(ctx->fd, ctx->folder, len) != (ssize_t) len)
		clean_up(ctx);
	ctx->data = host_print("%s/data", ctx->folder);
	ctx->log = host_print("%s/log", ctx->folder);
}

static void
keep(Keeping *ctx)
{
	bool		asked;

	withdraw();
	make_folder(ctx);
	while (hears(ctx, ctx->server > 0 ? LOOK_MS : -1, &asked))
	{
		if (asked && ctx->server == 0)
		{
			ctx->server = fork();
			if (ctx->server == 0)
				become_server(ctx);
		}
		if (ctx->server < 0 || (ctx->server > 0 && !attend(ctx)))
			break;
	}
	clean_up(ctx);
}

/* ---- who asks it ---- */

/* Reads what the keeper says.  Returns false if it is gone. */
static bool
listen_to(const RecoverKeeper *keeper, void *words, size_t len)
{
	size_t		done = 0;

	while (done < len)
	{
		ssize_t		got = read(keeper->fd, (char *) words + done, len - done);

		if (got > 0)
			done += (size_t) got;
		else if (got == 0 || errno != EINTR)
			return false;
		else
			host_interrupts();
	}
	return true;
}

bool
recover_keeper_begin(RecoverKeeper *keeper, char *folder,
					 const char *postgres)
{
	Keeping		keeping = {folder, postgres};
	int			ends[2];
	int			why = ECHILD;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		return false;
	fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	keeper->fd = ends[0];
	keeping.fd = ends[1];
	keeper->pid = fork();
	if (keeper->pid == 0)
	{
		close(ends[0]);
		keep(&keeping);
	}
	close(ends[1]);
	if (keeper->pid > 0 && listen_to(keeper, &why, sizeof(why)) && why == 0 &&
		listen_to(keeper, folder, strlen(folder)))
		return true;
	if (keeper->pid < 0)
	{
		why = errno;
		close(ends[0]);
	}
	else
		recover_keeper_end(keeper);
	errno = why;
	return false;
}

bool
recover_keeper_run(RecoverKeeper *keeper, int *status)
{
	return send(keeper->fd, "s", 1, MSG_NOSIGNAL) == 1 &&
		listen_to(keeper, status, sizeof(*status));
}

void
recover_keeper_end(RecoverKeeper *keeper)
{
	close(keeper->fd);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* ---- the version ---- */

static void
become_question(const char *postgres, const int ends[2])
{
	dup2(ends[1], STDOUT_FILENO);
	close(ends[0]);
	close(ends[1]);
	redirect(STDERR_FILENO, "/dev/null", O_WRONLY);
	execl(postgres, postgres, "--version", (char *) NULL);
	_exit(127);
}

unsigned
recover_server_major(const char *postgres)
{
	char		words[128] = "";
	size_t		len = 0;
	ssize_t		got;
	int			ends[2];
	pid_t		pid;

	if (pipe(ends) != 0)
		return 0;
	pid = fork();
	if (pid == 0)
		become_question(postgres, ends);
	close(ends[1]);
	while (pid > 0 && len < sizeof(words) - 1 &&
		   (got = read(ends[0], words + len, sizeof(words) - 1 - len)) > 0)
		len += (size_t) got;
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (strncmp(words, VERSION_WORDS, strlen(VERSION_WORDS)) != 0)
		return 0;
	return (unsigned) strtoul(words + strlen(VERSION_WORDS), NULL, 10);
}
