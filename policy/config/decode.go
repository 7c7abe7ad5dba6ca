package config

import (
	"math"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/toml"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

// Decode reads one file that is the whole configuration. Its error is [policy.Problems]:
// all problems of the file at once, each with file, line and key. It does not read the
// disk; file is only a name.
func Decode(data []byte, file string) (*Config, error) {
	c, problems := decodeLayer(data, file)
	if len(problems) == 0 {
		problems = c.validate()
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// decodeLayer reads one of several files. It leaves out the checks that need the merged
// configuration, such as that for a missing command.
func decodeLayer(data []byte, file string) (*Config, policy.Problems) {
	if text := strings.TrimLeft(string(data[:min(len(data), 1<<10)]), "\ufeff \t\r\n"); strings.HasPrefix(text, "{") {
		return &Config{}, policy.Problems{{File: file, Line: 1, Message: "is JSON, like a client's configuration, but must be TOML: write [servers.NAME] with command, arguments and variables"}}
	}
	in, root := reader.New(data, file)
	d := &decoder{in}
	c := &Config{Files: []string{file}}
	d.whole(root, c)
	return c, d.in.Problems
}

// A decoder reads the tables of a configuration.
type decoder struct{ in *reader.Reader }

type (
	node   = toml.Node
	fields = reader.Fields
	form   = reader.Form
)

func (d *decoder) whole(root *node, c *Config) {
	d.in.Table(root, "", fields{
		"version":  func(n *node, key string) { c.Version = d.version(n, key) },
		"defaults": func(n *node, key string) { c.Defaults = d.defaults(n, key) },
		"servers": func(n *node, key string) {
			c.Servers = map[string]*Server{}
			d.in.Each(n, key, serverForm(), func(name string, n *node, key string) { c.Servers[name] = d.server(n, key, name) })
		},
	})
}

// version reads the version of the format. There is one.
func (d *decoder) version(n *node, key string) int {
	const known = 1
	if d.in.Shapes[n] != nil {
		return d.in.Integer(n, key, known, known)
	}
	v := d.in.Integer(n, key, 0, math.MaxInt32)
	if v != known && n.Kind == toml.Integer {
		d.in.Add(n, key, "version %d is not known; this program reads version = %d", v, known)
	}
	return v
}

// Describe returns the shape of a whole file. It has the decoder read a node of unknown
// content: the functions that check a value note there what they would accept.
func Describe() *Shape {
	d := &decoder{&reader.Reader{Shapes: map[*node]*reader.Shape{}}}
	return d.in.Describe(func(root *node) { d.whole(root, &Config{}) })
}
