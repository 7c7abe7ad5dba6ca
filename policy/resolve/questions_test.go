package resolve

import (
	"path"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestQuestions counts what Resolve asks of the host: once for each name, and never for a name below a
// directory that does not exist.
func TestQuestions(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			files := newFake(aSystem, s.files)
			asked, total := map[string]int{}, 0
			count := func(h *hostfs.Host) {
				if s.edit != nil {
					s.edit(h)
				}
				lstat := h.Lstat
				h.Lstat = func(p string) (hostfs.FileInfo, error) {
					asked[p]++
					total++
					return lstat(p)
				}
			}
			if _, _, err := resolveTool(t, files, s.toml, s.tool, count); err != nil {
				t.Fatal(err)
			}
			for p, times := range asked {
				if _, exists := files[path.Dir(p)]; times > 1 || !exists {
					t.Errorf("%s: asked %d times, its directory exists: %t", p, times, exists)
				}
			}
			t.Logf("%d questions", total)
			if total < 20 || total > 160 {
				t.Errorf("%d questions: want 20 to 160", total)
			}
		})
	}
}
