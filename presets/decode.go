package presets

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/pelletier/go-toml/v2"
)

// firstPart is the part of a file that policy/config does not know.
type firstPart struct {
	Preset struct {
		Title    string   `toml:"title"`
		Stateful *bool    `toml:"stateful"`
		ReadOnly []string `toml:"read_only"`
		Programs []string `toml:"programs"`
		Notes    []string `toml:"notes"`
		Sources  []string `toml:"sources"`
		Packages []struct {
			NPM      string   `toml:"npm"`
			PyPI     string   `toml:"pypi"`
			Image    string   `toml:"image"`
			Command  string   `toml:"command"`
			Versions []string `toml:"versions"`
		} `toml:"packages"`
		Login     login      `toml:"login"`
		Variables []variable `toml:"variables"`
		Arguments []argument `toml:"arguments"`
		Jail      jail       `toml:"jail"`
		Each      []each     `toml:"each"`
	} `toml:"preset"`
}

// decode reads a file of a preset. Its error is [policy.Problems]: each with file, line and
// key as far as they are known. It does not read the disk; file is only a name.
func decode(name string, data []byte, file string) (*Preset, error) {
	first, second, line := split(name, data)
	if line < 2 {
		return nil, policy.Problems{{File: file, Message: fmt.Sprintf("has no line [servers.%s] below [preset]: the preset's part of a configuration begins with it", name)}}
	}
	f, err := decodeFirst(first, file)
	if err != nil {
		return nil, err
	}
	server, err := decodeSecond(name, second, line, file)
	if err != nil {
		return nil, err
	}
	p := &Preset{
		Name: name, Title: f.Preset.Title, Text: data, Config: second, Server: server,
		Variables: f.Preset.Variables, Arguments: f.Preset.Arguments, Programs: f.Preset.Programs,
		Login: f.Preset.Login, Jail: f.Preset.Jail, Each: f.Preset.Each,
		ReadOnly: f.Preset.ReadOnly, Notes: f.Preset.Notes, Sources: f.Preset.Sources,
	}
	var ps policy.Problems
	add := func(key, format string, args ...any) {
		ps = append(ps, policy.Problem{File: file, Key: key, Message: key + " " + fmt.Sprintf(format, args...)})
	}
	if f.Preset.Stateful == nil {
		add("preset.stateful", "is missing: say whether one call can depend on another")
	} else {
		p.Stateful = *f.Preset.Stateful
	}
	for _, pkg := range f.Preset.Packages {
		names := []Package{{NPM, pkg.NPM, pkg.Versions}, {PyPI, pkg.PyPI, pkg.Versions}, {Image, pkg.Image, pkg.Versions}, {Command, pkg.Command, pkg.Versions}}
		names = slices.DeleteFunc(names, func(p Package) bool { return p.Name == "" })
		if len(names) != 1 {
			add("preset.packages", "must have one of npm, pypi, image and command in each table")
			continue
		}
		p.Packages = append(p.Packages, names[0])
	}
	p.check(add)
	if err := ps.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// split cuts a file at the line that begins its second part, and returns the number of that
// line, or 0 where there is none.
func split(name string, data []byte) (first, second []byte, line int) {
	header := "[servers." + show.Key(name) + "]"
	for start := 0; start < len(data); {
		line++
		end := len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		if string(bytes.TrimRight(data[start:end], " \t\r\n")) == header {
			return data[:start], data[start:], line
		}
		start = end
	}
	return data, nil, 0
}

func decodeFirst(data []byte, file string) (f firstPart, err error) {
	err = toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(&f)
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case err == nil:
		return f, nil
	case errors.As(err, &unknown):
		var ps policy.Problems
		for _, e := range unknown.Errors {
			ps = append(ps, problem(e, file, "is not a known key of a preset"))
		}
		return f, ps
	case errors.As(err, &wrong):
		return f, policy.Problems{problem(*wrong, file, wrong.Error())}
	}
	return f, policy.Problems{{File: file, Message: err.Error()}}
}

func problem(e toml.DecodeError, file, message string) policy.Problem {
	line, _ := e.Position()
	key := ""
	for _, part := range e.Key() {
		if key != "" {
			key += "."
		}
		key += show.Key(part)
	}
	return policy.Problem{File: file, Line: line, Key: key, Message: message}
}

// decodeSecond has policy/config read the second part. Its decoder wants a command, which a
// preset has not: the table gets one in place of its own header line, and the header takes
// the place of the line before, so that lines are those of the file.
func decodeSecond(name string, part []byte, line int, file string) (*config.Server, error) {
	header, rest, _ := bytes.Cut(part, []byte("\n"))
	var text bytes.Buffer
	for range line - 2 {
		text.WriteByte('\n')
	}
	fmt.Fprintf(&text, "%s\ncommand = %s\n", bytes.TrimRight(header, "\r"), show.TOML("a-preset-has-none"))
	text.Write(rest)
	c, err := config.Decode(text.Bytes(), file)
	if err != nil {
		return nil, err
	}
	s := c.Servers[name]
	s.Command = ""
	if s.Access != nil {
		for i := range s.Access.Fs {
			s.Access.Fs[i].Preset, s.Access.Fs[i].Optional = true, s.Access.Fs[i].Rights() != 0
		}
	}
	var ps policy.Problems
	for key, set := range map[string]bool{
		"arguments": s.Arguments != nil, "workspace": s.Workspace != "", "waive": s.Waive != nil,
		"stateful": s.Stateful != nil, "tools": s.Tools != nil, "pin_tools": s.Settings["pin_tools"].Value != "",
		"leaks": s.Settings["leaks"].Value != "", "leak_patterns": s.Settings["leak_patterns"].Value != "",
	} {
		if set {
			ps = append(ps, policy.Problem{File: file, Line: line, Key: "servers." + name + "." + key, Message: key + " belongs to the user and not to a preset"})
		}
	}
	ps = append(ps, outsideSources(s)...)
	if len(c.Servers) != 1 || c.Version != 0 {
		ps = append(ps, policy.Problem{File: file, Line: line, Message: fmt.Sprintf("has more than the table [servers.%s] below that line", name)})
	}
	slices.SortFunc(ps, func(a, b policy.Problem) int { return bytes.Compare([]byte(a.Key), []byte(b.Key)) })
	return s, ps.Err()
}

// outsideSources returns a problem for each secret whose value mcp-jail itself reads from a file, or takes from a
// command: both happen outside of the jail.
func outsideSources(s *config.Server) (ps policy.Problems) {
	if s.Access == nil {
		return nil
	}
	for _, r := range s.Access.Net {
		for _, secret := range r.Secrets {
			if secret.File == "" && secret.Command == nil {
				continue
			}
			file, line := policy.SplitPosition(secret.Where)
			ps = append(ps, policy.Problem{File: file, Line: line, Key: "servers." + s.Name + ".access.net.secret", Message: "the file or the command of a secret belongs to the user and not to a preset"})
		}
	}
	return ps
}
