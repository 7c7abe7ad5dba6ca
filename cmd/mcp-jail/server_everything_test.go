//go:build linux

package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestServerEverything plays a long session with the official test server, without and
// with a jail, and compares.
func TestServerEverything(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	script := []step{
		{"echo", map[string]any{"message": "hé\u2028llo 9007199254740993"}},
		{"get-sum", map[string]any{"a": 40, "b": 2}},
		{"get-structured-content", map[string]any{"location": "Chicago"}},
		{"get-annotated-message", map[string]any{"messageType": "error", "includeImage": true}},
		{"get-tiny-image", nil},
		{"get-resource-links", map[string]any{"count": 3}},
		{"get-resource-reference", map[string]any{"resourceType": "Text", "resourceId": 7}},
		{"gzip-file-as-resource", map[string]any{"name": "z.gz", "data": "data:text/plain,hello", "outputType": "resource"}},
		{"toggle-subscriber-updates", nil},
		{"toggle-subscriber-updates", nil},
		{"get-sum", map[string]any{"a": "no number"}},
		{"no-such-tool", nil},
	}
	// All other requests of the protocol that have a response.
	requests := []struct {
		method string
		params map[string]any
	}{
		{"ping", nil},
		{"tools/list", nil},
		{"logging/setLevel", map[string]any{"level": "debug"}},
		{"resources/list", nil},
		{"resources/templates/list", nil},
		{"resources/read", map[string]any{"uri": "demo://resource/dynamic/text/3"}},
		{"resources/read", map[string]any{"uri": "demo://resource/static/document/features.md"}},
		{"resources/read", map[string]any{"uri": "demo://resource/session/z.gz"}},
		{"resources/read", map[string]any{"uri": "demo://nothing"}},
		{"resources/subscribe", map[string]any{"uri": "demo://resource/dynamic/text/3"}},
		{"resources/unsubscribe", map[string]any{"uri": "demo://resource/dynamic/text/3"}},
		{"prompts/list", nil},
		{"prompts/get", map[string]any{"name": "simple-prompt"}},
		{"prompts/get", map[string]any{"name": "args-prompt", "arguments": map[string]string{"city": "Ulm", "state": "BW"}}},
		{"prompts/get", map[string]any{"name": "resource-prompt", "arguments": map[string]string{"resourceType": "Text", "resourceId": "1"}}},
		{"completion/complete", map[string]any{
			"ref": map[string]string{"type": "ref/prompt", "name": "completable-prompt"}, "argument": map[string]string{"name": "department", "value": "E"},
		}},
		{"no/such/method", nil},
	}
	type outcome struct {
		hello    string
		results  []toolResult
		answers  []string
		progress []string
		tools    []string
	}
	perform := func(t *testing.T, jailed bool) (o outcome) {
		argv := []string{"node", server(everything)}
		cmd := w.plain(argv...)
		if jailed {
			cmd = w.jail(append([]string{"--"}, argv...)...)
		}
		s := start(t, cmd)
		o.hello = string(s.initialize(nil))
		o.tools = s.tools()
		o.results = callTools(s, script)
		for _, r := range requests {
			m := s.call(r.method, r.params)
			o.answers = append(o.answers, withoutTimes(string(m.Result)+string(m.Error)))
		}

		// Progress notifications, during another call.
		long := s.request("tools/call", map[string]any{
			"name": "trigger-long-running-operation", "arguments": map[string]any{"duration": 1, "steps": 4},
			"_meta": map[string]any{"progressToken": "tok-1"},
		})
		if r := s.tool("echo", map[string]any{"message": "meanwhile"}); r.IsError {
			t.Error(r.texts())
		}
		select {
		case m := <-long:
			o.results = append(o.results, toolResult{raw: m.Result})
		case <-time.After(testkit.Patience):
			t.Fatal("the long operation was not answered")
		}
		for _, m := range s.waitNotifications("notifications/progress", 4) {
			o.progress = append(o.progress, string(m.Params))
		}

		// Log messages.
		s.tool("toggle-simulated-logging", nil)
		s.waitNotifications("notifications/message", 3) // two from subscriptions, one from the toggle
		s.tool("toggle-simulated-logging", nil)

		// A task in the background.
		var task struct {
			Task struct{ TaskID, Status string }
		}
		must(t, json.Unmarshal(s.result("tools/call", map[string]any{
			"name": "simulate-research-query", "arguments": map[string]any{"topic": "jails"}, "task": map[string]any{"ttl": 60000},
		}), &task))
		research := s.result("tasks/result", map[string]any{"taskId": task.Task.TaskID})
		o.answers = append(o.answers, strings.ReplaceAll(string(research), task.Task.TaskID, "TASK"))

		env := s.tool("get-env", nil)
		if jailed {
			checkEnv(t, w, argv, env)
		} else if !strings.Contains(env.texts(), "hunter2") {
			t.Error("the control: the planted secret is in the environment of a plain server")
		}
		s.in.Close()
		if !jailed {
			return o
		}
		// This server may ignore the end of its input. Then mcp-jail sends SIGTERM.
		if status := s.wait(); status != 0 && status != 143 {
			t.Errorf("exit status %d at the end of the input\nstderr: %s", status, &s.stderr)
		}
		return o
	}
	var plain, jailed outcome
	t.Run("both", func(t *testing.T) { // in parallel, since both wait for seconds
		t.Run("plain", func(t *testing.T) {
			t.Parallel()
			plain = perform(t, false)
		})
		t.Run("jailed", func(t *testing.T) {
			t.Parallel()
			jailed = perform(t, true)
		})
	})
	script = append(script, step{tool: "trigger-long-running-operation"})
	if len(plain.results) != len(script) || len(jailed.results) != len(script) {
		t.Fatal("a play has ended early")
	}
	compareResults(t, script, plain.results, jailed.results)
	if plain.hello != jailed.hello {
		t.Errorf("initialize\n plain  %s\n jailed %s", plain.hello, jailed.hello)
	}
	for i := range plain.answers {
		if plain.answers[i] != jailed.answers[i] {
			t.Errorf("request %d\n plain  %s\n jailed %s", i, plain.answers[i], jailed.answers[i])
		}
	}
	if !slices.Equal(plain.progress, jailed.progress) || len(plain.progress) != 4 {
		t.Errorf("progress\n plain  %s\n jailed %s", plain.progress, jailed.progress)
	}
	used := []string{"get-env", "toggle-simulated-logging", "simulate-research-query"}
	for _, c := range script {
		used = append(used, c.tool)
	}
	for _, tool := range plain.tools {
		if !slices.Contains(used, tool) {
			t.Errorf("the tool %s needs nothing of the client and is not tried", tool)
		}
	}
}

// checkEnv tests that a server has exactly the environment that `plan` shows.
func checkEnv(t *testing.T, w *world, argv []string, r toolResult) {
	t.Helper()
	var got map[string]string
	must(t, json.Unmarshal([]byte(r.texts()), &got))
	var plan struct {
		Profile struct {
			Env []struct{ Name, Value string } `json:"env"`
		} `json:"profile"`
	}
	text := w.output(t, append([]string{"plan", "--format", "json", "--"}, argv...)...)
	must(t, json.Unmarshal([]byte(text), &plan))
	want := map[string]string{}
	for _, v := range plan.Profile.Env {
		want[v.Name] = v.Value
	}
	if len(want) < 5 || !maps.Equal(got, want) {
		t.Errorf("the environment is %q\nthe plan says %q", got, want)
	}
	if strings.Contains(r.texts(), "hunter2") {
		t.Error("the server has the planted secret")
	}
}

// TestServerEverythingRequests tests that requests of the server pass to the client and
// responses pass back, with their ids. Both directions number requests independently.
func TestServerEverythingRequests(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	capabilities := map[string]any{
		"sampling": map[string]any{}, "elicitation": map[string]any{"form": map[string]any{}, "url": map[string]any{}}, "roots": map[string]any{"listChanged": true},
	}
	perform := func(t *testing.T, jailed bool) (texts []string, asked []string) {
		w := newWorld(t)
		cmd := w.plain("node", server(everything))
		if jailed {
			cmd = w.jail("--", "node", server(everything))
		}
		s := start(t, cmd)
		s.answer = func(m message) any {
			switch m.Method {
			case "roots/list":
				return map[string]any{"roots": []map[string]string{{"uri": "file:///there", "name": "there"}}}
			case "sampling/createMessage":
				return map[string]any{"role": "assistant", "model": "m", "content": map[string]string{"type": "text", "text": "sampled"}}
			case "elicitation/create":
				return map[string]any{"action": "accept", "content": map[string]any{"name": "Eve", "check": true}}
			}
			return map[string]any{}
		}
		s.initialize(capabilities)
		// The server requests the roots by itself, and can list them only after that.
		testkit.Eventually(t, "roots/list", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.serverRequests) > 0
		})
		s.waitNotifications("notifications/message", 1)
		for _, c := range []step{
			{"get-roots-list", nil},
			{"trigger-sampling-request", map[string]any{"prompt": "p", "maxTokens": 5}},
			{"trigger-elicitation-request", nil},
			{"trigger-sampling-request", map[string]any{"prompt": "q", "maxTokens": 6}},
		} {
			r := s.tool(c.tool, c.arguments)
			if r.IsError {
				t.Errorf("%s: %s", c.tool, r.texts())
			}
			texts = append(texts, string(r.raw))
		}
		if jailed {
			if status := s.close(); status != 0 {
				t.Errorf("exit status %d", status)
			}
		}
		for _, m := range s.serverRequests {
			asked = append(asked, string(m.ID)+" "+m.Method+" "+string(m.Params))
		}
		return texts, asked
	}
	texts, asked := perform(t, false)
	jailedTexts, jailedAsked := perform(t, true)
	if !slices.Equal(texts, jailedTexts) || len(texts) != 4 {
		t.Errorf("results\n plain  %s\n jailed %s", texts, jailedTexts)
	}
	if !slices.Equal(asked, jailedAsked) || len(asked) != 4 {
		t.Errorf("requests of the server\n plain  %q\n jailed %q", asked, jailedAsked)
	}
	if all := strings.Join(jailedTexts, ""); !strings.Contains(all, "sampled") || !strings.Contains(all, "Eve") || !strings.Contains(all, "file:///there") {
		t.Errorf("an answer of the client did not reach the server: %s", all)
	}
}
