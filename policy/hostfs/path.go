package hostfs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// CleanWindows returns a path with backslashes, without "." and "..", or an error that says why the path is none
// that mcp-jail takes.
func CleanWindows(p string) (string, error) { return clean(p, true) }

func clean(p string, long bool) (string, error) {
	slashes := strings.ReplaceAll(p, "/", `\`)
	switch {
	case strings.HasPrefix(slashes, `\\?\`), strings.HasPrefix(slashes, `\\.\`), strings.HasPrefix(slashes, `\??\`):
		return "", refuse(p, "it goes around the rules of names", "write it without "+slashes[:4])
	case strings.HasPrefix(slashes, `\\`):
		return "", refuse(p, "it is on another machine", "copy the files to a drive of this one")
	case len(slashes) < 2 || !isLetter(slashes[0]) || slashes[1] != ':':
		return "", refuse(p, "it has no drive", `begin it with a drive, as in C:\`)
	case len(slashes) < 3 || slashes[2] != '\\':
		return "", refuse(p, "it depends on the working directory of its drive", `write a backslash after the colon, as in C:\`)
	}
	var names []string
	for name := range strings.SplitSeq(slashes[3:], `\`) {
		switch {
		case name == "" || name == ".":
		case name == "..":
			names = names[:max(0, len(names)-1)]
		default:
			if why, fix := fault(name); why != "" && (long || !isShort(name)) {
				return "", refuse(p, why, fix)
			}
			names = append(names, name)
		}
	}
	return strings.ToUpper(slashes[:1]) + `:\` + strings.Join(names, `\`), nil
}

// CheckWindowsNames returns an error if a relative path has a name that CleanWindows refuses.
func CheckWindowsNames(p string) error {
	for name := range strings.SplitSeq(strings.ReplaceAll(p, "/", `\`), `\`) {
		if name == "." || name == ".." {
			continue
		}
		if why, fix := fault(name); why != "" {
			return refuse(p, why, fix)
		}
	}
	return nil
}

// CheckWindowsFile returns an error if the absolute path of a file that the user names has a form that CleanWindows
// refuses, but for short names: the directory of temporary files can have one, and no rule is about the file.
func CheckWindowsFile(p string) error {
	_, err := clean(p, false)
	return err
}

// CheckWindowsVariable returns an error if a path begins with a variable as cmd.exe writes it, which only that replaces.
func CheckWindowsVariable(p string) error {
	first, _, _ := strings.Cut(strings.ReplaceAll(p, `\`, "/"), "/")
	if len(first) < 3 || first[0] != '%' || first[len(first)-1] != '%' {
		return nil
	}
	return refuse(p, "variables are not replaced", "write ~/ for the home directory, and the whole path for another")
}

func refuse(p, why, fix string) error {
	return fmt.Errorf("the path %q is refused: %s; %s", p, why, fix)
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// fault says what is wrong with one name of a path, and what to do.
func fault(name string) (why, fix string) {
	switch {
	case strings.Contains(name, ":"):
		return fmt.Sprintf("%q names a stream of a file", name), "write the name without the colon and what follows it"
	case strings.ContainsAny(name, `<>"|?*`) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }):
		return fmt.Sprintf("%q has a character that no name has", name), "write the name of one file or directory"
	case strings.TrimRight(name, ". ") != name:
		return fmt.Sprintf("Windows takes the dots and blanks at the end of %q away", name), "write the name without them"
	case isDevice(name):
		return fmt.Sprintf("%q is a device", name), "write the name of a file or directory"
	case isShort(name):
		return fmt.Sprintf("%q can be the short name of something", name), "write its long name, which dir /x shows"
	}
	return "", ""
}

// isDevice reports whether a name stands for a device in every directory, with any extension.
func isDevice(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	if slices.Contains([]string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"}, base) {
		return true
	}
	for _, prefix := range []string{"COM", "LPT"} {
		if rest, ok := strings.CutPrefix(base, prefix); ok && len([]rune(rest)) == 1 && strings.ContainsAny(rest, "0123456789¹²³") {
			return true
		}
	}
	return false
}

// isShort reports whether a name has the form of those that Windows makes for old programs: up to eight
// characters with a tilde and a number at their end, and an extension of up to three.
func isShort(name string) bool {
	base, extension, _ := strings.Cut(name, ".")
	stem, number, ok := strings.Cut(base, "~")
	return ok && stem != "" && number != "" && strings.Trim(number, "0123456789") == "" && len(base) <= 8 && len(extension) <= 3
}

// HasDrive reports whether a path begins at a drive.
func HasDrive(p string) bool {
	return len(p) > 2 && isLetter(p[0]) && p[1] == ':' && (p[2] == '\\' || p[2] == '/')
}

// JoinWindows returns a path that may be relative to a directory, or to the root of the directory's drive. It is not
// clean.
func JoinWindows(dir, p string) string {
	p = strings.ReplaceAll(p, "/", `\`)
	switch {
	case strings.HasPrefix(p, `\\`), strings.HasPrefix(p, `\??\`), len(p) > 1 && p[1] == ':':
		return p
	case strings.HasPrefix(p, `\`):
		return dir[:min(2, len(dir))] + p
	}
	return strings.TrimRight(dir, `\/`) + `\` + p
}

// windowsExtension returns what follows the last dot of a path's last name, in small letters and with the dot.
func windowsExtension(p string) string {
	name := p[strings.LastIndexAny(p, `\/`)+1:]
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return ""
	}
	return strings.ToLower(name[i:])
}

// ErrNotFound is the error of a name that no directory has.
var ErrNotFound = errors.New("there is no such program")

// A ScriptError refuses a file that an interpreter would have to run.
type ScriptError struct{ Path, Why, Fix string }

func (e *ScriptError) Error() string { return fmt.Sprintf("%s %s; %s", e.Path, e.Why, e.Fix) }

// FindWindows finds the program of a command. dirs are those of PATH, clean. The working directory is not
// searched. A command with a path is relative to dir.
func FindWindows(command, dir string, dirs []string, isFile func(path string) bool) (string, error) {
	if !strings.ContainsAny(command, `\/:`) {
		for _, d := range dirs {
			if p, err := programAt(d+`\`+command, isFile); !errors.Is(err, ErrNotFound) {
				return p, err
			}
		}
		return "", ErrNotFound
	}
	if !strings.HasPrefix(command, `\`) && !strings.HasPrefix(command, "/") && !strings.Contains(command, ":") {
		command = dir + `\` + command
	}
	return programAt(command, isFile)
}

// programAt finds the program of a path, with or without an extension.
func programAt(path string, isFile func(path string) bool) (string, error) {
	path, err := CleanWindows(path)
	if err != nil {
		return "", err
	}
	for _, extension := range []string{"", ".exe", ".com", ".cmd", ".bat", ".ps1"} {
		// A file without an extension is a script for other systems, which npm puts beside its batch file.
		if file := path + extension; windowsExtension(file) != "" && isFile(file) {
			return startable(file)
		}
	}
	return "", ErrNotFound
}

// startable returns a file, or the error that says why it is not started.
func startable(file string) (string, error) {
	switch windowsExtension(file) {
	case ".exe", ".com":
		return file, nil
	case ".cmd", ".bat":
		return "", &ScriptError{file, "is a batch file, and cmd.exe would read arguments as commands", "write the program that it starts and its arguments, or  cmd /c  in front of it"}
	case ".ps1":
		return "", &ScriptError{file, "is a script of PowerShell, which would read arguments as expressions", "write the program that it starts, and its arguments"}
	}
	return "", &ScriptError{file, "is no program of Windows", "write the interpreter before it, such as node or python"}
}
