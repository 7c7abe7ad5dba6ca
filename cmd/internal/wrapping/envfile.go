package wrapping

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/policy"
)

// fileNames returns the names in the entry's file of variables. note says why none of them is
// granted. The error says that there may be a file whose names are not known.
func (s Entry) fileNames(c clients.Client, host clients.Host) (names []string, note string, err error) {
	if s.EnvFile == "" {
		return nil, "", nil
	}
	path, ok := replaced(c, s.EnvFile, host)
	if !ok {
		return nil, "the variables of " + s.EnvFile + " are not granted, because only the client knows where it is: add --env NAME for each", errors.New("only the client knows where " + s.EnvFile + " is")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(host.Project, path)
	}
	if why := s.whyUnreadable(path, host); why != "" {
		return nil, "the variables of " + s.EnvFile + " are not granted, because it " + why + ": add --env NAME for each", errors.New(s.EnvFile + " " + why)
	}
	file, err := ownfile.Read(path)
	if err != nil {
		note = fmt.Sprintf("the variables of its file are not granted: %s", err)
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, note, err
	}
	switch {
	case bytes.Contains(file.Data, []byte("-----BEGIN")):
		note = "the variables of " + s.EnvFile + " are not granted, because it holds a key"
	case s.isProject() && !(isOfProject(path, host) && isOfProject(file.Real, host)):
		note = "the variables of " + s.EnvFile + " are not granted, because it is not a file of this project: add --env NAME for each"
	}
	if names, err = variableNames(string(file.Data), s.isProject()); err != nil {
		err = fmt.Errorf("%s, %w", s.EnvFile, err)
	}
	return names, note, err
}

// whyUnreadable returns why the variables in a file are not taken for the server's, or "". Files such
// as .env and .env.local are sensitive, and are made for this: the user's own entry may name any. One
// of a project may name those of its repository, and no link from there to another place.
func (s Entry) whyUnreadable(path string, host clients.Host) string {
	at := sensitive(path, host)
	base := filepath.Base(path)
	switch dotenv := base == ".env" || strings.HasPrefix(base, ".env."); {
	case at == "" || dotenv && !s.isProject():
		return ""
	case !dotenv:
		return "belongs to " + at
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path // reading it fails, too
	}
	kind := func(at string) bool { return at == "" || strings.HasPrefix(at, "**/") }
	if !isOfProject(path, host) || !isOfProject(real, host) || !kind(at) || !kind(sensitive(real, host)) {
		return "is not one of this project, and belongs to " + at
	}
	return ""
}

// isOfProject reports whether a path is one of the project, or of its repository.
func isOfProject(path string, host clients.Host) bool {
	return slices.ContainsFunc(repository(host), func(dir string) bool {
		root, err := filepath.EvalSymlinks(dir)
		return dir != "" && (policy.Within(path, dir) || err == nil && policy.Within(path, root))
	})
}

// variableNames returns all names that a client may find in a file of variables. Clients read such
// files in different ways: a line may end with CR alone, ":" may stand for "=", and a value may go
// on over several lines, of which each can be one with a name. The error names a line in which a
// client may find another name. For a project, the names are those that are [environ.IsName], and
// those of the table.
func variableNames(text string, project bool) (names []string, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	for i, line := range strings.Split(text, "\n") {
		for _, part := range strings.Split(line, "\r") {
			name, why := variableName(part)
			if why != "" && err == nil {
				err = fmt.Errorf("line %d: %s", i+1, why)
			}
			_, known := environ.Find(name)
			if policy.CheckVariable(name) == nil && !slices.Contains(names, name) && (!project || known || environ.IsName(name, true)) {
				names = append(names, name)
			}
		}
	}
	return names, err
}

// variableName returns the name in a line of a file of variables, or "". why is set if clients may
// find different names there. The expression of npm's dotenv, which many have taken over, allows any
// blanks of JavaScript around a name, line ends among them, and sees a line begin after U+2028 even
// in a comment. Other readers split at "=" and trim.
func variableName(line string) (name, why string) {
	if i := strings.IndexAny(line, "\v\f\x1c\x1d\x1e\u0085\u2028\u2029"); i >= 0 {
		return "", fmt.Sprintf("U+%04X ends a line for some clients only", []rune(line[i:])[0])
	}
	line = strings.Trim(line, " \t")
	end := strings.IndexAny(line, "=:")
	switch {
	case strings.HasPrefix(line, "#"):
		return "", ""
	case end < 0 && strings.HasSuffix(line, `\`):
		return "", `"\" joins a name with the next line for some clients`
	case end < 0:
		return "", ""
	case end == 0:
		return "", `"` + line[:1] + `" belongs to the line before for some clients`
	}
	for _, c := range line[:end] {
		if c < ' ' && c != '\t' || c > '~' {
			return "", fmt.Sprintf("U+%04X before a \"%c\" is part of the name for some clients, and a blank for others", c, line[end])
		}
	}
	// "export NAME=x" sets NAME; of other words, the last counts if it is a name of the table.
	words := strings.Fields(line[:end])
	if len(words) > 1 && words[0] == "export" {
		words = words[1:]
	}
	last := strings.Trim(words[len(words)-1], "\"'`")
	if _, known := environ.Find(last); len(words) == 1 || known { // else it is a text that goes on
		return last, ""
	}
	return "", ""
}
