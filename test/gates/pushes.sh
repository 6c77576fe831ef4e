#!/bin/sh
# pushes.sh PG_CONFIG: make check-layers seen red.  Each push below breaks the order
# of the folders in a way that a look at the sources can miss.  The build or the
# check must refuse each, in the words given.
set -eu
pg_config=${1:-pg_config}
top=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=test/lib.sh
. "$top/test/lib.sh"
scratch_folder
copy_tree "$top" "$scratch/tree"
cd "$scratch/tree"
passed=0 failed=0

check()
{
	make -s -j"$(nproc)" PG_CONFIG="$pg_config" with_llvm=no COPT=-Wno-missing-prototypes check-layers >"$scratch/log" 2>&1
}

# push WHAT FILE WORDS: standard input is added to the end of a file
push()
{
	if [ ! -e "$2" ]; then
		: >"$2.new"
	elif [ ! -e "$2.new" ] && [ ! -e "$2.kept" ]; then
		cp "$2" "$2.kept"
	fi
	cat >>"$2"
	printf '%s|%s\n' "$3" "$1" >>"$scratch/pushed"
}

# Whether the build or the check refuses all that was pushed, each in its words.
verdict()
{
	: >"$scratch/log"
	if check; then
		echo "FAIL check-layers passes"
		failed=$((failed + 1))
	fi
	while IFS='|' read -r words what; do
		if grep -q "$words" "$scratch/log"; then
			passed=$((passed + 1))
			echo "red  $what"
		else
			failed=$((failed + 1))
			echo "FAIL $what: not found"
			grep -E 'error|check-layers:' "$scratch/log" | head -20
		fi
	done <"$scratch/pushed"
	rm "$scratch/pushed"
	find src -name '*.new' | while read -r file; do rm -f "$file" "${file%.new}" "${file%.c.new}.o"; done
	find src -name '*.kept' | while read -r file; do cat "$file" >"${file%.kept}" && rm "$file"; done
}

check || { cat "$scratch/log"; die "check-layers fails without a push"; }

# what no compiler takes
push "the server's headers in a room that knows no server" src/wal/walk.c 'postgres.h: No such file' <<'END'
#include <postgres.h>
END
verdict
push "a new room that raises an error" src/wal/pushed.c 'postgres.h: No such file' <<'END'
#include "postgres.h"

void		pushed_3(void);

void
pushed_3(void)
{
	ereport(ERROR, (errmsg("pushed")));
}
END
verdict

# what compiles, as far as there are names to share
push "an include in angle brackets" src/kernel/combine.c 'kernel/combine.c includes wal/name.h' <<'END'
#include <wal/name.h>
END
push "an include by a path through .." src/page/fork.c 'page/fork.c includes run/procedure.h' <<'END'
#include "../run/procedure.h"
END
push "an include with blanks after the sign" src/wal/name.c 'wal/name.c includes cluster/map.h' <<'END'
#  include "cluster/map.h"
END
push "an include that a macro names" src/wal/name.c 'names no file' <<'END'
#define PUSHED "wal/page.h"
#include PUSHED
END
push "a prototype by hand, upwards" src/page/fork.c 'page/fork.c uses procedure_commit' <<'END'
extern void procedure_commit(void);
void		pushed_8(void);

void
pushed_8(void)
{
	procedure_commit();
}
END
push "a prototype by hand, sideways" src/server/server_crc.c 'server/server_crc.c uses host_interrupts' <<'END'
extern void host_interrupts(void);
void		pushed_9(void);

void
pushed_9(void)
{
	host_interrupts();
}
END
push "a function of the server by hand" src/cluster/judge.c "cluster/judge.c knows no server, and uses its psprintf" <<'END'
extern char *psprintf(const char *format,...);
void		pushed_10(void);

void
pushed_10(void)
{
	psprintf("pushed");
}
END
push "a room that knows the server, below one that does not" src/wal/list.c 'wal/list.c knows no server, and uses wal_parallel_judge' <<'END'
extern void wal_parallel_judge(void);
void		pushed_11(void);

void
pushed_11(void)
{
	wal_parallel_judge();
}
END
push "a function of the server in the program" src/program/wal.c "program/wal.c is of the program, and uses the server's psprintf" <<'END'
extern char *psprintf(const char *format,...);
void		pushed_15(void);

void
pushed_15(void)
{
	psprintf("pushed");
}
END
push "a room that knows the server, in the program" src/program/jobs.c 'program/jobs.c is of the program, and uses parallel_workers' <<'END'
extern int	parallel_workers(int wanted);
int			pushed_16(void);

int
pushed_16(void)
{
	return parallel_workers(1);
}
END
push "a circle of calls" src/wal/version.c 'circle of calls: wal/version -> wal/page' <<'END'
extern void wal_page_check(void);
void		pushed_12(void);

void
pushed_12(void)
{
	wal_page_check();
}
END
push "rows made below func/" src/page/fork.c 'page/fork.c uses tuplestore_end' <<'END'
#include "utils/tuplestore.h"
void		pushed_13(void *state);

void
pushed_13(void *state)
{
	tuplestore_end(state);
}
END
push "memory allocated by a kernel" src/kernel/powers.c 'kernel/powers.c uses malloc' <<'END'
#include <stdlib.h>
void	   *pushed_14(void);

void *
pushed_14(void)
{
	return malloc(1);
}
END
push "a circle of includes" src/cluster/map.c 'circle of includes: cluster/map -> cluster/control' <<'END'
#include "cluster/control.h"
END
push "its other half" src/cluster/control.c 'circle of includes: cluster/control -> cluster/map' <<'END'
#include "cluster/map.h"
END
push "a header that declares what another room defines" src/server/server_crc.h 'server_crc.h: accelerate_init is not defined' <<'END'
extern void accelerate_init(bool preloaded);
END
push "a version of the server, outside of compat.h" src/page/fork.c 'PG_VERSION_NUM >= 160000' <<'END'
#if PG_VERSION_NUM >= 160000
#endif
END
mkdir src/scan
push "a folder that stands in no order" src/scan/pushed.c 'the folder of scan/pushed.c stands nowhere' <<'END'
int			pushed_folder = 1;
END
verdict
echo "pushes: $passed passed, $failed failed"
[ "$failed" = 0 ]
