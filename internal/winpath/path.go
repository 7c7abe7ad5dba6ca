package winpath

import (
	"fmt"
	"slices"
	"strings"
)

// Clean returns a path with backslashes, without "." and "..", or an error that says why the path is none
// that mcp-jail takes.
func Clean(p string) (string, error) { return clean(p, true) }

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

// CheckNames returns an error if a relative path has a name that Clean refuses.
func CheckNames(p string) error {
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

// CheckFile returns an error if the absolute path of a file that the user names has a form that Clean
// refuses, but for short names: the directory of temporary files can have one, and no rule is about the file.
func CheckFile(p string) error {
	_, err := clean(p, false)
	return err
}

// CheckVariable returns an error if a path begins with a variable as cmd.exe writes it, which only that replaces.
func CheckVariable(p string) error {
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

// Join returns a path that may be relative to a directory, or to the root of the directory's drive. It is not
// clean.
func Join(dir, p string) string {
	p = strings.ReplaceAll(p, "/", `\`)
	switch {
	case strings.HasPrefix(p, `\\`), strings.HasPrefix(p, `\??\`), len(p) > 1 && p[1] == ':':
		return p
	case strings.HasPrefix(p, `\`):
		return dir[:min(2, len(dir))] + p
	}
	return strings.TrimRight(dir, `\/`) + `\` + p
}

// Dir returns the directory of a clean path.
func Dir(p string) string {
	i := strings.LastIndexByte(p, '\\')
	if i < 3 {
		return p[:min(3, len(p))]
	}
	return p[:i]
}

// Extension returns what follows the last dot of a path's last name, in small letters and with the dot.
func Extension(p string) string {
	name := p[strings.LastIndexAny(p, `\/`)+1:]
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return ""
	}
	return strings.ToLower(name[i:])
}
