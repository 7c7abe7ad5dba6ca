package table

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/config"
)

// FuzzApply grants something in any file and takes it back. A file that mcp-jail reads stays one, and
// what was granted can be taken back: the tables are those of before, and in the forms of forms the bytes
// too.
func FuzzApply(f *testing.F) {
	for _, form := range forms {
		for k, flags := range grants {
			if k%4 == len(form.name)%4 {
				f.Add(form.whole(), form.tool, strings.Join(flags, "\x00"))
			}
		}
	}
	f.Add("[servers.x]\ncommand = \"a\"\n[[servers.x.access.fs]]\nwrite = false\npath = \"sub\"\nread = true\n", "", "--write\x00sub")
	f.Add("[servers.x]\ncommand = \"a\"\naccess.fs = [{path=\"a\", # c\n read=true}]\n", "", "--write\x00a")
	f.Add("[servers.x]\ncommand = \"\"\"\na\"\"\"\naccess = {fs=[{path='''a'''},],}\n", "", "--read\x00b")
	f.Fuzz(func(t *testing.T, text, tool, flags string) {
		c := Change{File: "c.toml", Server: "x", Tool: tool, Flags: strings.Split(flags, "\x00")}
		granted, err := c.Apply([]byte(text))
		if err != nil || string(granted.Text) == text {
			return
		}
		if _, err := config.Decode(granted.Text, "c.toml"); err != nil {
			t.Fatalf("%v\n%s", err, granted.Text)
		}
		if len(granted.Already) > 0 {
			return
		}
		before, err := config.Decode([]byte(text), "c.toml")
		if err != nil {
			t.Fatal(err)
		}
		c.Remove = true
		back, err := c.Apply(granted.Text)
		if err != nil {
			t.Fatalf("%q: %v\n%s\nbecomes\n%s", c.Flags, err, text, granted.Text)
		}
		after, err := config.Decode(back.Text, "c.toml")
		if err != nil {
			t.Fatalf("%v\n%s", err, back.Text)
		}
		was, err := before.Policy("x", tool)
		if err != nil {
			t.Fatal(err)
		}
		is, err := after.Policy("x", tool)
		if err != nil {
			t.Fatal(err)
		}
		w := work{Change: c}
		if err := w.compare(is, was, nil); err != nil && !setsValue(c.Flags) {
			t.Errorf("%q: %v\n%s\nbecomes\n%s\nand then\n%s", c.Flags, err, text, granted.Text, back.Text)
		}
		if err := w.compare(was, is, nil); err != nil && !setsValue(c.Flags) {
			t.Errorf("%q: %v\n%s\nbecomes\n%s\nand then\n%s", c.Flags, err, text, granted.Text, back.Text)
		}
	})
}

// setsValue reports whether flags set a key with one value, whose old value no file keeps.
func setsValue(flags []string) bool {
	for _, f := range flags {
		for _, name := range []string{"--workspace", "--home", "--startup-timeout", "--preset", "--limit"} {
			if strings.HasPrefix(f, name) {
				return true
			}
		}
	}
	return false
}
