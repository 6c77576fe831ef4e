# signatures.awk: awk -v version=1.0 -f signatures.awk INSTALL_SCRIPT: the C
# functions and the tables that the script makes, as signature.c has them.
#
# A declaration is read up to the semicolon that ends its line.  What is not
# known here is an error: it would be a call that nobody checks.

BEGIN {
	oid["bigint"] = "INT8OID"
	oid["boolean"] = "BOOLOID"
	oid["bytea"] = "BYTEAOID"
	oid["double precision"] = "FLOAT8OID"
	oid["integer"] = "INT4OID"
	oid["integer[]"] = "INT4ARRAYOID"
	oid["interval"] = "INTERVALOID"
	oid["oid"] = "OIDOID"
	oid["pg_lsn"] = "PG_LSNOID"
	oid["record"] = "RECORDOID"
	oid["regclass"] = "REGCLASSOID"
	oid["text"] = "TEXTOID"
	oid["text[]"] = "TEXTARRAYOID"
	oid["regclass[]"] = "REGCLASSARRAYOID"
	oid["timestamptz"] = "TIMESTAMPTZOID"
	oid["void"] = "VOIDOID"
}

function fail(why)
{
	print FILENAME ": " why | "cat >&2"
	failed = 1
	exit 1
}

# The OID's name of the type at the beginning of the text.
function type_of(text)
{
	sub(/ (DEFAULT|NOT NULL|NULL|COLLATE|PRIMARY KEY|REFERENCES|CHECK) ?.*/, "", text)
	sub(/[,\n ]*$/, "", text)
	if (!(text in oid))
		fail("the type \"" text "\" is not known to signatures.awk")
	return oid[text]
}

# Splits what stands in parentheses at from into part[1 ..]; sets after to the
# text that follows.
function split_list(text, from,		i, char, depth, quoted, parts)
{
	split("", part)
	parts = 1
	for (i = from; i <= length(text); i++) {
		char = substr(text, i, 1)
		if (char == "'")
			quoted = !quoted
		depth += !quoted && char == "("
		depth -= !quoted && char == ")"
		if (depth == 0)
			break
		if (depth == 1 && !quoted && char == ",")
			parts++
		else if (i > from)
			part[parts] = part[parts] char
	}
	after = substr(text, i + 1)
	if (part[1] ~ /^[ \n\t]*$/)
		return 0
	for (i = 1; i <= parts; i++) {
		gsub(/[ \n\t]+/, " ", part[i])
		gsub(/^ | $/, "", part[i])
	}
	return parts
}

function function_row(text,		count, i, name, columns, arguments, result, set, kind)
{
	count = split_list(text, index(text, "("))
	columns = arguments = ""
	for (i = 1; i <= count; i++) {
		if (part[i] ~ /^(INOUT|VARIADIC) /)
			fail("a mode is not known to signatures.awk: " part[i])
		if (sub(/^OUT ("[^"]*"|[^ ]+) /, "", part[i]))
			columns = columns type_of(part[i]) ", "
		else if (sub(/^("[^"]*"|[^ ]+) /, "", part[i]))
			arguments = arguments type_of(part[i]) ", "
	}
	gsub(/[ \n\t]+/, " ", after)
	name = after
	sub(/^.*AS 'MODULE_PATHNAME', '/, "", name)
	sub(/'.*/, "", name)
	kind = text ~ /^CREATE PROCEDURE/ ? "PROKIND_PROCEDURE" : "PROKIND_FUNCTION"
	result = kind == "PROKIND_PROCEDURE" ? "void" : after
	set = sub(/^ RETURNS SETOF /, "", result)
	sub(/^ RETURNS /, "", result)
	sub(/ AS '.*/, "", result)
	return sprintf("\t{\"%s\", %s, %s, %s, %s,\n\t\tTYPES(%sInvalidOid),\n\t\tTYPES(%sInvalidOid)},",
		name, kind, after ~ / STRICT/ ? "true" : "false", set ? "true" : "false",
		type_of(result), arguments, columns)
}

function table_row(text,		count, i, name, row)
{
	name = text
	sub(/^CREATE TABLE /, "", name)
	sub(/ *\(.*/, "", name)
	count = split_list(text, index(text, "("))
	row = "\t{\"" name "\", COLUMNS("
	for (i = 1; i <= count; i++) {
		if (part[i] ~ /^(PRIMARY KEY|UNIQUE|CHECK|CONSTRAINT|EXCLUDE|FOREIGN KEY) ?/)
			continue
		name = part[i]
		sub(/ .*/, "", name)
		sub(/^[^ ]+ /, "", part[i])
		row = row "\n\t\t{\"" name "\", " type_of(part[i]) "},"
	}
	return row "\n\t\t{NULL, InvalidOid})},"
}

/^ALTER TABLE .* (ADD|DROP|RENAME) COLUMN / {
	fail("columns of a new table stand in its CREATE TABLE: " $0)
}
/^CREATE (FUNCTION|PROCEDURE|TABLE) / {
	statement = ""
	reading = 1
}
reading {
	sub(/[ \t]*--.*$/, "")
	statement = statement $0 "\n"
}
reading && /;[ \t]*$/ {
	reading = 0
	if (statement ~ /^CREATE TABLE /)
		tables[++ntables] = table_row(statement)
	else if (statement ~ /AS 'MODULE_PATHNAME'/) {
		row = function_row(statement)
		if (!(row in seen))
			functions[++nfunctions] = row
		seen[row] = 1
	}
}

END {
	if (failed || reading || nfunctions == 0)
		exit 1
	print "/* signatures.auto.h: made by make, from sql/ by signatures.awk. */"
	print "#define SIGNATURES_VERSION\t\"" version "\"\n"
	print "static const FunctionSignature function_signatures[] = {"
	for (i = 1; i <= nfunctions; i++)
		print functions[i]
	print "};\n"
	print "static const TableSignature table_signatures[] = {"
	for (i = 1; i <= ntables; i++)
		print tables[i]
	print "};"
}
