package main

import (
	"cmp"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	fixture "github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// scriptRegistry is the registry of one script.
type scriptRegistry struct {
	*fixture.Site
	dependencies map[string]string
}

// registryOf is the key of a script's registry.
type registryOf struct{}

// cmdRegistry is the registry of a script, for npm and for pip:
//
//	registry start                            HOME's configurations of npm and pip name it
//	registry npm NAME VERSION [TOOL=TEXT...]  publish a server; TEXT describes its tool
//	registry pypi NAME VERSION
//	registry dependency OTHER                 what is published later needs OTHER
//	registry dir DIRECTORY                    publish the package in a directory
//	registry delay DURATION PATTERN           answers to such paths come late
//	registry stall PATTERN                    and these never
//	registry asked                            it was asked for something since the last time
//	registry close                            it is gone
func cmdRegistry(ts *testscript.TestScript, neg bool, args []string) {
	r := ts.Value(registryOf{}).(*scriptRegistry)
	name, rest := cmp.Or(strings.Join(args[:min(len(args), 1)], ""), "none"), args[min(len(args), 1):]
	commands := map[string]struct {
		words int
		do    func() error
	}{
		"start": {0, func() error { return r.start(ts) }},
		"npm":   {2, func() error { r.publish(rest[0], rest[1], rest[2:]); return nil }},
		"pypi": {2, func() error {
			r.Upload(fixture.MCPServer{Name: rest[0], Version: rest[1]}.Wheel())
			return nil
		}},
		"dependency": {1, func() error {
			r.dependencies = map[string]string{rest[0]: "1"}
			r.Publish(fixture.Package{Name: rest[0], Version: "1.0.0", Files: map[string]string{"index.js": ""}})
			return nil
		}},
		"dir": {1, func() error {
			p, err := fixture.FromDir(ts.MkAbs(rest[0]))
			r.Publish(p)
			return err
		}},
		"delay": {2, func() error {
			d, err := time.ParseDuration(rest[0])
			r.Fail(fixture.Fault{Path: rest[1], Delay: d})
			return err
		}},
		"stall": {1, func() error { r.Fail(fixture.Fault{Path: rest[0], After: 10, Stall: true}); return nil }},
		"asked": {0, func() error {
			asked := r.Requests()
			r.Forget()
			if (len(asked) > 0) == neg {
				ts.Fatalf("%d requests: %+v", len(asked), asked)
			}
			return nil
		}},
		"close": {0, func() error { r.Close(); return nil }},
	}
	c, ok := commands[name]
	if !ok || len(rest) < c.words || neg && name != "asked" {
		ts.Fatalf("usage: registry start|npm|pypi|dependency|dir|delay|stall|asked|close ..., not %q", args)
	}
	ts.Check(c.do())
}

// start serves an empty registry. npm and pip find it in the user's configuration.
func (r *scriptRegistry) start(ts *testscript.TestScript) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r.Site = fixture.Serve(l, fixture.New(fixture.Stock{}))
	ts.Defer(r.Close)
	home := ts.Getenv("HOME")
	ts.Setenv("PIP_CONFIG_FILE", filepath.Join(home, "pip.conf"))
	ts.Setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
	return errors.Join(
		os.WriteFile(filepath.Join(home, ".npmrc"), []byte("registry="+r.URL+"/\nupdate-notifier=false\n"), 0o600),
		os.WriteFile(filepath.Join(home, "pip.conf"), []byte("[global]\nindex-url = "+r.URL+"/simple/\n"), 0o600),
	)
}

// publish publishes a version of a server. Each description is TOOL=TEXT.
func (r *scriptRegistry) publish(name, version string, descriptions []string) {
	s := fixture.MCPServer{Name: name, Version: version, Describe: map[string]string{}, Dependencies: r.dependencies}
	for _, d := range descriptions {
		tool, text, _ := strings.Cut(d, "=")
		s.Describe[tool] = text
	}
	r.Publish(s.Package())
}

// normalise FILE replaces what differs between hosts: directories, digests, kernel and
// Landlock versions, and paths of the system.
func cmdNormalise(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: normalise file")
	}
	text := strings.ReplaceAll(ts.ReadFile(args[0]), ts.Getenv("WORK"), "WORK")
	for _, n := range hostDependent {
		text = n.match.ReplaceAllString(text, n.with)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

var hostDependent = []struct {
	match *regexp.Regexp
	with  string
}{
	{regexp.MustCompile(`/\S*/mcp-jail-cli-\d+/programs\b`), "BIN"},
	{regexp.MustCompile(`ABI \d+`), "ABI N"},
	{regexp.MustCompile(`(?m)^ +hidden +/etc/.*\n`), ""},
	{regexp.MustCompile(`(?m)^  (every server may read and execute|symbolic links|your other variables are hidden):\n(    .*\n)*`), "  $1:\n    ...\n"},
	{regexp.MustCompile(`(?m)^ +(PATH|LANG|LC_[A-Z]+|TERM|TZ|SHELL)=.*\n`), ""},
	{regexp.MustCompile(`(?m)(processes and threads) +\(.*\)$`), "$1  (PROCESSES)"},
	{regexp.MustCompile(`(?m)( MB of memory)\b.* exceed it\b.*\)$`), "$1  (MEMORY)"},
	{regexp.MustCompile(`\d+ inotify instances and \d+ watches`), "INOTIFY"},
	{regexp.MustCompile(`\d+ variables, \d+ of`), "N variables, N of"},
	{regexp.MustCompile(`(\S) {2,}`), "$1  "},
}
