package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// lonelyFiles are files whose directories the server has no copy of: none of it, a part, or all of it for real.
var lonelyFiles = []string{"/alone", "/bin/tool", "/data/d"}

// lonelyProfile gives the server copies of lonelyFiles.
func lonelyProfile(t testing.TB, u string) *policy.Profile {
	t.Helper()
	p := jailtest.Profile(t, jailtest.Grant{Path: u + "/alone", Rights: r | policy.Update}, jailtest.Grant{Path: u + "/bin", Rights: r | x}, jailtest.Grant{Path: u + "/bin/tool", Rights: r | x | policy.Update},
		jailtest.Grant{Path: u + "/data", Rights: rw}, jailtest.Grant{Path: u + "/data/d", Rights: r | x | policy.Update})
	for i := range p.Entries {
		p.Entries[i].Ephemeral = slices.Contains(lonelyFiles, strings.TrimPrefix(p.Entries[i].Path, u))
	}
	return p
}

// withoutCopies returns a profile whose grants are for real.
func withoutCopies(p *policy.Profile) *policy.Profile {
	real := *p
	real.Entries = slices.Clone(p.Entries)
	for i := range real.Entries {
		real.Entries[i].Ephemeral = false
	}
	return &real
}

// TestCopiedFile: a server that may write to one file, and to no copy of the directory around it, writes to a
// copy of that file. All that it tries has the outcome that it has with the file itself.
func TestCopiedFile(t *testing.T) {
	jailtest.Needs(t)
	texts := []string{"stat F", "read F", "rewrite F", "read F", "append F", "truncate F", "chmod F", "utimes F", "unlink F", "rename F F.new", "rename F.new F", "link F F.hard", "create F.new", "rename F.new F", "exchange F.new F", "mkdir F", "symlink F", "setxattr F trusted.overlay.opaque", "exec /usr/bin/stat -c %a,%s,%Y F", "bind F /tmp", "umount F"}
	modes := map[string]os.FileMode{"/alone": 0o640, "/bin/tool": 0o755, "/data/d": 0o604}
	for _, file := range lonelyFiles {
		u := plantUser(t)
		if err := errors.Join(os.Chmod(u+file, modes[file]), os.Chtimes(u+file, time.Unix(1e9, 0), time.Unix(1e9, 0))); err != nil {
			t.Fatal(err)
		}
		var attempts []attacker.Attempt
		for _, text := range texts {
			attempts = append(attempts, strings.Fields(strings.ReplaceAll(text, "F", u+file)))
		}
		p := lonelyProfile(t, u)
		host := everything(t, u+file)
		s := jailtest.BeginBy(t, confine.Launcher{}, p, attempts...)
		s.Finish()
		copied, notes := s.Out.String(), readOnlyNotes(s.Plan(), u)
		if now := everything(t, u+file); now != host || notes != nil {
			t.Errorf("%s: %q, and the host's file has changed:\n%s\nto\n%s", file, notes, host, now)
		}
		if file == "/data/d" { // only its directory is real, in which the attempts made a name
			os.Remove(u + file + ".new")
		}
		// The control: the file itself.
		if real := fmt.Sprint(jailtest.Attempts(t, withoutCopies(p), attempts...)); real != strings.NewReplacer(`","`, " ", `"`, "").Replace(strings.TrimSpace(copied)) {
			t.Errorf("%s: %s, and with the file itself %s", file, copied, real)
		}
		if now := everything(t, u+file); now == host {
			t.Errorf("%s: what is written without copies is nowhere", file)
		}
	}
}

// TestCopiedFileAtAnyMoment: SIGKILL to a server that writes to copies of files leaves the files as they were.
func TestCopiedFileAtAnyMoment(t *testing.T) {
	jailtest.Needs(t)
	u := plantUser(t)
	p := lonelyProfile(t, u)
	p.Program, p.Argv = "/usr/bin/sh", []string{"sh", "-c", `cd "$1"; while :; do for f in alone bin/tool data/d; do echo more >> $f; chmod 700 $f; touch -d 2001-01-01 $f; : > $f; mv $f $f.x; rm $f; done; done 2>/dev/null`, "sh", u}
	host := everything(t, u)
	for i := range jailtest.Rounds(5, 60) {
		process, err := confine.Launcher{}.Start(t.Context(), p, jail.Stdio{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i*i) * time.Millisecond)
		process.Kill()
		process.Wait()
		if now := everything(t, u); now != host {
			t.Fatalf("the host's tree has changed:\n%s\nto\n%s", host, now)
		}
	}
}

// TestCopiedFileRefused: a file that is not copied can be read only, and the plan says so.
func TestCopiedFileRefused(t *testing.T) {
	if inMounts(t, "") {
		return
	}
	for what, c := range map[string]struct {
		size   int64
		sealed bool
		memory int
		why    string
	}{
		"the largest":                  {spec.MaxCopy, false, 0, ""},
		"more than that":               {spec.MaxCopy + 1, false, 0, "it has more than 64 MB"},
		"more than the memory":         {40 << 20, false, 64, "there is no room for it in what memory_mb leaves for copies"},
		"that the user does not write": {1, true, 0, "you may not read and write it yourself"},
	} {
		u := plantUser(t)
		alone := u + "/alone"
		if err := os.Truncate(alone, c.size); err != nil {
			t.Fatal(err)
		}
		if c.sealed {
			if err := errors.Join(unix.Mount(alone, alone, "", unix.MS_BIND, ""), unix.Mount("", alone, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Unmount(alone, unix.MNT_DETACH) })
		}
		p := lonelyProfile(t, u)
		p.Limits.MemoryMB = c.memory
		host := everything(t, u+"/alone")
		s := jailtest.BeginBy(t, confine.Launcher{}, p, tries(u, "open U/alone", "append U/alone", "append U/bin/tool")...)
		s.Finish()
		want, notes := `["ok","ok","ok"]`, s.Plan().Notes
		if c.why != "" {
			want = `["ok","EROFS","ok"]`
		}
		if got := s.Out.String(); got != want {
			t.Errorf("%s: %s", what, got)
		}
		if said := strings.Contains(fmt.Sprint(notes), "the server may not write to "+u+"/alone: what it writes there could not be thrown away at the end (the file cannot be copied: "+c.why+")"); said != (c.why != "") {
			t.Errorf("%s: %q", what, notes)
		}
		if now := everything(t, u+"/alone"); now != host {
			t.Errorf("%s: the host's file has changed:\n%s\nto\n%s", what, host, now)
		}
	}
	// Another file takes the place of the one that was resolved.
	u := plantUser(t)
	p := lonelyProfile(t, u)
	if err := os.Rename(filepath.Join(u, "x"), u+"/alone"); err != nil {
		t.Fatal(err)
	}
	if _, err := (confine.Launcher{}).Start(t.Context(), p, jail.Stdio{}); err == nil || !strings.Contains(err.Error(), "replaced by something else") {
		t.Errorf("a file in the place of another: %v", err)
	}
}
