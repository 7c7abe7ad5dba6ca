package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	shake "github.com/mcp-jail/mcp-jail/cmd/internal/handshake"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// A lessonOf is a server from which a policy is learned with a drive of testdata/learn.
type lessonOf struct {
	name string // of the drive, too
	need string
	argv func(w *world) []string
	env  []string // NAME=VALUE, handed over by --env
	long bool     // not in make test
	want []string // in the policy
}

var lessonsOf = []lessonOf{
	{name: "every-kind", argv: func(w *world) []string { return []string{filepath.Join(w.base, "bin", "notes-server")} },
		env:  []string{"LEARNED_TOKEN=abc"},
		want: []string{`{ path = "papers/plan.md", read = true }`, `{ path = "~/notes.txt", read = true }`, `{ path = "out", read = true, create = true`, `{ host = "api.example.test"`, `{ name = "LEARNED_TOKEN", read = true }, # you named it`, "git = { args = [[\"--version\"]] }", "wanted by read"}},
	{name: "filesystem", need: "npm", argv: func(w *world) []string { return []string{"node", server(filesystem), w.work} },
		want: []string{`{ path = ".", read = true }`, `{ path = "out"`}},
	{name: "filesystem-2025-3-28", need: "npm", long: true, argv: func(w *world) []string { return []string{"node", server(oldFilesystem), w.work} },
		want: []string{`{ path = "papers", read = true }`, `{ path = "out"`}},
	{name: "memory", need: "npm", long: true, env: []string{"MEMORY_FILE_PATH=WORK/out/memory.json"}, argv: func(*world) []string { return []string{"node", server(memory)} },
		want: []string{`{ path = "out`, `{ name = "MEMORY_FILE_PATH", read = true }`}},
	{name: "everything", need: "npm", long: true, env: []string{"LEARNED_TOKEN=abc"}, argv: func(*world) []string { return []string{"node", server(everything), "stdio"} },
		want: []string{`{ name = "LEARNED_TOKEN", read = true }`}},
	{name: "thinking", need: "npm", long: true, argv: func(*world) []string { return []string{"node", server(thinking)} }},
	{name: "github", need: "npm", long: true, argv: func(*world) []string { return []string{"node", server("@modelcontextprotocol/server-github")} },
		want: []string{`{ host = "api.github.com"`}},
	{name: "obsidian", need: "presets", long: true, argv: func(w *world) []string {
		return []string{"node", filepath.Join(os.Getenv("MCPJAIL_PRESETS"), "node_modules", "mcp-obsidian", "dist", "index.js"), filepath.Join(w.work, "papers")}
	}, want: []string{`{ path = "papers`}},
}

// TestLearn: the policy that is learned from a server gives the same answers, each line of it is needed, and it
// grants nothing sensitive. The lesson leaves nothing.
func TestLearn(t *testing.T) {
	t.Parallel()
	for _, l := range lessonsOf {
		if l.long && !testkit.All() {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			if l.need != "" {
				need(t, l.need)
			}
			l.test(t)
		})
	}
}

func (l lessonOf) test(t *testing.T) {
	w := newWorld(t)
	w.copySelf(t, "notes-server")
	w.plant(t, w.work, map[string]string{"papers/plan.md": "a plan\n", "papers/other.md": "other\n", "out/": "", ".env": "PLANTED=env-secret\n", "tmp.txt": "x"})
	w.plant(t, w.base, map[string]string{"tmp/": ""})
	w.env = append(w.env, "TMPDIR="+filepath.Join(w.base, "tmp"))
	driveFile := w.lessonDrive(t, l)
	args := []string{"learn", "--name", "pupil", "--drive", driveFile}
	for _, v := range l.env {
		v = strings.ReplaceAll(v, "WORK", w.work)
		w.env = append(w.env, v)
		name, _, _ := strings.Cut(v, "=")
		args = append(args, "--env", name)
	}
	home, work := snapshot(t, w.home), snapshot(t, w.work)
	cmd := w.mcpJail(append(append(args, "--"), l.argv(w)...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderrOf(err))
	}
	policy := string(out)
	for _, want := range l.want {
		if !strings.Contains(policy, want) {
			t.Errorf("no %s in\n%s", want, policy)
		}
	}
	w.sameAsBefore(t, home, work)
	w.lessonHolds(t, policy, driveFile)
	w.lessonHides(t, policy)
	w.sameAsBefore(t, home, work)
}

// lessonDrive writes the drive of a lesson with the paths of the world.
func (w *world) lessonDrive(t *testing.T, l lessonOf) string {
	t.Helper()
	name := strings.TrimSuffix(l.name, "-2025-3-28")
	text := testkit.ReadFile(t, filepath.Join("testdata", "learn", name+".jsonl"))
	file := filepath.Join(w.base, "drive.jsonl")
	must(t, os.WriteFile(file, []byte(strings.NewReplacer("WORK", w.work, "HOME", w.home).Replace(text)), 0o644))
	return file
}

// sameAsBefore tests that home directory and workspace are as they were, but for mcp-jail's own files, and that
// no temporary file is left.
func (w *world) sameAsBefore(t *testing.T, home, work map[string]string) {
	t.Helper()
	for dir, before := range map[string]map[string]string{w.home: home, w.work: work} {
		isOwn := func(name, _ string) bool {
			first, _, _ := strings.Cut(name, "/")
			return dir == w.home && slices.Contains([]string{".local", ".config", ".cache"}, first)
		}
		now, before := snapshot(t, dir), maps.Clone(before)
		maps.DeleteFunc(now, isOwn)
		maps.DeleteFunc(before, isOwn)
		if len(now) != len(before) {
			t.Errorf("%s had %d files, and has %d", dir, len(before), len(now))
		}
		for name, text := range before {
			if now[name] != text {
				t.Errorf("%s/%s was %q, and is %q", dir, name, text, now[name])
			}
		}
	}
	if left, _ := os.ReadDir(filepath.Join(w.base, "tmp")); len(left) > 0 {
		t.Errorf("left in TMPDIR: %v", left)
	}
}

// ruleLine is a line of a learned policy that is a rule.
var ruleLine = regexp.MustCompile(`^(?:  \{ (?:path|name) = |[^ #\[][^=]* = \{)`)

// lessonHolds tests that the answers under the policy are those of a session that is watched, and other ones
// without any line of it. No host is reached.
func (w *world) lessonHolds(t *testing.T, policy, driveFile string) {
	t.Helper()
	lines := strings.SplitAfter(policy, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "  { host = ") }) // the network is closed
	policy = strings.Join(lines, "")
	expected := drive.Expected{First: w.driven(t, policy, driveFile, "policy"), Again: w.driven(t, policy, driveFile, "policy")}
	watched := w.driven(t, policy, driveFile, "none")
	if different := expected.Compare(watched); len(different) > 0 {
		t.Errorf("with open reads: %v", different)
	}
	for i, line := range lines {
		if !ruleLine.MatchString(line) {
			continue
		}
		without := strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "")
		if len(expected.Compare(w.driven(t, without, driveFile, "policy"))) == 0 {
			t.Errorf("no answer is another one without %sin\n%s", line, policy)
		}
	}
}

// driven sends the drive to the server under a policy in a session that is watched. What the server
// writes is thrown away.
func (w *world) driven(t *testing.T, policy, driveFile, learns string) *drive.Played {
	t.Helper()
	file := filepath.Join(w.base, "policy.toml")
	must(t, os.WriteFile(file, []byte(policy), 0o644))
	from, err := os.Open(driveFile)
	must(t, err)
	defer from.Close()
	requests, err := drive.Read(from, "drive")
	must(t, err)
	cmd := w.jail("--config", file, "--discard", "true", "--learn", learns, "pupil")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	player := drive.Player{Client: shake.Client{Name: "mcp-jail test"}, Requests: requests}
	played, err := player.Play(context.Background(), out, in)
	in.Close()
	cmd.Wait() // the answers tell
	if err != nil {
		return &drive.Played{Broken: err}
	}
	return played
}

// lessonHides tests that nothing sensitive is granted, or can be read in the jail.
func (w *world) lessonHides(t *testing.T, policy string) {
	t.Helper()
	for line := range strings.Lines(policy) {
		rule, _, _ := strings.Cut(line, " # ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if strings.Contains(rule, ".ssh") || strings.Contains(rule, ".env") || strings.Contains(policy, "env-secret") || strings.Contains(policy, "a private key") {
			t.Errorf("granted: %s", line)
		}
	}
	fs, _, _ := strings.Cut(policy, "\n[servers.pupil.access.commands]") // any program, to look around
	file := filepath.Join(w.base, "policy.toml")
	must(t, os.WriteFile(file, []byte(fs), 0o644))
	look := func(what string) string {
		cmd := w.mcpJail("shell", "--config", file, "pupil", "--", "/bin/sh", "-c", what)
		out, err := cmd.CombinedOutput()
		if _, exited := err.(*exec.ExitError); err != nil && !exited {
			t.Fatal(err)
		}
		return string(out)
	}
	seen := look(fmt.Sprintf("cat %s/.ssh/id_ed25519 %s/.env; test -e %s/.ssh && echo .ssh is there; echo looked", w.home, w.work, w.home))
	if !strings.Contains(seen, "looked") || strings.Contains(seen, "a private key") || strings.Contains(seen, "env-secret") || strings.Contains(seen, ".ssh is there") {
		t.Errorf("in the jail: %s", seen)
	}
}
