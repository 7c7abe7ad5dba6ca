package hostfs

import (
	"io/fs"
	"path"
	"testing"
)

// TestSaw asks for a file that is missing, or lists where it is missing, and then makes it. After Saw
// the file is found. Without Saw the answers from before count.
func TestSaw(t *testing.T) {
	const file = "/d/e/f"
	for name, ask := range map[string]func(*LinkResolver){
		"the file was asked for":            func(f *LinkResolver) { f.Lstat(file) },
		"its directory was asked for":       func(f *LinkResolver) { f.Lstat("/d/e") },
		"both were asked for":               func(f *LinkResolver) { f.Lstat(file); f.Lstat("/d/e") },
		"the directory above was listed":    func(f *LinkResolver) { f.ReadAhead("/d") },
		"that was listed, and it asked for": func(f *LinkResolver) { f.Lstat(file); f.ReadAhead("/d") },
	} {
		t.Run(name, func(t *testing.T) {
			made, asked := map[string]fs.FileMode{"/": fs.ModeDir, "/d": fs.ModeDir, "/d/other": 0}, map[string]int{}
			f := NewLinkResolver(&Host{
				OS: "linux",
				Lstat: func(p string) (FileInfo, error) {
					asked[p]++
					if mode, ok := made[p]; ok {
						return FileInfo{Mode: mode}, nil
					}
					return FileInfo{}, fs.ErrNotExist
				},
				ReadDir: func(dir string) (entries []DirEntry, err error) {
					for p, mode := range made {
						if p != "/" && path.Dir(p) == dir {
							entries = append(entries, DirEntry{Name: path.Base(p), Type: mode})
						}
					}
					return entries, nil
				},
			})
			f.Lstat("/d")
			ask(f)
			made["/d/e"], made[file] = fs.ModeDir, 0
			if f.Lstat(file).Err != fs.ErrNotExist {
				t.Error("control: it is found without Saw")
			}
			f.Saw(file)
			if err := f.Lstat(file).Err; err != nil {
				t.Errorf("it is not found: %v", err)
			}
			if !f.Exists(file) {
				t.Error("its path leads nowhere")
			}
			if asked["/d"] != 1 {
				t.Errorf("its directory, which was there, was asked for %d times", asked["/d"])
			}
		})
	}
}
