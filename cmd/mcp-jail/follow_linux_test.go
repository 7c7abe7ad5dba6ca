package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// An act is one thing that a server does and that a jail refuses. The tests of this file do it in
// jails of each form, add what the answer proposes, exactly as it is written, and do it again: it
// works, or something else is refused. Three rounds are the most.
type act struct {
	name string
	do   string   // the act of testdata/real/act.py
	args []string // $W is the base of the world, $N a name that no other act has, $P the port of that name

	before func(t *testing.T, w *world, name string) // makes what the act needs

	says  string // a part of the answer where no line helps: see followed
	forms string // the names of the forms in which it is done, or "" for all
}

// followed has the proposals that were tried, and the acts that came to an end.
type followed struct{ proposals, acts, silent atomic.Int64 }

const mostRounds = 3

// adviceServer is the name of the server.
const adviceServer = "it"

var lastCommand = regexp.MustCompile(`mcp-jail grant (\S+) --last`)

// voices are the languages and programs in whose words act.py tells of a failure.
var voices = []string{"node", "python", "go", "java", "libc"}

// session is one server in one jail.
func (f form) session(t *testing.T, w *world, more *pasted) *clientSession {
	t.Helper()
	argv := []string{"/usr/bin/python3", "-I", "-S", "-B", filepath.Join(w.base, "server", "act.py")}
	if f.flags {
		own := w.words(t, w.fill(f.text))
		if access := regexp.MustCompile("--(read|write|execute|net)"); !access.MatchString(strings.Join(own, " ")) && access.MatchString(strings.Join(more.flags, " ")) {
			own = append(own, "--write", ".") // mcp-jail grant keeps the workspace
		}
		return start(t, w.jail(slices.Concat([]string{"--name", adviceServer}, own, more.flags, []string{"--"}, argv)...))
	}
	file := filepath.Join(w.base, more.file+".toml")
	must(t, os.WriteFile(file, []byte(more.applied(t, w, f.whole(w, argv))), 0o644))
	return start(t, w.jail("--config", file, adviceServer))
}

// words splits a command line as a shell does.
func (w *world) words(t *testing.T, line string) []string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `printf '%s\n' `+line)
	cmd.Env = w.env
	out, err := cmd.Output()
	must(t, err)
	return strings.Fields(string(out))
}

func (w *world) fill(text string) string { return strings.ReplaceAll(text, "$W", w.base) }

// whole returns the configuration of a form.
func (f form) whole(w *world, argv []string) string {
	text := fmt.Sprintf("version = 1\n[servers.%s]\ncommand = %q\narguments = [", adviceServer, argv[0])
	for _, a := range argv[1:] {
		text += fmt.Sprintf("%q, ", a)
	}
	return text + "]\n" + strings.ReplaceAll(w.fill(f.text), "[it", "[servers."+adviceServer)
}

// pasted is what was proposed so far, as words of mcp-jail grant.
type pasted struct {
	file  string
	flags []string
}

// applied returns a configuration to which mcp-jail grant has added the words.
func (p *pasted) applied(t *testing.T, w *world, text string) string {
	t.Helper()
	c, err := config.Decode([]byte(text), p.file)
	must(t, err)
	f, err := cmdline.ParseRun(append([]string{"run"}, p.flags...))
	must(t, err)
	table, err := f.Options(nil).Table()
	must(t, err)
	g := config.Grants{Table: table, Tool: toolOf(c.Servers[adviceServer]), At: func(path string) string {
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(w.home, rest)
		}
		return w.inWork(path)
	}}
	narrower, err := g.AddTo(c.Servers[adviceServer])
	must(t, err)
	for _, r := range narrower {
		g.Drop(c.Servers[adviceServer], r)
	}
	return string(c.Encode())
}

// read adds what an answer proposes. It reports whether that is anything.
func (p *pasted) read(t *testing.T, w *world, answer string) (next *pasted, proposes bool) {
	t.Helper()
	next = &pasted{file: p.file, flags: slices.Clone(p.flags)}
	// A line is named by its label and its key, and not by what it is called.
	if said := lastCommand.FindStringSubmatch(answer); said != nil {
		next.flags = append(next.flags, w.why(t, said[1]).Words...)
		return next, true
	}
	return next, false
}

// toolOf returns the tool to which mcp-jail grant gives what a call lacked, or "" for the whole server.
func toolOf(s *config.Server) string {
	if s.IsStateful() {
		return ""
	}
	return "act"
}

// do does an act in the voice of a program.
func (a act) in(t *testing.T, w *world, s *clientSession, voice, name string) toolResult {
	t.Helper()
	args := slices.Clone(a.args)
	for i := range args {
		args[i] = strings.ReplaceAll(strings.ReplaceAll(w.fill(args[i]), "$N", name), "$P", w.ports[name])
	}
	return s.tool("act", map[string]any{"act": a.do, "args": args, "voice": voice})
}

// trial is an act in a jail of one form.
type trial struct {
	act
	form
	voice, name string
}

func (c trial) String() string { return c.form.name + "/" + c.act.name + "/" + c.voice }

// follow does the act again and again with what is proposed. told is the first answer.
func (c trial) follow(t *testing.T, w *world, told toolResult, count *followed) {
	t.Helper()
	more := &pasted{file: c.name}
	said := []string{told.texts()}
	fail := func(why string) {
		t.Errorf("%s: %s\n    flags %q\n%s", c, why, more.flags, strings.Join(said, "\n=====\n"))
	}
	// Each session does one act, so that its record has one failure.
	for round := range mostRounds + 1 {
		s := c.form.session(t, w, more)
		if failure := s.greet(); failure != nil {
			fail("with what is proposed, the server does not start: " + string(failure))
			return
		}
		got := c.act.in(t, w, s, c.voice, c.name)
		s.close()
		if !got.IsError {
			count.acts.Add(1)
			return
		}
		if slices.Contains(said[min(1, round):], got.texts()) && round > 0 {
			said = append(said, got.texts())
			fail("what is proposed changes nothing")
			return
		}
		said = append(said, got.texts())
		next, proposes := more.read(t, w, got.texts())
		if !proposes {
			if ends := c.ends(); ends == "" || !regexp.MustCompile(ends).MatchString(got.texts()) {
				fail("nothing is proposed")
			}
			count.silent.Add(1)
			return
		}
		count.proposals.Add(1)
		more = next
	}
	fail(fmt.Sprintf("it does not work after %d rounds", mostRounds))
}

// ends returns what the answer says where no line helps.
func (c trial) ends() string {
	for name, said := range c.form.ends {
		if strings.HasPrefix(c.act.name, name) {
			return said
		}
	}
	return c.act.says
}

// TestFollow follows what is proposed to its end.
func TestFollow(t *testing.T) {
	need(t, "jail", "/usr/bin/python3", "node")
	t.Parallel()
	var count followed
	t.Run("forms", func(t *testing.T) {
		for i, f := range forms {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				f.follow(t, 5*i, &count)
			})
		}
	})
	if n, floor := count.proposals.Load(), int64(testkit.Rounds(50, 900)); n < floor {
		t.Errorf("only %d proposals were tried, of %d at least", n, floor)
	}
	t.Logf("%d proposals, %d acts, %d without a line", count.proposals.Load(), count.acts.Load(), count.silent.Load())
}

// TestFollowNewFile: a server that makes a file in a directory of the user's home, as it names it by its own, has it
// after one grant. Of a directory that does not exist there either, nothing is proposed.
func TestFollowNewFile(t *testing.T) {
	need(t, "jail", "/usr/bin/python3")
	t.Parallel()
	w := newWorld(t)
	w.fixture(t, "act.py")
	w.plant(t, w.base, map[string]string{"home/notes/": ""})
	f := form{name: "new-file", flags: true}
	make := func(file string, more *pasted) toolResult {
		s := f.session(t, w, more)
		defer s.close()
		if failure := s.greet(); failure != nil {
			t.Fatalf("%s", failure)
		}
		return s.tool("act", map[string]any{"act": "python", "args": []string{"import os; open(os.path.expanduser('" + file + "'), 'w').write('{}')"}})
	}
	told := make("~/notes/x.json", &pasted{})
	more, proposes := (&pasted{}).read(t, w, told.texts())
	if !told.IsError || !proposes || !strings.Contains(told.texts(), "creating ~/notes/x.json") {
		t.Fatalf("the first round: %s", told.texts())
	}
	if then := make("~/notes/x.json", more); then.IsError {
		t.Errorf("with %q: %s", more.flags, then.texts())
	}
	if text, err := os.ReadFile(filepath.Join(w.home, "notes/x.json")); string(text) != "{}" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if told := make("~/none/x.json", &pasted{}); strings.Contains(told.texts(), "mcp-jail grant") {
		t.Errorf("of a directory that does not exist: %s", told.texts())
	}
}

// trials returns the acts that are done in a form, and makes what they need. turn differs with each
// form, so that each act gets its turn where not all are done in each form.
func (f form) trials(t *testing.T, w *world, turn int) (all []trial) {
	// There are more forms than 23: each act is done in one of them, and in all in make test-long. The
	// steps have no divisor in common with that of the turns, which is 5: else some acts got no turn.
	step := testkit.Rounds(23, 1)
	for i, a := range acts() {
		if a.forms != "" && !slices.Contains(strings.Fields(a.forms), f.name) || (i+turn)%step != 0 {
			continue
		}
		for k, voice := range voices {
			if k != (i+turn/5)%len(voices) && !(testkit.Long() && strings.HasPrefix(f.name, "flag")) {
				continue
			}
			c := trial{a, f, voice, fmt.Sprintf("n%d%s", i, voice)}
			if a.before != nil {
				a.before(t, w, c.name)
			}
			all = append(all, c)
		}
	}
	return all
}

// follow does all acts in one jail, and then each that failed in jails of its own.
func (f form) follow(t *testing.T, turn int, count *followed) {
	w := newWorld(t)
	w.fixture(t, "act.py")
	w.plant(t, w.base, map[string]string{"home/docs/": "", "home/bin/": "", "home/run/": "", "work/sub/": "", "work/in.txt": "in here\n"})
	w.env[0] = "PATH=" + filepath.Join(w.home, "bin") + ":" + userPath()
	w.env = append(w.env, "NOTES_DIR=notes")
	trials := f.trials(t, w, turn)
	s := f.session(t, w, &pasted{file: "first"})
	if failure := s.greet(); failure != nil {
		t.Fatalf("the control does not start: %s", failure)
	}
	told := make([]toolResult, len(trials))
	for i, c := range trials {
		told[i] = c.act.in(t, w, s, c.voice, c.name)
	}
	s.close()
	for i, c := range trials {
		if told[i].IsError {
			t.Run(c.act.name+"-"+c.voice, func(t *testing.T) { c.follow(t, w, told[i], count) })
		}
	}
}

// serve listens at a port of this host's loopback, which is that of a name.
func (w *world) serve(t *testing.T, name string) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { l.Close() })
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	if w.ports == nil {
		w.ports = map[string]string{}
	}
	w.ports[name] = port
}

// listen listens at a socket in a directory of the world.
func listen(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	must(t, err)
	t.Cleanup(func() { l.Close() })
}

// form is one way to write a policy.
type form struct {
	name  string
	flags bool   // text is flags of a command after --; else the tables of a configuration
	text  string // "[it" is "[servers.NAME"
	ends  map[string]string
}

const (
	here     = "[[it.access.fs]]\npath = \".\"\nread = true\n"
	writable = here + "write = true\n"
	inline   = "{ path = \".\", read = true }"
	toolHere = "[[it.tools.act.access.fs]]\npath = \".\"\nread = true\n"
)

var (
	denied = map[string]string{"sub-": `--deny sub denies it|denies it: path = "sub"|unable to open`}
)

var forms = []form{
	{name: "default", flags: true},
	{name: "flag-read", flags: true, text: "--read ."},
	{name: "flag-write", flags: true, text: "--write ."},
	{name: "flag-narrower", flags: true, text: "--write . --read sub"},
	{name: "flag-deny", flags: true, text: "--write . --deny sub", ends: denied},
	{name: "flag-deny-default", flags: true, text: "--deny sub", ends: denied},
	{name: "config-default"},
	{name: "table", text: writable},
	{name: "table-read", text: here},
	{name: "table-write-only", text: "[[it.access.fs]]\npath = \".\"\nwrite = true\n"},
	{name: "table-narrower", text: writable + "[[it.access.fs]]\npath = \"sub\"\ndeny = \"write\"\n", ends: denied},
	{name: "table-nothing", text: writable + "[[it.access.fs]]\npath = \"sub\"\ndeny = true\n", ends: denied},
	{name: "table-create", text: here + "create = true\n"},
	{name: "list", text: "[it.access]\nfs = [" + inline + "]\n"},
	{name: "list-empty", text: "[it.access]\nfs = []\n"},
	{name: "list-nothing", text: "[it.access]\nfs = [{ path = \".\", read = true, write = true }, { path = \"sub\", deny = true }]\n", ends: denied},
	{name: "access", text: "access = { fs = [" + inline + "] }\n"},
	{name: "commands", text: writable + "[it.access.commands.python3]\n[it.access.commands.sh]\n"},
	{name: "commands-read", text: here + "[it.access.commands.python3]\n[it.access.commands.sh]\n"},
	{name: "commands-inline", text: "[it.access]\nfs = [" + inline + "]\ncommands = { python3 = {}, sh = {} }\n"},
	{name: "per-call", text: "stateful = false\n" + toolHere + "write = true\n"},
	{name: "per-call-read", text: "stateful = false\n" + toolHere},
	{name: "per-call-list", text: "stateful = false\n[it.tools.act.access]\nfs = [" + inline + "]\n"},
	{name: "per-call-access", text: "stateful = false\n[it.tools.act]\naccess = { fs = [" + inline + "] }\n"},
	{name: "per-call-tool", text: "stateful = false\n[it.tools]\nact = { access = { fs = [" + inline + "] } }\n"},
	{name: "per-call-any", text: "stateful = false\n" + strings.ReplaceAll(toolHere, ".act.", ".\"*\".")},
	{name: "per-call-default", text: "stateful = false\n"},
}

// made plants a file of the world's workspace or home.
func made(files ...string) func(*testing.T, *world, string) {
	return func(t *testing.T, w *world, name string) {
		t.Helper()
		for _, file := range files {
			w.plant(t, w.base, map[string]string{replaceName(file, name): "text\n"})
		}
	}
}

// program plants a program.
func madeProgram(file, text string) func(*testing.T, *world, string) {
	return func(t *testing.T, w *world, name string) {
		t.Helper()
		made(file)(t, w, name)
		path := filepath.Join(w.base, replaceName(file, name))
		must(t, os.WriteFile(path, []byte(text), 0o755), os.Chmod(path, 0o755))
	}
}

// acts returns what servers do.
func acts() (all []act) {
	for _, place := range []struct{ name, dir string }{{"top", "work"}, {"sub", "work/sub"}, {"out", "home/docs"}, {"own", "home/docs/$N-own"}} {
		rel := "$W/" + place.dir
		file, dir := place.dir+"/$N", place.dir+"/$N/"
		keep := ""
		if place.name == "own" {
			keep = place.dir + "/"
		}
		with := func(files ...string) func(*testing.T, *world, string) {
			if keep != "" {
				files = append(files, keep)
			}
			return made(files...)
		}
		for _, a := range []act{
			{name: "read", args: []string{rel + "/$N"}, before: with(file)},
			{name: "write", args: []string{rel + "/$N"}, before: with(file)},
			{name: "append", args: []string{rel + "/$N"}, before: with(file)},
			{name: "create", args: []string{rel + "/$N"}, before: with()},
			{name: "list", args: []string{rel + "/$N"}, before: with(dir)},
			{name: "mkdir", args: []string{rel + "/$N"}, before: with()},
			{name: "mkdirs", args: []string{rel + "/$N/a/b"}, before: with()},
			{name: "rmdir", args: []string{rel + "/$N"}, before: with(dir)},
			{name: "remove", args: []string{rel + "/$N"}, before: with(file)},
			{name: "rename", args: []string{rel + "/$N", rel + "/$N.new"}, before: with(file)},
			{name: "replace", args: []string{rel + "/$N.json"}, before: with(file + ".json")},
			{name: "link", args: []string{rel + "/$N", rel + "/$N.link"}, before: with(file)},
			{name: "symlink", args: []string{"$N", rel + "/$N.link"}, before: with(file)},
			{name: "truncate", args: []string{rel + "/$N"}, before: with(file)},
			{name: "sqlite", args: []string{rel + "/$N.db"}, before: with()},
			{name: "execpath", args: []string{rel + "/$N.sh"}, before: madeProgram(file+".sh", "#!/bin/sh\necho ran\n")},
		} {
			a.do, a.name = a.name, place.name+"-"+a.name
			all = append(all, a)
		}
	}
	return append(all, []act{
		{name: "exec-name", do: "exec", args: []string{"$N"}, before: madeProgram("home/bin/$N", "#!/bin/sh\necho ran\n")},
		{name: "shell-name", do: "shell", args: []string{"$N"}, before: madeProgram("home/bin/$N", "#!/bin/sh\necho ran\n")},
		{name: "connect", do: "connect", args: []string{"$W/home/run/$N"}, before: func(t *testing.T, w *world, name string) { listen(t, filepath.Join(w.home, "run", name)) }},
		{name: "connect-work", do: "connect", args: []string{"$W/work/$N"}, before: func(t *testing.T, w *world, name string) { listen(t, filepath.Join(w.work, name)) }},
		{name: "connect-sub", do: "connect", args: []string{"$W/work/sub/$N"}, before: func(t *testing.T, w *world, name string) { listen(t, filepath.Join(w.work, "sub", name)) }},
		{name: "dial", do: "dial", args: []string{"$P"}, before: func(t *testing.T, w *world, name string) { w.serve(t, name) }},
		{name: "node-require", do: "run", args: []string{"node", "$W/home/docs/$N/main.js"}, before: func(t *testing.T, w *world, name string) {
			w.plant(t, filepath.Join(w.home, "docs", name), map[string]string{"package.json": "{}\n", "main.js": "require('./lib/part.js')\n", "lib/part.js": "require('../data.json')\n", "data.json": "{}\n"})
		}},
		{name: "python-import", do: "run", args: []string{"/usr/bin/python3", "-B", "$W/home/docs/$N/main.py"}, before: func(t *testing.T, w *world, name string) {
			w.plant(t, filepath.Join(w.home, "docs", name), map[string]string{"main.py": "import part\n", "part.py": "import os\nopen(os.path.join(os.path.dirname(__file__), 'data.txt'))\n", "data.txt": "here\n"})
		}},
		{name: "program-data", do: "run", args: []string{"$W/home/opt/$N/browser"}, before: func(t *testing.T, w *world, name string) {
			madeProgram("home/opt/$N/browser", "#!/bin/sh\ncat \"${0%/*}/icudtl.dat\" >&2 || { echo 'Invalid file descriptor to ICU data received.'; exit 1; }\n")(t, w, name)
			made("home/opt/$N/icudtl.dat", "home/opt/$N/resources.pak")(t, w, name)
		}},
		{name: "env", do: "env", args: []string{"NOTES_DIR"}},
		{name: "missing-dir", do: "create", args: []string{"$W/home/docs/$N/f"}, says: "(?i)no ?such ?file"},
	}...)
}

func replaceName(text, name string) string { return strings.ReplaceAll(text, "$N", name) }
