//go:build linux

package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	github      = "@modelcontextprotocol/server-github"
	githubToken = "GITHUB_PERSONAL_ACCESS_TOKEN"
)

// githubRecipe returns the recipe of docs/policy.md.
func githubRecipe(t *testing.T) recipe {
	t.Helper()
	return readRecipe(t, "github", `"npx"`, `"node"`, `"-y", "`+github+`"`, `"`+server(github)+`"`)
}

// newToken returns a random token. A constant would be in the test binary, which may be
// mcp-jail, and so in the searched memory.
func newToken() string { return "ghp_" + rand.Text() + rand.Text()[:10] }

// newGithub returns a world with a token in its environment, and an internet that accepts
// it.
func newGithub(t *testing.T) (w *world, net *internet, token string, r recipe) {
	t.Helper()
	w, token = newWorld(t), newToken()
	net = newInternet(t, w, token)
	w.env = append(w.env, githubToken+"="+token)
	return w, net, token, githubRecipe(t)
}

// commits sends api.github.com a request that needs the token.
func commits(s *clientSession) toolResult {
	return s.tool("list_commits", map[string]any{"owner": "a", "repo": "b"})
}

// TestGithubSecret tests that the server works with one granted host and without the
// token: the memory of its jail has only the placeholder.
func TestGithubSecret(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w, net, token, r := newGithub(t)
	got := w.attempt(t, r.name, r.config(r.access...), func(t *testing.T, w *world, s *clientSession) toolResult {
		got := commits(s)
		if n := countInJail(t, w, token); n != 0 {
			t.Errorf("the token is in the memory of the jail, %d times", n)
		}
		if n := countInJail(t, w, policy.Placeholder(githubToken)); n == 0 {
			t.Errorf("not even the placeholder was found in the memory of the jail")
		}
		if s.cmd.Process != nil {
			checkNotShown(t, w, s, token)
		}
		return got
	})
	if got.IsError || !strings.Contains(got.texts(), "a commit") {
		t.Errorf("%s", got.raw)
	}
	if told := net.requests(t); told != "GET /repos/a/b/commits Bearer "+token+"\n" {
		t.Errorf("the host was told %q", told)
	}
	if record := w.output(t, "why", "--format", "json", r.name); strings.Contains(record, token) {
		t.Errorf("the record has the token: %s", record)
	}
}

// TestTokenInMemory is the control of TestGithubSecret: a token that is granted as a variable is found in memory.
func TestTokenInMemory(t *testing.T) {
	need(t, "/usr/bin/python3")
	t.Parallel()
	w, _, token, _ := newGithub(t) // whose namespace lets this process look into the memory of a jail
	s := open(t, w.jail("--env", githubToken, "--", "/usr/bin/python3", w.fixture(t, "exec.py")), nil)
	defer s.close()
	if countInJail(t, w, token) == 0 {
		t.Error("the token was not found in the memory of the jail: the search finds nothing")
	}
}

// TestGithubRefused tests that the server reaches nothing without its rule, and that the
// diagnosis proposes this rule.
func TestGithubRefused(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w, _, _, r := newGithub(t)
	other := strings.Replace(r.access[0], internetHost, "uploads.github.com", 1)
	got := w.attempt(t, r.name, r.config(other), func(_ *testing.T, _ *world, s *clientSession) toolResult { return commits(s) })
	why := w.why(t, r.name)
	if !got.IsError || why.Attribution != "certain" || strings.Join(why.Grant, "; ") != `[[servers.github.access.net]]; host = "api.github.com"; allow = true` || !strings.Contains(why.Cause, "looking up api.github.com") {
		t.Errorf("%s\n%+v", got.raw, why)
	}
}

// checkNotShown tests that stderr and the arguments of processes do not contain a secret.
func checkNotShown(t *testing.T, w *world, s *clientSession, secret string) {
	t.Helper()
	if strings.Contains(s.stderr.String(), secret) {
		t.Errorf("stderr: %s", s.stderr.String())
	}
	var found []string
	for _, p := range w.processes() {
		pid, name, _ := strings.Cut(p, " ")
		if env, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline")); strings.Contains(string(env), secret) {
			found = append(found, name)
		}
	}
	if found != nil {
		t.Errorf("the arguments of %q", found)
	}
}

// countInJail counts a text in the memory of the processes in the jails of a world, in
// the encodings in which a program could keep it.
func countInJail(t *testing.T, w *world, text string) (n int) {
	t.Helper()
	space := func(dir string) string {
		ns, _ := os.Readlink(filepath.Join(dir, "ns", "pid"))
		return ns
	}
	jails := map[string]bool{}
	for _, p := range w.processes() {
		pid, _, _ := strings.Cut(p, " ")
		jails[space(filepath.Join("/proc", pid))] = true
	}
	delete(jails, space("/proc/self"))
	delete(jails, "") // of processes that have ended
	all, _ := filepath.Glob("/proc/[0-9]*")
	searched := 0
	for _, dir := range all {
		if jails[space(dir)] {
			searched++
			if k := countInMemory(t, filepath.Base(dir), text); k > 0 {
				argv, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
				t.Logf("%d times in %q", k, argv)
				n += k
			}
		}
	}
	if searched < 2 {
		t.Errorf("%d processes are in the jail, and there is an init and a server", searched)
	}
	return n
}

// countInMemory counts a text in the readable memory of a process.
func countInMemory(t *testing.T, pid, text string) (n int) {
	t.Helper()
	wide := binary.LittleEndian.AppendUint16(nil, 0)[:0]
	for _, c := range utf16.Encode([]rune(text)) {
		wide = binary.LittleEndian.AppendUint16(wide, c)
	}
	forms := [][]byte{[]byte(text), wide, base64.RawStdEncoding.AppendEncode(nil, []byte(text))[:len(text)]}
	maps, err := os.Open(filepath.Join("/proc", pid, "maps"))
	must(t, err)
	defer maps.Close()
	memory, err := os.Open(filepath.Join("/proc", pid, "mem"))
	must(t, err)
	defer memory.Close()
	buf := make([]byte, 1<<20)
	read := int64(0)
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		var from, to int64
		var rights string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &from, &to, &rights); err != nil || rights[0] != 'r' {
			continue
		}
		for at := from; at < to; at += int64(len(buf) - 256) { // pieces overlap, so that no text is cut
			got, err := memory.ReadAt(buf[:min(int64(len(buf)), to-at)], at)
			read += int64(got)
			for _, form := range forms {
				n += bytes.Count(buf[:got], form)
			}
			if err != nil && err != io.EOF {
				break // the page cannot be read
			}
		}
	}
	if read < 1<<20 {
		t.Errorf("only %d bytes of process %s could be read", read, pid)
	}
	return n
}
