package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

const (
	r  = policy.Read
	c  = policy.Create
	u  = policy.Update
	d  = policy.Delete
	x  = policy.Execute
	w  = policy.Write
	rw = policy.Read | policy.Write
	rx = policy.Read | policy.Execute
)

// TestJailRights takes each of the five rights apart: every operation must work
// with exactly the rights that it needs, and must fail without any one of them,
// with all the others granted.
func TestJailRights(t *testing.T) {
	needsJail(t)
	for _, row := range []struct {
		attempt string        // DIR is the granted directory
		needs   policy.Rights // on DIR
		want    string        // when one of them is missing; "" is EACCES
	}{
		{"read DIR/file", r, ""},
		{"read DIR/link", r, ""},
		{"list DIR", r, ""},
		{"list DIR/full", r, ""},
		{"mkfile DIR/new", c, ""},
		{"create DIR/new", c, ""},
		{"tmpfile DIR/new", c, ""},
		{"mkdir DIR/new", c, ""},
		{"symlink DIR/new", c, ""},
		{"mkfifo DIR/new", c, ""},
		{"mksock DIR/new", c, ""},
		{"link DIR/file DIR/new", c, ""},
		{"link DIR/file DIR/full/new", c, ""},
		{"write DIR/file", u, ""},
		{"append DIR/file", u, ""},
		{"rewrite DIR/file", u, ""},
		{"truncate DIR/file", u, ""},
		{"unlink DIR/file", d, ""},
		{"unlink DIR/link", d, ""},
		{"rmdir DIR/empty", d, ""},
		{"rename DIR/file DIR/new", c | d, ""},
		{"rename DIR/empty DIR/new", c | d, ""},
		{"rename DIR/file DIR/other", c | d, ""},
		{"rename DIR/file DIR/full/new", c | d, ""},
		{"rename DIR/full/inner DIR/other", c | d, ""},
		{"exchange DIR/file DIR/other", c | d, ""},
		{"execs DIR/file", r | x, ""},
		{"exec DIR/true", r | x, ""},
	} {
		t.Run(row.attempt, func(t *testing.T) {
			t.Parallel()
			// once makes the attempt on a fresh tree.
			once := func(run func(dir string, a attempt) outcome) (got outcome, changed bool) {
				dir := plant(t, "file", "other", "link -> file", "empty/", "full/inner")
				program, err := os.ReadFile("/usr/bin/true")
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, "true"), program, 0o755)
				}
				if err != nil {
					t.Fatal(err)
				}
				before := hostTree(t, dir)
				got = run(dir, strings.Fields(strings.ReplaceAll(row.attempt, "DIR", dir)))
				got, _, _ = strings.Cut(got, " ")
				return got, hostTree(t, dir) != before
			}
			with := func(rights policy.Rights) (outcome, bool) {
				return once(func(dir string, a attempt) outcome {
					if rights == 0 {
						return inJail(t, jailProfile(t), a)[0]
					}
					return inJail(t, jailProfile(t, grant{dir, rights}), a)[0]
				})
			}
			got, _ := once(func(dir string, a attempt) outcome { return unconfined(t, dir, a)[0] })
			expect(t, "unconfined", got, succeeded)
			got, _ = with(row.needs)
			expect(t, "with "+row.needs.String(), got, succeeded)
			got, _ = with(policy.AllRights)
			expect(t, "with everything", got, succeeded)

			want := row.want
			if want == "" {
				want = "EACCES"
			}
			for _, one := range []policy.Rights{r, c, u, d, x} {
				if row.needs&one == 0 {
					continue
				}
				if strings.HasPrefix(row.attempt, "truncate ") && !refusesTruncating() {
					notTruncating(t)
					continue
				}
				got, changed := with(policy.AllRights &^ one)
				expect(t, "without "+one.String(), got, want)
				if changed {
					t.Errorf("without %s: the host's tree has changed", one)
				}
			}
			if row.needs&w != 0 {
				got, changed := with(rx) // a read-only mount answers before Landlock
				expect(t, "read-only", got, "EROFS")
				if changed {
					t.Error("read-only: the host's tree has changed")
				}
			}
			got, changed := with(0)
			if strings.HasPrefix(row.attempt, "rename") || strings.HasPrefix(row.attempt, "link") || got != "EROFS" {
				expect(t, "not granted at all", got, "ENOENT")
			}
			if changed {
				t.Error("not granted: the host's tree has changed")
			}
		})
	}
}

// carveTree is what the carve-out tests stand on.
var carveTree = []string{
	"a", ".env", "out -> a", "secret/key", "secret/deep/key",
	"src/code", "src/generated/code", "src/generated/x/code", "src/generated/xy",
	"sub/dir/.git/config", "sub/dir/.git/hooks/pre", "sub/dir/.git/index",
	"home/.ssh/id", "home/.ssh/known_hosts", "home/.ssh/keys/a", "home/.ssh/keys/public/b", "home/note", "home/.sshfoo",
	"bin/tool", "hard = secret/key",
}

// refusesTruncating tells whether Landlock or the supervisor does.
func refusesTruncating() bool {
	f := hostFacts()
	return f.LandlockABI >= 3 || f.SeccompNotify.Answer == Yes
}

// notTruncating: where neither does, nothing keeps a file from being truncated
// where names may be made or removed. That is a gap, and nothing starts unless it is
// waived (as these tests do).
func notTruncating(t *testing.T) {
	t.Helper()
	dir := plant(t, "file")
	p := jailProfile(t, grant{dir, policy.AllRights &^ u})
	var gaps *GapError
	if _, err := runJail(t, Launcher{}, p, []attempt{try("truncate", dir+"/file")}); !errors.As(err, &gaps) || !strings.Contains(err.Error(), "truncating files") {
		t.Errorf("truncating is not a gap: %v", err)
	}
}

// TestJailCarveOuts nests grants in both directions. The host's tree must stay
// as it was whatever is refused.
func TestJailCarveOuts(t *testing.T) {
	needsJail(t)
	truncated := "EACCES"
	if !refusesTruncating() {
		truncated = "EROFS" // the mask alone
	}
	grants := func(dir string) []grant {
		at := func(p string) string { return filepath.Join(dir, p) }
		return []grant{
			{dir, rw | x},
			{at(".env"), 0},
			{at("secret"), 0},
			{at("src"), r},
			{at("src/generated"), rw},
			{at("src/generated/x"), 0},
			{at("sub/dir/.git/config"), r},
			{at("sub/dir/.git/hooks"), r},
			{at("home"), r},
			{at("home/.ssh"), 0},
			{at("home/.ssh/known_hosts"), r},
			{at("home/.ssh/keys/public"), r},
			{at("bin"), r},
		}
	}
	for _, c := range []struct{ attempt, want string }{
		// A mask cannot be read, listed, filled, moved, replaced, linked, or opened up.
		{"read DIR/.env", "EACCES"},
		{"write DIR/.env", "EACCES"},
		{"unlink DIR/.env", "EBUSY"},
		{"rename DIR/.env DIR/env", "EBUSY"},
		{"rename DIR/a DIR/.env", "EBUSY"},
		{"exchange DIR/a DIR/.env", "EBUSY"},
		{"link DIR/.env DIR/env", "EXDEV"},
		{"chmod DIR/.env", "EROFS"},
		{"truncate DIR/.env", truncated},
		{"list DIR/secret", "EACCES"},
		{"read DIR/secret/key", "EACCES"},
		{"stat DIR/secret/key", "EACCES"},
		{"create DIR/secret/new", "EACCES"},
		{"mkdir DIR/secret/new", "EACCES"},
		{"rmdir DIR/secret", "EBUSY"},
		{"rename DIR/secret DIR/open", "EBUSY"},
		{"exchange DIR/secret DIR/bin", "EBUSY"},
		{"chmod DIR/secret", "EROFS"},
		{"handle DIR/secret", "EPERM"},
		{"umount DIR/secret", "EPERM"},
		{"read DIR/hard", "ok key"}, // by another name it is not masked: docs/policy.md "Hard links"
		// {., rw} ⊃ {src, r} ⊃ {src/generated, rw} ⊃ {src/generated/x, nothing}
		{"read DIR/src/code", "ok code"},
		{"write DIR/src/code", "EROFS"},
		{"create DIR/src/new", "EROFS"},
		{"unlink DIR/src/code", "EROFS"},
		{"chmod DIR/src/code", "EROFS"},
		{"utimes DIR/src/code", "EROFS"},
		{"chmod DIR/src", "EROFS"},
		{"rename DIR/src DIR/old", "EBUSY"},
		{"rename DIR/src/code DIR/code", "EXDEV"},
		{"link DIR/src/code DIR/code", "EXDEV"},
		{"execs DIR/src/code", "EACCES"},
		{"mapexec DIR/src/code", "EPERM"},
		{"write DIR/src/generated/code", "ok"},
		{"create DIR/src/generated/new", "ok"},
		{"unlink DIR/src/generated/new", "ok"},
		{"execs DIR/src/generated/code", "EACCES"},
		{"mapexec DIR/src/generated/code", "EPERM"},
		{"rename DIR/src/generated DIR/src/g", "EROFS"},
		{"list DIR/src/generated/x", "EACCES"},
		{"read DIR/src/generated/x/code", "EACCES"},
		{"rename DIR/src/generated/x DIR/src/generated/z", "EBUSY"},
		{"read DIR/src/generated/xy", "ok xy"},
		// Protected names: readable, and neither they nor their parents move.
		{"read DIR/sub/dir/.git/hooks/pre", "ok pre"},
		{"write DIR/sub/dir/.git/hooks/pre", "EROFS"},
		{"create DIR/sub/dir/.git/hooks/new", "EROFS"},
		{"write DIR/sub/dir/.git/config", "EROFS"},
		{"create DIR/sub/dir/.git/config.lock", "ok"},
		{"rename DIR/sub/dir/.git/config.lock DIR/sub/dir/.git/config", "EBUSY"},
		{"unlink DIR/sub/dir/.git/config.lock", "ok"},
		{"unlink DIR/sub/dir/.git/config", "EBUSY"},
		{"write DIR/sub/dir/.git/index", "ok"},
		{"rename DIR/sub/dir/.git/hooks DIR/sub/dir/.git/h", "EBUSY"},
		{"rename DIR/sub/dir/.git DIR/sub/dir/moved", "EBUSY"},
		{"rename DIR/sub/dir DIR/sub/moved", "EBUSY"},
		{"rename DIR/sub DIR/moved", "EBUSY"},
		{"exchange DIR/sub DIR/bin", "EBUSY"},
		// A mask with holes: only what is granted again can be reached.
		{"read DIR/home/note", "ok note"},
		{"read DIR/home/.sshfoo", "ok .sshfoo"},
		{"read DIR/home/.ssh/known_hosts", "ok known_hosts"},
		{"write DIR/home/.ssh/known_hosts", "EROFS"},
		{"read DIR/home/.ssh/keys/public/b", "ok b"},
		{"list DIR/home/.ssh/keys/public", "ok b"},
		{"read DIR/home/.ssh/id", "ENOENT"},
		{"read DIR/home/.ssh/keys/a", "ENOENT"},
		{"list DIR/home/.ssh", "EACCES"},
		{"list DIR/home/.ssh/keys", "EACCES"},
		{"create DIR/home/.ssh/new", "EROFS"},
		{"create DIR/home/.ssh/keys/new", "EROFS"},
		{"chmod DIR/home/.ssh", "EROFS"},
		{"rename DIR/home/.ssh DIR/home/ssh", "EROFS"},
		// Execution that is taken away.
		{"execs DIR/a", "ok"},
		{"execs DIR/bin/tool", "EACCES"},
		{"mapexec DIR/bin/tool", "EPERM"},
		{"mapexec DIR/a", "ok"},
		{"read DIR/out", "ok a"},
	} {
		t.Run(c.attempt, func(t *testing.T) {
			t.Parallel()
			in := func(dir string) attempt { return strings.Fields(strings.ReplaceAll(c.attempt, "DIR", dir)) }
			dir := plant(t, carveTree...)
			if verb := in(dir)[0]; verb != "umount" && verb != "handle" && !strings.Contains(c.attempt, ".lock") &&
				!strings.Contains(c.attempt, "rmdir") && !strings.HasPrefix(c.attempt, "unlink DIR/src/generated/new") {
				got, _, _ := strings.Cut(unconfined(t, "/", in(plant(t, carveTree...)))[0], " ")
				expect(t, "unconfined", got, succeeded)
			}
			if verb := in(dir)[0]; (verb == "unlink" || verb == "rename") && strings.Contains(c.attempt, "new") || strings.Contains(c.attempt, ".lock") && verb != "create" {
				plantInto(t, in(dir)[1])
			}
			before := hostTree(t, dir)
			got := inJail(t, jailProfile(t, grants(dir)...), in(dir))[0]
			expect(t, "in the jail", got, c.want)
			if after := hostTree(t, dir); got != succeeded && !strings.HasPrefix(got, succeeded+" ") && after != before {
				t.Errorf("the host's tree has changed:\n%s\nto\n%s", before, after)
			}
		})
	}
}

// plantInto makes the file that an attempt is to remove or to move.
func plantInto(t *testing.T, p string) {
	t.Helper()
	if err := os.WriteFile(p, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestJailMasksByNameStay: a mask that was found by its name would stay on the
// object wherever a parent is moved, but the next start would look for it where
// it was. The names sort so that the second carve-out needs a pin around the first.
func TestJailMasksByNameStay(t *testing.T) {
	needsJail(t)
	dir := plant(t, "pkg/.env", "pkg/keys/code")
	p := jailProfile(t, grant{dir, rw}, grant{dir + "/pkg/.env", 0}, grant{dir + "/pkg/keys/code", r})
	for i := range p.Entries {
		if p.Entries[i].Rights == 0 {
			p.Entries[i].Named = "**/.env"
		}
	}
	got := inJail(t, p,
		try("read", dir+"/pkg/.env"),
		try("rename", dir+"/pkg", dir+"/moved"),
		try("rename", dir+"/pkg/.env", dir+"/pkg/env"),
		try("unlink", dir+"/pkg/.env"),
		try("read", dir+"/pkg/.env"),
	)
	want := []outcome{"EACCES", "EBUSY", "EBUSY", "EBUSY", "EACCES"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestJailMasksOnLinks: a symlink is hidden itself, and can be neither followed
// nor removed nor replaced.
func TestJailMasksOnLinks(t *testing.T) {
	needsJail(t)
	dir := plant(t, "conf", "other", "away/", ".env -> conf", ".dir -> away")
	p := jailProfile(t, grant{dir, rw}, grant{dir + "/.env", 0}, grant{dir + "/.dir", 0})
	for _, c := range []struct{ attempt, want string }{
		{"read DIR/.env", "EACCES"},
		{"unlink DIR/.env", "EBUSY"},
		{"rename DIR/.env DIR/env", "EBUSY"},
		{"rename DIR/other DIR/.env", "EBUSY"},
		{"exchange DIR/other DIR/.env", "EBUSY"},
		{"list DIR/.dir", "EACCES"},
		{"unlink DIR/.dir", "EBUSY"},
		{"read DIR/conf", "ok conf"},
	} {
		before := hostTree(t, dir)
		got := inJail(t, p, strings.Fields(strings.ReplaceAll(c.attempt, "DIR", dir)))[0]
		expect(t, c.attempt, got, c.want)
		if hostTree(t, dir) != before {
			t.Errorf("%s: the host's tree has changed", c.attempt)
		}
	}
}

// TestJailEntries are the odd shapes of entries.
func TestJailEntries(t *testing.T) {
	needsJail(t)
	tmp, err := os.MkdirTemp("/tmp", "mcp-jail-entry-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	for _, name := range []string{"/file", "/ro/inner", "/rw/inner"} {
		os.MkdirAll(filepath.Dir(tmp+name), 0o755)
		if err := os.WriteFile(tmp+name, []byte("content"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	dir := plant(t, "dir/inner")
	if err := unix.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	plantInto(t, dir+"/file")
	plantInto(t, dir+"/other")
	for _, c := range []struct {
		name   string
		grants []grant
		tries  []string
		want   string
	}{
		{"one file", []grant{{dir + "/file", r}},
			[]string{"read DIR/file", "write DIR/file", "read DIR/other", "list DIR", "unlink DIR/file", "create DIR/new", "rename DIR/file DIR/x"},
			"[ok file EROFS ENOENT EACCES EROFS EROFS EROFS]"},
		{"one file to write", []grant{{dir + "/file", r | u}},
			[]string{"write DIR/file", "truncate DIR/file", "unlink DIR/file", "create DIR/new"}, "[ok ok EROFS EROFS]"},
		{"a file among others", []grant{{dir, r}, {dir + "/file", r | u}},
			[]string{"write DIR/file", "write DIR/other", "unlink DIR/file", "list DIR"}, "[ok EROFS EROFS ok dir fifo file other]"},
		{"below /tmp", []grant{{tmp + "/file", r}, {tmp + "/ro", r}, {tmp + "/rw", rw | x}},
			[]string{"read TMP/file", "write TMP/file", "read TMP/ro/inner", "write TMP/ro/inner", "create TMP/ro/new", "execs TMP/ro/inner",
				"write TMP/rw/inner", "execs TMP/rw/inner", "create TMP/private", "rename TMP/ro TMP/away", "rename TMP/ro/inner TMP/stolen",
				"create /tmp/mine", "list TMP"},
			"[ok content EROFS ok content EROFS EROFS EACCES ok ok ok EBUSY EXDEV ok ok file private ro rw]"},
		{"a fifo", []grant{{dir + "/fifo", r | u}}, []string{"stat DIR/fifo", "unlink DIR/fifo"}, "[ok EROFS]"},
		{"/etc", []grant{{"/etc", r}},
			[]string{"stat /etc/passwd", "create /etc/mcp-jail-test", "stat /etc/hosts"}, "[ok EROFS ok]"},
		{"/, to read", []grant{{"/", r}},
			[]string{"stat /etc/passwd", "create /mcp-jail-test", "read DIR/file", "write DIR/file", "create /tmp/mine", "list /tmp", "stat /proc/1",
				"create /var/tmp/mcp-jail-test", "stat /dev/kmsg", "stat /proc/PARENT"},
			"[ok EROFS ok file EROFS ok ok mine ok EROFS ENOENT ENOENT]"},
		{"/, with /etc and a file masked", []grant{{"/", r}, {"/etc", 0}, {dir + "/file", 0}},
			[]string{"list /etc", "stat /etc/passwd", "read DIR/file", "read DIR/other"}, "[EACCES EACCES EACCES ok other]"},
		{"/, to write", []grant{{"/", rw}, {dir + "/file", r}},
			[]string{"create DIR/new", "unlink DIR/new", "write DIR/file", "read DIR/file", "stat /etc/hosts", "rename DIR DIR-moved"},
			"[ok ok EROFS ok file ok EBUSY]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{"file", "other"} { // each case starts with the same content
				if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			before := hostTree(t, dir) + hostTree(t, tmp)
			places := rootNames(t)
			var tries []attempt
			for _, s := range c.tries {
				s = strings.NewReplacer("DIR", dir, "TMP", tmp, "PARENT", fmt.Sprint(os.Getpid())).Replace(s)
				tries = append(tries, strings.Fields(s))
			}
			got := fmt.Sprint(inJail(t, jailProfile(t, c.grants...), tries...))
			expect(t, "in the jail", got, c.want)
			if after := hostTree(t, dir) + hostTree(t, tmp); after != before && !strings.Contains(c.name, "to write") {
				t.Errorf("the host's tree has changed:\n%s\nto\n%s", before, after)
			}
			if now := rootNames(t); now != places {
				t.Errorf("names were left on the host:\n%s\nwere\n%s", now, places)
			}
		})
	}
}

// rootNames lists the places of the host where a careless mount leaves names. In
// its /dev/shm others are at work, too.
func rootNames(t testing.TB) string {
	t.Helper()
	var all []string
	for _, dir := range []string{"/", "/dev", "/etc", "/dev/shm", "/home"} {
		names, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, n := range names {
			if dir != "/dev/shm" || strings.HasPrefix(n.Name(), "mcp-jail-test") {
				all = append(all, filepath.Join(dir, n.Name()))
			}
		}
	}
	return strings.Join(all, "\n")
}
