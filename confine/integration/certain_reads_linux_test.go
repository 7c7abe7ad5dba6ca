package integration

import (
	"os"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// readTree is a tree of which ws, the working directory, is granted, ro to be read, and shut not at all.
func readTree(t *testing.T) (dir string) {
	dir = testkit.Plant(t, "ws/file", "ws/old", "ws/gone", "ws/empty/", "ws/shut/key", "ro/file", "out/key", "out/dir/key")
	for name, target := range map[string]string{"ws/alias": "file", "ws/astray": dir + "/out/key", "ws/lost": dir + "/out/none", "ws/dir": dir + "/out/dir", "ws/hidden": "shut/key"} {
		testkit.Must(t, os.Symlink(target, dir+"/"+name))
	}
	return dir
}

// readTrees returns a tree for each row, and the profile of a jail for all of them.
func readTrees(t *testing.T, rows [][]string) (dirs []string, p *policy.Profile) {
	for range rows {
		dirs = append(dirs, readTree(t))
	}
	return dirs, together(dirs, func(dir string) *policy.Profile {
		return jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw}, jailtest.Grant{Path: dir + "/ws/shut"}, jailtest.Grant{Path: dir + "/ro", Rights: policy.Read})
	})
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

// checkReads makes the attempts of rows in one jail, each in its tree, and compares what came of it and what is on
// record.
func checkReads(t *testing.T, l confine.Launcher, p *policy.Profile, in string, dirs []string, rows [][]string) {
	t.Helper()
	var tries []attacker.Attempt
	for i, row := range rows {
		tries = append(tries, attacker.Try("chdir", dirs[i]+in))
		tries = append(tries, jailtest.Tries(dirs[i], row[0])...)
	}
	s := jailtest.BeginBy(t, l, p, tries...)
	s.Finish()
	got := jailtest.Outcomes(t, tries, s.Out.Bytes(), s.Errs.Text)
	for i, row := range rows {
		jailtest.Expect(t, "chdir", got[2*i], attacker.Succeeded)
		testkit.Equal(t, row[0], firstWord(got[2*i+1])+", denied "+deniedIn(s.Denials(), dirs[i]), row[1]+", denied "+row[2])
	}
}

// unrecorded returns the rows, of which nothing is on record.
func unrecorded(rows [][]string) (all [][]string) {
	for _, row := range rows {
		all = append(all, []string{row[0], row[1], ""})
	}
	return all
}

// TestCertainReads: with certain reads, every open that only reads and is refused is on record, with the path
// to which it leads. Without, none is.
func TestCertainReads(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	rows := rows(t, "certain-reads.txt", 3)
	dirs, p := readTrees(t, rows)
	checkReads(t, confine.Launcher{CertainReads: true}, p, "/ws", dirs, rows)
	checkReads(t, confine.Launcher{}, p, "/ws", dirs, unrecorded(rows))
}

// TestRefusedChanges: refused changes are on record, with certain reads and without.
func TestRefusedChanges(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	rows := rows(t, "refused-changes.txt", 3)
	dirs, p := readTrees(t, rows)
	checkReads(t, confine.Launcher{CertainReads: true}, p, "/ws", dirs, rows)
	checkReads(t, confine.Launcher{}, p, "/ws", dirs, rows)
}

// TestOwnHome: where a server makes something in a directory that its private HOME lacks and the user's has, that
// place in the user's is on record, and what else it lacks is not.
func TestOwnHome(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, "home/", "user/notes/file", "user/.cache/")
	p := kept(homeProfile(t, dir+"/home"))
	for _, c := range rows(t, "own-home.txt", 3) {
		checkReads(t, confine.Launcher{UserHome: dir + "/user"}, p, "/home", []string{dir}, [][]string{c})
		checkReads(t, confine.Launcher{}, p, "/home", []string{dir}, unrecorded([][]string{c}))
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
	certain := jailtest.WaivesGaps
	certain.CertainReads = true
	rows := rows(t, "hostns-certain-reads.txt", 3)
	dirs, p := readTrees(t, rows)
	checkReads(t, certain, p, "/ws", dirs, rows)
}

// TestCertainReadsNeedMediation: a start that is to record refused reads and cannot is refused.
func TestCertainReadsNeedMediation(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	_, err := confine.Launcher{Once: true, CertainReads: true}.Start(t.Context(), jailtest.Profile(t), confine.Stdio{})
	testkit.Fails(t, "", err, "record each blocked read")
}
