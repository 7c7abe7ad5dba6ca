package integration

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailSwappedObjects: the jail grants the objects that were resolved, or it does not start.
func TestJailSwappedObjects(t *testing.T) {
	jailtest.Needs(t)
	testSwappedObjects(t, confine.Launcher{}, 9)
}

// TestHostNSSwappedObjects: without namespaces there is nothing under a mask, or under what is read-only.
func TestHostNSSwappedObjects(t *testing.T) {
	jailtest.NeedsHostNS(t)
	testSwappedObjects(t, jailtest.WaivesGaps, 5)
}

func testSwappedObjects(t *testing.T, l confine.Launcher, first int) {
	for _, c := range []struct {
		name string
		swap func(dir string) error
	}{
		{"a symlink for the directory", func(dir string) error {
			return errors.Join(os.Rename(dir+"/grant", dir+"/old"), os.Symlink(dir+"/secret", dir+"/grant"))
		}},
		{"a symlink for a parent", func(dir string) error {
			return errors.Join(os.Rename(dir+"/parent", dir+"/old"), os.Symlink(dir+"/secret", dir+"/parent"))
		}},
		{"another directory", func(dir string) error {
			return errors.Join(os.Rename(dir+"/grant", dir+"/old"), os.Mkdir(dir+"/grant", 0o755), os.WriteFile(dir+"/grant/masked", nil, 0o600))
		}},
		{"nothing", func(dir string) error { return os.Rename(dir+"/grant", dir+"/old") }},
		{"a file for a directory", func(dir string) error {
			return errors.Join(os.Rename(dir+"/grant", dir+"/old"), os.WriteFile(dir+"/grant", nil, 0o644))
		}},
		{"another file under a mask", func(dir string) error {
			return errors.Join(os.Remove(dir+"/grant/masked"), os.WriteFile(dir+"/grant/masked", []byte("new"), 0o644))
		}},
		{"a symlink under a mask", func(dir string) error {
			return errors.Join(os.Remove(dir+"/grant/masked"), os.Symlink("inner", dir+"/grant/masked"))
		}},
		{"nothing under a mask", func(dir string) error { return os.Remove(dir + "/grant/masked") }},
		{"another file under a carve-out", func(dir string) error {
			return errors.Join(os.Remove(dir+"/grant/kept"), os.WriteFile(dir+"/grant/kept", nil, 0o644))
		}},
	}[:first] {
		t.Run(c.name, func(t *testing.T) {
			dir := testkit.Plant(t, "grant/inner", "grant/masked", "grant/kept", "parent/sub/x", "secret/sub/y", "secret/inner")
			p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/grant", Rights: rw}, jailtest.Grant{Path: dir + "/grant/masked", Rights: 0}, jailtest.Grant{Path: dir + "/grant/kept", Rights: r}, jailtest.Grant{Path: dir + "/parent/sub", Rights: rw})
			got, err := jailtest.Run(t, l, p, []attacker.Attempt{attacker.Try("read", dir+"/grant/inner")})
			if err != nil || got[0] != "ok inner" {
				t.Errorf("before: %v, %v", got, err)
			}
			testkit.Must(t, c.swap(dir))
			before := jailtest.HostTree(t, dir)
			_, err = l.Start(t.Context(), p, jail.Stdio{})
			var se *sys.Error
			if !errors.As(err, &se) || se.Step == sys.Exec || !strings.Contains(se.Detail, dir) {
				t.Errorf("%#v, want a StartError that names the path", err)
			}
			testkit.Equal(t, "the host's tree", jailtest.HostTree(t, dir), before)
		})
	}
}

// TestJailResolvedThroughALink: a policy is resolved while a symlink is in the path. The
// object that it led to is not granted, whether or not the symlink is still there at the start.
func TestJailResolvedThroughALink(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "parent/grant/inner", "secret/grant/inner", "parent/kept/x")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/parent/grant", Rights: rw})
	for i := range p.Entries {
		if p.Entries[i].Path == dir+"/parent/grant" {
			p.Entries[i].ID = jailtest.Entry(t, jailtest.Grant{Path: dir + "/secret/grant", Rights: rw}).ID
		}
	}
	testkit.Must(t, errors.Join(os.Rename(dir+"/parent", dir+"/away"), os.Symlink(dir+"/secret", dir+"/parent")))
	for _, swapped := range []bool{false, true} {
		if swapped {
			os.Remove(dir + "/parent")
			os.Rename(dir+"/away", dir+"/parent")
		}
		_, err := confine.Launcher{}.Start(t.Context(), p, jail.Stdio{})
		var se *sys.Error
		if !errors.As(err, &se) || se.Step == sys.Exec || !strings.Contains(se.Detail, dir) {
			t.Errorf("swapped back %v: %#v, want a StartError that names the path", swapped, err)
		}
	}
	jailtest.Expect(t, "the control", jailtest.Attempt(t, jailtest.Profile(t, jailtest.Grant{Path: dir + "/parent/grant", Rights: rw}), "read", dir+"/parent/grant/inner"), "ok inner")
}

// meanwhile acts again and again until it is stopped.
func meanwhile(act func()) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			default:
				act()
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(end)
		<-ended
	})
}

// swap puts a symlink in the place of a directory, and the directory back.
func swap(place, target string) {
	os.Rename(place, place+"-away")
	os.Symlink(target, place)
	os.Remove(place)
	os.Rename(place+"-away", place)
}

// TestJailSwapsDuringBuild: the test swaps a directory and a symlink to a secret while jails are
// built. No jail shows the secret.
func TestJailSwapsDuringBuild(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "parent/grant/inner", "secret/grant/inner")
	testkit.Must(t, os.WriteFile(dir+"/secret/grant/inner", []byte("SECRET"), 0o644))
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/parent/grant", Rights: rw}, jailtest.Grant{Path: dir + "/parent/grant/inner", Rights: r})
	stop := meanwhile(func() {
		swap(dir+"/parent", dir+"/secret")
		time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	})
	var ran, refused int
	for range jailtest.Rounds(20, 60) {
		out, err := jailtest.Run(t, confine.Launcher{}, p, []attacker.Attempt{attacker.Try("read", dir+"/parent/grant/inner"), attacker.Try("write", dir+"/parent/grant/inner")})
		var se *sys.Error
		switch {
		case errors.As(err, &se):
			refused++
		case err != nil:
			t.Error(err)
		default:
			ran++
			testkit.Equal(t, "", fmt.Sprint(out), "[ok inner EROFS]")
		}
	}
	stop()
	t.Logf("%d ran, %d refused", ran, refused)
	if ran == 0 {
		t.Error("no jail was built, and so nothing was seen from inside")
	}
}

func TestJailMakesDirectories(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "workspace/", "elsewhere/")
	entry := func(p string, o policy.Origin) policy.Entry {
		return policy.Entry{Path: p, Named: p, Kind: policy.KindDir, Rights: rw, Origin: o, Rule: "path = " + p, Make: true}
	}
	p := jailtest.Profile(t)
	p.Entries = append(p.Entries, entry(dir+"/state/server/home", policy.OriginHome), entry(dir+"/workspace/out/deep", policy.OriginRule))
	hidden := entry(dir+"/workspace/cache/own", policy.OriginSensitive)
	hidden.Rights = 0
	p.Entries = append(p.Entries, hidden)
	jailtest.SortEntries(p)
	got := jailtest.Attempts(t, p, attacker.Try("create", dir+"/state/server/home/x"), attacker.Try("create", dir+"/workspace/out/deep/x"), attacker.Try("create", dir+"/workspace/x"))
	if fmt.Sprint(got[:2]) != "[ok ok]" || got[2] != "EROFS" {
		t.Errorf("%v", got)
	}
	testkit.Equal(t, "the private HOME", testkit.Get(os.Stat(dir+"/state/server/home"))(t).Mode().Perm(), 0o700)
	testkit.Equal(t, "what is made to be hidden", testkit.Get(os.Stat(hidden.Path))(t).Mode().Perm(), 0o700)

	// A link that was planted since does not choose the place.
	testkit.Must(t, os.Symlink(dir+"/elsewhere", dir+"/workspace/planted"))
	q := jailtest.Profile(t)
	q.Entries = append(q.Entries, entry(dir+"/workspace/planted/made", policy.OriginRule))
	jailtest.SortEntries(q)
	_, err := confine.Launcher{}.Start(t.Context(), q, jail.Stdio{})
	var se *sys.Error
	if !errors.As(err, &se) || se.Errno != unix.ELOOP || !strings.Contains(se.Detail, "planted") {
		t.Errorf("%v", err)
	}
	if names, _ := os.ReadDir(dir + "/elsewhere"); len(names) != 0 {
		t.Errorf("made through a symlink: %v", names)
	}
}

// TestJailSwappedParent: the plan has only the name of a directory between a grant and a hidden
// file in it. If that directory is renamed during the build, the jail does not start.
func TestJailSwappedParent(t *testing.T) {
	jailtest.Needs(t)
	for _, batched := range []bool{false, true} {
		for _, swaps := range []bool{true, false} {
			dir := testkit.Plant(t, "ws/a/secret", "ws/x")
			testkit.Must(t, os.WriteFile(dir+"/ws/a/secret", []byte("SECRET"), 0o644))
			p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw}, jailtest.Grant{Path: dir + "/ws/a/secret", Rights: 0})
			swap := swaps // once: what was swapped stays so when the jail is built again
			alter := func(b *jail.Builder, steps []jail.Step) (all []jail.Step) {
				for _, s := range steps {
					all = append(all, s)
					if s.Name == "mounts" && s.Task == b.Init && swap {
						swap = false
						all = append(all, jail.Step{Name: "swap", Task: b.Init, Run: func() error {
							at := unix.AT_FDCWD
							if _, err := b.Init.Call(unix.SYS_RENAMEAT2, uintptr(at), b.Init.Path(dir+"/ws/a"), uintptr(at), b.Init.Path(dir+"/ws/b")); err != nil {
								return err
							}
							return stub.Mkdirat(b.Init, at, dir+"/ws/a", 0o755)
						}})
					}
				}
				return all
			}
			got, err := jailtest.Run(t, confine.Launcher{TestHooks: jail.TestHooks{Batched: batched, Steps: alter}}, p, []attacker.Attempt{attacker.Try("read", dir+"/ws/a/secret"), attacker.Try("read", dir+"/ws/b/secret")})
			if swaps {
				if err == nil || !strings.Contains(err.Error(), jail.ErrSwapped.Error()) && !errors.Is(err, unix.ENOENT) {
					t.Errorf("in batches %t: %v, %v, want no start", batched, got, err)
				}
				continue
			}
			if err != nil || strings.HasPrefix(got[0], "ok") || strings.HasPrefix(got[1], "ok") {
				t.Errorf("in batches %t, with nothing swapped: %v, %v", batched, got, err)
			}
		}
	}
}
