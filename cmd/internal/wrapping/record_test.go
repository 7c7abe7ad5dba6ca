package wrapping

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
)

// TestOriginal: the original is the copy of the file from before the first wrap, and not one that
// a later change has made.
func TestOriginal(t *testing.T) {
	const original = "[mcp_servers.notes]\ncommand = '/bin/cat'\nargs = [ # of cat\n  '-u',\n]\n\n[mcp_servers.more]\ncommand = \"/bin/echo\"\n"
	now := time.Now()
	type world struct {
		path, state string
		host        clients.Host
		last        *Change
	}
	file := func(w *world) *File { return only(t, w.host, Selection{Files: []string{w.path}}) }
	save := func(w *world, c *Change) {
		now = now.Add(time.Minute) // each copy has a name of its own
		_, err := c.Write(w.state, now)
		must(t, err)
		w.last = c
	}
	wrap := func(w *world) {
		save(w, file(w).Wrap(Program{Path: program}, Selection{}, w.host, newIDs(w.host)))
	}
	unwrap := func(w *world, servers ...string) { save(w, file(w).Unwrap(Selection{Servers: servers})) }
	text := func(name string) string {
		b, err := os.ReadFile(name)
		must(t, err)
		return string(b)
	}
	paste := func(w *world) {
		now := text(w.path)
		open, end := strings.Index(now, "args = ["), strings.Index(now, "]\n\n")
		write(t, w.path, now[:open]+`args = ["run", "--name", "notes", "--read", "/a", "--", "/bin/cat", "-u"`+now[end:])
	}
	newer := strings.Replace(original, "-u", "-v", 1)
	for _, tt := range []struct {
		name    string
		do      func(w *world)
		differs bool
		want    string // the original; "" for none
	}{
		{"as wrap left it", func(*world) {}, false, original},
		{"a pasted list", paste, true, original},
		{"a later change between", func(w *world) { paste(w); unwrap(w, "more"); wrap(w) }, true, original},
		{"twice to and fro", func(w *world) { paste(w); unwrap(w); wrap(w) }, false, strings.Replace(strings.Replace(original, "'/bin/cat'", `"/bin/cat"`, 1), "[ # of cat\n  '-u',\n]", `["-u"]`, 1)},
		{"a new file", func(w *world) { write(t, w.path, newer); wrap(w) }, false, newer},
		{"the copies are gone", func(w *world) { paste(w); must(t, os.RemoveAll(filepath.Join(w.state, backupsDir))) }, false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &world{host: newHost(t)}
			w.path, w.state = filepath.Join(w.host.Home, ".codex/config.toml"), filepath.Join(w.host.Home, "state")
			write(t, w.path, original)
			wrap(w)
			if r, err := file(w).Backup(w.state); err != nil || w.last.Differs(w.state, w.last.File.Original(w.state, r)) {
				t.Error("a wrapped file is compared")
			}
			tt.do(w)
			unwrap(w)
			f := file(w)
			r, err := f.Backup(w.state)
			must(t, err)
			copied := f.Original(w.state, r)
			if got := copied; tt.want == "" && got != "" || tt.want != "" && text(got) != tt.want {
				t.Errorf("the original is %q", got)
			}
			if got := w.last.Differs(w.state, copied); got != tt.differs {
				t.Errorf("differs: %t:\n%s", got, text(w.path))
			}
		})
	}
}
