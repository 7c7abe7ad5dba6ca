package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// statelessSession opens a session with a stateless server. keys follow its first lines.
func (w *world) statelessSession(t *testing.T, program, keys string) *clientSession {
	t.Helper()
	config := filepath.Join(w.base, "percall.toml")
	must(t, os.WriteFile(config, []byte("version = 1\n[servers.s]\ncommand = \""+program+"\"\nstateful = false\n"+keys), 0o644))
	return open(t, w.jail("--config", config, "s"), nil)
}

// TestStatelessToolPolicies tests that three tools of a server have three policies, and
// none has the rights of another.
func TestStatelessToolPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"notes/a": "a note", "other/b": "something else"})
	out := filepath.Join(w.work, "out")
	must(t, os.Mkdir(out, 0o777))
	must(t, os.Chmod(out, 0o777))
	s := w.statelessSession(t, w.copySelf(t, "victim"), "\n"+source(t, "tool-policies.toml"))
	arg := func(a string) map[string]any { return map[string]any{"arg": a} }
	for _, step := range testkit.Table[struct {
		tool, arg, want string
		ok              bool
	}](t, "tool-policies.txt") {
		r := s.tool(step.tool, arg(step.arg))
		if text := r.texts(); r.IsError == step.ok || !strings.Contains(text, step.want) {
			t.Errorf("%s %s: %s", step.tool, step.arg, text)
		}
	}
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d: %s", status, &s.stderr)
	}
	if got := testkit.ReadFile(t, filepath.Join(out, "x")); got != "by the victim\n" {
		t.Errorf("the file says %q", got)
	}
	w.noneLeft(t)
}

// TestStatelessToolsNeverShare calls two tools of a server, in turn and in parallel. One
// is granted a file. In hundreds of calls the other never reads it.
func TestStatelessToolsNeverShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"granted/file": twinsSecret})
	program := w.copySelf(t, "twins")
	arg := map[string]any{"arg": filepath.Join(w.work, "granted", "file"), "leave": filepath.Base(w.base)}
	w.plainTwins(t, program, arg)
	for _, mode := range []struct {
		name, keys string
		calls      int
		atOnce     int
		pause      time.Duration // lets warm processes start
	}{
		{"cold", "", 100, 8, 0},
		{"warm and hurried", "warm = 4\n", 600, 8, 0},
		{"warm", "warm = 4\n", 400, 2, 40 * time.Millisecond},
	} {
		t.Run(mode.name, func(t *testing.T) {
			s := w.statelessSession(t, program, mode.keys+"\n"+source(t, "tools.toml"))
			s.tools() // so that warm processes are started
			s.interleave(mode.calls/rounds(10, 4), mode.atOnce, mode.pause, arg)
			if status := s.close(); status != 0 {
				t.Errorf("exit status %d: %s", status, &s.stderr)
			}
			w.noneLeft(t)
		})
	}
}

const twinsSecret = "planted for one of the twins"

// plainTwins is the control: without a jail both tools read the file, and one finds what
// the other left.
func (w *world) plainTwins(t *testing.T, program string, arg map[string]any) {
	t.Helper()
	cmd, tmp, home := w.plain(program), filepath.Join(w.base, "bare-tmp"), filepath.Join(w.base, "bare-home")
	for _, dir := range []string{tmp, home} {
		must(t, os.Mkdir(dir, 0o700))
	}
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp, "HOME="+home)
	s := open(t, cmd, nil)
	if text := s.tool("other", arg).texts(); !strings.Contains(text, twinsSecret) {
		t.Errorf("a bare server does not read it either: %s", text)
	}
	s.tool("granted", arg)
	left := arg["leave"].(string)
	for _, dir := range []string{tmp, "/dev/shm", home} {
		text := s.tool("other", map[string]any{"arg": "/nowhere", "leave": left}).texts()
		if !strings.Contains(text, twinsSecret+" in "+dir) {
			t.Errorf("a bare server does not find what was left in %s either: %s", dir, text)
		}
	}
	s.close()
	must(t, os.Remove(filepath.Join("/dev/shm", left)))
}

// interleave calls both tools in turn, several calls at a time. It fails if one gets what
// only the other was granted.
func (s *clientSession) interleave(calls, atOnce int, pause time.Duration, arg map[string]any) {
	var lanes sync.WaitGroup
	turns := make(chan int)
	for range atOnce {
		lanes.Go(func() {
			for i := range turns {
				tool := []string{"granted", "other"}[i%2]
				var m message
				select {
				case m = <-s.request("tools/call", map[string]any{"name": tool, "arguments": arg}):
				case <-s.stdoutClosed: // m stays empty, which fails below
				}
				read, absent := strings.Contains(string(m.Result), twinsSecret), strings.Contains(string(m.Result), "no such file")
				if m.Error != nil || read != (tool == "granted") || absent != (tool == "other") {
					s.t.Errorf("call %d of %s: %s%s", i, tool, m.Result, m.Error)
				}
				time.Sleep(pause)
			}
		})
	}
	for i := range calls {
		turns <- i
	}
	close(turns)
	lanes.Wait()
}

// TestStatelessKilledLeavesNothing kills mcp-jail during eight calls. No process, mount
// or file is left that an orderly session does not leave.
func TestStatelessKilledLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	program := w.copySelf(t, "twins")
	keys := "warm = 2\n[[servers.s.tools.hang.access.fs]]\npath = \".\"\nread = true\n"
	hang := func(s *clientSession) {
		for range 8 {
			s.request("tools/call", map[string]any{"name": "hang"})
		}
	}
	servers := func() (n int) {
		for _, p := range w.processes() {
			if strings.HasSuffix(strings.TrimSpace(p), program) {
				n++
			}
		}
		return n
	}
	orderly := w.statelessSession(t, program, keys)
	hang(orderly)
	testkit.Eventually(t, "eight calls are under way", func() bool { return servers() >= 8 })
	if len(w.mounts()) == 0 {
		t.Error("the mounts of living jails are not seen")
	}
	orderly.cmd.Process.Signal(syscall.SIGTERM)
	orderly.wait()
	w.noneLeft(t)
	allowed := snapshot(t, w.base)

	step := 4
	if testkit.Long() {
		step = 1
	}
	for moment := 0; moment < 10; moment += step {
		s := w.statelessSession(t, program, keys)
		hang(s)
		testkit.Eventually(t, fmt.Sprintf("%d processes are there", moment), func() bool { return servers() >= moment })
		s.cmd.Process.Kill()
		s.wait()
		testkit.Eventually(t, "nothing is left", func() bool { return len(w.remains()) == 0 })
	}
	for name := range snapshot(t, w.base) {
		if _, ok := allowed[name]; !ok {
			t.Errorf("left behind: %s", name)
		}
	}
}

// TestStatelessCertainReads: a server that says nothing of the file that it cannot read gets a possible
// cause. The next call of the tool has the file and its line. No other process records what it reads,
// and none does after a call that went well.
func TestStatelessCertainReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{"granted/file": "a note", "other/file": "secret", "other/quiet": "secret"})
	s := w.statelessSession(t, w.copySelf(t, "vague"), "\n"+source(t, "certain.toml"))
	file, granted, quiet := filepath.Join(w.work, "other/file"), filepath.Join(w.work, "granted/file"), filepath.Join(w.work, "other/quiet")
	const possible, certain = "may have blocked", "may not read"
	for i, c := range []struct{ tool, arg, says string }{
		{"quiet", quiet, "done"},
		{"load", file, possible},
		{"quiet", quiet, "done"},
		{"load", file, certain + " " + file},
		{"load", file, possible}, // its cause was certain, so this one is an ordinary process
		{"load", granted, "loaded a note"},
		{"load", file, possible}, // the call before went well
		{"load", file, certain + " " + file},
	} {
		r := s.tool(c.tool, map[string]any{"arg": c.arg})
		text := r.texts()
		if !strings.Contains(text, c.says) || c.says != possible && strings.Contains(text, possible) || strings.HasPrefix(c.says, certain) != strings.Contains(text, "other/file") {
			t.Errorf("call %d: %s, want %q", i, text, c.says)
		}
	}
	s.close()
	var record struct {
		Denials []struct{ Tool, Target, Operation string }
	}
	testkit.Must(t, json.Unmarshal([]byte(w.output(t, "why", "--format", "json", "s")), &record))
	found := false
	for _, d := range record.Denials {
		if found = found || d.Target == file; d.Tool != "load" || d.Target == quiet {
			t.Errorf("on record: %+v", d)
		}
	}
	if !found {
		t.Errorf("%s is not on record: %+v", file, record)
	}
	w.noneLeft(t)
}

// TestStatelessMasks: a program of the user makes a file that must be hidden, or links it again, while a warm process
// waits, in whose jail no mask lies on the name then. The next call does not read the file.
func TestStatelessMasks(t *testing.T) {
	t.Parallel()
	for what, again := range map[string]func(hidden, other string) error{
		"nothing": func(string, string) error { return nil },
		"made": func(hidden, other string) error {
			return os.WriteFile(filepath.Join(filepath.Dir(hidden), "below", ".env"), []byte("KEY=hidden"), 0o644)
		},
		"removed": func(hidden, other string) error {
			return errors.Join(os.Link(hidden, other), os.Remove(hidden), os.Rename(other, hidden))
		},
		"renamed": func(hidden, other string) error {
			return errors.Join(os.Rename(hidden, other), os.Link(other, hidden))
		},
	} {
		w := newWorld(t)
		w.plant(t, w.work, map[string]string{".env": "KEY=hidden", "note": "a note", "below/note": "another"})
		hidden := ".env"
		if what == "made" {
			hidden = "below/.env"
		}
		program := w.copySelf(t, "victim")
		s := w.statelessSession(t, program, "[servers.s.tools.read]\nwarm = 1\n[[servers.s.tools.read.access.fs]]\npath = \".\"\nread = true\n")
		s.tools()
		testkit.Eventually(t, "one process has listed the tools, and another one waits for a call", func() bool {
			answered := 0
			for _, p := range w.processes() {
				if pid, argv, _ := strings.Cut(p, " "); strings.TrimSpace(argv) == program && hasAnswered(pid) {
					answered++
				}
			}
			return answered == 2
		})
		must(t, again(filepath.Join(w.work, ".env"), filepath.Join(w.base, "other")))
		if text := s.tool("read", map[string]any{"arg": hidden}).texts(); strings.Contains(text, "KEY") {
			t.Errorf("%s: the hidden file was read: %s", what, text)
		}
		if text := s.tool("read", map[string]any{"arg": "note"}).texts(); !strings.Contains(text, "a note") {
			t.Errorf("%s: the control: %s", what, text)
		}
		s.close()
		w.noneLeft(t)
	}
}

// hasAnswered reports whether a server has written an answer.
func hasAnswered(pid string) bool {
	text, _ := os.ReadFile("/proc/" + pid + "/io")
	_, rest, _ := strings.Cut(string(text), "wchar: ")
	written, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.Atoi(written)
	return n > 100
}

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
				t.Error("what the server wrote was run outside its jail")
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
