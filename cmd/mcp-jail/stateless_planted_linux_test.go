//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// plantingSession opens a session with a stateless server. Its tools "plant" and "put"
// and the process that lists the tools have the default policy. keys configure the tool
// "use" and other servers.
func (w *world) plantingSession(t *testing.T, keys string) *clientSession {
	t.Helper()
	return w.statelessSession(t, w.copySelf(t, "planter"), keys)
}

// TestStatelessPlantedFiles tests that files which one process of a stateless server
// writes influence neither its other processes nor anything outside the jails. Each
// attack has a control without it.
func TestStatelessPlantedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.program = w.copySelf(t, cmdline.Main)
	w.copySelf(t, cmdline.Companion)
	w.copySelf(t, tlsworker.Name)
	w.plant(t, w.work, map[string]string{"notes/notes.txt": "a note", "token": "the value", "open": "for all"})
	safe := filepath.Join(w.base, "safe")
	w.plant(t, safe, map[string]string{"get": ""})
	for _, dir := range []string{w.work, safe} {
		must(t, testkit.WriteProgram(filepath.Join(dir, "get"), fmt.Appendf(nil, "#!/bin/sh\ntouch %s/ran-safe; echo the-value\n", w.base)))
		must(t, os.Chmod(filepath.Join(dir, "get"), 0o755))
	}
	notes := filepath.Join(w.work, "notes")

	reads := func(path string) string {
		return fmt.Sprintf("[[servers.s.tools.use.access.fs]]\npath = %q\nread = true\n", path)
	}
	secret := func(source string) string {
		return "[[servers.s.tools.use.access.net]]\nhost = \"api.example\"\nallow = true\nsecret = { env = \"T\", " + source + " }\n"
	}
	type call struct {
		tool string
		args map[string]any
		want string // a part of the result; | separates alternatives
	}
	plant := func(at, to string) call { return call{"plant", map[string]any{"at": at, "to": to}, "planted"} }
	use := func(at, want string) call { return call{"use", map[string]any{"at": at}, want} }
	marker := filepath.Join(w.base, "ran-unsafe")
	evil := fmt.Sprintf("#!/bin/sh\ntouch %s; echo the-value\n", marker)
	for _, c := range []struct {
		name, keys string
		calls      []call
	}{
		{"a rule, and no link", reads(notes), []call{use(notes+"/notes.txt", "used a note")}},
		{"what the listing process has read", reads(notes), []call{use("token", "no such file|permission denied"), use("$HOME/carried", "no such file")}},
		{"the same, by the grant of the tool", reads("token"), []call{use("$HOME/carried", "used the value")}},
		{"a link in the place of a rule's directory", reads(notes), []call{
			plant(notes, w.home), use(notes+"/notes.txt", "leads through the symbolic link "+notes)}},
		{"the same by a relative path", reads("notes"), []call{
			plant("notes", w.home), use(notes+"/notes.txt", "notes")}},
		{"a secret's command where none may write", reads("open") + secret(fmt.Sprintf("command = [%q]", safe+"/get")), []call{
			use("open", "used for all")}},
		{"a secret's command in the workspace", reads("open") + secret(fmt.Sprintf("command = [%q]", w.work+"/get")), []call{
			{"put", map[string]any{"at": "get", "text": evil}, "put"}, use("open", "the process that lists the tools may write to "+w.work+"/get")}},
		{"a script of a secret's command", reads("open") + secret(fmt.Sprintf("command = [\"sh\", %q]", w.work+"/get")), []call{
			{"put", map[string]any{"at": "get", "text": evil}, "put"}, use("open", "the process that lists the tools may write to "+w.work+"/get")}},
		{"the file of a secret", reads("open") + secret(fmt.Sprintf("file = %q", w.work+"/token")), []call{
			use("open", "used for all"), {"put", map[string]any{"at": "token", "text": "mine"}, "denied|read-only"}, plant("token", w.home+"/.ssh/id_ed25519"), use("open", "used for all")}},
		{"another server of the configuration", reads(filepath.Join(w.home, "shared/in")) + "[servers.o]\ncommand = \"planter\"\n[[servers.o.access.fs]]\npath = \"~/shared\"\nread = true\nwrite = true\n", []call{
			use(w.home+"/shared/in/x", "which the server \\\"o\\\" could replace|which the server \"o\" could replace")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			os.RemoveAll(filepath.Join(w.home, "shared"))
			w.plant(t, w.home, map[string]string{"shared/y": "y", "real/x": "x"})
			must(t, os.Symlink("../real", filepath.Join(w.home, "shared/in")))
			os.Remove(marker)
			s := w.plantingSession(t, c.keys)
			s.tools()
			for _, call := range c.calls {
				r := s.tool(call.tool, call.args)
				text, good := r.texts(), false
				for want := range strings.SplitSeq(call.want, "|") {
					good = good || strings.Contains(text, want)
				}
				if call.tool == "plant" && strings.Contains(c.name, "file of a secret") {
					good = r.IsError // the file cannot be replaced
				}
				if !good {
					t.Errorf("%s %v: %s, want %s", call.tool, call.args, text, call.want)
				}
			}
			s.close()
			if _, err := os.Lstat(marker); err == nil {
				t.Error("what the server wrote was run outside of its jail")
			}
			if os.Remove(notes) == nil { // it was a link: a directory with files cannot be removed
				must(t, os.Rename(notes+".away", notes))
			}
			w.noneLeft(t)
		})
	}
	if _, err := os.Lstat(filepath.Join(w.base, "ran-safe")); err != nil {
		t.Errorf("no command of a secret was run at all: %v", err)
	}
}
