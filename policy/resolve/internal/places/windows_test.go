package places

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// windows returns a host of which each path that is not in links is there. links has what a link leads to.
func windows(t *testing.T, links map[string]string) *hostfs.Host {
	return &hostfs.Host{
		OS: "windows", Home: `C:\Users\u`, Dir: `C:\Users\u\work`, ConfigDir: `D:\conf\mcp-jail`, Environ: []string{`KUBECONFIG=D:\kube`},
		Lstat: func(p string) (hostfs.FileInfo, error) {
			if strings.Contains(p, "/") || len(p) < 3 || p[1:3] != `:\` {
				t.Errorf("%s is looked at", p)
			}
			if _, ok := links[p]; ok {
				return hostfs.FileInfo{Mode: fs.ModeIrregular | 0o777}, nil // as Go tells a junction
			}
			return hostfs.FileInfo{Mode: fs.ModeDir | 0o777}, nil
		},
		Readlink: func(p string) (string, error) {
			if to, ok := links[p]; ok {
				return to, nil
			}
			return "", fs.ErrNotExist
		},
		ReadDir: func(p string) ([]hostfs.DirEntry, error) {
			if p == `C:\Users\u\Keys` {
				return []hostfs.DirEntry{{Name: "One.KEY"}}, nil
			}
			return nil, fs.ErrNotExist
		},
		ReadHead: func(string, int) ([]byte, error) { return nil, fs.ErrNotExist },
	}
}

// TestSensitiveOnWindows: sensitive paths are found in every spelling of Windows, and behind junctions. No
// other machine is looked at.
func TestSensitiveOnWindows(t *testing.T) {
	h := windows(t, map[string]string{`C:\Users\u\work\keys`: `C:\Users\u\.ssh`, `C:\Users\u\work\away`: `\\server\share`, `C:\Users\u\work\up`: `\Users\u\.aws`})
	p := &policy.Policy{Sensitive: []string{"~/Private", `D:\Vault`, "~/Keys/*.key", "**/Secret.txt", `own\dir`}, Kept: []string{`E:\token`}}
	for name, want := range map[string]string{
		`C:\Users\u\.ssh\id`:                  "~/.ssh",
		`c:/users/U/.SSH/id`:                  "~/.ssh",
		`\\?\C:\Users\u\.ssh\id`:              "~/.ssh",
		`C:\Users\u\.ssh.\id`:                 "~/.ssh",
		`..\.ssh\id`:                          "~/.ssh",
		`~\.ssh\id`:                           "~/.ssh",
		`keys\id`:                             "~/.ssh",
		`\Users\u\.ssh\id`:                    "~/.ssh",
		`C:..\.ssh\id`:                        "~/.ssh",
		`C:.env`:                              "**/.env",
		`C:\etc\shadow`:                       "",
		`\etc\shadow`:                         "",
		`D:\etc\ssl\private\x`:                "",
		`up\credentials`:                      "~/.aws",
		`C:\Users\u\work\.env`:                "**/.env",
		`C:\Users\u\work\.ENV`:                "**/.env",
		`C:\Users\u\work\.env::$DATA`:         "**/.env",
		`C:\Users\u\AppData\Roaming\gcloud\x`: "~/AppData/Roaming/gcloud",
		`C:\Users\u\appdata\local\microsoft\vault\x`:   "~/AppData/Local/Microsoft/Vault",
		`C:\Users\u\PRIVATE\x`:                         "~/Private",
		`D:\vault\x`:                                   `D:\Vault`,
		`C:\Users\u\keys\two.key`:                      "~/Keys/*.key",
		`D:\x\SECRET.TXT`:                              "**/Secret.txt",
		`C:\Users\u\work\own\dir\x`:                    `own\dir`,
		`E:\TOKEN`:                                     `E:\token`,
		`D:\Conf\mcp-jail\config.toml`:                 `D:\conf\mcp-jail`,
		`C:\Users\u\.config\MCP-jail\x`:                "~/.config/mcp-jail",
		`D:\Users\other\.SSH\id`:                       "**/.ssh",
		`\\server\share\.aws\x`:                        "**/.aws",
		`C:\Users\u`:                                   "",
		`C:\Users\u\work`:                              "",
		`C:\Users\u\work\.env.example`:                 "",
		`C:\Users\u\.sshd\id`:                          "",
		`D:\vaults`:                                    "",
		`away\x`:                                       "",
		`\\server\share\x`:                             "",
		`C:\Users\u\Keys\two.keys`:                     "",
		`C:\Users\u\AppData\Local\Programs\node\x.exe`: "",
	} {
		if got := Sensitive(h, p, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestGuardedOnWindows: mcp-jail's own places are guarded, as a whole and in part. With write, so is what starts
// outside of the jail, where Windows, PATH and the variables have it.
func TestGuardedOnWindows(t *testing.T) {
	h := windows(t, nil)
	h.Executable = `C:\Program Files\mcp-jail\mcp-jail.exe`
	h.Environ = []string{
		`Path=C:\Windows\system32;D:\tools\bin;"D:\semi;colon";relative;\\server\bin;C:\PROGRA~1\x;D:\p\node_modules\.bin`,
		`GOPATH=D:\go`, `XDG_CONFIG_HOME=D:\conf`,
	}
	const never, read, write = 0, 1, 2
	for p, c := range map[string]struct {
		when int
		want string
	}{
		`d:\CONF\mcp-jail\config.toml`:                {read, `D:\conf\mcp-jail`},
		`D:\`:                                         {read, `D:\conf\mcp-jail`},
		`C:\Users\u\.cache\mcp-jail`:                  {read, `C:\Users\u\.cache\mcp-jail`},
		`C:\program files\mcp-jail\mcp-jail.exe`:      {read, `C:\Program Files\mcp-jail\mcp-jail.exe`},
		`C:\Program Files\mcp-jail\MCP-JAIL-CLI.exe.`: {read, `C:\Program Files\mcp-jail\mcp-jail-cli.exe`},
		`C:\Users\u\.gitconfig`:                       {write, `C:\Users\u\.gitconfig`},
		`D:\Tools\bin\x.exe`:                          {write, `D:\tools\bin`},
		`D:\semi;colon\x.exe`:                         {write, `D:\semi;colon`},
		`C:\PROGRA~1\x\y.exe`:                         {write, `C:\PROGRA~1\x`},
		`D:\go\bin\x.exe`:                             {write, `D:\go\bin`},
		`C:\Users\u\work`:                             {never, ""},
		`C:\Users\u\work\x.exe`:                       {never, ""},
		`C:\Users\u\AppData\Local\x`:                  {never, ""},
		`D:\p\node_modules\.bin\x`:                    {never, ""},
		`C:\Windows\system32\x`:                       {never, ""},
		`C:\usr\local\bin`:                            {never, ""},
		`C:\etc\mcp-jail\config.toml`:                 {never, ""},
		`\etc\mcp-jail\config.toml`:                   {never, ""},
	} {
		for asked, write := range []bool{false, true} {
			want := ""
			if c.when != never && asked >= c.when-1 {
				want = c.want
			}
			if got := Guarded(h, p, write); got != want {
				t.Errorf("%s, write %t: %q, want %q", p, write, got, want)
			}
		}
	}
}

// TestSharedOnWindows: which directories are not for one server alone, by the places and the names of Windows.
func TestSharedOnWindows(t *testing.T) {
	h := windows(t, nil)
	h.Lstat = func(string) (hostfs.FileInfo, error) { return hostfs.FileInfo{}, fs.ErrNotExist }
	h.ReadDir = func(string) ([]hostfs.DirEntry, error) { return nil, fs.ErrNotExist }
	h.Environ = []string{`PATH=D:\tools\bin`}
	for p, want := range map[string]string{
		`c:\users\U`:                  "is the home directory",
		`C:\Users`:                    "holds the home directory",
		`C:\`:                         "holds the home directory",
		`E:\`:                         "is a system directory",
		`c:\WINDOWS\Temp`:             "is a system directory",
		`D:\Program Files (x86)\x`:    "is a system directory",
		`E:\Users\public`:             "is a system directory",
		`C:\Users\U\APPDATA`:          "holds a sensitive path (",
		`C:\Users\u\appdata\LocalLow`: "holds the files of many programs",
		`C:\Users\u\downloads`:        "holds the files of many programs",
		`C:\Users\u\.SSH\x`:           "is a sensitive path (~/.ssh)",
		`D:\CONF`:                     `holds, or is inside of, mcp-jail's own files (D:\conf\mcp-jail)`,
		`D:\Tools\bin`:                `is D:\tools\bin (it is in PATH`,
		`C:\users\u\WORK`:             "",
		`C:\Users\u\thing`:            "",
		`D:\data\thing`:               "",
		`D:\opt`:                      "",
	} {
		if got := Shared(h, &policy.Policy{}, p); (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
}
