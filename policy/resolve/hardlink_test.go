package resolve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func TestHardLinks(t *testing.T) {
	h, err := hostfs.LocalHost()
	testkit.Must(t, err)
	dir, _ := filepath.EvalSymlinks(t.TempDir())
	testkit.WriteFile(t, filepath.Join(dir, "one"), "")
	os.Mkdir(filepath.Join(dir, "sub"), 0o755)
	testkit.Must(t, os.Link(filepath.Join(dir, "one"), filepath.Join(dir, "sub", "two")))
	p := &policy.Profile{Entries: []policy.Entry{{Path: dir, Kind: policy.KindDir, Rights: policy.Read | policy.Write, Origin: policy.OriginRule, Rule: "f:1"}, {Path: filepath.Join(dir, "sub"), Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule}}}
	if ws := HardLinks(p, h, 100); len(ws) != 1 || !strings.Contains(ws[0].Message, "have another name elsewhere (1 of them, such as "+filepath.Join(dir, "one")+")") {
		t.Errorf("%v", ws)
	}
	if ws := HardLinks(p, h, 0); len(ws) != 0 {
		t.Errorf("beyond the limit: %v", ws)
	}
}
