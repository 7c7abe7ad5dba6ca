//go:build linux

package main

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	fixture "github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestClientsWrapped wraps the servers in the files of real clients, and lets the clients'
// own commands start them. Before, the servers are connected without mcp-jail. Then they are
// connected in their jails, and after mcp-jail unwrap without. TestWrapAndUnwrap tests what is in the files.
//
// The servers are shelf, a program that needs a directory and a variable, and index, which
// npx fetches. The other entries are switched off, wait for an approval or have a URL.
func TestClientsWrapped(t *testing.T) {
	if !testkit.Long() { // else it would be beside so much that the heavier clients seldom connect in their time
		t.Parallel()
	}
	for _, c := range realClients {
		if !c.due() {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.testWrapped(t) }) // one at a time: some wait for 10 s only
	}
}

func (c realClient) testWrapped(t *testing.T) {
	c.need(t)
	w, _ := newShop(t, fixture.Stock{Packages: []fixture.Package{fixture.MCPServer{Name: "index-of-books"}.Package()}})
	c.plant(t, w)
	if out, err := w.plain("npx", "-y", "index-of-books").CombinedOutput(); err != nil { // the client waits for a shorter time
		t.Fatalf("the server that npx fetches: %v: %s", err, out)
	}

	c.connects(t, w, "without mcp-jail", false)
	if kept := keptBy(t, w); len(kept) > 0 {
		t.Errorf("mcp-jail has records of servers that it did not start: %v", kept)
	}
	w.output(t, "wrap", "--yes")
	if got := c.status(t, w, true); len(got) > 0 {
		t.Errorf("mcp-jail knows of sessions that were not: %v", got)
	}

	c.connects(t, w, "wrapped", true)
	if got := c.status(t, w, true); !slices.Equal(got, c.servers()) {
		t.Errorf("mcp-jail status: the servers that were used are %q, want %q", got, c.servers())
	}
	c.testRecords(t, keptBy(t, w))

	w.output(t, "unwrap", "--yes")
	c.status(t, w, false)
	c.connects(t, w, "unwrapped", false)
}

// plant writes the files of the client into the world.
func (c realClient) plant(t *testing.T, w *world) {
	t.Helper()
	shelf, books := w.fixture(t, "shelf.mjs"), filepath.Join(w.base, "books")
	w.plant(t, books, map[string]string{"one.txt": "the first", "two.txt": "the second"})
	archive, err := txtar.ParseFile(filepath.Join("testdata", "clients", c.name+".txtar"))
	must(t, err)
	for _, f := range archive.Files {
		text := strings.NewReplacer("SHELF_", "SHELF_", "SHELF", shelf, "BOOKS", books, "WORK", w.work).Replace(string(f.Data))
		if c.crlf {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		w.plant(t, w.base, map[string]string{f.Name: text})
	}
}

// connects tests that the client's command says that exactly its servers are connected. The
// command is repeated if one is not: on a busy machine some clients wait for too short a time.
func (c realClient) connects(t *testing.T, w *world, when string, jailed bool) {
	t.Helper()
	var out string
	var got map[string]string
	for begin, tries := time.Now(), 0; tries < 6 || time.Since(begin) < testkit.Patience; tries++ {
		out = c.run(t, w)
		if got = c.connected(out); slices.Equal(slices.Sorted(maps.Keys(got)), c.servers()) {
			break
		}
		got = nil
	}
	if got == nil {
		t.Fatalf("%s: the client's servers are not connected, want %q\n%s", when, c.servers(), out)
	}
	for name, line := range got {
		if through := strings.Contains(line, "/mcp-jail run --id "); line != "" && through != jailed {
			t.Errorf("%s: the client starts %s with %s", when, name, line)
		}
	}
}

// servers returns the names of the servers that the client starts.
func (c realClient) servers() []string {
	return slices.Sorted(slices.Values(append([]string{"shelf", "index"}, c.more...)))
}

// status returns the names of the servers that mcp-jail status says were used. It tests that
// all that the client starts are wrapped, or none.
func (c realClient) status(t *testing.T, w *world, wrapped bool) (used []string) {
	t.Helper()
	var status struct {
		Servers []struct {
			Called, Client, Jail, Why, Version string
			LastUsed                           string         `json:"last_used"`
			LastFailure                        map[string]any `json:"last_failure"`
		}
	}
	must(t, json.Unmarshal([]byte(w.output(t, "status", "--format", "json")), &status))
	known := map[string]bool{}
	for _, s := range status.Servers {
		known[s.Called] = true
		starts := slices.Contains(c.servers(), s.Called)
		if starts && ((s.Jail == "yes") != wrapped || s.LastFailure != nil && !c.kills || s.Why != "") || s.Client != c.name {
			t.Errorf("status: %+v, want wrapped %v", s, wrapped)
		}
		if s.Called == "index" && wrapped && s.Version == "" {
			t.Errorf("status: index is not pinned")
		}
		if s.LastUsed != "" {
			used = append(used, s.Called)
		}
	}
	for _, name := range c.servers() {
		if !known[name] {
			t.Errorf("status does not know %s", name)
		}
	}
	slices.Sort(used)
	return used
}

// storedServer is what mcp-jail stores of a server, as in mcp-jail status --all --format json.
type storedServer struct {
	Client struct{ Name, Version string } `json:"last_client"`
	Stored *struct{ Key string }
}

// keptBy returns the servers of which something is stored.
func keptBy(t *testing.T, w *world) []storedServer {
	t.Helper()
	var list struct{ Servers []storedServer }
	must(t, json.Unmarshal([]byte(w.output(t, "status", "--all", "--format", "json")), &list))
	return slices.DeleteFunc(list.Servers, func(s storedServer) bool { return s.Stored == nil })
}

// testRecords tests that mcp-jail recorded a session of this client with each server.
func (c realClient) testRecords(t *testing.T, kept []storedServer) {
	t.Helper()
	var names []string
	for _, k := range kept {
		names = append(names, k.Stored.Key)
		if k.Client.Name == "" || c.greets != "" && k.Client.Name != c.greets {
			t.Errorf("the client of %s is %q, want %q", k.Stored.Key, k.Client.Name, c.greets)
		}
	}
	var want []string
	for _, name := range c.servers() {
		want = append(want, records.FileName(name))
	}
	for i, name := range names {
		if at := strings.LastIndexByte(name, '-'); records.IsID(name) || at > 0 && slices.Contains(want, name[:at]) {
			names[i] = name[:at]
		}
	}
	slices.Sort(want)
	slices.Sort(names)
	if names = slices.Compact(names); !slices.Equal(names, want) {
		t.Errorf("mcp-jail status --all has %q, want %q", names, want)
	}
}
