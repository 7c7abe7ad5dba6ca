package integration

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// homeProfile is the profile of a tool, whose HOME is a copy of a directory.
func homeProfile(t testing.TB, home string, grants ...jailtest.Grant) *policy.Profile {
	t.Helper()
	p := jailtest.Profile(t, grants...)
	p.Tool, p.Home, p.HomePrivate, p.Dir = "tool", home, true, home
	p.Entries = append(p.Entries, policy.Entry{
		Path: home, Named: home, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginHome, Rule: "home", Make: true, Ephemeral: true,
	})
	p.Env = append(p.Env, policy.Variable{Name: "HOME", Value: home}, policy.Variable{Name: "TMPDIR", Value: "/tmp"})
	jailtest.SortEntries(p)
	return p
}

// kept is the same with the HOME of the process that lists the tools.
func kept(p *policy.Profile) *policy.Profile {
	q := *p
	q.Entries = slices.Clone(p.Entries)
	for i := range q.Entries {
		q.Entries[i].Ephemeral = false
	}
	return &q
}

// needsCopies skips where the kernel makes no overlay, as where it is a module that
// is not there.
func needsCopies(t testing.TB) {
	t.Helper()
	jailtest.Needs(t)
	plan, _ := confine.Launcher{}.Compile(homeProfile(t, t.TempDir()))
	without := func(note string) bool { return strings.HasPrefix(note, "HOME is empty") }
	if i := slices.IndexFunc(plan.Notes, without); i >= 0 {
		testkit.Skip(t, "overlay", "%s", plan.Notes[i])
	}
}

// homeTree is what a server keeps in HOME.
var homeTree = []string{"home/x", "home/y", "home/hard = home/x", "home/link -> x", "home/out -> ../secret", "home/dir/y", "home/dir/sub/z", "home/empty/", "secret"}

func plantHome(t testing.TB) string {
	t.Helper()
	home := filepath.Join(testkit.Plant(t, homeTree...), "home")
	testkit.Must(t, os.Chmod(home, 0o700))
	return home
}

// everything is all that can be seen of a directory of the host without changing it.
func everything(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		// O_NOATIME: reading here must not change the access time, nor may reading in the jail.
		content := ""
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			fd, err := unix.Open(p, unix.O_RDONLY|unix.O_NOATIME|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			buf := make([]byte, 1<<10)
			n, err := unix.Read(fd, buf)
			unix.Close(fd)
			if err != nil {
				return err
			}
			content = hex.EncodeToString(buf[:n])
		case unix.S_IFLNK:
			content, _ = os.Readlink(p)
		}
		names := make([]byte, 1<<10)
		n, _ := unix.Llistxattr(p, names)
		if st.Mode&unix.S_IFMT != unix.S_IFREG {
			st.Atim = unix.Timespec{} // walking along it is enough
		}
		fmt.Fprintf(&b, "%s %o %d %d %d %d %d %d %v %v %v %q %q\n", p, st.Mode, st.Ino, st.Nlink, st.Uid, st.Gid, st.Rdev, st.Size, st.Atim, st.Mtim, st.Ctim, names[:max(n, 0)], content)
		return nil
	})
	testkit.Must(t, err)
	return b.String()
}

// TestJailHome: what one call writes to HOME no other call sees, of the same tool or of another.
// What the server keeps there every call sees, and none can change. HOME is the working directory: its
// name differs by the system.
func TestJailHome(t *testing.T) {
	needsCopies(t)
	home := plantHome(t)
	p := homeProfile(t, home)
	writes := []attacker.Attempt{
		attacker.Try("create", "stolen"), attacker.Try("rewrite", "x"), attacker.Try("unlink", "dir/y"), attacker.Try("create", "dir/new"), attacker.Try("unlink", "dir/sub/z"),
	}
	looks := []attacker.Attempt{attacker.Try("list", "."), attacker.Try("read", "x"), attacker.Try("list", "dir")}
	before, after := "[ok dir empty hard link out x y ok x ok sub y]", "[ok dir empty hard link out stolen x y ok ok new sub]"
	if kernel.Detect().FullCopies.Answer == kernel.Yes {
		writes = append(writes, attacker.Try("rmdir", "dir/sub"), attacker.Try("unlink", "dir/new"), attacker.Try("rmdir", "dir"), attacker.Try("mkdir", "dir"), attacker.Try("create", "dir/new"))
		after = "[ok dir empty hard link out stolen x y ok ok new]"
	}
	all := slices.Concat(looks, writes, looks)
	check := func(what string, p *policy.Profile, first, last string) {
		t.Helper()
		got := jailtest.Attempts(t, p, all...)
		if fmt.Sprint(got[:3]) != first || fmt.Sprint(got[len(got)-3:]) != last || slices.ContainsFunc(got[3:len(got)-3], func(o attacker.Outcome) bool { return o != attacker.Succeeded }) {
			t.Errorf("%s: %q", what, got)
		}
	}
	host := everything(t, filepath.Dir(home))
	check("the call of one tool", p, before, after)
	check("a second one of it", p, before, after)
	other := homeProfile(t, home)
	other.Tool = "other"
	check("the call of another tool", other, before, after)
	testkit.Equal(t, "the host's tree", everything(t, filepath.Dir(home)), host)
	// The control, which is also what a stateful server writes: it is there for all.
	check("a stateful server", kept(p), before, after)
	if now := everything(t, filepath.Dir(home)); now == host {
		t.Error("what a stateful server wrote is nowhere")
	}
	testkit.Equal(t, "a call after that sees", fmt.Sprint(jailtest.Attempts(t, p, looks...)), after)
}

// TestJailHomeHolds: no way to write changes what the server keeps in HOME. In a HOME that is
// kept each way succeeds and shows.
func TestJailHomeHolds(t *testing.T) {
	needsCopies(t)
	unnamed := attacker.Succeeded
	if kernel.Detect().FullCopies.Answer != kernel.Yes {
		unnamed = "ENOTSUP" // overlayfs has files without a name since Linux 6.3
	}
	rows := []struct{ attempt, want string }{
		{"rewrite x", "ok"}, {"rewrite link", "ok"}, {"rewrite hard", "ok"}, {"rewrite-opened x", "ok"}, {"write-mapped x", "ok"}, {"trunc x", "ok"}, {"truncate link", "ok"},
		{"create new", "ok"}, {"mkfile new", "ok"}, {"mkdir new", "ok"}, {"symlink new", "ok"}, {"mkfifo new", "ok"}, {"mksock new", "ok"}, {"tmpfile new", unnamed},
		{"create-renamed other new", "ok"}, {"create-linked other new", "ok"}, {"link x new", "ok"}, {"link hard dir/new", "ok"},
		{"unlink x", "ok"}, {"unlink hard", "ok"}, {"unlink link", "ok"}, {"rmdir empty", "ok"},
		{"rename x new", "ok"}, {"rename x y", "ok"}, {"rename x dir/y", "ok"}, {"rename link dir/link", "ok"},
		{"rename dir new", "EXDEV"}, // as overlayfs answers where it may not redirect: programs copy then
		{"exchange x dir/y", "ok"}, {"exchange x link", "ok"}, {"swap-dir dir", "EXDEV"},
		{"chmod x", "ok"}, {"chmod-fd dir", "ok"}, {"chmod dir", "ok"}, {"utimes x", "ok"}, {"touch dir", "ok"}, {"lutimes link", "ok"}, {"futimes x", "ok"}, {"utime x", "ok"},
		{"chown x", "ok"}, {"lchown link", "ok"},
	}
	// Each row has a directory of HOME with a tree of its own.
	home := plantHome(t)
	var all []attacker.Attempt
	var dirs, before []string
	for i, c := range rows {
		dir := filepath.Join(home, fmt.Sprint(i))
		testkit.PlantBelow(t, dir, "x", "y", "hard = x", "link -> x", "dir/y", "dir/sub/z", "empty/")
		a := attacker.Attempt(strings.Fields(c.attempt))
		for i := 1; i < len(a); i++ {
			a[i] = filepath.Join(dir, a[i])
		}
		all, dirs = append(all, a), append(dirs, dir)
	}
	for _, dir := range dirs {
		before = append(before, everything(t, dir))
	}
	host := everything(t, filepath.Dir(home))
	p := homeProfile(t, home)
	for i, got := range jailtest.Attempts(t, p, all...) {
		jailtest.Expect(t, rows[i].attempt, firstWord(got), rows[i].want)
		if everything(t, dirs[i]) != before[i] {
			t.Errorf("%s: the host's tree has changed", rows[i].attempt)
		}
	}
	// What no jail lets through, and what would lead to a layer below if it did.
	var outside []attacker.Attempt
	table := testkit.TableIn[struct{ attempt, want string }](t, tables, "jail-home-holds.txt")
	for _, c := range table {
		outside = append(outside, strings.Fields(strings.ReplaceAll(c.attempt, "HOME", home)))
	}
	for i, got := range jailtest.Attempts(t, p, outside...) {
		jailtest.Expect(t, table[i].attempt, got, table[i].want)
	}
	testkit.Equal(t, "the host's tree", everything(t, filepath.Dir(home)), host)
	for i, got := range jailtest.Attempts(t, kept(p), all...) {
		if changed := everything(t, dirs[i]) != before[i]; firstWord(got) != attacker.Succeeded || !changed {
			t.Errorf("%s, where HOME is kept: %s, changed %v", rows[i].attempt, got, changed)
		}
	}
}
