package meaning

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/wrapper"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Fails returns why a command line cannot start a server on this machine, with a jail or without. look is the host as
// mcp-jail sees it then.
func Fails(argv []string, look hostfs.Host) (why []string) {
	line, err := runline.Parse(argv)
	if err == nil && look.OS != "windows" {
		if len(line.Outer) > 0 {
			why = missing(line.Outer[0], look)
		}
		// mcp-jail starts the packages of launchers itself, without the launcher.
		if finder := installed.FinderFor(&look); hasPath(look) && !finder.Has(&line) {
			if err := (&install.Installer{Host: look}).CanFetch(&line); err != nil {
				why = append(why, err.Error())
			}
		}
		return why
	}
	why = missing(argv[0], look)
	if line, unknown := wrapper.Unwrap(argv); err != nil && unknown == nil && len(line.Own) > 0 && len(line.Inner) > 0 {
		why = append(why, missing(line.Inner[0], look)...)
	}
	return why
}

// Notes returns what of a command line will not work as the user thinks.
func Notes(argv []string, look hostfs.Host) []string {
	if _, err := runline.Parse(argv); err == nil && look.OS == "windows" {
		return []string{"its package is not pinned: mcp-jail fetches none on Windows, and the line runs as it is given"}
	}
	return Launchers(argv)
}

// Launchers returns what follows from programs in a command line that start the server's: those that
// fetch what they run, or have its secrets from elsewhere, and whose place mcp-jail cannot take.
func Launchers(argv []string) (notes []string) {
	notes = Fetched(argv)
	l, ok := launcherOf(argv)
	switch {
	case !ok || l.Package:
		return notes
	case l.Secret != nil:
		return append(notes, noteOfSecrets(l))
	case l.Local:
		return []string{l.Name + " " + l.Does + ": the jail has no network for that. If the server does not start, " + strings.ToLower(l.Instead[:1]) + l.Instead[1:]}
	}
	return []string{notes[0] + ". " + l.Instead}
}

// launcherOf returns the launcher that a command line starts, if it is none of which mcp-jail takes the place.
func launcherOf(argv []string) (l wrapper.Launcher, ok bool) {
	if _, err := runline.Parse(argv); err == nil {
		return l, false
	}
	line, _ := wrapper.Unwrap(argv)
	return wrapper.LauncherOf(line.Inner)
}

// Fetched returns, in a sentence each, which programs in a command line fetch what they run at each
// start, and so fail in a jail without a network. [Launchers] says what to do.
func Fetched(argv []string) (notes []string) {
	outer, err := runline.Parse(argv)
	l, isLauncher := launcherOf(argv)
	var unclear *runline.NotUnderstoodError
	switch {
	case err == nil:
		return fetchedBy(outer.Packages[0].Name, outer.Args)
	case errors.As(err, &unclear):
		return []string{"the jail has no network to fetch what it starts: " + unclear.Error()}
	case !isLauncher || l.Local:
		return nil
	case l.Secret != nil:
		return fetchedBy(l.Name, argv[1:])
	}
	return []string{l.Name + " " + l.Does + " at each start, and the jail has no network for it"}
}

// fetchedBy says that a program starts the line of a launcher, which is among its words.
func fetchedBy(program string, words []string) []string {
	for i := range words {
		if line, err := runline.Parse(words[i:]); err == nil {
			return []string{program + " starts " + string(line.Launcher) + ", so mcp-jail neither fetches nor pins " + line.Packages[0].Name +
				", and the jail has no network for it. Without " + program + " in front, mcp-jail does: " + show.Spelled(words[i:])}
		}
	}
	return nil
}

func noteOfSecrets(l wrapper.Launcher) string {
	return l.Name + " runs in the jail, too, without its login, its files and its hosts: it will fail if it needs one of them. " +
		"mcp-jail can ask for a secret outside the jail, and send it to its host alone. In the rule of that host: secret = { env = \"NAME\", command = " + show.List(l.Secret) + " } (mcp-jail help secret)"
}

// missing returns why a start does not find a program. It says nothing of a relative path: clients start in different
// directories.
func missing(program string, look hostfs.Host) []string {
	if !filepath.IsAbs(program) && (strings.ContainsRune(program, '/') || !hasPath(look)) {
		return nil
	}
	_, err := resolve.FindProgram(look, program)
	var bad *resolve.CommandError
	if errors.As(err, &bad) {
		return []string{program + ": " + bad.Reason}
	}
	return nil
}

// hasPath reports whether the PATH that a client starts with is known.
func hasPath(look hostfs.Host) bool {
	path, _ := look.Getenv("PATH")
	return path != ""
}

// Whole returns the words of a program that is a whole command line in one word, or nil: no program
// has that name, and one has the name up to one of its blanks, or it is a line for a shell. Clients do not split it, but
// for one that has a shell start each server.
func Whole(word string, look hostfs.Host) []string {
	words := terminal.SplitLine(word)
	if len(words) < 2 || isProgram(word, look) {
		return nil
	}
	if _, err := runline.Parse(words); err == nil {
		return words // mcp-jail starts its package also if the launcher is missing
	}
	for i, r := range word {
		if r == ' ' && isProgram(word[:i], look) {
			return append([]string{word[:i]}, terminal.SplitLine(word[i:])...)
		}
	}
	if strings.ContainsAny(word, "&|;<>$`") {
		return []string{"sh", "-c", word}
	}
	return nil
}

// isProgram reports whether a word names a program that is there.
func isProgram(word string, look hostfs.Host) bool {
	switch rest, isHome := hostfs.CutHome(look.OS, word); {
	case isHome:
		word = filepath.Join(look.Home, rest)
	case !strings.Contains(word, "/"):
		return hasPath(look) && missing(word, look) == nil
	case !filepath.IsAbs(word):
		word = filepath.Join(look.Dir, word)
	}
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular() && (info.Mode()&0o111 != 0 || look.OS == "windows") // which has no modes
}

// Carried returns why no jail holds the server that a command line starts, or "". It completes the
// sentence "it …".
func Carried(argv []string) string {
	program, where := wrapper.Elsewhere(argv)
	switch where {
	case "":
		return ""
	case wrapper.InContainer:
		return "starts a container, which Docker or Podman runs and mcp-jail cannot confine"
	case wrapper.AsOther:
		return "starts its server as another user with " + program + ", which no program can do in a jail: take " + program + " out to wrap it"
	}
	return "starts its server " + where + " with " + program + ", and a jail here would hold " + program + " alone: put mcp-jail run -- in front of the server's own command there"
}
