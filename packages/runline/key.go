package runline

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
)

// Display returns a short name for the server, "server-memory" for instance. It is a valid
// name of a server, and not unique.
func (l *Line) Display() string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && nameByte(byte(r)) {
			return r
		}
		return '-'
	}, l.Packages[0].baseName())
	name = strings.Trim(name, ".-_")
	if len(name) > 40 {
		name = strings.TrimRight(name[:40], ".-_")
	}
	if name == "" {
		return "server"
	}
	return name
}

// Key returns a name for what the line runs: the same for each line of the ecosystem that
// names the same packages and the same program. Arguments, variables, options and versions
// do not change it. So it stays when a package is updated. It is a valid name of a server.
// dir is the working directory; it counts only if a package is a relative path.
func (l *Line) Key(dir string) string {
	var ids []string
	for _, p := range l.Packages {
		ids = append(ids, p.place(dir))
	}
	first := ids[0]
	slices.Sort(ids)
	ids = slices.Compact(ids)
	text := string(l.Ecosystem()) + "\x00" + strings.Join(ids, "\x00")
	// A program with the name of its package adds nothing to the text.
	if p := l.Packages[0]; l.Program != "" && (l.Program != p.baseName() && !samePythonName(l, p)) || len(ids) > 1 {
		text += "\x00\x00" + first + "\x00" + l.Program
	}
	sum := sha256.Sum256([]byte(text))
	return l.Display() + "-" + hex.EncodeToString(sum[:8])
}

// Wanted returns, as readable text, the packages that the line asks for, with their versions,
// ranges or tags, and the options that decide which versions are found. Two lines with the same
// text can share one pinned installation. Wanted leaves out user names and passwords in addresses:
// the text is shown, and is in the lock file.
func (l *Line) Wanted(dir string) string {
	var parts []string
	for _, p := range l.Packages {
		parts = append(parts, WithoutUser(p.place(dir))+"@"+p.Want())
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	for _, o := range l.Options {
		parts = append(parts, "--"+o.Name+"="+WithoutUser(o.Value))
	}
	if l.Python != "" {
		parts = append(parts, "--python="+l.Python)
	}
	for _, file := range l.Requirements {
		parts = append(parts, "--with-requirements="+WithoutUser(join(dir, file)))
	}
	return string(l.Ecosystem()) + ": " + strings.Join(parts, " ")
}

// Names returns the names of the packages in the order of the line.
func (l *Line) Names() (names []string) {
	for _, p := range l.Packages {
		names = append(names, p.Name)
	}
	return names
}

func (s Spec) place(dir string) string {
	if s.Kind == File || s.Kind == Directory {
		s.Location = join(dir, s.Location)
	}
	return s.identity()
}

func join(dir, file string) string {
	if file == "" || absolute(file) || file[0] == '~' {
		return file
	}
	return path.Join(dir, file)
}

func samePythonName(l *Line, p Spec) bool {
	name, ok := pythonName(l.Program)
	return l.Ecosystem() == PyPI && ok && name == p.Name
}

// WithoutUser returns a text without the user and the password of the address in it. The user
// of an address for ssh stays: it is part of the place.
func WithoutUser(text string) string {
	before, rest, found := strings.Cut(text, "://")
	if !found {
		return text
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host := rest[:end]
	if at := strings.LastIndexByte(host, '@'); at >= 0 && (!strings.HasSuffix(before, "ssh") || strings.Contains(host[:at], ":")) {
		host = host[at+1:]
	}
	return before + "://" + host + rest[end:]
}
