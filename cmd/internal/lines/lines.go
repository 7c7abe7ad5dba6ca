// Package lines tells what a command line of a client's entry does when mcp-jail starts it: which of
// its programs are not there, what hides a package from mcp-jail, and what has the server started
// elsewhere. It runs nothing.
package lines

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/internal/launcher"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Notes returns what of a command line will not start, or not as the user thinks. look is the host as
// mcp-jail sees it then.
func Notes(argv []string, look hostfs.Host) (notes []string) {
	line, err := runline.Parse(argv)
	if err == nil && look.OS == "windows" {
		return append(notesOfMissing(argv[0], look), "its package is not pinned: mcp-jail fetches none on Windows, and the line runs as it is given")
	}
	if err == nil {
		if len(line.Outer) > 0 {
			notes = notesOfMissing(line.Outer[0], look)
		}
		// mcp-jail starts the packages of launchers itself, without the launcher.
		if finder := installed.FinderFor(&look); hasPath(look) && !finder.Has(&line) {
			if err := (&install.Installer{Host: look}).CanFetch(&line); err != nil {
				notes = append(notes, "the server cannot start: "+err.Error())
			}
		}
		return append(notes, Launchers(argv)...)
	}
	notes = notesOfMissing(argv[0], look)
	if inner, passed := runline.Behind(argv); len(passed) > 0 && len(inner) > 0 {
		if _, err := runline.Parse(inner); err != nil {
			notes = append(notes, notesOfMissing(inner[0], look)...)
		}
	}
	return append(notes, Launchers(argv)...)
}

func notesOfMissing(program string, look hostfs.Host) []string {
	if why := missing(program, look); why != "" {
		return []string{program + ": " + why + ". On this machine the server cannot start, with a jail or without"}
	}
	return nil
}

// Launchers returns what follows from programs in a command line that start the server's: those that
// fetch what they run, or have its secrets from elsewhere, and whose place mcp-jail cannot take.
func Launchers(argv []string) (notes []string) {
	if _, err := runline.Parse(argv); err == nil {
		return Fetched(argv)
	}
	for _, command := range runline.Commands(shown.Words(argv)) {
		for _, note := range launchersOf(command) {
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
		}
	}
	return notes
}

// Fetched returns, in a sentence each, which programs in a command line fetch what they run at each
// start, and so fail in a jail without a network. [Launchers] says what to do.
func Fetched(argv []string) (notes []string) {
	if outer, err := runline.Parse(argv); err == nil {
		for i := range outer.Args {
			if inner, err := runline.Parse(outer.Args[i:]); err == nil {
				return []string{notFetched(outer.Packages[0].Name, inner)}
			}
		}
		return nil
	}
	for _, command := range runline.Commands(shown.Words(argv)) {
		line, passed := runline.Behind(command)
		if as, err := runline.Parse(line); err == nil && len(passed) > 0 {
			notes = append(notes, notFetched(passed[len(passed)-1].Program, as))
		}
		if l, ok := launcher.Of(line); ok && !l.Local {
			notes = append(notes, l.Name+" "+l.Does+" at each start, and the jail has no network for it")
		}
	}
	return notes
}

func notFetched(by string, line runline.Line) string {
	return by + " starts " + string(line.Launcher) + ", so mcp-jail neither fetches nor pins " + line.Packages[0].Name + ", and the jail has no network for it"
}

func launchersOf(argv []string) (notes []string) {
	line, passed := runline.Behind(argv)
	if len(passed) > 0 && len(line) > 0 {
		last := passed[len(passed)-1].Program
		if as, err := runline.Parse(line); err == nil {
			notes = append(notes, notFetched(last, as)+". Without "+last+" in front, mcp-jail fetches and pins it once: "+show.Spelled(line))
		}
		for _, p := range passed {
			if p.Secrets {
				notes = append(notes, noteOfSecrets(p.Program))
			}
		}
	}
	if l, ok := launcher.Of(line); ok {
		notes = append(notes, noteOfLauncher(l))
	}
	return notes
}

func noteOfSecrets(program string) string {
	note := program + " runs in the jail, too, without its login, its files and its hosts: it will fail if it needs one of them. "
	if words := launcher.SecretCommand(program); words != nil {
		return note + "mcp-jail can ask for a secret outside of the jail, and send it to its host alone. In the rule of that host: secret = { env = \"NAME\", command = " + show.List(words) + " } (mcp-jail help secret)"
	}
	return note + "Write the variables into the entry, or grant it the file that has them"
}

// noteOfLauncher says what a launcher does that mcp-jail cannot do in its place.
func noteOfLauncher(l launcher.Launcher) string {
	if l.Local {
		return l.Name + " " + l.Does + ": the jail has no network for that. If the server does not start, " + strings.ToLower(l.Instead[:1]) + l.Instead[1:]
	}
	return l.Name + " " + l.Does + " at each start. mcp-jail cannot do that in its place, and the jail has no network for it. " + l.Instead
}

// missing returns why a start does not find a program, or "". It says nothing of a relative path:
// clients start in different directories.
func missing(program string, look hostfs.Host) string {
	if !filepath.IsAbs(program) && (strings.ContainsRune(program, '/') || !hasPath(look)) {
		return ""
	}
	err := resolve.CheckProgram(look, program)
	var bad *resolve.CommandError
	if errors.As(err, &bad) {
		return bad.Reason
	}
	return ""
}

// hasPath reports whether the PATH that a client starts with is known.
func hasPath(look hostfs.Host) bool {
	path, _ := look.Getenv("PATH")
	return path != ""
}

// Whole returns the words of a program that is a whole command line in one word, or nil: no program
// has that name, and one has the name up to one of its blanks. Clients do not split it, but for one that
// has a shell start each server.
func Whole(word string, look hostfs.Host) []string {
	words := shown.Split(word)
	if len(words) < 2 || isProgram(word, look) {
		return nil
	}
	if _, err := runline.Parse(words); err == nil {
		return words // mcp-jail starts its package also if the launcher is missing
	}
	for i, r := range word {
		if r == ' ' && isProgram(word[:i], look) {
			return append([]string{word[:i]}, shown.Split(word[i:])...)
		}
	}
	return nil
}

// isProgram reports whether a word names a program that is there.
func isProgram(word string, look hostfs.Host) bool {
	switch rest, isHome := hostfs.CutHome(look.OS, word); {
	case isHome:
		word = filepath.Join(look.Home, rest)
	case !strings.Contains(word, "/"):
		return hasPath(look) && missing(word, look) == ""
	case !filepath.IsAbs(word):
		word = filepath.Join(look.Dir, word)
	}
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || look.OS == "windows") // which has no modes
}

// Carried returns why no jail holds the server that a command line starts, or "". It completes the
// sentence "it …".
func Carried(argv []string) string {
	var away *runline.ElsewhereError
	switch _, err := runline.Parse(argv); {
	case !errors.As(err, &away):
		return ""
	case away.Where == runline.AsOther:
		return "starts its server as another user with " + away.Said() + ", which no program can do in a jail: take " + away.Program + " out to wrap it"
	case slices.Contains([]string{"docker", "podman", "nerdctl", "docker-compose", "podman-compose"}, away.Program):
		return "starts a container, which Docker or Podman runs and mcp-jail cannot confine"
	}
	return "starts its server " + string(away.Where) + " with " + away.Said() + ", and a jail here would hold " + away.Program + " alone: put mcp-jail run -- in front of the server's own command there"
}
