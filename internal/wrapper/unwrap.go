package wrapper

import (
	"path"
	"strings"
)

// maxWrapped is how many wrappers may be around a command line.
const maxWrapped = 4

// Unwrap takes the wrappers off a command line, and the shells that run one simple command. Inner is the
// command line that is left, and Own are the words that have to stay in front of its program. With an
// error, an [*Error], Inner is the line of the wrapper that is not understood.
func Unwrap(argv []string) (all Line, err error) {
	all.Inner = argv
	for range maxWrapped {
		if len(all.Inner) == 0 {
			return all, nil
		}
		name := ProgramName(all.Inner[0])
		var l Line
		switch {
		case Is(name):
			l, err = Parse(name, all.Inner)
		case isShell(name):
			l, err = shell(all.Inner)
		case name == "cmd":
			l, err = windowsShell(all.Inner)
		default:
			return all, nil
		}
		if err != nil || len(l.Inner) == 0 {
			return all, err
		}
		all.around(l)
	}
	if len(all.Inner) > 0 && Wraps(all.Inner[0]) {
		return all, &Error{all.Inner[0], "there are too many wrappers around it"}
	}
	return all, nil
}

// around adds a line that is inside of the others.
func (all *Line) around(l Line) {
	all.Set, all.Unset = append(all.Set, l.Set...), append(all.Unset, l.Unset...)
	switch {
	case l.Dir == "":
	case all.Dir == "" || isAbsolute(l.Dir):
		all.Dir = l.Dir
	default:
		all.Dir = path.Join(all.Dir, l.Dir)
	}
	if !l.Plain {
		all.Own = append(all.Own, l.Own...)
	}
	all.Inner = l.Inner
}

// Wraps reports whether a program is a wrapper or a shell.
func Wraps(program string) bool {
	name := ProgramName(program)
	return Is(name) || isShell(name) || name == "cmd"
}

// ProgramName returns the name of a program without its directory and the ending that Windows knows. It is
// "" for a relative path: that is a file of the working directory, which need not be what it is called.
func ProgramName(word string) string {
	name := word[strings.LastIndexByte(word, '/')+1:]
	if isWindowsPath(word) {
		name = name[strings.LastIndexByte(name, '\\')+1:]
	} else if len(name) < len(word) && word[0] != '/' || strings.Contains(word, `\`) {
		return ""
	}
	for _, ending := range [...]string{".exe", ".cmd", ".ps1", ".bat"} {
		if n := len(name) - len(ending); n > 0 && strings.EqualFold(name[n:], ending) {
			return strings.ToLower(name[:n])
		}
	}
	return name
}

func isAbsolute(name string) bool { return strings.HasPrefix(name, "/") || isWindowsPath(name) }

func isWindowsPath(word string) bool {
	if len(word) < 3 {
		return false
	}
	letter := word[0] | 0x20
	drive := letter >= 'a' && letter <= 'z' && word[1] == ':' && (word[2] == '\\' || word[2] == '/')
	return drive || strings.HasPrefix(word, `\\`)
}
