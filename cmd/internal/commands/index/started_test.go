//go:build unix

package index

import (
	"os"
	"slices"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// TestMayChange: what other servers are started from that a server may write, by its policy or as its starts noted.
func TestMayChange(t *testing.T) {
	server := func(name, line, rules string) string {
		return "version = 1\n[servers." + name + "]\nid = \"" + name + "-4k7q2m9x3vt5\"\n" + line + "\naccess.workspace = \"none\"\n" + rules
	}
	rule := func(name, path, rights string) string {
		return "[[servers." + name + ".access.fs]]\npath = \"" + path + "\"\n" + rights + "\n"
	}
	const write, sh = "read = true\nwrite = true", "command = \"sh\""
	dir := plantHome(t, map[string]string{
		"home/b/n.sh": "", "home/b/package.json": "{}", "home/c/m.sh": "", "home/own/x.sh": "", "home/noted/y.sh": "", "home/d/k.sh": "", "home/e/l.sh": "",
		serversAt + "vault.toml":  server("vault", "command = \"sh\"\narguments = [\"~/b/n.sh\"]\ndirectory = \"~/b\"", ""),
		serversAt + "there.toml":  server("there", "command = \"sh\"\narguments = [\"m.sh\"]\ndirectory = \"~/c\"", ""),
		serversAt + "writes.toml": server("writes", sh, rule("writes", "~/b", write)+rule("writes", "~/c", write)),
		serversAt + "denied.toml": server("denied", sh, rule("denied", "~/b", write)+rule("denied", "~/b/n.sh", "deny = \"write\"")),
		serversAt + "beside.toml": server("beside", sh, rule("beside", "~/b/package.json", write)+rule("beside", "~/c", "read = true")),
		serversAt + "works.toml":  server("works", "command = \"sh\"\narguments = [\"k.sh\"]\ndirectory = \"workspace\"\nworkspace = \"~/d\"", ""),
		serversAt + "spaces.toml": server("spaces", sh, rule("spaces", "~/d", write)+rule("spaces", "~/e", write)),
		serversAt + "own.toml":    server("own", "command = \"sh\"\narguments = [\"~/own/x.sh\"]", rule("own", "~/own", write)),
		"home/.config/mcp-jail/config.toml": "version = 1\n[servers.table]\ncommand = \"sh\"\n" + rule("table", "~/own/x.sh", write) +
			"[servers.plain]\ncommand = \"sh\"\narguments = [\"HOME/c/m.sh\"]\n" +
			"[servers.placed]\ncommand = \"sh\"\narguments = [\"l.sh\"]\nworkspace = \"~/e\"\n",
	})
	x := readAs(t, dir+"/bin/mcp-jail")
	started := policy.Started{Key: "gone", Name: "gone", Program: "/bin/sh", Parts: []policy.Part{{Path: dir + "/home/noted/y.sh"}}}
	rules := []policy.WriterRules{{Name: "hand", Rules: map[string]policy.WriteGrant{dir + "/home/noted": {Rights: policy.Write, Rule: "--write"}}}}
	hand := policy.Started{Key: "hand-01234567", Name: "hand", Program: "/bin/sh"}
	testkit.Must(t, records.NoteWrites(x.Host, "gone", "", false, nil, &started), records.NoteWrites(x.Host, "hand-01234567", "", false, rules, &hand))
	for key, want := range map[string][]string{
		"writes-4k7q2m9x3vt5": {"plain /c/m.sh", "there /c/m.sh", "vault /b/n.sh"}, "denied-4k7q2m9x3vt5": nil, "beside-4k7q2m9x3vt5": nil,
		"spaces-4k7q2m9x3vt5": {"placed /e/l.sh", "works /d/k.sh"},
		"own-4k7q2m9x3vt5":    nil, "vault-4k7q2m9x3vt5": nil, "table": {"own /own/x.sh"}, "hand-01234567": {"gone /noted/y.sh"},
	} {
		s := x.joined[key]
		if s == nil {
			s = &Server{Key: key}
		}
		var got []string
		for _, r := range x.MayChange(s) {
			got = append(got, r.Names[0]+" "+r.Names[1][len(dir+"/home"):])
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

// TestNotesUnread: where the notes of starts cannot be read, no write is taken for one that changes no other server.
func TestNotesUnread(t *testing.T) {
	dir := plantHome(t, nil)
	x := readAs(t, dir+"/bin/mcp-jail")
	of := &session.Target{Host: x.Host, Policy: &policy.Policy{Server: "s"}}
	for unread, want := range map[bool]policy.ReasonKind{false: "", true: policy.WhyWouldNotStart} {
		if unread {
			testkit.PlantBelow(t, x.Host.StateDir, "writes/")
			testkit.WriteFile(t, x.Host.StateDir+"/writes/all.json", "not JSON")
		} else {
			testkit.Must(t, os.RemoveAll(x.Host.StateDir+"/writes"))
		}
		x.started = nil
		for from, others := range map[string][]policy.Started{"the index": x.Others("s"), "a session": of.Others()} {
			var got policy.ReasonKind
			for _, r := range resolve.ReasonsOfStarted(&x.Host, dir+"/home/a", others) {
				got = r.Kind
			}
			if got != want {
				t.Errorf("%s, unread %t: %q, want %q", from, unread, got, want)
			}
		}
	}
}
