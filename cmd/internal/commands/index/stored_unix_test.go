//go:build unix

package index

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/diagnostics"
)

const day = 24 * time.Hour

// TestLook tests what is known of servers: one that ran, one that ran from a package, one that
// is installed only, one that runs.
func TestLook(t *testing.T) {
	u := newUser(t)
	if got := u.names(); got != "" {
		t.Errorf("of a new user: %s", got)
	}
	e := u.installs("@a/mem@latest", "@a/mem", "1.2.3")
	u.installs("other@latest", "other", "2.0.0")
	u.installs("", "@a/mem", "1.0.0")
	u.runs("plain", 3*day, nil)
	u.runs("mem", 40*day, e)
	failed, err := diagnostics.Record{Server: "mem", Time: time.Now().Add(-41 * day), Diagnoses: []diagnostics.Diagnosis{{What: "it failed\nbadly"}}}.Encode()
	must(t, err)
	u.plant(filepath.Join(records.Path(u.host, "mem"), "failed.json"), string(failed))
	u.ages("mem", 40*day)
	running := records.New(u.host, "busy")
	running.MarkStart()

	all := u.look()
	var got []string
	for _, s := range all.Servers {
		got = append(got, s.Name)
	}
	if want := []string{"busy", "other", "plain", "mem"}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	mem := all.Servers[3]
	if len(mem.Pins) != 1 || mem.Pins[0].Spec != e.Spec || len(mem.Trees) != 1 || mem.PackageBytes() != int64(len("@a/mem 1.2.3")) || mem.HomeBytes() != 5 || mem.Records == 0 {
		t.Errorf("mem: %+v", mem)
	}
	if mem.Asked != "@a/mem@latest" || all.Servers[2].Asked != "" {
		t.Errorf("asked for: %q and %q", mem.Asked, all.Servers[2].Asked)
	}
	if mem.Failure == nil || mem.Failure.What != "it failed" || mem.Running || time.Since(mem.Used).Round(day) != 40*day {
		t.Errorf("mem: %+v, used %s", mem.Failure, mem.Used)
	}
	if !all.Servers[0].Running || all.Servers[2].Pins != nil || len(all.Servers[1].Trees) != 1 {
		t.Errorf("%+v", all.Servers)
	}
	if len(all.Unpinned) != 1 || all.Unpinned[0].ID.Version != "1.0.0" || len(all.Trees()) != 3 {
		t.Errorf("unpinned: %v", all.Unpinned)
	}
}

// TestFailurePast tests that a failure is the server's last only until a later session begins.
func TestFailurePast(t *testing.T) {
	u := newUser(t)
	failed := []diagnostics.Diagnosis{{What: "it failed"}}
	session := func(diagnoses []diagnostics.Diagnosis) *records.Recorder {
		k := records.New(u.host, "srv")
		k.MarkStart()
		if diagnoses != nil {
			k.Save(diagnostics.Record{Server: "srv", Time: time.Now(), Diagnoses: diagnoses})
			must(t, k.LastError())
		}
		return k
	}
	is := func(when string, now bool) {
		t.Helper()
		s := u.server(u.look(), "srv")
		if s.Failure == nil || s.Failure.What != "it failed" || s.Failure.Past == now {
			t.Errorf("%s: %+v", when, s.Failure)
		}
	}
	session(failed)
	is("the only session failed", true)
	u.ages("srv", time.Hour)
	later := session(nil)
	is("a later session runs", false)
	later.Save(diagnostics.Record{Server: "srv", Time: time.Now()})
	is("a later session ended well", false)
	session(failed)
	is("the session after it failed", true)
	earlier := time.Now().Add(-2 * time.Hour)
	records.New(u.host, "srv").Save(diagnostics.Record{Server: "srv", Time: earlier})
	is("a session ended well that began before the one that failed", true)
}

// TestConfiguredPin tests that a pin belongs to the configured server that uses it, and that a
// configuration that cannot be read is told.
func TestConfiguredPin(t *testing.T) {
	u := newUser(t)
	u.installs("@a/mem@latest", "@a/mem", "1.2.3")
	file := filepath.Join(u.host.ConfigDir, "config.toml")
	u.plant(file, "version = 1\n[servers.memory]\ncommand = \"npx\"\narguments = [\"-y\", \"@a/mem\"]\n")
	if got := u.names(); got != "memory pin @a/mem@latest @a/mem@1.2.3" {
		t.Errorf("%s", got)
	}
	must(t, os.WriteFile(file, []byte("nonsense"), 0o600))
	all := u.look()
	if all.ConfigErr == nil {
		t.Error("nothing is wrong with the configuration")
	}
	if _, err := all.Removal(all.Servers); err == nil || !strings.Contains(err.Error(), "configuration cannot be read") {
		t.Errorf("removed: %v", err)
	}
}

// TestLine tests the launcher's line of a pin: that of the last session, or the shortest one.
func TestLine(t *testing.T) {
	u := newUser(t)
	e := u.installs("@a/mem@latest", "@a/mem", "1.2.3")
	u.installs("@a/mem@1.0.0", "@a/mem", "1.0.0")
	u.installs("other@latest, more@latest", "other", "2.0.0")
	u.installs("solo@latest", "solo", "1.0.0")
	u.runs("mem-1", 0, e)
	all, err := KnownStored(u.host)
	must(t, err)
	var got []string
	for _, s := range all.Servers {
		for _, e := range s.Pins {
			got = append(got, e.Spec+": "+strings.Join(all.Line(s, e), " "))
		}
	}
	slices.Sort(got)
	want := []string{
		"@a/mem@1.0.0: npx -y @a/mem@1.0.0", "@a/mem@latest: npx -y @a/mem@latest",
		"other@latest, more@latest: ", "solo@latest: npx -y solo",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
