package edit

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// ambiguity returns what the package says about the table of a file, or about its server s.
func ambiguity(format Format, text string) error {
	table := Table{Path: []string{"servers"}}
	f, err := Parse(format, []byte(text))
	if err != nil {
		return err
	}
	if err := f.Ambiguity(table); err != nil {
		return err
	}
	for _, s := range f.Servers(table) {
		if s.Name == "s" && s.Ambiguous != nil {
			if _, err := f.Apply(Change{Server: s, Words: wrapper}); err == nil {
				return fmt.Errorf("changed all the same: %w", s.Ambiguous)
			}
			return s.Ambiguous
		}
	}
	return nil
}

func TestAmbiguous(t *testing.T) {
	for _, c := range writtenFiles(t, ambiguities) {
		t.Run(c.format.String()+"/"+c.name, func(t *testing.T) {
			err := ambiguity(c.format, c.text)
			testkit.Fails(t, "", err, c.want)
			if a := (*Fault)(nil); c.want != "" && (!errors.As(err, &a) || a.Fix == "") {
				t.Errorf("%#v", err)
			}
		})
	}
}

// TestUnambiguous has what all clients read in one way.
func TestUnambiguous(t *testing.T) {
	for _, c := range []struct {
		format Format
		text   string
	}{
		{JSON, "\ufeff{ // x\r\n\"servers\": {\"s\": {\"command\": \"a\", /* y\r\n */ \"args\": [\"\u2028\u0085\ufeff \\u2028\\ud83d\\ude00 \ufffd \\uFFFD\"],}}}"},
		{JSON, `{"servers": {"s": {"command": "a", "timeout": 1e400, "env": {"Command": "x", "A": "1", "a": "2"}}, "S": {"command": "b"}}}`},
		{JSON, `{"other": {"__proto__": {}, "x": 1, "x": 2}, "servers": {"s": {"command": "a"}}}`},
		{TOML, "# \u2028 \u0085\r\n[servers.s]\r\ncommand = 'a'\r\nargs = [\"\\u2028\"]\r\n"},
		{YAML, "\ufeffservers:\r\n  s: {command: a, args: [\"\\u2028\\r\", '22:22', -y, -1, 10, 8080:80, 127.0.0.1:80, ./x, 1.2.3, \"yes\", yesterday, 10m]}\r\n"},
		{YAML, "servers:\n  s:\n    command: a\n    args: [a%b]\n    # %YAML\n    enabled: yes\n    since: 2001-01-01\n"},
	} {
		testkit.Works(t, c.text, ambiguity(c.format, c.text))
	}
}
