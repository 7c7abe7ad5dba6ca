//go:build darwin || linux

package selftest

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
)

// operation is what Seatbelt decides about in an attempt.
type operation struct{ name, path, vnode string }

// operations are those of an attempt, of which each must be allowed. Package seatbelt's facts say
// where they come from.
func operations(p Probe, n names) []operation {
	args := n.all(p.Args)
	exists := func(s string) bool {
		return slices.ContainsFunc(objects, func(o string) bool { return strings.TrimRight(n.in(o), "/!") == s })
	}
	vnode := func(s string) string {
		switch {
		case p.Do == "movenew" || slices.ContainsFunc(objects, func(o string) bool { return n.in(o) == s+"/" }):
			return "DIRECTORY"
		case slices.ContainsFunc(objects, func(o string) bool { return strings.HasPrefix(n.in(o), s+">") }):
			return "SYMLINK"
		}
		return "REGULAR-FILE"
	}
	if len(args) > 0 && strings.HasSuffix(args[0], "/link") {
		args[0] = n.in("{t}/u/file") // a path is judged where it leads
	}
	one := func(name string) []operation { return []operation{{name, args[0], ""}} }
	switch p.Do {
	case "read", "list":
		return one("file-read-data")
	case "stat", "readlink", "getcwd":
		return one("file-read-metadata")
	case "write", "append", "truncate":
		return one("file-write-data")
	case "create":
		return []operation{{"file-write-create", args[0], "REGULAR-FILE"}}
	case "mkdir":
		return []operation{{"file-write-create", args[0], "DIRECTORY"}}
	case "unlink", "rmdir":
		return one("file-write-unlink")
	case "chmod":
		return one("file-write-mode")
	case "setuid":
		return one("file-write-setugid")
	case "utimes":
		return one("file-write-times")
	case "setxattr":
		return one("file-write-xattr")
	case "chflags":
		return one("file-write-flags")
	case "link":
		return one("file-link")
	case "clone":
		return append(one("file-clone"), operation{"file-read-data", args[0], ""})
	case "map":
		return one("file-map-executable")
	case "exec":
		return one("process-exec*")
	case "symlink":
		return []operation{{"file-write-create", args[1], "SYMLINK"}}
	case "swap":
		return []operation{{"file-write-unlink", args[0], ""}, {"file-write-create", args[1], vnode(args[0])}, {"file-write-unlink", args[1], ""}, {"file-write-create", args[0], vnode(args[1])}}
	case "rename", "movenew":
		ops := []operation{{"file-write-unlink", args[0], ""}, {"file-write-create", args[1], vnode(args[0])}}
		if exists(args[1]) {
			ops = append(ops, operation{"file-write-unlink", args[1], ""})
		}
		return ops
	case "unix":
		return one("network-outbound")
	case "bindunix":
		return one("network-bind")
	}
	return nil
}

func TestNames(t *testing.T) {
	n := names{"a": "{b}", "b": "x"}
	for text, want := range map[string]string{"": "", "{a}/{b}": "{b}/x", "{c}{b": "{c}{b", `{"{b}"}`: `{"x"}`} {
		if got := n.in(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestTableAgainstTexts reads the texts that the generator makes of the table's own profile, and asks
// the evaluator for what each probe about a path wants. So a Mac is asked what the texts say, and a
// failure there is one of the system.
func TestTableAgainstTexts(t *testing.T) {
	n := treeNames("/Users/me/.cache/mcp-jail/selftest/0-0/i", "/private/tmp/mj-501-abcdefgh/0-0i")
	asked, denials := 0, 0
	for _, form := range []seatbelt.Form{seatbelt.Conditional, seatbelt.Layered} {
		tr := trial{runner: &runner{self: "/opt/mcp-jail"}, hosts: &hosts{proxy: 40000}, inside: n, form: form}
		for _, g := range []Group{Plain, Hosts, Programs} {
			text, err := seatbelt.Compile(tr.input(g))
			if err != nil {
				t.Fatal(err)
			}
			if len(text.Profile) > 150_000 {
				t.Errorf("form %d, %s: the text has %d bytes", form, g, len(text.Profile))
			}
			rules, err := seatbelttest.Read(text.Profile, text.Params)
			if err != nil {
				t.Fatal(err)
			}
			for _, test := range Table() {
				for _, p := range test.Probes {
					if p.Group != g || p.When == Folds || len(p.Args) == 0 || strings.HasPrefix(p.Args[0], "{alias}") {
						continue
					}
					ops := operations(p, n)
					if ops == nil {
						continue
					}
					asked++
					allowed := !slices.ContainsFunc(ops, func(o operation) bool { return !seatbelttest.Allowed(rules, o.name, o.path, o.vnode) })
					want := p.Want == p.Control
					if !want {
						denials++
					}
					if p.Do == "exec" && strings.HasPrefix(p.Args[0], "/usr/bin/security") {
						continue // it may be executed: what it asks for is refused
					}
					if allowed != want && !test.Info {
						t.Errorf("form %d, %s %s: allowed is %v", form, test.ID, p.says(), allowed)
					}
				}
			}
		}
	}
	if asked < 150 || denials < 90 {
		t.Errorf("only %d probes were asked, %d of them denials", asked, denials)
	}
}

// TestTable tests that the table is as the runner needs it.
func TestTable(t *testing.T) {
	n := treeNames("/t", "/s")
	for _, key := range []string{"tcp4", "tcp6", "udp4", "own", "proxy4", "proxy6", "proxyname", "launcher"} {
		n[key] = key
	}
	seen := map[string]bool{}
	for _, test := range Table() {
		if seen[test.ID] || test.What == "" || len(test.Probes) == 0 || len(test.Probes) > 26 || test.Axis == "" && !test.Info {
			t.Errorf("%s: %+v", test.ID, test)
		}
		seen[test.ID] = true
		for _, p := range test.Probes {
			if p.Group == "" || p.Want == "" || p.Control == "" || strings.ContainsAny(strings.Join(n.all(p.Args), ""), "{}") {
				t.Errorf("%s: %+v", test.ID, p)
			}
		}
	}
	if len(n.in("{long}/w/new")) < 980 || len(n.in("{long}/w/new")) > 1020 {
		t.Errorf("the long path has %d bytes", len(n.in("{long}/w/new")))
	}
}

func BenchmarkCached(b *testing.B) {
	dir, n := b.TempDir(), 0
	if _, err := Prove(b.Context(), dir, pass(&n)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if !Cached(dir).Proof.Made {
			b.Fatal("no result")
		}
	}
}
