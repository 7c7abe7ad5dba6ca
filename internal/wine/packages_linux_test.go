package wine

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// windowsPackages are those whose tests run under Wine too: they have code for Windows alone, or
// take paths and files as Windows has them. Each has the tests that Wine cannot pass.
var windowsPackages = map[string]struct{ run, skipped string }{
	"clients":                                {run: "."},
	"clients/plugins":                        {".", "TestFindLink"},
	"cmd/internal/locate":                    {run: "."},
	"cmd/internal/granting":                  {run: "OfWindows"},
	"cmd/internal/windows":                   {run: "Machine|Look|Linked|CheckForm|LinuxOfProject"}, // others are of WSL
	"cmd/internal/wrapping/internal/meaning": {run: "."},
	"confine/internal/winjail":               {".", "TestToken TestLimits"},
	"confine/internal/winproof":              {run: "."},
	"internal/private":                       {".", "TestLinks TestFollow TestReplaced TestCreate"},
	"internal/show":                          {run: "."},
	"internal/winpath":                       {run: "."},
	"packages/installed":                     {run: "Describes|RemarkOn|SlowInterpreter"},                                     // others have owners and files of Unix
	"packages/lockfile":                      {run: "TestUpdate$|Together|WithoutLock|UpdateFails|TestLock$|ToolPins|Accept"}, // others only parse
	"packages/runtime":                       {run: "Windows|Launcher|Choose"},
	"packages/store":                         {run: "StaysInside"}, // others need modes, or ways to remove that Wine 8 does not know
	"policy/config":                          {run: "TrustStore|Spelling|FormsOfWindows|UntrustedLines"},
	"policy/hostfs":                          {"OwnAccount|OwnerOfFile|StandardDirs|Through", "TestOwnerOfFile"}, // others are of Unix
	"policy/resolve/internal/coarse":         {run: "."},
	"policy/resolve/internal/places":         {run: "Windows"},
	"presets":                                {run: "OnWindows"},
}

// skips finds what a test said last before it was skipped, and its name.
var skips = regexp.MustCompile(`(?m)^(.*)\n *--- SKIP: (\S+)`)

// TestPackages runs the tests of packages as programs of Windows. One is skipped only if it says that
// Wine is why.
func TestPackages(t *testing.T) {
	t.Parallel()
	h := start(t)
	base := filepath.Join(h.dir, "packages")
	testkit.Must(t, os.Mkdir(base, 0o755))
	root, err := filepath.Abs("../..")
	testkit.Must(t, err)
	testkit.Must(t, os.CopyFS(filepath.Join(base, "docs"), os.DirFS(filepath.Join(root, "docs")))) // clients has tests of pages
	// The go command runs this in the place of each test, in the directory of its package.
	keep := filepath.Join(base, "keep")
	script := "#!/bin/sh\nset -e\ndir=" + base + "${PWD#" + root + "}\nmkdir -p $dir\ncp $1 $dir/test.exe\n[ ! -d testdata ] || cp -r testdata $dir\n"
	testkit.Must(t, os.WriteFile(keep, []byte(script), 0o755))
	words := []string{"test", "-vet=off", "-count=1", "-exec=" + keep}
	files := map[string]string{}
	for p := range windowsPackages {
		words, files[p+"/wine_test.go"] = append(words, "./"+p), filepath.Base(p)
	}
	testkit.Must(t, h.compile(files, words...))
	for p, c := range windowsPackages {
		t.Run(p, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(base, p)
			cmd := h.start(h.windowsPath(filepath.Join(dir, "test.exe")), "-test.v", "-test.run="+c.run)
			cmd.Dir = dir
			r := h.run(t, cmd, "", testkit.Patience)
			if r.status != 0 || !strings.Contains(r.out, "\n--- PASS: ") {
				t.Fatal(r)
			}
			var skipped []string
			for _, s := range skips.FindAllStringSubmatch(r.out, -1) {
				if skipped = append(skipped, s[2]); !strings.Contains(s[1], ": Wine: ") {
					t.Errorf("%s is skipped: %s", s[2], s[1])
				}
			}
			if got := strings.Join(skipped, " "); got != c.skipped {
				t.Errorf("skipped are %q, want %q", got, c.skipped)
			}
		})
	}
}
