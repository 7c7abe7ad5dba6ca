package plan

import (
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	landlockpkg "github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

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
	rules := landlockpkg.Compile(landlockpkg.Input{ABI: landlockpkg.NewestABI, Own: own, Entries: granted, Programs: []string{"/tmp"}, Identify: true}).Rules
	var paths []string
	for _, r := range rules {
		paths = append(paths, r.Path)
		if want := uint64(ll.AccessFSReadFile | ll.AccessFSReadDir | ll.AccessFSWriteFile | ll.AccessFSExecute); r.Path == "/tmp" && (r.Access&want != want || r.ID != id) {
			t.Errorf("%+v", r)
		}
	}
	testkit.Equal(t, "rules for", paths, []string{"/dev", "/dev/tty", "/tmp"})
	entries := mediatedEntries(granted, own)
	if len(entries) != 3 || entries[2].Rights != policy.Read|policy.Update || entries[2].Origin != policy.OriginHome || entries[0] != granted[0] {
		t.Errorf("%+v", entries)
	}
}
