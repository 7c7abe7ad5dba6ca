//go:build linux

package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// leakySecrets returns secrets of different lengths, some with characters that are escaped.
func leakySecrets(n int) (names, values []string) {
	random := rand.New(rand.NewPCG(5, 6))
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	for i := range n {
		from := []rune(letters)
		if i%3 == 2 {
			from = []rune(letters + `/+=-_.~"\<>&%$é`)
		}
		value := []rune("q7") // random values need not look so
		for range 14 + 2*i {
			value = append(value, from[random.IntN(len(from))])
		}
		names, values = append(names, fmt.Sprintf("LEAKY_%d_TOKEN", i)), append(values, string(value))
	}
	return names, values
}

// leakySession starts the server leaky with secrets.
func (w *world) leakySession(t *testing.T, names, values []string, keys, access string) *clientSession {
	t.Helper()
	for i, name := range names {
		w.env = append(w.env, name+"="+values[i])
	}
	table := "[servers.s.access]"
	if strings.Contains(keys, "stateful = false") {
		table = `[servers.s.tools."*".access]`
	}
	rules := fmt.Sprintf("command = %q\n%s\n%s\n%senv = [", w.copySelf(t, "leaky"), keys, table, access)
	for _, name := range names {
		rules += fmt.Sprintf("{ name = %q, read = true }, ", name)
	}
	rules += "]\n"
	config := filepath.Join(w.base, "leaky.toml")
	must(t, os.WriteFile(config, []byte("[servers.s]\n"+rules), 0o644))
	return open(t, w.jail("--config", config, "s"), map[string]any{"sampling": map[string]any{}})
}

// TestLeaksFound tests that twenty secrets are found in the messages of a server in a jail, in
// more than forty encodings and cuts. Each message is refused, with the name of the secret. The
// control is another value.
func TestLeaksFound(t *testing.T) {
	for _, kind := range []string{"", "stateful = false"} {
		t.Run("session "+kind, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			n, encodings := 20, slices.Sorted(maps.Keys(leakyForms()))
			if len(encodings) < 40 {
				t.Fatalf("%d encodings", len(encodings))
			}
			if kind != "" { // a process for each, and the same search
				n, encodings = rounds(4, n), []string{"plain", "base64 1", "hex", "URL in JSON"}
			}
			names, values := leakySecrets(n)
			s := w.leakySession(t, names, values, kind+"\nleaks = \"block\"", "")
			for i, name := range names {
				for k, form := range encodings {
					call := map[string]any{"where": []string{"result", "error"}[k%2], "name": name, "form": form, "cut": []int{0, 7, 60}[(i+k)%3]}
					r := s.tool("leak", call)
					if got := r.texts(); !strings.Contains(got, "-31008") || !strings.Contains(got, "the value of "+name+" (") || strings.Contains(got, values[i]) {
						t.Errorf("%s, %s: %s", name, form, got)
					}
					call["other"] = true
					if k == 0 || testkit.Long() {
						if r := s.tool("leak", call); strings.Contains(string(r.raw), "-31008") {
							t.Errorf("%s, %s, another value: %s", name, form, r.raw)
						}
					}
				}
			}
			if t.Failed() {
				return
			}
			leakElsewhere(t, s, kind == "", names, values, encodings)
			s.close()
			for i, name := range names {
				if shown := s.stderr.String() + w.output(t, "why", "s", "--format", "json"); strings.Contains(shown, values[i]) || !strings.Contains(shown, name) {
					t.Errorf("%s is shown, or its name is not: %.3000s", name, shown)
				}
			}
		})
	}
}

// leakElsewhere tests messages that are no answers, and answers that are longer than the memory
// for one.
func leakElsewhere(t *testing.T, s *clientSession, stateful bool, names, values, encodings []string) {
	t.Helper()
	for i, name := range names[:4] { // answers longer than the memory for one, cut at different places
		pad := 4<<20 + 32<<10*i - 90 - 2*i
		r := s.tool("leak", map[string]any{"where": "result", "name": name, "form": encodings[i], "pad": pad})
		if !strings.Contains(string(r.raw), "the value of "+name+" (") {
			t.Errorf("%s in a large answer: %.200s", name, r.raw)
		}
	}
	for i, where := range []string{"notification", "log", "sampling"} {
		if r := s.tool("leak", map[string]any{"where": where, "name": names[i], "form": "base64 2"}); !strings.Contains(r.texts(), "done") {
			t.Errorf("%s: %s", where, r.raw)
		}
	}
	if stateful {
		testkit.Eventually(t, "an answer to the server", func() bool {
			got := s.tool("leak", map[string]any{"where": "answers"}).texts()
			return strings.Contains(got, "of the server") && strings.Contains(got, "-31008") && strings.Contains(got, "the value of "+names[2]) && !strings.Contains(got, values[2])
		})
	}
	s.mu.Lock()
	if len(s.serverRequests) > 0 || slices.ContainsFunc(s.notifications, func(m message) bool { return strings.Contains(string(m.Params), "it is") }) {
		t.Errorf("the client was sent %s %s", s.serverRequests, s.notifications)
	}
	s.mu.Unlock()
}

// TestLeaksWarned tests that messages with a secret pass as they are, and that mcp-jail warns
// once for each kind of message.
func TestLeaksWarned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	names, values := leakySecrets(2)
	s := w.leakySession(t, names, values, "", "")
	s.answer = func(message) any {
		return map[string]any{"role": "assistant", "content": map[string]any{"type": "text", "text": "x"}, "model": "m"}
	}
	s.result("logging/setLevel", map[string]any{"level": "info"})
	for range 3 {
		for _, where := range []string{"result", "error", "notification", "log", "sampling"} {
			s.tool("leak", map[string]any{"where": where, "name": names[0], "form": "plain"})
		}
	}
	if r := s.tool("leak", map[string]any{"where": "result", "name": names[0], "form": "plain"}); !strings.Contains(r.texts(), values[0]) {
		t.Errorf("%s", r.raw)
	}
	ours := 0
	for _, m := range s.waitNotifications("notifications/message", 3+5) {
		if strings.Contains(string(m.Params), `"mcp-jail"`) {
			ours++
		}
	}
	s.mu.Lock()
	if len(s.serverRequests) != 3 || ours != 5 {
		t.Errorf("%d requests, %d messages of ours", len(s.serverRequests), ours)
	}
	s.mu.Unlock()
	s.close()
	if n := strings.Count(s.stderr.String(), "sends the value of "+names[0]); n != 5 || strings.Contains(s.stderr.String(), names[1]) {
		t.Errorf("told %d times: %s", n, &s.stderr)
	}
	if why := w.output(t, "why", "s", "--verbose"); strings.Count(why, "sends the value of "+names[0]) != 5 || strings.Contains(why, values[0]) {
		t.Error(why)
	}
}

// TestLeaksToHosts tests the requests that a server in a jail sends to granted hosts.
func TestLeaksToHosts(t *testing.T) {
	t.Parallel()
	for _, leaks := range []string{"warn", "block"} {
		w := newWorld(t)
		names, values := leakySecrets(1)
		net := newHosts(t, w, values[0], []string{internetHost, readOnlyHost})
		w.around = net.around
		w.program = ""
		rules := "net = ["
		for _, host := range []string{internetHost, readOnlyHost} {
			rules += fmt.Sprintf("{ host = %q, scheme = \"https\", methods = [\"GET\", \"POST\"], allow = true }, ", host)
		}
		s := w.leakySession(t, names, values, fmt.Sprintf("leaks = %q", leaks), rules+"]\n")
		send := func(path string) string {
			return s.tool("leak", map[string]any{"where": "https://" + internetHost + path, "name": names[0], "form": "base64 1"}).texts()
		}
		for path, refused := range map[string]bool{"/credential": false, "/url": leaks == "block", "/body": leaks == "block"} {
			for range 2 {
				if got := send(path); strings.Contains(got, "403") != refused || strings.Contains(got, `leaks is "block"`) != refused || strings.Contains(got, "failed") {
					t.Errorf("%s, %s: %s", leaks, path, got)
				}
			}
		}
		s.close()
		told := net.requests(t)
		if n := strings.Count(told, "\n"); (leaks == "warn") != (n == 6) {
			t.Errorf("%s: the host was told %s", leaks, told)
		}
		for _, place := range []string{"the URL", "the body"} {
			line := fmt.Sprintf("sends the value of %s (in base64) in %s of a request to %s", names[0], place, internetHost)
			if n := strings.Count(s.stderr.String(), line); (leaks == "warn") != (n == 1) {
				t.Errorf("%s, %s: told %d times: %s", leaks, place, n, &s.stderr)
			}
		}
		if why := w.output(t, "why", "s", "--format", "json"); strings.Contains(why+s.stderr.String(), values[0]) || leaks == "block" && !strings.Contains(why, `"leak"`) {
			t.Error(why)
		}
	}
}
