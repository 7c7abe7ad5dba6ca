package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// readTree is a tree of which ws is granted, ro to be read, and shut not at all.
func readTree(t *testing.T) (dir string, p *policy.Profile) {
	dir = testkit.Plant(t, "ws/file", "ws/old", "ws/gone", "ws/empty/", "ws/shut/key", "ro/file", "out/key", "out/dir/key")
	for name, target := range map[string]string{"ws/alias": "file", "ws/astray": dir + "/out/key", "ws/lost": dir + "/out/none", "ws/dir": dir + "/out/dir", "ws/hidden": "shut/key"} {
		testkit.Must(t, os.Symlink(target, dir+"/"+name))
	}
	p = jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw}, jailtest.Grant{Path: dir + "/ws/shut"}, jailtest.Grant{Path: dir + "/ro", Rights: policy.Read})
	p.Dir = dir + "/ws"
	return dir, p
}

// deniedIn returns the denials about a path in dir, without dir.
func deniedIn(denials []policy.Denial, dir string) string {
	var lines []string
	for _, d := range denials {
		if policy.Within(d.Target, dir) {
			lines = append(lines, d.Operation+" ."+strings.TrimPrefix(d.Target, dir))
		}
	}
	return strings.Join(lines, ", ")
}

// checkRead makes the attempt of a row in a jail, and compares what came of it and what is on record.
func checkRead(t *testing.T, l confine.Launcher, p *policy.Profile, dir string, row []string) {
	t.Helper()
	tries := jailtest.Tries(dir, row[0])
	s := jailtest.BeginBy(t, l, p, tries...)
	s.Finish()
	got, _, _ := strings.Cut(jailtest.Outcomes(t, tries, s.Out.Bytes(), s.Errs.Text)[0], " ")
	testkit.Equal(t, row[0], got+", denied "+deniedIn(s.Denials(), dir), row[1]+", denied "+row[2])
}

// TestCertainReads: with certain reads, every open that only reads and is refused is on record, with the path
// to which it leads. Without, none is.
func TestCertainReads(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir, p := readTree(t)
	for _, c := range rows(t, "certain-reads.txt", 3) {
		checkRead(t, confine.Launcher{CertainReads: true}, p, dir, c)
		checkRead(t, confine.Launcher{}, p, dir, []string{c[0], c[1], ""})
	}
}

// TestRefusedChanges: refused changes are on record, with certain reads and without.
func TestRefusedChanges(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir, p := readTree(t)
	for _, c := range rows(t, "refused-changes.txt", 3) {
		checkRead(t, confine.Launcher{CertainReads: true}, p, dir, c)
		checkRead(t, confine.Launcher{}, p, dir, c)
	}
}

// TestOwnHome: where a server makes something in a directory that its private HOME lacks and the user's has, that
// place in the user's is on record, and what else it lacks is not.
func TestOwnHome(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, "home/", "user/notes/file", "user/.cache/")
	p := kept(homeProfile(t, dir+"/home"))
	for _, c := range rows(t, "own-home.txt", 3) {
		checkRead(t, confine.Launcher{UserHome: dir + "/user"}, p, dir, c)
		checkRead(t, confine.Launcher{}, p, dir, []string{c[0], c[1], ""})
	}
	tries := jailtest.Tries(dir, "create DIR/home/notes/new")
	s := jailtest.BeginBy(t, confine.Launcher{UserHome: dir + "/user"}, p, tries...)
	s.Finish()
	for _, d := range s.Denials() {
		testkit.Equal(t, "the reason", d.Reason, policy.DeniedOwnHome)
	}
}

// TestHostNSCertainReads: the same without namespaces, where the supervisor opens what is read.
func TestHostNSCertainReads(t *testing.T) {
	jailtest.NeedsHostNS(t)
	dir, p := readTree(t)
	certain := jailtest.WaivesGaps
	certain.CertainReads = true
	for _, c := range rows(t, "hostns-certain-reads.txt", 3) {
		checkRead(t, certain, p, dir, c)
	}
}

// TestCertainReadsNeedMediation: a start that is to record refused reads and cannot is refused.
func TestCertainReadsNeedMediation(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	_, err := confine.Launcher{Once: true, CertainReads: true}.Start(t.Context(), jailtest.Profile(t), confine.Stdio{})
	testkit.Fails(t, "", err, "record each blocked read")
}
