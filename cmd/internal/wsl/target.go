package wsl

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/packages/runline"
)

// A Target is the distribution that a server runs in: the value of --wsl, which is its name, or its name and
// the directory of the drives, as in Ubuntu:/windows.
type Target struct {
	Name string
	Root string // below which Linux has the drives: /mnt, if its /etc/wsl.conf says no other
}

// usualRoot is where WSL mounts the drives.
const usualRoot = "/mnt"

// ParseTarget parses the value of --wsl.
func ParseTarget(value string) (Target, error) {
	name, root, given := strings.Cut(value, ":")
	if !given {
		root = usualRoot
	}
	if !isName(name) || !path.IsAbs(root) || path.Clean(root) != root {
		return Target{}, fmt.Errorf("--wsl %q: give the name of a distribution that `wsl --list` shows, as in --wsl Ubuntu, or the name and where it has the drives, as in --wsl Ubuntu:/mnt", value)
	}
	return Target{name, root}, nil
}

func (t Target) String() string {
	if t.Root == usualRoot {
		return t.Name
	}
	return t.Name + ":" + t.Root
}

// Shell returns the command line of Windows that opens a shell in the distribution, in the user's home directory.
func (t Target) Shell() string { return "wsl -d " + t.Name + " --cd ~" }

// A WordError is about a word that means something else in Linux.
type WordError struct{ Word, Why, Fix string }

func (e *WordError) Error() string { return e.Word + " " + e.Why + ": " + e.Fix }

var (
	drivePath   = lazy.Regexp(`^[A-Za-z]:[\\/]`)
	assigned    = lazy.Regexp(`^([^\\/="']+=)(.*)$`)
	fileAddress = lazy.Regexp(`(?i)^file:/*[a-z]:`)
)

// anyPath matches a path of Windows at the start of a word or of a value in it.
var anyPath = lazy.Regexp(`(?i)(?:^|[=,;"'])(?:[a-z]:[\\/]|\\\\)`)

// HasPath reports whether a word is a path of Windows, or has one as its value.
func HasPath(word string) bool { return anyPath().MatchString(word) }

// IsOfWindows reports whether the name of a program is one of Windows.
func IsOfWindows(name string) bool {
	ending := strings.ToLower(filepath.Ext(name))
	return strings.Contains(name, `\`) || HasPath(name) || slices.Contains([]string{".exe", ".cmd", ".bat", ".ps1"}, ending) || strings.EqualFold(name, "cmd")
}

// Word returns a word as Linux has it. A path of a drive becomes one below Root, also after NAME= or
// --FLAG=. A path of the distribution's own, as \\wsl.localhost\Ubuntu\home, becomes that of Linux. Words
// without a path stay as they are.
func (t Target) Word(word string) (string, error) {
	if mapped, is, err := t.whole(word); is || err != nil {
		return mapped, err
	}
	if parts := assigned().FindStringSubmatch(word); parts != nil {
		if mapped, is, err := t.whole(parts[2]); is || err != nil {
			return parts[1] + mapped, err
		}
	}
	if HasPath(word) || fileAddress().MatchString(word) {
		return "", &WordError{word, "has a path of Windows among other text", "write it as Linux has it, such as " + t.Root + "/c/Users/NAME"}
	}
	return word, nil
}

func (t Target) whole(word string) (mapped string, is bool, err error) {
	slashes := strings.ReplaceAll(word, `\`, "/")
	switch {
	case drivePath().MatchString(word):
		// Where the drives are mounted at /, Root has no slash to add.
		return path.Join(t.Root, strings.ToLower(word[:1])) + slashes[2:], true, nil
	case strings.HasPrefix(word, `.\`) || strings.HasPrefix(word, `..\`):
		return "", true, &WordError{word, "is relative to a directory of Windows", "write the whole path"}
	case !strings.HasPrefix(word, `\\`):
		return "", false, nil
	}
	for _, host := range []string{"//wsl.localhost/", "//wsl$/"} {
		if len(slashes) > len(host) && strings.EqualFold(slashes[:len(host)], host) {
			name, rest, _ := strings.Cut(slashes[len(host):], "/")
			if !strings.EqualFold(name, t.Name) {
				return "", true, &WordError{word, "is in another distribution than " + t.Name, "copy the files into " + t.Name}
			}
			return "/" + rest, true, nil
		}
	}
	return "", true, &WordError{word, "is a path that Linux does not have", "copy the files to a drive of this machine"}
}

// Line returns the command line of the mcp-jail in the distribution: "run", the flags as they are after run,
// and the words of the server.
func (t Target) Line(flags, argv []string) (line []string, err error) {
	line = []string{"run"}
	for i := 0; i < len(flags); i++ {
		if flags[i] == "--wsl" {
			i++ // its value
			continue
		}
		if strings.HasPrefix(flags[i], "--wsl=") {
			continue
		}
		if flags[i] == "--env=*" || flags[i] == "*" && i > 0 && flags[i-1] == "--env" {
			return nil, &WordError{"--env '*'", "would pass every variable of Windows to Linux, where PATH, TEMP and others mean nothing", "name those that the server needs, as in --env API_TOKEN or --env 'API_*'"}
		}
		word, err := t.Word(flags[i])
		if err != nil {
			return nil, err
		}
		line = append(line, word)
	}
	if argv == nil {
		return line, nil
	}
	line = append(line, "--")
	// The launcher of a package is known by its name, without its directory and its ending.
	_, notLauncher := runline.Parse(argv)
	for i, word := range argv {
		switch {
		case i == 0 && notLauncher == nil:
		case i == 0 && IsOfWindows(word):
			return nil, &WordError{word, "is a program of Windows, which does not run in a jail of Linux", "install the server in " + t.Name + ", and name it as Linux has it"}
		default:
			if word, err = t.Word(word); err != nil {
				return nil, err
			}
		}
		line = append(line, word)
	}
	return line, nil
}
