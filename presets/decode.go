package presets

import (
	"bytes"
	"fmt"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/pelletier/go-toml/v2"
)

// firstPart is the part of a file that policy/config does not know.
type firstPart struct {
	Preset struct {
		Title    string   `toml:"title"`
		Stateful bool     `toml:"stateful"`
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

// decode reads a file of a preset. It does not read the disk; file is only a name. Tests hold each file to what the
// decoders cannot see.
func decode(name string, data []byte, file string) (*Preset, error) {
	first, second, line := split(name, data)
	if line < 2 {
		return nil, fmt.Errorf("%s has no line [servers.%s] below [preset]: the preset's part of a configuration begins with it", file, name)
	}
	var f firstPart
	if err := toml.NewDecoder(bytes.NewReader(first)).DisallowUnknownFields().Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	server, err := decodeSecond(name, second, line, file)
	if err != nil {
		return nil, err
	}
	p := &Preset{
		Name: name, Title: f.Preset.Title, Text: data, Config: second, Server: server, Stateful: f.Preset.Stateful,
		Variables: f.Preset.Variables, Arguments: f.Preset.Arguments, Programs: f.Preset.Programs,
		Login: f.Preset.Login, Jail: f.Preset.Jail, Each: f.Preset.Each,
		ReadOnly: f.Preset.ReadOnly, Notes: f.Preset.Notes, Sources: f.Preset.Sources,
	}
	for _, pkg := range f.Preset.Packages {
		for _, of := range []Package{{NPM, pkg.NPM, pkg.Versions}, {PyPI, pkg.PyPI, pkg.Versions}, {Image, pkg.Image, pkg.Versions}, {Command, pkg.Command, pkg.Versions}} {
			if of.Name != "" {
				p.Packages = append(p.Packages, of)
			}
		}
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
	return s, nil
}
