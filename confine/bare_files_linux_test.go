package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestBareRights: what Landlock alone makes of the five rights, each missing once.
func TestBareRights(t *testing.T) {
	needsBare(t)
	tries := map[policy.Rights][]attempt{
		policy.Read:    {try("read", "file"), try("list", ".")},
		policy.Create:  {try("mkfile", "new"), try("mkdir", "new"), try("symlink", "new"), try("mkfifo", "new")},
		policy.Update:  {try("write", "file"), try("rewrite", "file"), try("truncate", "file")},
		policy.Delete:  {try("unlink", "file"), try("rmdir", "empty")},
		policy.Execute: {try("execs", "file")},
	}
	for right, list := range tries {
		for _, a := range list {
			t.Run(fmt.Sprint(right, " ", a), func(t *testing.T) {
				t.Parallel()
				for _, rights := range []policy.Rights{policy.AllRights, policy.AllRights &^ right} {
					dir := testkit.Plant(t, "file", "empty/")
					p := jailProfile(t, grant{dir, rights | policy.Execute})
					if right == policy.Execute {
						p = jailProfile(t, grant{dir, rights})
					}
					b := slices.Clone(a)
					b[1] = filepath.Join(dir, a[1])
					want := "EACCES"
					if rights == policy.AllRights {
						want = "ok"
					}
					got, _, _ := strings.Cut(inBare(t, p, b)[0], " ")
					expect(t, rights.String(), got, want)
				}
			})
		}
	}
}

// TestBareFill: with create and without update a file is made and filled, and not
// written again; TMPDIR is no such place.
func TestBareFill(t *testing.T) {
	needsBare(t)
	dir := testkit.Plant(t, "drop/old")
	p := jailProfile(t, grant{dir + "/drop", r | policy.Create})
	p.Env = append(p.Env, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
	got := inBare(t, p, try("fill", dir+"/drop/new", "1"), try("write", dir+"/drop/new"), try("write", dir+"/drop/old"), try("unlink", dir+"/drop/old"), try("tmp"))
	got[4], _, _ = strings.Cut(got[4], " ")
	if fmt.Sprint(got) != "[ok EACCES EACCES EACCES ok]" {
		t.Errorf("%v", got)
	}
}

// TestBareUmask: the directory for TMPDIR, too, can be used whatever the umask.
func TestBareUmask(t *testing.T) {
	needsBare(t)
	testUmask(t, allGaps.Waive)
}

// TestBareTrees: what a server may make in its private places does not come into a
// grant by being moved there.
func TestBareTrees(t *testing.T) {
	needsBare(t)
	dir := testkit.Plant(t, "home/repo/.git/config", "home/repo/src/x", "home/plain/src/x", "work/f", "work/d/")
	p := jailProfile(t, grant{dir + "/work", rw}, grant{dir + "/home", rw})
	for i := range p.Entries {
		if p.Entries[i].Path == dir+"/home" {
			p.Entries[i].Origin = policy.OriginHome
		}
	}
	got := inBare(t, p, try("rename", dir+"/home/repo", dir+"/work/repo"), try("exchange", dir+"/home/repo", dir+"/work/d"),
		try("exchange", dir+"/work/d", dir+"/home/repo"), try("create", dir+"/home/.envrc"), try("rename", dir+"/home/plain", dir+"/work/plain"))
	want := []outcome{"EACCES", "EACCES", "EACCES", "ok", "ok"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestBareKeepsRights: no file gets a right by a name elsewhere that a narrower entry has
// taken from it. Landlock sees the wider one around both.
func TestBareKeepsRights(t *testing.T) {
	needsBare(t)
	for _, c := range []struct {
		attempt string
		want    outcome
	}{
		{"rename drop/file x", "EXDEV"},
		{"link drop/file x", "EXDEV"},
		{"exchange drop/file file", "EXDEV"},
		{"exchange file drop/file", "EXDEV"},
		{"read drop/file", "EACCES"},
		{"rename drop/file drop/x", "ok"},
		{"link drop/file drop/x", "ok"},
		{"exchange drop/file drop/other", "ok"},
		{"rename file drop/x", "ok"}, // it loses one
		{"rename file sub/x", "ok"},
		{"exchange file sub/file", "ok"},
	} {
		t.Run(c.attempt, func(t *testing.T) {
			t.Parallel()
			in := func(dir string) attempt {
				a := attempt(strings.Fields(c.attempt))
				for i := range a[1:] {
					a[i+1] = filepath.Join(dir, a[i+1])
				}
				return a
			}
			tree := []string{"file", "sub/file", "drop/file", "drop/other"}
			free := testkit.Plant(t, tree...)
			got, _, _ := strings.Cut(unconfined(t, "/", in(free))[0], " ")
			expect(t, "unconfined", got, "ok")
			dir := testkit.Plant(t, tree...)
			p := jailProfile(t, grant{dir, rw}, grant{dir + "/drop", policy.Write})
			got, _, _ = strings.Cut(inBare(t, p, in(dir))[0], " ")
			expect(t, "in the jail", got, c.want)
		})
	}
}

// TestBareAttributesAreThemselves: changing modes, owners and times, which the supervisor
// does for the server, has the results that the kernel would give.
func TestBareAttributesAreThemselves(t *testing.T) {
	needsBare(t)
	tree := []string{"f", "d/e", "l -> f", "dangling -> none", "loop1 -> loop2", "loop2 -> loop1", "dl -> d"}
	changes := func(in string) attempt {
		if changeMode(-1, "", 0, 0) == unix.ENOSYS {
			return try("changes-attributes", in, "older")
		}
		return try("changes-attributes", in)
	}
	in := testkit.Plant(t, tree...)
	want := strings.Split(unconfined(t, "/", changes(in))[0], ";")
	in = testkit.Plant(t, tree...)
	got := strings.Split(inBare(t, jailProfile(t, grant{in, rw}), changes(in))[0], ";")
	if !strings.HasPrefix(want[0], "ok ") || len(want) < 100 || len(got) != len(want) {
		t.Fatalf("%d results and %d in the jail: %s", len(want), len(got), want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("in the jail %s, unconfined %s", got[i], want[i])
		}
	}
	// A file of the host's that has a name like one that has none any more.
	other := testkit.Plant(t) + "/kept (deleted)"
	plantInto(t, other)
	expect(t, "unconfined", unconfined(t, "/", try("chmod", other))[0], "ok")
	expect(t, "in the jail", inBare(t, jailProfile(t, grant{in, rw}), try("chmod", other))[0], "EACCES")
}

// TestBareSwappedObjects: what was resolved is what is granted, or nothing starts.
func TestBareSwappedObjects(t *testing.T) {
	needsBare(t)
	for name, swap := range map[string]func(dir string) error{
		"a symlink for the directory": func(dir string) error {
			return errors.Join(os.Rename(dir+"/grant", dir+"/old"), os.Symlink(dir+"/secret", dir+"/grant"))
		},
		"another directory": func(dir string) error {
			return errors.Join(os.Rename(dir+"/grant", dir+"/old"), os.Mkdir(dir+"/grant", 0o755))
		},
		"nothing": func(dir string) error { return os.Rename(dir+"/grant", dir+"/old") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := testkit.Plant(t, "grant/inner", "secret/inner")
			p := jailProfile(t, grant{dir + "/grant", rw})
			expect(t, "before", inBare(t, p, try("read", dir+"/grant/inner"))[0], "ok inner")
			if err := swap(dir); err != nil {
				t.Fatal(err)
			}
			_, err := allGaps.Start(t.Context(), p, Stdio{})
			var se *StartError
			if !errors.As(err, &se) || se.Step != "landlock rules" || !strings.Contains(se.Detail, dir) {
				t.Errorf("%#v, want a StartError that names the path", err)
			}
		})
	}
}

// TestBareStandsNowhere: the supervisor does not stay in a directory that it changed
// something in, which the host could not unmount then.
func TestBareStandsNowhere(t *testing.T) {
	needsBare(t)
	dir := testkit.Plant(t, "place/")
	s := beginWith(t, allGaps, jailProfile(t, grant{dir, rw}), try("mkdir", dir+"/place/new"), try("wait"))
	testkit.Eventually(t, "the directory that is made", func() bool { return exists(&place{dir: unix.AT_FDCWD, name: dir + "/place/new"}) })
	testkit.Eventually(t, "no thread of the init in it", func() bool {
		stand, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/cwd", s.PID()))
		if err != nil || len(stand) == 0 {
			t.Fatal(stand, err)
		}
		return !slices.ContainsFunc(stand, func(link string) bool {
			at, err := os.Readlink(link)
			return err == nil && policy.Within(at, dir)
		})
	})
	s.Kill()
	s.finish()
}
