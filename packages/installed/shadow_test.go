package installed

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestShadow: a program of the project around the working directory is in the way of a package that is not
// pinned, as it is for npx. It is none for a line of the user's own.
func TestShadow(t *testing.T) {
	for _, tt := range testkit.Table[struct {
		name, line, file string
		own              bool
		want             string
	}](t, "shadow.txt") {
		t.Run(tt.name, func(t *testing.T) {
			line, err := runline.Parse(strings.Fields(tt.line))
			testkit.Must(t, err)
			host := &hostfs.Host{Dir: "/w/d", Lstat: func(path string) (hostfs.FileInfo, error) {
				if path == tt.file {
					return hostfs.FileInfo{}, nil
				}
				return hostfs.FileInfo{}, fs.ErrNotExist
			}, ReadHead: func(string, int) ([]byte, error) { return nil, fs.ErrNotExist }}
			_, err = Finder{LockFile: filepath.Join(t.TempDir(), "none"), Host: host, Own: tt.own}.Find(t.Context(), &line)
			var shadow *ShadowError
			got := ""
			if errors.As(err, &shadow) {
				got = shadow.Path
			}
			if got != tt.want || got == "" && !errors.Is(err, ErrNotInstalled) {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
}
