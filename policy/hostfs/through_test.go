package hostfs

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tableWalk is a walk on a system whose links are a table, with other spellings of the directory that is
// looked for. It fails the test if it asks for a path that is on no drive of this machine.
func tableWalk(t *testing.T, system string, links map[string]string, spellings ...string) walk {
	asked := func(at string) {
		if system == "windows" && (len(at) < 3 || at[1:3] != `:\`) {
			t.Errorf("it looks at %q", at)
		}
	}
	return walk{
		system: system,
		is:     func(at string) bool { asked(at); return slices.Contains(spellings, at) },
		readlink: func(at string) (string, error) {
			asked(at)
			if target, ok := links[at]; ok {
				return target, nil
			}
			return "", errors.New("no link")
		},
	}
}

// TestThroughOnWindows: a path leads through a directory in every spelling of its name, over links of every
// form. What cannot be followed counts as one that does, and no other machine is asked.
func TestThroughOnWindows(t *testing.T) {
	links := map[string]string{
		`C:\into`: `C:\work\proj\sub`, `C:\up`: `work`, `C:\tools\here`: `..\work\proj`, `C:\junction`: `\??\C:\work\proj`,
		`C:\long`: `\\?\C:\WORK\proj`, `C:\rooted`: `\work\proj`, `C:\slashes`: `c:/work/proj`, `C:\again`: `C:\into`,
		`C:\share`: `\\host\share`, `C:\linux`: `\\wsl$\Debian`, `C:\unc`: `\\?\UNC\host\share`, `C:\nt`: `\??\UNC\host\share`, `C:\device`: `\\.\pipe\x`,
		`C:\cwd`: `D:x`, `C:\loop`: `loop`, `C:\volume`: `\\?\Volume{0-1}\`, `C:\mount`: `\??\Volume{0-2}\`, `C:\away`: `D:\other`,
	}
	w := tableWalk(t, "windows", links, `C:\PROJ~1`, `X:\`, `C:\mount\proj`)
	for name, want := range map[string]bool{
		`C:\work\proj`: true, `C:\work\proj\x.js`: true, `c:/WORK/Proj/x.js`: true, `C:\work\proj.\x.js`: true, `C:\work\.\proj\x`: true,
		`C:\work\projects\x.js`: false, `C:\work\x.js`: false, `D:\work\proj\x.js`: false, `C:\work\proj\..\x.js`: false, // Windows takes ".." out first
		`C:\into\x.js`: true, `C:\up\proj\x.js`: true, `C:\up\other\x.js`: false, `C:\tools\here\x.js`: true, `C:\junction\x.js`: true,
		`C:\long\x.js`: true, `C:\rooted\x.js`: true, `C:\slashes\x.js`: true, `C:\again\x.js`: true, `C:\away\x.js`: false,
		`C:\PROJ~1\x.js`: true, `X:\x.js`: true, `C:\mount\proj\x.js`: true, `C:\mount\x.js`: false, `C:\volume\x.js`: false,
		`C:\share\x.js`: true, `C:\linux\x.js`: true, `C:\unc\x.js`: true, `C:\nt\x.js`: true, `C:\device\x.js`: true, `C:\cwd\x.js`: true, `C:\loop\x.js`: true,
		`\\host\share\x.js`: true, `\work\x.js`: true, `x.js`: true, "": true,
	} {
		if got := w.through(name, `C:\work\proj`); got != want {
			t.Errorf("%q: %t, want %t", name, got, want)
		}
	}
}

// TestThroughOnUnix: ".." leads up from where a link leads, and a backslash is a part of a name.
func TestThroughOnUnix(t *testing.T) {
	links := map[string]string{"/into": "/work/proj/sub", "/up": "work", "/tools/here": "../work/proj", "/loop": "loop", "/away": "/other", "/passes": "up/proj/out", "/work/proj/out": "../../other"}
	w := tableWalk(t, "linux", links, "/bind")
	for name, want := range map[string]bool{
		"/work/proj/x": true, "/work/projects/x": false, "/into/x": true, "/up/proj/x": true, "/up/x": false, "/tools/here/x": true,
		"/into/../x": true, "/passes/x": true, "/loop/x": true, "/away/x": false, "/bind/x": true, "/work/proj/../x": true, `/work\proj/x`: false, "/WORK/proj/x": false,
	} {
		if got := w.through(name, "/work/proj"); got != want {
			t.Errorf("%q: %t, want %t", name, got, want)
		}
	}
	if got := w.through(strings.Repeat("/up/..", 300)+"/x", "/work/proj"); !got {
		t.Error("a path with more links than any kernel follows")
	}
}

// TestThrough asks this system, whose paths may have drives.
func TestThrough(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]bool{filepath.Join(dir, "x"): true, dir: true, dir + "x": false, filepath.Dir(dir): false} {
		if got := Through(name, dir); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
