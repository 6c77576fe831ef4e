# help.awk: awk -f help.awk help.txt: the text of --help as a string of C.

BEGIN {
	print "/* Made by make from help.txt. */"
	print "static const char program_help[] ="
}

{
	gsub(/["\\]/, "\\\\&")
	print "\t\"" $0 "\\n\""
}

END {
	print ";"
}
