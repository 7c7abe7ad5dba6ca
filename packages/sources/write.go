package sources

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Files returns the files that Write writes: they are removed when the fetch has ended.
func (s *Sources) Files(home string) []string {
	if s.Tool == NPM {
		return []string{filepath.Join(home, "npmrc")}
	}
	return []string{filepath.Join(home, "netrc")}
}

// Write writes the configuration of the tool, with the logins, into files of home that nobody but the user
// may read. It returns the variables that have the tool read them, and nothing else. No login is among them.
func (s *Sources) Write(home string) (variables map[string]string, err error) {
	variables = map[string]string{}
	maps.Copy(variables, s.variables)
	file := s.Files(home)[0]
	var text strings.Builder
	switch s.Tool {
	case NPM:
		variables["npm_config_userconfig"] = file
		variables["npm_config_globalconfig"] = filepath.Join(home, "no-npmrc")
	case Pip:
		variables["PIP_CONFIG_FILE"], variables["NETRC"] = os.DevNull, file // no other file counts either
	case Uv:
		variables["UV_NO_CONFIG"], variables["NETRC"] = "1", file
	}
	for _, p := range s.pairs() {
		if s.Tool != NPM {
			variables[p.name] = strings.Join(p.values, " ")
			continue
		}
		for _, value := range p.values {
			text.WriteString(npmText(p.name) + "=" + npmText(value) + "\n")
		}
	}
	for _, l := range s.logins {
		if s.Tool != NPM {
			text.WriteString(netrcLine(l))
		}
	}
	if err := writeFresh(file, text.String()); err != nil {
		return nil, err
	}
	return variables, nil
}

// pair is a setting as it is written.
type pair struct {
	name   string
	values []string
}

// pairs returns what the rows of the tool have to say, in their order.
func (s *Sources) pairs() (all []pair) {
	for _, row := range table {
		if row.tool != s.Tool || row.written == "" {
			continue
		}
		values := s.values[row.what]
		switch row.what {
		case index:
			values = []string{s.Index}
		case extra:
			values = s.Extra
		case scope:
			for _, name := range slices.Sorted(maps.Keys(s.Scopes)) {
				all = append(all, pair{name + ":registry", []string{s.Scopes[name]}})
			}
		case login:
			for _, key := range slices.Sorted(maps.Keys(s.npmLogins)) {
				if matches(row.key, key) {
					all = append(all, pair{key, []string{s.npmLogins[key]}})
				}
			}
		}
		if len(values) > 0 {
			all = append(all, pair{row.written, values})
		}
	}
	return all
}

// writeFresh makes a file anew that nobody but the user may read.
func writeFresh(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
