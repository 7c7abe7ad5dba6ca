package windows

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
)

// TestCheckForm: what mcp-jail starts on Windows, and what it does not. A directory may have short names.
func TestCheckForm(t *testing.T) {
	host := clients.Host{OS: "windows"}
	for path, want := range map[string]struct{ program, dir bool }{
		`node`: {true, true}, `C:\x\s.exe`: {true, true}, `C:/x/s.exe`: {true, true}, `.\s.exe`: {true, true}, `..\s.exe`: {true, true}, `\x\s.exe`: {true, true}, ``: {true, true},
		`C:\PROGRA~1\x`: {false, true}, `\\wsl.localhost\Ubuntu\x`: {true, true}, `\\wsl$\Ubuntu\x`: {true, true},
		`\\?\C:\x\s.exe`: {}, `\\.\C:\x\s.exe`: {}, `\??\C:\x`: {}, `\\evil\share\s.exe`: {}, `//evil/share/s.exe`: {},
		`CON`: {}, `nul.txt`: {}, `C:\x\nul`: {}, `C:\x\s.exe::$DATA`: {}, `s.exe:x`: {}, `C:\x\s.exe.`: {}, `x `: {}, `C:s.exe`: {},
	} {
		if err := CheckForm(path, "", host); (err == nil) != want.program {
			t.Errorf("the program %q: %v", path, err)
		}
		if err := CheckForm("node", path, host); (err == nil) != want.dir {
			t.Errorf("the directory %q: %v", path, err)
		}
		for _, other := range []clients.Host{{OS: "linux"}, {OS: "windows", Mounted: true}} {
			if err := CheckForm(path, path, other); err != nil {
				t.Errorf("%q, elsewhere: %v", path, err)
			}
		}
	}
}
