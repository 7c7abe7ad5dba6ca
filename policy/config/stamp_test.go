package config

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
)

// TestStamp tests that every change of a layer is seen, and that nothing else is.
func TestStamp(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, file string){
		"nothing":       nil,
		"other content": func(t *testing.T, file string) { testkit.WriteFile(t, file, "longer than before") },
		"same size":     func(t *testing.T, file string) { testkit.WriteFile(t, file, "12345") },
		"same size and time": func(t *testing.T, file string) {
			info, err := os.Stat(file)
			must(t, err)
			testkit.WriteFile(t, file, "12345")
			must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
		},
		"replaced": func(t *testing.T, file string) {
			info, err := os.Stat(file)
			must(t, err)
			testkit.WriteFile(t, file+".new", "abcde")
			must(t, os.Chtimes(file+".new", info.ModTime(), info.ModTime()))
			must(t, os.Rename(file+".new", file))
		},
		"removed":             func(t *testing.T, file string) { must(t, os.Remove(file)) },
		"a directory instead": func(t *testing.T, file string) { must(t, os.Remove(file)); must(t, os.Mkdir(file, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			o, file := layersIn(t)
			testkit.WriteFile(t, file, "abcde")
			time.Sleep(2 * reader.Precision)
			s := o.Stamp()
			if path, _, changed := s.Changed(); changed {
				t.Fatalf("the control: %s has changed", path)
			}
			if change != nil {
				change(t, file)
			}
			path, _, changed := s.Changed()
			if changed != (change != nil) || changed && path != file {
				t.Errorf("%v %q, want %q", changed, path, file)
			}
		})
	}
	t.Run("created", func(t *testing.T) {
		o := LoadOptions{Files: []string{filepath.Join(t.TempDir(), "new")}}
		s := o.Stamp()
		testkit.WriteFile(t, o.Files[0], "")
		if _, _, changed := s.Changed(); !changed {
			t.Error("not seen")
		}
	})
	t.Run("written just before", func(t *testing.T) { // perhaps a second time, within one tick of the file system's clock
		o := LoadOptions{Files: []string{testkitFile(t, "abcde")}}
		if _, _, changed := o.Stamp().Changed(); !changed {
			t.Error("a stamp that may be too old is trusted")
		}
	})
}
