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
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	shake "github.com/mcp-jail/mcp-jail/cmd/internal/handshake"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLearn: the policy that is learned from a server lets its tools work, each line of it is needed, and it
// grants nothing sensitive. The lesson leaves nothing.
func TestLearn(t *testing.T) {
	t.Parallel()
	for _, l := range lessonsOf {
		if l.long && !testkit.Long() {
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

// world makes the world of a lesson, with what stands for its hosts.
func (l lessonOf) world(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	if l.hosts != nil {
		net := newHosts(t, w, l.token, slices.Clone(l.hosts))
		w.env = append(w.env, "NODE_EXTRA_CA_CERTS="+net.authority()) // which counts for granted hosts without a rule
		for _, host := range l.hosts {
			net.answers(t, host, testkit.ReadFile(t, filepath.Join("testdata", "learn", host+".json")))
		}
	}
	w.copySelf(t, "notes-server")
	w.plant(t, w.work, map[string]string{"papers/plan.md": "a plan\n", "papers/other.md": "other\n", "out/": "", ".env": "PLANTED=env-secret\n", "tmp.txt": "x"})
	w.plant(t, w.base, map[string]string{"tmp/": ""})
	w.env = append(w.env, "TMPDIR="+filepath.Join(w.base, "tmp"))
	for _, v := range l.env {
		w.env = append(w.env, strings.ReplaceAll(v, "WORK", w.work))
	}
	if l.before != nil {
		l.before(t, w)
	}
	return w
}

func (l lessonOf) test(t *testing.T) {
	w := l.world(t)
	driveFile := w.lessonDrive(t, l)
	args := []string{"learn", "--name", "pupil", "--drive", driveFile}
	for _, v := range l.env {
		name, _, _ := strings.Cut(v, "=")
		args = append(args, "--env", name)
	}
	for _, host := range l.hosts {
		args = append(args, "--net", host)
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
	l.holds(t, w, policy, driveFile)
	w.lessonHides(t, policy)
	w.sameAsBefore(t, home, work)
}

// lessonDrive writes the drive of a lesson with the paths of the world.
func (w *world) lessonDrive(t *testing.T, l lessonOf) string {
	t.Helper()
	text := testkit.ReadFile(t, filepath.Join("testdata", "learn", l.name+".jsonl"))
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
var ruleLine = regexp.MustCompile(`^(?:  \{ (path|name|host) = |([^ #\[][^=]*) = \{)`)

// kindOf returns the kind of rule that a line of a learned policy is, or "".
func kindOf(line string) string {
	m := ruleLine.FindStringSubmatch(line)
	switch {
	case m == nil:
		return ""
	case m[2] != "":
		return "command"
	}
	return map[string]string{"path": "fs", "name": "env", "host": "net"}[m[1]]
}

// holds tests that under the policy no call fails that the lesson expects to work, that the answers are those of
// a session that is watched, and that they are other ones without any line of it.
func (l lessonOf) holds(t *testing.T, w *world, policy, driveFile string) {
	t.Helper()
	lines := strings.SplitAfter(policy, "\n")
	if l.hosts == nil { // the network is closed
		lines = slices.DeleteFunc(lines, func(line string) bool { return kindOf(line) == "net" })
	}
	under := func(lines []string) *drive.Played {
		return w.driven(t, strings.Join(lines, ""), driveFile, l.learns("policy")...)
	}
	expected := drive.Expected{First: under(lines)}
	if l.clock {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	}
	expected.Again = under(lines)
	watched := w.driven(t, strings.Join(lines, ""), driveFile, l.learns("none")...)
	if different := expected.Compare(watched); len(different) > 0 {
		t.Errorf("watched: %v", different)
	}
	l.works(t, expected.First)
	kinds := map[string]int{}
	for i, line := range lines {
		kind := kindOf(line)
		if kind == "" {
			continue
		}
		kinds[kind]++
		if len(expected.Compare(under(slices.Concat(lines[:i], lines[i+1:])))) == 0 {
			t.Errorf("no answer is another one without %sin\n%s", line, policy)
		}
	}
	if got := strings.TrimPrefix(fmt.Sprint(kinds), "map"); got != l.rules {
		t.Errorf("the rules that were left out are %s, want %s in\n%s", got, l.rules, policy)
	}
}

// learns returns the flags of a session that the test watches.
func (l lessonOf) learns(how string) (flags []string) {
	if l.hosts == nil {
		return []string{"--discard", "true", "--learn", how}
	}
	if how == "policy" {
		return nil // a session as a client has it: the policy alone opens hosts
	}
	for _, host := range l.hosts {
		flags = append(flags, "--learn", host)
	}
	return append(flags, "--discard", "true")
}

// works tests the answers of the tools: none failed but where the lesson says so, and they say what they should.
func (l lessonOf) works(t *testing.T, played *drive.Played) {
	t.Helper()
	var all strings.Builder
	failed := 0
	for _, a := range played.Answers {
		all.Write(a.Result)
		if a.Failed() {
			failed++
		}
	}
	if failed != l.fails || played.Broken != nil {
		t.Errorf("%d calls failed, want %d; %v\n%s", failed, l.fails, played.Broken, &all)
	}
	for _, says := range l.says {
		if !strings.Contains(all.String(), says) {
			t.Errorf("no answer says %q:\n%s", says, &all)
		}
	}
}

// driven sends the drive to the server under a policy, in a session with these flags.
func (w *world) driven(t *testing.T, policy, driveFile string, flags ...string) *drive.Played {
	t.Helper()
	file := filepath.Join(w.base, "policy.toml")
	must(t, os.WriteFile(file, []byte(policy), 0o644))
	from, err := os.Open(driveFile)
	must(t, err)
	defer from.Close()
	requests, err := drive.Read(from, "drive")
	must(t, err)
	cmd := w.jail(slices.Concat([]string{"--config", file}, flags, []string{"pupil"})...)
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
	look := fmt.Sprintf("cat %s/.ssh/id_ed25519 %s/.env; test -e %s/.ssh && echo .ssh is there; echo looked", w.home, w.work, w.home)
	outside, err := w.plain("/bin/sh", "-c", look).CombinedOutput()
	must(t, err)
	inside := w.underPolicy(t, policy, look)
	for _, secret := range []string{"a private key", "env-secret", ".ssh is there"} {
		if strings.Contains(inside, secret) || !strings.Contains(string(outside), secret) {
			t.Errorf("%s: in the jail %s\noutside %s", secret, inside, outside)
		}
	}
	if !strings.Contains(inside, "looked") {
		t.Errorf("in the jail: %s", inside)
	}
}

// underPolicy runs a script in place of the server pupil under a policy that learn has written, and returns
// what it wrote.
func (w *world) underPolicy(t *testing.T, policy, script string) string {
	t.Helper()
	policy, _, _ = strings.Cut(policy, "\n[servers.pupil.access.commands]") // any program, to look around
	policy = regexp.MustCompile(`(?m)^(command|arguments) = .*\n`).ReplaceAllString(policy, "")
	const table = "[servers.pupil]\n"
	if !strings.Contains(policy, table) {
		t.Fatalf("no table of the server:\n%s", policy)
	}
	command := fmt.Sprintf("command = \"/bin/sh\"\narguments = [\"-c\", %q]\n", "{ "+script+"; } >&2")
	file := filepath.Join(w.base, "policy.toml")
	must(t, os.WriteFile(file, []byte(strings.Replace(policy, table, table+command, 1)), 0o644))
	out, err := w.mcpJail("run", "--config", file, "pupil").CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return string(out)
}
