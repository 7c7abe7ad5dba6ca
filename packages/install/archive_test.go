package install

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestArchiveWatch tests that only npm's own warning counts, and that it is found if it is
// written in several pieces.
func TestArchiveWatch(t *testing.T) {
	const warning = "tar TAR_ENTRY_ERROR path contains '..'\n"
	for printed, want := range map[string]bool{
		"added 1 package\nnpm warn " + warning + "more\n":                         true,
		"npm WARN " + warning:                                                     true,
		"npm warn deprecated x@1.0.0: npm warn " + warning:                        false,
		"npm warn tar TAR_ENTRY_ERROR ENOENT: no such file\n":                     false,
		strings.Repeat("x", 1000) + "npm warn " + warning:                         false,
		strings.Repeat(strings.Repeat("x", 1000)+"\n", 3) + "npm warn " + warning: true,
	} {
		whole, pieces := &archiveWatch{}, &archiveWatch{}
		io.WriteString(whole, printed)
		if _, err := io.Copy(struct{ io.Writer }{pieces}, iotest.OneByteReader(strings.NewReader(printed))); err != nil {
			t.Fatal(err)
		}
		if whole.outside != want || pieces.outside != want {
			t.Errorf("%.60q: %v, in pieces %v, want %v", printed, whole.outside, pieces.outside, want)
		}
	}
}
