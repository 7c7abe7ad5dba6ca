//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// The files harness_*_test.go have what the end-to-end tests share. Those tests are:
//
//   - follow: a server fails because of the jail, and what is proposed mends it
//   - no_advice: a program fails for another reason, and the jail says nothing
//   - client_*: real MCP clients from testdata/clients, whose servers are wrapped
//   - server_*: sessions with real MCP servers from testdata/npm
//   - program_*: the recipes of docs/policy.md, with real programs
//   - lifetime_*: ends of sessions; nothing is left behind
//   - memory: floods of every queue, and the memory of each process of ours
//   - stateless_*: a process for each call
//   - reload: configurations that change during a session
//   - preset_*: real servers under their presets
//   - leaks_*: secrets in requests of a server
//   - undo_*: changes of a server that are undone
//   - documents_*, explain_*: the examples in docs
//   - without_namespaces: jails on hosts that refuse user namespaces
//   - scripts in testdata/script: the command line
//
// The programs that they start are in testprogram_*_test.go.

// need skips a test if something that it needs is missing. If MCPJAIL_REQUIRE lists it,
// the test fails.
func need(t *testing.T, things ...string) {
	t.Helper()
	for _, thing := range things {
		why := ""
		switch thing {
		case "postgres", "chromium", "javac": // large
			testkit.NeedsLong(t)
		}
		switch thing {
		case "jail":
			for _, name := range []string{"landlock", "seccomp", "userns", "mount_api", "fresh_proc"} {
				if f, err := confine.Probe().Has(name); err != nil || f.Answer != confine.Yes {
					thing, why = name, "this host does not have it: "+f.Detail
				}
			}
		case "presets":
			if os.Getenv("MCPJAIL_PRESETS") == "" || os.Getenv("MCPJAIL_PRESETS_NATIVE") == "" && testkit.Long() {
				why = "MCPJAIL_PRESETS and MCPJAIL_PRESETS_NATIVE do not name directories with the servers of testdata/presets; make test-long installs them"
			}
		case "npm": // the installed servers, and npm
			if _, err := exec.LookPath("npm"); err != nil {
				why = err.Error()
				break
			}
			if os.Getenv("MCPJAIL_SERVERS") == "" {
				why = "MCPJAIL_SERVERS does not name a directory with the servers of testdata/npm; make test installs them"
				break
			}
			fallthrough
		case "node":
			if _, err := exec.LookPath("node"); err != nil {
				why = err.Error()
			}
		case "pip":
			if out, err := exec.Command("python3", "-m", "pip", "--version").CombinedOutput(); err != nil {
				why = fmt.Sprintf("%v %s", err, out)
			}
		case "postgres":
			if postgresBin() == "" {
				why = "no PostgreSQL server in /usr/lib/postgresql"
			}
		case "chromium":
			if chromium() == "" {
				why = "no Chromium in /usr/bin"
			}
		default:
			if _, err := exec.LookPath(thing); err != nil {
				why = err.Error()
			}
		}
		if why != "" {
			testkit.Skip(t, thing, "%s", why)
		}
	}
}

// server returns the program of an installed server.
func server(name string) string { return module(name, "dist", "index.js") }

// module returns a file of an installed package.
func module(name string, file ...string) string {
	return filepath.Join(append([]string{os.Getenv("MCPJAIL_SERVERS"), "node_modules", name}, file...)...)
}

// installed returns the path of a program of the tests.
func installed(t *testing.T, name string) string {
	t.Helper()
	file, err := exec.LookPath(name)
	must(t, err)
	return file
}

const (
	everything    = "@modelcontextprotocol/server-everything"
	filesystem    = "@modelcontextprotocol/server-filesystem"
	oldFilesystem = "filesystem-2025-3-28"
	memory        = "@modelcontextprotocol/server-memory"
	thinking      = "@modelcontextprotocol/server-sequential-thinking"
)

// pathExists reports whether path exists.
func pathExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

var must = testkit.Must

// snapshot returns every file below dir with its content.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch d.Type() {
		case 0:
			b, err := os.ReadFile(path)
			files[name] = string(b)
			return err
		case os.ModeSymlink:
			to, err := os.Readlink(path)
			files[name] = "-> " + to
			return err
		}
		files[name] = d.Type().String()
		return nil
	}))
	return files
}

var timePattern = regexp.MustCompile(`\d\d?:\d\d:\d\d( [AP]M)?|\d{4}-\d\d-\d\dT[0-9:.]+Z|(Sun|Mon|Tue|Wed|Thu|Fri|Sat) [A-Z][a-z]{2} \d\d \d{4} `)

// withoutTimes replaces times and dates, which differ between two sessions.
func withoutTimes(s string) string { return timePattern.ReplaceAllString(s, "TIME") }

// step is a tool call in a script for two sessions.
type step struct {
	tool      string
	arguments map[string]any
}

// callTools calls the tools of a script and returns their results.
func callTools(s *clientSession, script []step) (results []toolResult) {
	s.t.Helper()
	for _, c := range script {
		results = append(results, s.tool(c.tool, c.arguments))
	}
	return results
}

// compareResults compares the results of a script without and with a jail, byte for byte
// except for times. In the jail a failure may have additional text and _meta.
func compareResults(t *testing.T, script []step, plain, jailed []toolResult) {
	t.Helper()
	for i, c := range script {
		p, j := plain[i], jailed[i]
		same := withoutTimes(string(p.raw)) == withoutTimes(string(j.raw))
		if p.IsError && j.IsError {
			same = strings.HasPrefix(withoutTimes(j.texts()), withoutTimes(p.texts()))
		}
		if !same {
			t.Errorf("%s %v\n plain  %s\n jailed %s", c.tool, c.arguments, p.raw, j.raw)
		}
	}
}

// source returns a program or a configuration of testdata/sources.txt.
func source(t testing.TB, name string) string {
	t.Helper()
	text, ok := testkit.Archive(t, "sources.txt")[name]
	if !ok {
		t.Fatalf("sources.txt has no %s", name)
	}
	return text
}
