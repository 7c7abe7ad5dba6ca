//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	shake "github.com/mcp-jail/mcp-jail/cmd/internal/handshake"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// hostileModes are those of pupilMain, each with words that the document of its lesson has.
var hostileModes = []struct {
	name  string
	short bool // in make test only
	long  bool // not in make test
	ways  bool // all ways are tried under the policy, and not only one
	says  []string
}{
	{name: "ways", ways: true, says: []string{"# Not granted, sensitive: ~/.ssh"}},
	{name: "flood", short: true, says: []string{"# Not granted, sensitive: ~/.ssh", "longer than a page"}},
	{name: "deluge", long: true, says: []string{"# Not granted, sensitive: ~/.ssh", "longer than a page"}},
	{name: "names", long: true, says: []string{"# Not granted, sensitive: ~/.ssh"}},
	{name: "parents", long: true, says: []string{`{ path = ".", read = true }`, `{ path = "~/project", read = true }`}},
	{name: "two-faced", long: true, ways: true, says: []string{`"papers/plan.md"`}},
	{name: "commands", long: true, ways: true, says: []string{"# Not granted, sensitive: ~/.ssh"}},
}

// TestLearnHostile: the policy that is learned from a hostile server grants nothing sensitive, is no longer than a
// page, and says what it leaves out. The server has nothing of ~/.ssh while it is watched, and nothing under the
// policy. Without a jail, each way leads there.
func TestLearnHostile(t *testing.T) {
	testkit.NeedsLong(t)
	t.Parallel()
	for _, m := range hostileModes {
		if m.long && !testkit.Long() || m.short && testkit.Long() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := newHostileWorld(t)
			if m.name == "ways" {
				w.waysLead(t)
			}
			home, work := snapshot(t, w.home), snapshot(t, w.work)
			cmd := w.mcpJail("learn", "--name", "pupil", "--", w.copySelf(t, "pupil"), m.name, w.base)
			out, err := cmd.Output() // status 1 if an answer is another one
			text := string(out)
			for _, say := range m.says {
				if !strings.Contains(text, say) {
					t.Errorf("no %s in what was learned (%v):\n%s%s", say, err, text, stderrOf(err))
				}
			}
			w.isPage(t, text)
			w.hidesSecrets(t, text)
			w.sameAsBefore(t, home, work)
			if m.name == "ways" {
				w.waysAreShut(t, text, "--discard", "true", "--learn", "none")
				w.sameAsBefore(t, home, work)
			}
			if m.ways {
				w.waysAreShut(t, text)
			}
			w.sameAsBefore(t, home, snapshot(t, w.work)) // it may write to its workspace
		})
	}
}

// newHostileWorld has secrets, each beside files that are none, and a socket in ~/.ssh.
func newHostileWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.plant(t, w.base, map[string]string{"tmp/": ""})
	w.plant(t, w.work, map[string]string{"note.txt": "a note\n", "papers/plan.md": "a plan\n"})
	w.env = append(w.env, "TMPDIR="+filepath.Join(w.base, "tmp"))
	for secret, dir := range parentsOfSecrets {
		w.plant(t, w.base, map[string]string{secret: "a private key"})
		for _, name := range []string{"a", "b", "c", "d"} {
			w.plant(t, filepath.Join(w.base, dir), map[string]string{name + ".txt": "a text"})
		}
	}
	for i := range 100 {
		w.plant(t, w.home, map[string]string{fmt.Sprintf("many/d%d/f", i): ""})
	}
	must(t, testkit.WriteProgram(filepath.Join(w.home, ".ssh", "tool"), []byte("#!/bin/sh\necho a private key\n")))
	agent, err := net.Listen("unix", filepath.Join(w.home, ".ssh", "agent.sock"))
	must(t, err)
	t.Cleanup(func() { agent.Close() })
	go func() {
		for {
			conn, err := agent.Accept()
			if err != nil {
				return
			}
			conn.Write([]byte("a private key"))
			conn.Close()
		}
	}()
	return w
}

// ask calls all ways of a server, and returns the answers.
func (w *world) ask(t *testing.T, jailed bool, argv ...string) (answers []string) {
	t.Helper()
	cmd := w.plain(argv...)
	if jailed {
		cmd = w.jail(argv...)
	}
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	requests := []drive.Request{}
	for _, name := range waysNamed() {
		requests = append(requests, drive.Call(name, []byte("{}")))
	}
	player := drive.Player{Client: shake.Client{Name: "mcp-jail test"}, Requests: requests}
	played, err := player.Play(context.Background(), out, in)
	in.Close()
	cmd.Wait() // the answers tell
	must(t, err)
	for _, a := range played.Answers {
		if a.Request.Tool != "" {
			answers = append(answers, a.Brief())
		}
	}
	if len(answers) != len(requests) {
		t.Errorf("%d answers to %d calls", len(answers), len(requests))
	}
	return answers
}

// waysLead is the control: without a jail, each way leads to the key.
func (w *world) waysLead(t *testing.T) {
	t.Helper()
	answers := w.ask(t, false, w.copySelf(t, "pupil"), "ways", w.base)
	for i, way := range waysToKey[:min(len(answers), len(waysToKey))] {
		if way.none == "" && !strings.Contains(answers[i], leaked) {
			t.Errorf("without a jail %s", answers[i])
		}
	}
	if len(waysToKey) < 40 {
		t.Errorf("only %d ways", len(waysToKey))
	}
}

// waysAreShut starts the server under a policy: no way leads to the key.
func (w *world) waysAreShut(t *testing.T, text string, flags ...string) {
	t.Helper()
	file := filepath.Join(w.base, "policy.toml")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	for _, answer := range w.ask(t, true, append(append([]string{"--config", file}, flags...), "pupil")...) {
		if strings.Contains(answer, leaked) || strings.Contains(answer, "a private key") {
			t.Errorf("in the jail (%v) %s\n%s", flags, answer, text)
		}
	}
}

// isPage tests that a document is short, has one server, and no character that a reader does not see, and that no
// rule of it is about everything.
func (w *world) isPage(t *testing.T, text string) {
	t.Helper()
	c, err := config.Decode([]byte(text), "learned.toml")
	if err != nil || len(c.Servers) != 1 || c.Servers["pupil"] == nil || c.Servers["pupil"].Access == nil {
		t.Fatalf("%v\n%s", err, text)
	}
	a := c.Servers["pupil"].Access
	rules := len(a.Fs) + len(a.Net) + len(a.Env)
	for name, list := range a.Commands {
		rules += len(list)
		if strings.ContainsAny(name, "*?[]{}\n") {
			t.Errorf("a rule for the program %q", name)
		}
		for _, rule := range list {
			for _, words := range rule.Args {
				if len(words) > 0 && words[0] == policy.AnyArguments {
					t.Errorf("%s has the arguments %q", name, words)
				}
			}
		}
	}
	if lines := strings.Count(text, "\n"); rules > 60 || lines > 100 {
		t.Errorf("%d rules in %d lines", rules, lines)
	}
	if strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && show.IsHidden(c) }) {
		t.Errorf("a hidden character in\n%q", text)
	}
	for _, r := range a.Fs {
		if slices.Contains([]string{"/", "~", "..", w.home, w.base, "/var", "/var/tmp"}, strings.TrimSuffix(r.Path, "/")) || strings.ContainsAny(r.Path, "*?") {
			t.Errorf("a rule for %q", r.Path)
		}
	}
	for _, r := range a.Net {
		if strings.Contains(r.Host, "*") {
			t.Errorf("a rule for the host %q", r.Host)
		}
	}
}

// hidesSecrets tests with programs of the user that no secret can be read under a policy, and that a file beside
// one can be if the policy grants its directory.
func (w *world) hidesSecrets(t *testing.T, text string) {
	t.Helper()
	line := "for f in"
	for secret := range parentsOfSecrets {
		line += " " + filepath.Join(w.base, secret)
	}
	line += `; do grep -q . "$f" && echo "leaked: $f"; done; echo looked; cat ` + filepath.Join(w.work, "app", "a.txt")
	switch said := w.underPolicy(t, text, line); {
	case !strings.Contains(said, "looked") || strings.Contains(said, "leaked"):
		t.Errorf("in the jail: %s\n%s", said, text)
	case strings.Contains(text, `{ path = ".", read = true`) && !strings.Contains(said, "a text"):
		t.Errorf("what is granted cannot be read: %s\n%s", said, text)
	}
}
