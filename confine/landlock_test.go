package confine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func dirEntry(path string, r policy.Rights) policy.Entry {
	return policy.Entry{Path: path, Kind: policy.KindDir, Rights: r}
}

func fileEntry(path string, r policy.Rights) policy.Entry {
	return policy.Entry{Path: path, Kind: policy.KindFile, Rights: r}
}

func specialEntry(path string, r policy.Rights) policy.Entry {
	return policy.Entry{Path: path, Kind: policy.KindSpecial, Rights: r}
}

// landlockSample has an entry of every sort.
func landlockSample(abi int) landlockInput {
	return landlockInput{
		ABI: abi,
		Entries: []policy.Entry{
			specialEntry("/dev/null", policy.Read|policy.Update),
			dirEntry("/dev/pts", policy.Read|policy.Update),
			fileEntry("/etc/hosts", policy.Read),
			dirEntry("/home/ann/.cache/server", policy.AllRights),
			dirEntry("/home/ann/work", policy.Read|policy.Write),
			fileEntry("/home/ann/work/.env", 0),
			dirEntry("/home/ann/work/.git/hooks", policy.Read),
			dirEntry("/home/ann/work/drop", policy.Create),
			fileEntry("/home/ann/work/notes.txt", policy.Read|policy.Write),
			specialEntry("/run/daemon.sock", policy.Read|policy.Update),
			dirEntry("/usr", policy.Read|policy.Execute),
			dirEntry("/opt/hidden", policy.Execute),
		},
		Own: []policy.Entry{
			dirEntry("/dev/shm", policy.AllRights),
			dirEntry("/proc", policy.Read|policy.Update),
			dirEntry("/tmp", policy.AllRights),
		},
	}
}

func TestLandlockGolden(t *testing.T) {
	var cases []struct {
		name string
		in   landlockInput
	}
	add := func(name string, in landlockInput) {
		cases = append(cases, struct {
			name string
			in   landlockInput
		}{name, in})
	}
	for abi := 0; abi <= newestLandlock; abi++ {
		add(fmt.Sprintf("abi%02d", abi), landlockSample(abi))
	}
	ports := landlockSample(7)
	ports.DenyPorts = true
	add("abi07_no_ports", ports)
	ports.ABI = newestLandlock
	add("abi11_no_ports", ports)
	programs := landlockSample(7)
	programs.Programs = []string{"/usr/bin/node", "/usr/lib64/ld-linux-x86-64.so.2"}
	add("abi07_programs", programs)
	none := landlockSample(7)
	none.Programs = []string{}
	add("abi07_no_programs", none)

	for _, c := range cases {
		testkit.Golden(t, "landlock_"+c.name+".golden", compileLandlock(c.in).String())
	}
}

// TestLandlockRulesAreTakenByTheKernel checks what landlock_add_rule demands:
// no right that is not handled, no right of directories on a file, no rule
// without rights (ENOMSG), and no path twice.
func TestLandlockRulesAreTakenByTheKernel(t *testing.T) {
	kinds := map[string]policy.Kind{}
	for abi := 0; abi <= newestLandlock; abi++ {
		in := landlockSample(abi)
		in.Own = append(in.Own, dirEntry("/home/ann/work", policy.Execute))
		for _, e := range append(in.Entries, in.Own...) {
			kinds[e.Path] = e.Kind
		}
		p := compileLandlock(in)
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
			case kinds[r.Path] != policy.KindDir && r.Access&^landlockFileRights != 0:
				t.Errorf("ABI %d: %s is a file with rights of a directory", abi, r.Path)
			}
		}
	}
}

func TestLandlockNeverGrantsMoreThanTheEntry(t *testing.T) {
	for r := policy.Rights(0); r <= policy.AllRights; r++ {
		a := entryAccess(dirEntry("/x", r), false)
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
				t.Errorf("%s: %s", r, accessNames(a))
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
		{11, scopeErratum, 11}, {99, scopeErratum, newestLandlock},
	} {
		if got := effectiveABI(c.abi, c.errata); got != c.want {
			t.Errorf("ABI %d with errata %#x counts as %d, want %d", c.abi, c.errata, got, c.want)
		}
	}
}

// TestLandlockRightsMatchGoLandlock checks that for each ABI we handle exactly the rights
// that go-landlock knows, under the same names.
func TestLandlockRightsMatchGoLandlock(t *testing.T) {
	known := []landlock.Config{
		{}, landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6,
		landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11,
	}
	if len(known) != newestLandlock+1 {
		t.Errorf("the library's newest is %d, ours %d", len(known)-1, newestLandlock)
	}
	for abi, want := range known {
		p := compileLandlock(landlockInput{ABI: abi, DenyPorts: true})
		got := landlock.Config{HandledAccessFS: landlock.AccessFSSet(p.FS), HandledAccessNet: landlock.AccessNetSet(p.Net), Scoped: landlock.ScopedSet(p.Scoped)}
		if got.String() != want.String() {
			t.Errorf("ABI %d: %v, want %v", abi, got, want)
		}
		if names := "{" + strings.ReplaceAll(accessNames(p.FS), " ", ",") + "}"; abi > 0 && names != want.HandledAccessFS.String() {
			t.Errorf("ABI %d: %s, want %v", abi, names, want.HandledAccessFS)
		}
	}
}

// TestOwnPlaceThatIsGranted: where one of the jail's own places is an entry too, one
// rule holds the rights of both, and the object of the entry.
func TestOwnPlaceThatIsGranted(t *testing.T) {
	id := policy.FileID{Dev: 1, Ino: 2, Birth: 3}
	own := []policy.Entry{
		{Path: "/tmp", Kind: policy.KindDir, Rights: policy.Update},
		{Path: "/dev/tty", Kind: policy.KindSpecial, Rights: policy.Update},
	}
	granted := []policy.Entry{
		{Path: "/dev", Kind: policy.KindDir, Rights: policy.Read},
		{Path: "/tmp", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule, ID: id},
	}
	rules := compileLandlock(landlockInput{ABI: newestLandlock, Own: own, Entries: granted, Programs: []string{"/tmp"}, Pin: true}).Rules
	var paths []string
	for _, r := range rules {
		paths = append(paths, r.Path)
		if want := uint64(ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile | ll.AccessFSExecute); r.Path == "/tmp" && (r.Access&want != want || r.ID != id) {
			t.Errorf("%+v", r)
		}
	}
	if want := []string{"/dev", "/dev/tty", "/tmp"}; !slices.Equal(paths, want) {
		t.Errorf("rules for %q, want %q", paths, want)
	}
	entries := supervisedEntries(granted, own)
	if len(entries) != 3 || entries[2].Rights != policy.Read|policy.Update || entries[2].Origin != policy.OriginHome || entries[0] != granted[0] {
		t.Errorf("%+v", entries)
	}
}
