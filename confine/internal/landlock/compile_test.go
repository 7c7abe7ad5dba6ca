package landlock

import (
	"fmt"
	"strings"
	"testing"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/mcp-jail/mcp-jail/confine/internal/landlock/landlocktest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// sample returns an input with an entry of every kind.
func sample(abi int) Input {
	return Input{
		ABI: abi,
		Entries: []policy.Entry{
			landlocktest.SpecialEntry("/dev/null", policy.Read|policy.Update),
			landlocktest.DirEntry("/dev/pts", policy.Read|policy.Update),
			landlocktest.FileEntry("/etc/hosts", policy.Read),
			landlocktest.DirEntry("/home/ann/.cache/server", policy.AllRights),
			landlocktest.DirEntry("/home/ann/work", policy.Read|policy.Write),
			landlocktest.FileEntry("/home/ann/work/.env", 0),
			landlocktest.DirEntry("/home/ann/work/.git/hooks", policy.Read),
			landlocktest.DirEntry("/home/ann/work/drop", policy.Create),
			landlocktest.FileEntry("/home/ann/work/notes.txt", policy.Read|policy.Write),
			landlocktest.SpecialEntry("/run/daemon.sock", policy.Read|policy.Update),
			landlocktest.DirEntry("/usr", policy.Read|policy.Execute),
			landlocktest.DirEntry("/opt/hidden", policy.Execute),
		},
		Own: []policy.Entry{
			landlocktest.DirEntry("/dev/shm", policy.AllRights),
			landlocktest.DirEntry("/proc", policy.Read|policy.Update),
			landlocktest.DirEntry("/tmp", policy.AllRights),
		},
	}
}

func TestCompile(t *testing.T) {
	var cases []struct {
		name string
		in   Input
	}
	add := func(name string, in Input) {
		cases = append(cases, struct {
			name string
			in   Input
		}{name, in})
	}
	for abi := 0; abi <= NewestABI; abi++ {
		add(fmt.Sprintf("abi%02d", abi), sample(abi))
	}
	ports := sample(7)
	ports.DenyPorts = true
	add("abi07_no_ports", ports)
	ports.ABI = NewestABI
	add("abi11_no_ports", ports)
	programs := sample(7)
	programs.Programs = []string{"/usr/bin/node", "/usr/lib64/ld-linux-x86-64.so.2"}
	add("abi07_programs", programs)
	none := sample(7)
	none.Programs = []string{}
	add("abi07_no_programs", none)

	for _, c := range cases {
		testkit.Golden(t, "landlock_"+c.name+".golden", Compile(c.in).String())
	}
}

// TestCompileValidRules checks what landlock_add_rule demands:
// no right that is not handled, no right of directories on a file, no rule
// without rights (ENOMSG), and no path twice.
func TestCompileValidRules(t *testing.T) {
	kinds := map[string]policy.Kind{}
	for abi := 0; abi <= NewestABI; abi++ {
		in := sample(abi)
		in.Own = append(in.Own, landlocktest.DirEntry("/home/ann/work", policy.Execute))
		for _, e := range append(in.Entries, in.Own...) {
			kinds[e.Path] = e.Kind
		}
		p := Compile(in)
		last := ""
		for _, r := range p.Rules {
			if r.Path <= last {
				t.Errorf("ABI %d: %s follows %s", abi, r.Path, last)
			}
			last = r.Path
			switch {
			case r.Access == 0:
				t.Errorf("ABI %d: %s has a rule without rights", abi, r.Path)
			case r.Access&^p.FS != 0:
				t.Errorf("ABI %d: %s has rights that are not handled", abi, r.Path)
			case kinds[r.Path] != policy.KindDir && r.Access&^fileRights != 0:
				t.Errorf("ABI %d: %s is a file with rights of a directory", abi, r.Path)
			}
		}
	}
}

// TestEntryAccess checks that an entry grants the kernel rights of its own rights, and no other.
func TestEntryAccess(t *testing.T) {
	for r := policy.Rights(0); r <= policy.AllRights; r++ {
		a := entryAccess(landlocktest.DirEntry("/x", r), false)
		for _, c := range []struct {
			bits uint64
			need policy.Rights // any of
		}{
			{ll.AccessFSExecute, policy.Execute},
			{ll.AccessFSWriteFile | ll.AccessFSTruncate, policy.Update},
			{ll.AccessFSReadFile | ll.AccessFSReadDir, policy.Read},
			{ll.AccessFSRemoveDir | ll.AccessFSRemoveFile, policy.Delete},
			{ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym, policy.Create},
			{ll.AccessFSRefer, policy.Create | policy.Delete},
			{ll.AccessFSMakeChar | ll.AccessFSMakeBlock | ll.AccessFSIoctlDev | ll.AccessFSResolveUnix, 0},
		} {
			granted := a & c.bits
			if want := r&c.need != 0; want && granted != c.bits || !want && granted != 0 {
				t.Errorf("%s: %s", r, AccessNames(a))
			}
		}
	}
}

func TestEffectiveABI(t *testing.T) {
	for _, c := range []struct {
		abi    int
		errata uint32
		want   int
	}{
		{0, 0, 0}, {-1, 0, 0}, {1, 0, 1}, {4, 0, 4}, {5, 0, 5}, {5, scopeErratum, 5},
		{6, 0, 5}, {6, 1, 5}, {6, scopeErratum, 6}, {7, 0, 5}, {7, 1 | scopeErratum, 7},
		{11, scopeErratum, 11}, {99, scopeErratum, NewestABI},
	} {
		if got := EffectiveABI(c.abi, c.errata); got != c.want {
			t.Errorf("ABI %d with errata %#x counts as %d, want %d", c.abi, c.errata, got, c.want)
		}
	}
}

// TestRightsMatchGoLandlock checks that for each ABI we handle exactly the rights
// that go-landlock knows, under the same names.
func TestRightsMatchGoLandlock(t *testing.T) {
	known := []landlock.Config{
		{}, landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6,
		landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11,
	}
	testkit.Equal(t, fmt.Sprintf("the library's newest is %d, ours %d", len(known)-1, NewestABI), len(known), NewestABI+1)
	for abi, want := range known {
		p := Compile(Input{ABI: abi, DenyPorts: true})
		got := landlock.Config{HandledAccessFS: landlock.AccessFSSet(p.FS), HandledAccessNet: landlock.AccessNetSet(p.Net), Scoped: landlock.ScopedSet(p.Scoped)}
		testkit.Equal(t, fmt.Sprintf("ABI %d: %v, want %v", abi, got, want), got.String(), want.String())
		if names := "{" + strings.ReplaceAll(AccessNames(p.FS), " ", ",") + "}"; abi > 0 && names != want.HandledAccessFS.String() {
			t.Errorf("ABI %d: %s, want %v", abi, names, want.HandledAccessFS)
		}
	}
}
