package policy

import (
	"strconv"
	"strings"
)

// validName tells whether a server can have this name: it becomes a directory
// name and a word on command lines.
func ValidServerName(name string) bool {
	if name == "" || name[0] == '.' || len(name) > 100 {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}) < 0
}

// where writes a place the way rules carry it.
func Position(file string, line int) string { return file + ":" + strconv.Itoa(line) }

// splitWhere is the inverse of where; line is 0 for places that are no file.
func SplitPosition(w string) (file string, line int) {
	if i := strings.LastIndexByte(w, ':'); i >= 0 {
		if n, err := strconv.Atoi(w[i+1:]); err == nil {
			return w[:i], n
		}
	}
	return w, 0
}
