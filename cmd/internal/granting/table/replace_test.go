package table

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const learned = `# Learned by mcp-jail: it reads notes.
[servers.s]
command = "srv"

[servers.s.access]
fs = [
  { path = "notes", read = true }, # list: 2 times
]
env = [
  { name = "TOKEN", read = true },
]

[servers.s.access.commands]
git = { args = [["status"]] } # status: once
`

// replacements are files with a table of the server s, and what the learned table makes of them.
var replacements = map[string]struct{ before, after string }{
	"headers": {`# mine
[servers.a]
command = "a" # first

# the server
[servers.s]
command = "srv" # keep

# what it gets
[[servers.s.access.fs]]
path = "old"
read = true

[[servers.s.access.fs]]
path = "older"
read = true

[servers.s.access.commands]
ls = {}

[servers.z]
command = "z"
`, `# mine
[servers.a]
command = "a" # first

# the server
[servers.s]
command = "srv" # keep

[servers.s.access]
fs = [
  { path = "notes", read = true }, # list: 2 times
]
env = [
  { name = "TOKEN", read = true },
]

[servers.s.access.commands]
git = { args = [["status"]] } # status: once

# what it gets

[servers.z]
command = "z"
`},
	"a table with another key": {`[servers.s]
command = "srv"
[servers.s.access]
sensitive_paths = ["~/private"] # stays
fs = [{ path = "old", read = true }]
`, `[servers.s]
command = "srv"
[servers.s.access]
sensitive_paths = ["~/private"] # stays
fs = [
  { path = "notes", read = true }, # list: 2 times
]
env = [
  { name = "TOKEN", read = true },
]

[servers.s.access.commands]
git = { args = [["status"]] } # status: once
`},
	"in braces": {`[servers.s]
command = "srv"
access = { fs = [{ path = "old", read = true }] }
`, `[servers.s]
command = "srv"

[servers.s.access]
fs = [
  { path = "notes", read = true }, # list: 2 times
]
env = [
  { name = "TOKEN", read = true },
]

[servers.s.access.commands]
git = { args = [["status"]] } # status: once
`},
	"dotted": {`[servers.s]
command = "srv"
access.fs = [{ path = "old", read = true }]
access.net = [{ host = "h.example", allow = true }]
`, `[servers.s]
command = "srv"

[servers.s.access]
fs = [
  { path = "notes", read = true }, # list: 2 times
]
env = [
  { name = "TOKEN", read = true },
]

[servers.s.access.commands]
git = { args = [["status"]] } # status: once
`},
	"none yet": {"[servers.s]\ncommand = \"srv\"\n", `[servers.s]
command = "srv"

[servers.s.access]
fs = [
  { path = "notes", read = true }, # list: 2 times
]
env = [
  { name = "TOKEN", read = true },
]

[servers.s.access.commands]
git = { args = [["status"]] } # status: once
`},
	"all in one table": {"servers = { s = { command = \"srv\" } }\n", ""},
}

func placeOf(t *testing.T, text string) *Place {
	t.Helper()
	host := hostfs.Host{ConfigDir: filepath.Join(t.TempDir(), "mcp-jail"), StateDir: t.TempDir(), Home: "/home/u"}
	if text != "" {
		if err := os.MkdirAll(host.ConfigDir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(config.UserConfigFile(host), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := New(host, "s")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestReplace tests that the grants of a table are others, and that the rest of the file stays.
func TestReplace(t *testing.T) {
	for name, c := range replacements {
		t.Run(name, func(t *testing.T) {
			e, err := placeOf(t, c.before).Replace([]byte(learned))
			if c.after == "" {
				if err == nil || !strings.Contains(err.Error(), "by itself") {
					t.Errorf("%v, want to do it by hand", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(e.Text) != c.after {
				t.Errorf("got\n%s\nwant\n%s", e.Text, c.after)
			}
			// What was replaced can be replaced again, and nothing piles up.
			again, err := placeOf(t, string(e.Text)).Replace([]byte(learned))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(again.Text), "notes"); n != 1 || len(again.Text) != len(e.Text) {
				t.Errorf("again\n%s", again.Text)
			}
		})
	}
}

// TestReplaceOfWindows: the ends of lines and the mark at the beginning of a file stay, on every system.
func TestReplaceOfWindows(t *testing.T) {
	for name, c := range replacements {
		if c.after == "" {
			continue
		}
		e, err := placeOf(t, "\ufeff"+strings.ReplaceAll(c.before, "\n", "\r\n")).Replace([]byte(learned))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := "\ufeff" + strings.ReplaceAll(c.after, "\n", "\r\n"); string(e.Text) != want {
			t.Errorf("%s:\n%q, want\n%q", name, e.Text, want)
		}
	}
}

// TestReplaceComments: a comment that the server's tables have already is not added again.
func TestReplaceComments(t *testing.T) {
	const lines = `[servers.s.access]
# Learned by mcp-jail: it reads notes.
fs = [
  { path = "notes", read = true }, # list: once
]

[servers.s.access.commands]
# the server starts no other program
`
	for name, before := range map[string]string{
		"above the server": "# Learned by mcp-jail: it reads notes.\n[servers.s]\ncommand = \"srv\"\n\n" + lines,
		"another server":   "# Learned by mcp-jail: it reads notes.\n[servers.a]\ncommand = \"srv\"\n\n[servers.s]\ncommand = \"srv\"\n",
	} {
		e, err := placeOf(t, before).Replace([]byte(lines))
		if err != nil {
			t.Fatal(err)
		}
		own := string(e.Text)
		if name == "another server" {
			own = own[strings.Index(own, "[servers.s]"):]
		}
		for _, comment := range []string{"Learned by", "no other program"} {
			if n := strings.Count(own, comment); n != 1 {
				t.Errorf("%s: %q is there %d times:\n%s", name, comment, n, e.Text)
			}
		}
		again, err := placeOf(t, string(e.Text)).Replace([]byte(lines))
		if err != nil || string(again.Text) != string(e.Text) {
			t.Errorf("%s, again: %v\n%s\nbefore\n%s", name, err, again.Text, e.Text)
		}
	}
}

// TestAppend tests a server that the file, or no file, has.
func TestAppend(t *testing.T) {
	for _, before := range []string{"", "# mine\r\n[servers.a]\r\ncommand = \"a\"\r\n", "\ufeff# mine\r\n[servers.a]\r\ncommand = \"a\"", "[servers.a]\ncommand = \"a\""} {
		p := placeOf(t, before)
		e, err := p.Append([]byte(learned))
		if err != nil {
			t.Fatal(err)
		}
		backup, err := e.Write(t.TempDir(), time.Now())
		if err != nil || (backup == "") != (before == "") {
			t.Fatal(backup, err)
		}
		f, err := ownfile.Read(p.Path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(f.Data)
		if !strings.HasPrefix(text, before) || strings.Contains(before, "\r\n") == strings.Contains(strings.ReplaceAll(text, "\r\n", ""), "\n") && before != "" && strings.Contains(before, "\r") {
			t.Errorf("%q", text)
		}
		if info, _ := os.Stat(p.Path); before == "" && info.Mode().Perm() != 0o600 {
			t.Errorf("mode %s", info.Mode())
		}
	}
	if _, err := placeOf(t, learned).Append([]byte(learned)); err == nil {
		t.Error("a table that is there was added again")
	}
}

// TestWriteTwice: of two edits that are made of one loaded file, the second one is not written: it would take
// the first one back.
func TestWriteTwice(t *testing.T) {
	p := placeOf(t, "# mine\n")
	first, err := p.Append([]byte("[servers.s]\ncommand = \"x\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := p.Append([]byte("[servers.s]\ncommand = \"y\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Write(t.TempDir(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Write(t.TempDir(), time.Now()); !errors.Is(err, ownfile.ErrChanged) {
		t.Errorf("%v, want that the file has changed", err)
	}
	if text, err := os.ReadFile(p.Path); err != nil || !bytes.Equal(text, first.Text) {
		t.Errorf("%s, %v: the first edit is gone", text, err)
	}
}
