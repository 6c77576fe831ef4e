# rooms.awk: awk -f rooms.awk FILE...: fails when a header declares a function
# that its .c does not define.  A room is the files of one folder that share a name
# up to the dot.

BEGIN {
	# Headers of several .c files: each function is in one of their folder.
	several["kernel/checksum"] = "the one header that upper layers include"
	several["kernel/kernel"] = "all kernels, listed by kernels.def"
	several["host/host"] = "the seam, served by the program around it"
	several["host/temporary"] = "a part of it, of temporary files"
	several["func/func"] = "small helpers, each beside the function it serves"
	several["run/database_run"] = "the one state that all parts of a run share"
}

function room_of(file)
{
	sub(/\.[^\/]*$/, "", file)
	return file
}

FNR == 1 {
	parts = split(FILENAME, path, "/")
	folder = path[parts - 1]
	room = room_of(folder "/" path[parts])
	header = FILENAME ~ /\.h$/
	comment = directive = 0
	declaration = ""
}

# comments, and directives with the lines that go on
{
	if (comment) {
		if (!sub(/^.*\*\//, ""))
			next
		comment = 0
	}
	while ((from = index($0, "/*")) > 0) {
		rest = substr($0, from + 2)
		to = index(rest, "*/")
		comment = to == 0
		$0 = substr($0, 1, from - 1) (comment ? "" : substr(rest, to + 2))
	}
}
directive || /^#/ {
	directive = /\\$/
	next
}

!header && match($0, /^[A-Za-z_][A-Za-z_0-9]*\(/) {
	name = substr($0, 1, RLENGTH - 1)
	defined[room, name] = defined[folder, name] = 1
	next
}

header && (declaration != "" || /(^|[ \t])extern[ \t]/) {
	declaration = declaration $0
	if (declaration !~ /;/)
		next
	if (match(declaration, /[A-Za-z_][A-Za-z_0-9]*\(/)) {
		name = substr(declaration, RSTART, RLENGTH - 1)
		declared[FILENAME, name] = room
	}
	declaration = ""
}

function check_declarations(		entry, where, key, owner)
{
	for (entry in declared) {
		split(entry, key, SUBSEP)
		where = owner = declared[entry]
		if (where in several)
			sub(/\/.*/, "", where)
		if ((where, key[2]) in defined)
			continue
		print key[1] ": " key[2] " is not defined in " where (where == owner ? ".c" : "/")
		failed = 1
	}
}

END {
	check_declarations()
	exit failed
}
