# man.awk: awk -v version=V -f man.awk help.txt: a manual page of the same text.

function escape(text)
{
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	sub(/^\./, "\\\\\\&.", text)
	return text
}

NR == 1 {
	name = $1
	sub(/^[^ ]* /, "")
	printf ".TH %s 1 \"\" \"%s %s\" \"\"\n", toupper(name), name, version
	printf ".SH NAME\n%s \\- %s\n", name, escape($0)
	next
}

/^[A-Z].*:$/ {
	sub(/:$/, "")
	print ".SH " toupper($0)
	section = $0
	next
}

/^$/ {
	next
}

section == "Usage" {
	sub(/^ +/, "")
	print escape($0) "\n.br"
	next
}

# what goes on is indented more
/^          / {
	sub(/^ +/, "")
	print escape($0)
	next
}

{
	sub(/^ +/, "")
	at = match($0, /  +/)
	print ".TP\n.B " escape(substr($0, 1, at - 1))
	print escape(substr($0, at + RLENGTH))
}
