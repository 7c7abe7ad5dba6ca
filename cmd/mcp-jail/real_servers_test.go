//go:build linux

package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// step is one step of a script that is played to a server twice.
type step struct {
	tool      string
	arguments map[string]any
}

// play calls the tools and returns their results.
func play(s *session, script []step) (results []toolResult) {
	s.t.Helper()
	for _, c := range script {
		results = append(results, s.tool(c.tool, c.arguments))
	}
	return results
}

// samePlay compares the results of a script, outside and inside of a jail, byte
// for byte but for the time of day. A failure gains text and _meta in the jail.
func samePlay(t *testing.T, script []step, plain, jailed []toolResult) {
	t.Helper()
	for i, c := range script {
		p, j := plain[i], jailed[i]
		same := timeless(string(p.raw)) == timeless(string(j.raw))
		if p.IsError && j.IsError {
			same = strings.HasPrefix(timeless(j.texts()), timeless(p.texts()))
		}
		if !same {
			t.Errorf("%s %v\n plain  %s\n jailed %s", c.tool, c.arguments, p.raw, j.raw)
		}
	}
}

func TestRealFilesystem(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	at := func(name string) string { return filepath.Join(w.work, name) }
	script := []step{
		{"list_allowed_directories", nil},
		{"create_directory", map[string]any{"path": at("new/deep/er")}},
		{"write_file", map[string]any{"path": at("new/a.txt"), "content": "one\ntwo\nthree\n"}},
		{"write_file", map[string]any{"path": at("old.txt"), "content": "over it\n"}},
		{"edit_file", map[string]any{"path": at("new/a.txt"), "edits": []map[string]string{{"oldText": "two", "newText": "2"}}}},
		{"edit_file", map[string]any{"path": at("new/a.txt"), "dryRun": true, "edits": []map[string]string{{"oldText": "one", "newText": "1"}}}},
		{"read_file", map[string]any{"path": at("new/a.txt")}},
		{"read_text_file", map[string]any{"path": at("new/a.txt"), "head": 2}},
		{"read_text_file", map[string]any{"path": at("new/a.txt"), "tail": 1}},
		{"read_text_file", map[string]any{"path": at("through")}},
		{"read_media_file", map[string]any{"path": at("dot.png")}},
		{"read_multiple_files", map[string]any{"paths": []string{at("old.txt"), at("sub/b.txt"), at("absent")}}},
		{"move_file", map[string]any{"source": at("new/a.txt"), "destination": at("new/deep/moved.txt")}},
		{"move_file", map[string]any{"source": at("sub"), "destination": at("new/sub")}},
		{"list_directory", map[string]any{"path": w.work}},
		{"list_directory_with_sizes", map[string]any{"path": at("sizes"), "sortBy": "size"}},
		{"directory_tree", map[string]any{"path": at("new")}},
		{"search_files", map[string]any{"path": w.work, "pattern": "**/*.txt"}},
		{"get_file_info", map[string]any{"path": at("old.txt")}},
		// What fails, fails in the same words.
		{"read_text_file", map[string]any{"path": at("absent")}},
		{"move_file", map[string]any{"source": at("absent"), "destination": at("x")}},
		{"read_text_file", map[string]any{"path": filepath.Join(w.base, "outside.txt")}},
	}
	perform := func(jailed bool) (tools []string, results []toolResult, files map[string]string) {
		must(t, os.RemoveAll(w.work))
		w.plant(t, w.base, map[string]string{"outside.txt": "out there"})
		w.plant(t, w.work, map[string]string{
			"old.txt": "old\n", "sub/b.txt": "b\n", "dot.png": "\x89PNG\r\n\x1a\n\x00\xff", "sizes/big": strings.Repeat("x", 5000), "sizes/small": "x",
		})
		must(t, os.Symlink("old.txt", at("through")))
		cmd := w.plain("node", server(filesystem), w.work)
		if jailed {
			cmd = w.jail("--", "node", server(filesystem), w.work)
		}
		s := open(t, cmd, nil)
		tools, results = s.tools(), play(s, script)
		if status := s.close(); status != 0 {
			t.Errorf("exit status %d\nstderr: %s", status, &s.stderr)
		}
		return tools, results, snapshot(t, w.work)
	}
	tools, plain, plainFiles := perform(false)
	_, jailed, jailedFiles := perform(true)
	samePlay(t, script, plain, jailed)
	if !maps.Equal(plainFiles, jailedFiles) {
		t.Errorf("the directories differ\n plain  %q\n jailed %q", plainFiles, jailedFiles)
	}

	used := map[string]bool{}
	for i, c := range script {
		used[c.tool] = used[c.tool] || !jailed[i].IsError
	}
	if len(tools) != 14 {
		t.Errorf("the server has %d tools: %q", len(tools), tools)
	}
	for _, tool := range tools {
		if !used[tool] {
			t.Errorf("the tool %s never succeeded in the jail", tool)
		}
	}
}

// The server is told to allow everything: only the jail stands between it and
// the rest of the machine.
func TestRealFilesystemOutside(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	w.plant(t, w.base, map[string]string{"outside/o.txt": "out there", "work/in.txt": "in here"})
	argv := []string{"node", server(filesystem), "/"}
	key, outside := filepath.Join(w.home, ".ssh", "id_ed25519"), filepath.Join(w.base, "outside")

	s := open(t, w.plain(argv...), nil) // the control
	for _, file := range []string{key, filepath.Join(outside, "o.txt")} {
		if r := s.tool("read_text_file", map[string]any{"path": file}); r.IsError {
			t.Errorf("the server cannot read %s even outside of a jail: %s", file, r.texts())
		}
	}
	s.close()

	s = open(t, w.jail(append([]string{"--"}, argv...)...), nil)
	if r := s.tool("read_text_file", map[string]any{"path": filepath.Join(w.work, "in.txt")}); r.IsError || !strings.Contains(r.texts(), "in here") {
		t.Errorf("inside of the grant: %s", r.texts())
	}
	for _, c := range []step{
		{"read_text_file", map[string]any{"path": key}},
		{"read_text_file", map[string]any{"path": filepath.Join(outside, "o.txt")}},
		{"read_text_file", map[string]any{"path": filepath.Join(w.home, "notes.txt")}},
		{"list_directory", map[string]any{"path": filepath.Dir(key)}},
		{"list_directory", map[string]any{"path": outside}},
		{"get_file_info", map[string]any{"path": key}},
		{"write_file", map[string]any{"path": filepath.Join(outside, "o.txt"), "content": "overwritten"}},
		{"write_file", map[string]any{"path": filepath.Join(w.home, ".bashrc"), "content": "evil"}},
		{"create_directory", map[string]any{"path": filepath.Join(w.base, "planted")}},
		{"move_file", map[string]any{"source": filepath.Join(w.work, "in.txt"), "destination": filepath.Join(w.base, "out.txt")}},
		{"list_directory", map[string]any{"path": "/root"}},
	} {
		if r := s.tool(c.tool, c.arguments); !r.IsError {
			t.Errorf("%s %v succeeded: %s", c.tool, c.arguments, r.texts())
		}
	}
	// Names beside what is granted do not exist either.
	for dir, want := range map[string][]string{w.base: {"home", "work"}, w.home: {".local"}, filepath.Dir(w.base): {filepath.Base(w.base)}} {
		var names []string
		for line := range strings.Lines(s.tool("list_directory", map[string]any{"path": dir}).texts()) {
			if f := strings.Fields(line); len(f) == 2 {
				names = append(names, f[1])
			}
		}
		// The way to what is granted may be seen, or not be listed at all.
		if slices.Sort(names); len(names) > 0 && !slices.Equal(names, want) {
			t.Errorf("the server sees %q in %s, want %q", names, dir, want)
		}
	}
	s.close()
	if got := read(t, filepath.Join(outside, "o.txt")); got != "out there" {
		t.Errorf("a file outside was changed: %q", got)
	}
}

// The published escapes of server-filesystem 2025.3.28: CVE-2025-53110 compares
// paths by prefix, CVE-2025-53109 gives up its check of a link's target.
func TestRealFilesystemEscapes(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	for _, jailed := range []bool{false, true} {
		w := newWorld(t)
		w.plant(t, w.base, map[string]string{"work/in.txt": "in here", "work_secret/s.txt": "the content", "elsewhere/e.txt": "the content", "elsewhere/w.txt": ""})
		must(t, os.Symlink(filepath.Join(w.base, "elsewhere"), filepath.Join(w.work, "link")))
		must(t, os.Symlink(filepath.Join(w.base, "elsewhere", "e.txt"), filepath.Join(w.work, "e")))
		must(t, os.Symlink(filepath.Join(w.base, "elsewhere", "w.txt"), filepath.Join(w.work, "w")))
		argv := []string{"node", server(oldFiles), w.work}
		cmd := w.plain(argv...)
		if jailed {
			cmd = w.jail(append([]string{"--"}, argv...)...)
		}
		s := open(t, cmd, nil)
		if r := s.tool("read_file", map[string]any{"path": filepath.Join(w.work, "in.txt")}); r.IsError {
			t.Errorf("jailed %v: the server does not work: %s", jailed, r.texts())
		}
		for _, c := range []struct {
			name, tool, path string
			leaks            string
		}{
			{"prefix, read", "read_file", filepath.Join(w.base, "work_secret", "s.txt"), "the content"},
			{"prefix, list", "list_directory", filepath.Join(w.base, "work_secret"), "s.txt"},
			{"prefix, write", "write_file", filepath.Join(w.base, "work_secret", "new.txt"), ""},
			{"link, read", "read_file", filepath.Join(w.work, "e"), "the content"},
			{"link, write", "write_file", filepath.Join(w.work, "w"), ""},
		} {
			arguments := map[string]any{"path": c.path}
			if c.tool == "write_file" {
				arguments["content"] = "escaped"
			}
			r := s.tool(c.tool, arguments)
			got := r.texts()
			if c.tool == "write_file" {
				// What counts is what the host sees afterwards.
				b, _ := os.ReadFile(map[bool]string{true: filepath.Join(w.base, "elsewhere", "w.txt"), false: c.path}[strings.HasPrefix(c.name, "link")])
				got, c.leaks = string(b), "escaped"
			}
			if escaped := strings.Contains(got, c.leaks); escaped == jailed {
				t.Errorf("jailed %v: %s: escaped %v: %s", jailed, c.name, escaped, r.texts())
			}
		}
		s.close()
	}
}

func TestRealEverything(t *testing.T) {
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
	// Everything else of the protocol that an answer comes from.
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
	perform := func(t *testing.T, jailed bool) (hello string, results []toolResult, answers []string, progress []string, tools []string) {
		argv := []string{"node", server(everything)}
		cmd := w.plain(argv...)
		if jailed {
			cmd = w.jail(append([]string{"--"}, argv...)...)
		}
		s := start(t, cmd)
		hello = string(s.hello(nil))
		tools = s.tools()
		results = play(s, script)
		for _, r := range requests {
			m := s.call(r.method, r.params)
			answers = append(answers, timeless(string(m.Result)+string(m.Error)))
		}

		// Progress, while other calls are answered.
		long := s.request("tools/call", map[string]any{
			"name": "trigger-long-running-operation", "arguments": map[string]any{"duration": 1, "steps": 4},
			"_meta": map[string]any{"progressToken": "tok-1"},
		})
		if r := s.tool("echo", map[string]any{"message": "meanwhile"}); r.IsError {
			t.Error(r.texts())
		}
		select {
		case m := <-long:
			results = append(results, toolResult{raw: m.Result})
		case <-time.After(patience):
			t.Fatal("the long operation was not answered")
		}
		for _, m := range s.notes("notifications/progress", 4) {
			progress = append(progress, string(m.Params))
		}

		// Logging, as its level and the toggle ask for.
		s.tool("toggle-simulated-logging", nil)
		s.notes("notifications/message", 3) // two subscriptions, and one of the toggle's
		s.tool("toggle-simulated-logging", nil)

		// A task that goes on in the background.
		var task struct {
			Task struct{ TaskID, Status string }
		}
		must(t, json.Unmarshal(s.result("tools/call", map[string]any{
			"name": "simulate-research-query", "arguments": map[string]any{"topic": "jails"}, "task": map[string]any{"ttl": 60000},
		}), &task))
		research := s.result("tasks/result", map[string]any{"taskId": task.Task.TaskID})
		answers = append(answers, strings.ReplaceAll(string(research), task.Task.TaskID, "TASK"))

		env := s.tool("get-env", nil)
		if jailed {
			checkEnv(t, w, argv, env)
		} else if !strings.Contains(env.texts(), "hunter2") {
			t.Error("the control: the planted secret is in the environment of a plain server")
		}
		s.in.Close()
		if !jailed {
			return
		}
		// This server does not end by itself, so that it is told to: 128 + SIGTERM.
		if status := s.wait(); status != 0 && status != 143 {
			t.Errorf("exit status %d at the end of the input\nstderr: %s", status, &s.stderr)
		}
		return
	}
	type outcome struct {
		hello    string
		results  []toolResult
		answers  []string
		progress []string
		tools    []string
	}
	var plain, jailed outcome
	t.Run("both", func(t *testing.T) { // side by side: both wait for seconds
		t.Run("plain", func(t *testing.T) {
			t.Parallel()
			plain.hello, plain.results, plain.answers, plain.progress, plain.tools = perform(t, false)
		})
		t.Run("jailed", func(t *testing.T) {
			t.Parallel()
			jailed.hello, jailed.results, jailed.answers, jailed.progress, jailed.tools = perform(t, true)
		})
	})
	script = append(script, step{tool: "trigger-long-running-operation"})
	if len(plain.results) != len(script) || len(jailed.results) != len(script) {
		t.Fatal("a play has ended early")
	}
	samePlay(t, script, plain.results, jailed.results)
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

// checkEnv compares the environment of a server with what `plan` says it gets.
func checkEnv(t *testing.T, w *world, argv []string, r toolResult) {
	t.Helper()
	var got map[string]string
	must(t, json.Unmarshal([]byte(r.texts()), &got))
	var plan struct {
		Profile struct {
			Env []struct{ Name, Value string } `json:"env"`
		} `json:"profile"`
	}
	text := w.say(t, append([]string{"plan", "--format", "json", "--"}, argv...)...)
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

// Requests of a server pass to the client and answers back, with their ids. The
// two directions number independently.
func TestRealEverythingAsks(t *testing.T) {
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
		s.hello(capabilities)
		// It asks for the roots by itself; only then are they there to be listed.
		eventually(t, "roots/list", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.asked) > 0
		})
		s.notes("notifications/message", 1)
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
		for _, m := range s.asked {
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

var remember = map[string]any{"entities": []map[string]any{{"name": "jail", "entityType": "thing", "observations": []string{"it holds"}}}}

func TestRealMemory(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	w.env = append(w.env, "MEMORY_FILE_PATH="+filepath.Join(w.work, "m.jsonl"))
	for session := range 2 { // what the first remembers, the second knows
		s := open(t, w.jail("--env", "MEMORY_FILE_PATH", "--", "node", server(memory)), nil)
		if session == 0 {
			if r := s.tool("create_entities", remember); r.IsError {
				t.Errorf("create_entities: %s", r.texts())
			}
			if tools := s.tools(); len(tools) != 9 {
				t.Errorf("the server has %d tools: %q", len(tools), tools)
			}
		}
		if r := s.tool("search_nodes", map[string]any{"query": "hold"}); r.IsError || !strings.Contains(r.texts(), "it holds") {
			t.Errorf("session %d: search_nodes: %s", session, r.texts())
		}
		if status := s.close(); status != 0 {
			t.Errorf("exit status %d", status)
		}
	}
	if got := read(t, filepath.Join(w.work, "m.jsonl")); !strings.Contains(got, "it holds") {
		t.Errorf("the file holds %q", got)
	}
}

// Without MEMORY_FILE_PATH the server writes beside its own code. The failure
// says what to write into a configuration, and that works.
func TestRealMemoryDiagnosed(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	// A copy of the package: the grant at the end makes it writable.
	pkg := filepath.Join(w.base, "node_modules")
	if out, err := w.plain("cp", "-R", filepath.Join(os.Getenv("MCPJAIL_SERVERS"), "node_modules"), pkg).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	program := filepath.Join(pkg, memory, "dist", "index.js")
	dir := filepath.Dir(program)

	s := open(t, w.jail("--name", "memory", "--", "node", program), nil)
	r := s.tool("create_entities", remember)
	s.close()
	if !r.IsError || !strings.Contains(r.texts(), "[mcp-jail]") || !strings.Contains(r.texts(), dir) || r.Meta["dev.mcp-jail/denials"] == nil {
		t.Fatalf("the failure does not explain itself: %s", r.raw)
	}
	if _, err := os.Stat(filepath.Join(dir, "memory.jsonl")); err == nil {
		t.Fatal("it wrote beside its own code")
	}
	grant := lastGrant(t, w, "memory")
	config := filepath.Join(w.base, "c.toml")
	head := "version = 1\n[servers.memory]\ncommand = \"node\"\narguments = [" + strconv.Quote(program) + "]\n"
	must(t, os.WriteFile(config, []byte(head+grant), 0o644))
	s = open(t, w.jail("--config", config, "memory"), nil)
	if r := s.tool("create_entities", remember); r.IsError {
		t.Fatalf("with\n%s\nit still fails: %s\nstderr: %s", head+grant, r.texts(), &s.stderr)
	}
	s.close()
	if got := read(t, filepath.Join(dir, "memory.jsonl")); !strings.Contains(got, "it holds") {
		t.Errorf("the file holds %q", got)
	}
}

// lastGrant is the lines that `why` has for the last failure of a server.
func lastGrant(t *testing.T, w *world, server string) string {
	t.Helper()
	var record struct {
		Diagnoses []struct{ Grant []string }
	}
	text := w.say(t, "why", "--format", "json", server)
	must(t, json.Unmarshal([]byte(text), &record))
	if n := len(record.Diagnoses); n == 0 || len(record.Diagnoses[n-1].Grant) == 0 {
		t.Fatalf("no line that would grant it: %s", text)
	}
	return strings.Join(record.Diagnoses[len(record.Diagnoses)-1].Grant, "\n") + "\n"
}

func TestRealThinking(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	var script []step
	for i := range 3 {
		script = append(script, step{"sequentialthinking", map[string]any{
			"thought": "thought " + strconv.Itoa(i), "nextThoughtNeeded": i < 2, "thoughtNumber": i + 1, "totalThoughts": 3,
		}})
	}
	s := open(t, w.plain("node", server(thinking)), nil)
	plain := play(s, script)
	s.close()
	s = open(t, w.jail("--", "node", server(thinking)), nil)
	samePlay(t, script, plain, play(s, script))
	if status := s.close(); status != 0 {
		t.Errorf("exit status %d", status)
	}
	if !regexp.MustCompile(`thought 2`).MatchString(s.stderr.String()) {
		t.Errorf("its stderr did not pass: %q", &s.stderr)
	}
	if files := snapshot(t, w.work); len(files) != 1 {
		t.Errorf("the session left something in the workspace: %q", files)
	}
}

// Workspaces in /tmp are granted although the jail has a /tmp of its own.
func TestRealTmpWorkspace(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorldIn(t, "/tmp")
	w.plant(t, w.work, map[string]string{"in.txt": "in here"})
	s := open(t, w.jail("--", "node", server(filesystem), w.work, "/tmp"), nil)
	if r := s.tool("read_text_file", map[string]any{"path": filepath.Join(w.work, "in.txt")}); r.IsError || !strings.Contains(r.texts(), "in here") {
		t.Errorf("read: %s", r.texts())
	}
	if r := s.tool("write_file", map[string]any{"path": filepath.Join(w.work, "new.txt"), "content": "new"}); r.IsError {
		t.Errorf("write: %s", r.texts())
	}
	private := filepath.Join("/tmp", filepath.Base(w.base)+"-private")
	if r := s.tool("write_file", map[string]any{"path": private, "content": "x"}); r.IsError {
		t.Errorf("write to the private /tmp: %s", r.texts())
	}
	if got := s.tool("list_directory", map[string]any{"path": "/tmp"}).texts(); len(strings.Fields(got)) != 4 {
		t.Errorf("the server sees the host's /tmp: %s", got)
	}
	s.close()
	if got := read(t, filepath.Join(w.work, "new.txt")); got != "new" {
		t.Errorf("the host sees %q", got)
	}
	if _, err := os.Lstat(private); err == nil {
		t.Error("the private /tmp is the host's")
	}
}
