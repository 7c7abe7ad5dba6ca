//go:build linux

package main

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

// TestServerEnvironment tests that a real server has exactly the environment that plan shows.
func TestServerEnvironment(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w := newWorld(t)
	argv := []string{"node", server(everything)}
	s := open(t, w.plain(argv...), nil)
	if env := s.tool("get-env", nil); !strings.Contains(env.texts(), "hunter2") {
		t.Error("the control: the planted secret is in the environment of a plain server")
	}
	s.in.Close()
	s = open(t, w.jail(append([]string{"--"}, argv...)...), nil)
	r := s.tool("get-env", nil)
	s.in.Close()
	// This server may ignore the end of its input. Then mcp-jail sends SIGTERM.
	if status := s.wait(); status != 0 && status != 143 {
		t.Errorf("exit status %d at the end of the input\nstderr: %s", status, &s.stderr)
	}
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
