package house_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// released are the systems that mcp-jail is built for.
var released = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64", "freebsd/amd64"}

var licenseName = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)([.-][a-z0-9.-]+)?$`)

// isLicense reports whether a file of that name must be passed on with a release.
func isLicense(name string) bool { return licenseName.MatchString(name) && filepath.Ext(name) != ".go" }

// TestThirdPartyLicenses compares THIRD_PARTY_LICENSES with the licences of all modules
// that are linked into the programs of a release. With -update it writes the file.
func TestThirdPartyLicenses(t *testing.T) {
	dirs := map[string][]string{} // of linked packages, by module and version
	roots := map[string]string{}
	for _, system := range released {
		for _, p := range linked(t, system) {
			if p.Module == nil || p.Module.Main {
				continue
			}
			name := p.Module.Path + " " + p.Module.Version
			roots[name] = p.Module.Dir
			dirs[name] = append(dirs[name], p.Dir)
		}
	}
	if len(roots) == 0 {
		t.Fatal("the programs have no dependencies")
	}
	users := map[string][]string{} // modules by the text of their licence
	for name, root := range roots {
		text := licenseOf(t, root, dirs[name])
		users[text] = append(users[text], name)
		if strings.HasPrefix(name, "golang.org/x/sys ") { // whose licence is that of Go
			users[text] = append(users[text], "the Go standard library")
		}
	}
	testkit.Golden(t, "../THIRD_PARTY_LICENSES", licenseText(users))
}

type linkedPackage struct {
	Dir    string
	Module *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// linked lists the packages in the programs of a release for one system.
func linked(t *testing.T, system string) (all []linkedPackage) {
	t.Helper()
	goos, goarch, _ := strings.Cut(system, "/")
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,Module", "./cmd/...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	testkit.Must(t, err)
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p linkedPackage
		if err := d.Decode(&p); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// licenseOf returns the licence files of a module: those at its root, and those in the
// directories on the way to each linked package.
func licenseOf(t *testing.T, root string, dirs []string) string {
	t.Helper()
	files := map[string]bool{}
	for _, dir := range append(dirs, root) {
		for ; strings.HasPrefix(dir, root); dir = filepath.Dir(dir) {
			entries, err := os.ReadDir(dir)
			testkit.Must(t, err)
			for _, e := range entries {
				if isLicense(e.Name()) && e.Type().IsRegular() {
					files[filepath.Join(dir, e.Name())] = true
				}
			}
		}
	}
	if len(files) == 0 {
		t.Errorf("%s has no licence", root)
	}
	var b strings.Builder
	// The licence of a module precedes those of its parts.
	byLength := func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) }
	for _, file := range slices.SortedFunc(maps.Keys(files), byLength) {
		text := strings.ReplaceAll(testkit.ReadFile(t, file), "\r\n", "\n")
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(text))
	}
	return b.String()
}

func licenseText(users map[string][]string) string {
	var sections []string
	for text, names := range users {
		slices.Sort(names)
		sections = append(sections, strings.Join(names, "\n")+"\n"+strings.Repeat("-", 80)+"\n"+text)
	}
	slices.Sort(sections)
	return "The programs mcp-jail, mcp-jail-cli and mcp-jail-tls contain the modules below, under these licences.\n" +
		"Written by go test . -run TestThirdPartyLicenses -update\n\n" +
		strings.Repeat("=", 80) + "\n" + strings.Join(sections, "\n"+strings.Repeat("=", 80)+"\n")
}
