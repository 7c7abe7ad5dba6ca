package policy

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// opProfile has one entry of each kind that operations depend on.
func opProfile() *Profile {
	return &Profile{
		Entries: []Entry{
			{Path: "/all", Rights: AllRights},
			{Path: "/all/mask", Rights: 0},
			{Path: "/all/ro", Rights: Read},
			{Path: "/all/ro/rw", Rights: Read | Write},
			{Path: "/create", Rights: Read | Create},
			{Path: "/rule", Kind: KindDir, Rights: Read | Write, Origin: OriginRule},
			{Path: "/rule/less", Kind: KindFile, Rights: Read, Origin: OriginRule},
			{Path: "/rule/more", Kind: KindFile, Rights: Read | Update | Execute, Origin: OriginRule},
			{Path: "/rule/named", Kind: KindFile, Rights: Read | Update, Origin: OriginRule}, // in a built-in denial
			{Path: "/rule/none", Kind: KindFile, Origin: OriginRule},
			{Path: "/rule/same", Kind: KindFile, Rights: Read | Write, Origin: OriginRule},
			{Path: "/rule/samedir", Kind: KindDir, Rights: Read | Write, Origin: OriginRule},
			{Path: "/rw", Rights: Read | Write},
			{Path: "/rw.", Rights: Read}, // sorts between /rw and /rw/x
			{Path: "/rw/file", Kind: KindFile, Rights: Read | Update},
		},
		Unprotected: []string{"/rw/.git/hooks"},
	}
}

func TestAllows(t *testing.T) {
	p := opProfile()
	for _, row := range testkit.Rows(t, "allowed.txt", 3) {
		op, path, want := row[0], row[1], row[2] == "true"
		if got := p.Allows(opOf(op), path); got != want {
			t.Errorf("%s %s: %v", op, path, got)
		}
	}
}
