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
	"github.com/mcp-jail/mcp-jail/cmd/internal/dotenv"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping/internal/meaning"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// fileNames returns the names in the entry's file of variables. note says why none of them is
// granted. The error says that there may be a file whose names are not known.
func (s Entry) fileNames(c clients.Client, host clients.Host) (names []string, note string, err error) {
	if s.EnvFile == "" {
		return nil, "", nil
	}
	path, ok := meaning.Replaced(c, s.EnvFile, host)
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
	if names, err = dotenv.Names(string(file.Data), s.isProject()); err != nil {
		err = fmt.Errorf("%s, %w", s.EnvFile, err)
	}
	return names, note, err
}

// whyUnreadable returns why the variables in a file are not taken for the server's, or "". Files such
// as .env and .env.local are sensitive, and are made for this: the user's own entry may name any. One
// of a project may name those of its repository, and no link from there to another place.
func (s Entry) whyUnreadable(path string, host clients.Host) string {
	at := meaning.Sensitive(path, host)
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
	if !isOfProject(path, host) || !isOfProject(real, host) || !kind(at) || !kind(meaning.Sensitive(real, host)) {
		return "is not one of this project, and belongs to " + at
	}
	return ""
}

// isOfProject reports whether a path is one of the project, or of its repository.
func isOfProject(path string, host clients.Host) bool {
	return slices.ContainsFunc(repository(host), func(dir string) bool {
		root, err := filepath.EvalSymlinks(dir)
		return dir != "" && (hostfs.Within(host.OS, path, dir) || err == nil && hostfs.Within(host.OS, path, root))
	})
}
