package winpath

import (
	"io/fs"
	"testing"
)

// TestIsFile: a file with an unknown tag is a file on Windows, and what is more than that is none anywhere.
func TestIsFile(t *testing.T) {
	for mode, want := range map[fs.FileMode][2]bool{
		0o644:                                 {true, true},
		fs.ModeIrregular | 0o666:              {false, true},
		fs.ModeIrregular | fs.ModeDir | 0o777: {false, false},
		fs.ModeIrregular | fs.ModeDevice:      {false, false},
		fs.ModeDir | 0o755:                    {false, false},
		fs.ModeSymlink | 0o777:                {false, false},
		fs.ModeNamedPipe | 0o666:              {false, false},
		fs.ModeDevice | fs.ModeCharDevice:     {false, false},
	} {
		if IsFile("linux", mode) != want[0] || IsFile("darwin", mode) != want[0] || IsFile("windows", mode) != want[1] {
			t.Errorf("%v: want %t, and %t on Windows", mode, want[0], want[1])
		}
	}
}
