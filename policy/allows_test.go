package policy

import (
	"testing"
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
	for _, tt := range []struct {
		op   Op
		path string
		want bool
	}{
		{OpRead, "/all/x", true}, {OpRead, "/all/mask", false}, {OpRead, "/all/mask/x", false}, {OpRead, "/other", false}, {OpRead, "/allx", false}, {OpRead, "/", false},
		{OpList, "/all/ro", true}, {OpList, "/all/mask", false},
		{OpExec, "/all/x", true}, {OpExec, "/rw/x", false}, {OpExec, "/all/ro/x", false},
		{OpWrite, "/rw/x", true}, {OpWrite, "/rw/file", true}, {OpWrite, "/all/ro/x", false}, {OpWrite, "/create/x", false}, {OpTruncate, "/create/x", false},
		{OpCreate, "/create/x", true}, {OpMkdir, "/create/x", true}, {OpCreate, "/all/ro/x", false}, {OpCreate, "/all/ro/rw/x", true}, {OpCreate, "/all/mask/x", false},
		{OpCreate, "/all/mask", false}, {OpCreate, "/rw/file", false}, {OpCreate, "/all", false}, {OpCreate, "/rw/.git/hooks", false}, {OpMkdir, "/rw/.git/hooks", false}, {OpCreate, "/rw/.git/hooks/x", false}, {OpMkdir, "/rw/.git", false}, {OpMkdir, "/rw/.github", true}, {OpCreate, "/rw/.github", false},
		{OpRemove, "/rw/x", true}, {OpRemove, "/create/x", false}, {OpRemove, "/rw/file", false}, {OpRemove, "/all/ro", false}, {OpRemove, "/all/ro/rw", false}, {OpRemove, "/all", false}, {OpRemove, "/", false}, {OpRemove, "/all/ro/rw/x", true},
		{OpRemove, "/rule/same", true}, {OpRemove, "/rule/named", false}, {OpRemove, "/rule/less", false}, {OpRemove, "/rule/more", false}, {OpRemove, "/rule/none", false}, {OpRemove, "/rule/samedir", false}, {OpRemove, "/rule", false},
		{0, "/all/x", false}, {99, "/all/x", false},
	} {
		if got := p.Allows(tt.op, tt.path); got != tt.want {
			t.Errorf("%s %s: %v", tt.op, tt.path, got)
		}
	}
}
