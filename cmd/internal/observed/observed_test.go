package observed

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func testHost(t *testing.T) hostfs.Host {
	t.Helper()
	return hostfs.Host{StateDir: filepath.Join(t.TempDir(), "state")}
}

func read1(target string) policy.Observation {
	return policy.Observation{Axis: policy.AxisFs, Operation: "read", Target: target, Count: 1}
}

// TestWriter tests that observations come back, each once for a tool, with the tool that was called.
func TestWriter(t *testing.T) {
	host := testHost(t)
	if all, err := Sessions(host, "s"); len(all) > 0 || err != nil {
		t.Errorf("before the first session: %v, %v", all, err)
	}
	w, err := Create(host, "s", Head{Learns: true, Hosts: []string{"h"}})
	if err != nil {
		t.Fatal(err)
	}
	p := w.Process()
	p.Observe(read1("/a"))
	p.Observe(read1("/a"))
	p.CallBegins("t")
	p.Observe(read1("/a"))
	p.Observe(read1("/b\n\xff"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p.Observe(read1("/late"))
	s, ok := OfProcess(host, "s", os.Getpid())
	if !ok || !s.Learns || len(s.Hosts) != 1 || len(s.Observations) != 3 {
		t.Fatalf("%t, %+v", ok, s)
	}
	if o := s.Observations; o[0].Tool != "" || o[1].Tool != "t" || o[1].Target != "/a" {
		t.Errorf("%+v", o)
	}
	if _, ok := OfProcess(host, "s", 1); ok {
		t.Error("another process has a session")
	}
}

// TestFlood tests that a file does not grow for ever, and says how much it leaves out.
func TestFlood(t *testing.T) {
	host := testHost(t)
	w, err := Create(host, "s", Head{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxKinds + 7 {
		w.Process().Observe(read1(fmt.Sprint("/", i)))
	}
	w.Close()
	if s, _ := OfProcess(host, "s", os.Getpid()); len(s.Observations) != maxKinds || s.Left != 7 {
		t.Errorf("%d, left out %d", len(s.Observations), s.Left)
	}
}

// TestKilled tests a session that was killed while it wrote, and files of others.
func TestKilled(t *testing.T) {
	host := testHost(t)
	w, err := Create(host, "s", Head{})
	if err != nil {
		t.Fatal(err)
	}
	w.Process().Observe(read1("/a"))
	w.Close()
	dir := filepath.Join(host.StateDir, below("s"))
	names, _ := os.ReadDir(dir)
	file := filepath.Join(dir, names[0].Name())
	b, _ := os.ReadFile(file)
	for name, text := range map[string]string{names[0].Name(): string(b) + `{"axis":"fs","op`, "x.jsonl": "", "y.jsonl": "{}", "z.jsonl": "[1]"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := Sessions(host, "s"); err != nil || len(all) != 1 || len(all[0].Observations) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestExpire tests that the oldest sessions go.
func TestExpire(t *testing.T) {
	host := testHost(t)
	for range maxSessions + 3 {
		w, err := Create(host, "s", Head{})
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
	}
	if all, _ := Sessions(host, "s"); len(all) != maxSessions {
		t.Errorf("%d sessions", len(all))
	}
}

// TestProcesses tests that what a process does before its call belongs to no tool, also while and after another
// process has one: of a server with a process for each call.
func TestProcesses(t *testing.T) {
	host := testHost(t)
	w, err := Create(host, "s", Head{})
	if err != nil {
		t.Fatal(err)
	}
	a, b := w.Process(), w.Process()
	a.CallBegins("a")
	a.Observe(read1("/of a"))
	b.Observe(read1("/start of b"))
	b.CallBegins("b")
	b.Observe(read1("/of b"))
	a.Observe(read1("/late of a"))
	w.Close()
	want := map[string]string{"/of a": "a", "/start of b": "", "/of b": "b", "/late of a": "a"}
	s, _ := OfProcess(host, "s", os.Getpid())
	for _, o := range s.Observations {
		if tool, ok := want[o.Target]; !ok || tool != o.Tool {
			t.Errorf("%s belongs to %q, want %q", o.Target, o.Tool, tool)
		}
	}
	if len(s.Observations) != len(want) {
		t.Errorf("%+v", s.Observations)
	}
}
