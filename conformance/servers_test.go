//go:build linux

package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A server is a program that speaks MCP on its standard input and output.
type server struct {
	name string
	made string // the library
	argv func(*site) []string
}

// servers have four implementations: the TypeScript SDK, mcp-go, the Go SDK, and one
// without a library.
var servers = []server{
	{"everything", "TypeScript SDK 1.x", func(s *site) []string {
		return []string{"node", filepath.Join(s.servers, "@modelcontextprotocol/server-everything/dist/index.js"), "stdio"}
	}},
	{"filesystem", "TypeScript SDK 1.x", func(s *site) []string {
		return []string{"node", filepath.Join(s.servers, "@modelcontextprotocol/server-filesystem/dist/index.js"), s.work}
	}},
	{"mcp-go", "mcp-go", func(s *site) []string { return []string{filepath.Join(s.bin, "everything")} }},
	{"notes", "mcp-go", func(s *site) []string { return []string{filepath.Join(s.bin, "notes"), filepath.Join(s.work, "notes")} }},
	{"go-sdk", "Go SDK", func(s *site) []string { return []string{filepath.Join(s.bin, "everything-server")} }},
	{"odd", "Python, no library", func(s *site) []string { return []string{"python3", filepath.Join(s.base, "servers", "odd.py")} }},
}

func serverNamed(t *testing.T, name string) server {
	t.Helper()
	for _, sv := range servers {
		if sv.name == name {
			return sv
		}
	}
	t.Fatalf("there is no server %q", name)
	return server{}
}

// A side is a way to start a server.
type side func(*site, server) []string

// plain starts the server itself.
func plain(s *site, sv server) []string { return sv.argv(s) }

// jailed starts the server behind mcp-jail, with the default policy.
func jailed(s *site, sv server) []string {
	return append([]string{s.jail, "run", "--workspace", s.work, "--name", "conformance-" + sv.name, "--"}, sv.argv(s)...)
}

// stateless starts the server behind mcp-jail with a process for every call, the default
// policy, and the given number of warm workers for each tool.
func stateless(warm int) side {
	return func(s *site, sv server) []string {
		return []string{s.jail, "run", "--config", filepath.Join(s.base, fmt.Sprintf("warm-%d.toml", warm)), fmt.Sprintf("conformance-%s-%d", sv.name, warm)}
	}
}

// configure writes the configurations of the stateless servers.
func (s *site) configure() error {
	for _, warm := range []int{0, 1} {
		var b strings.Builder
		for _, sv := range append(servers, long...) {
			argv := sv.argv(s)
			arguments := make([]string, 0, len(argv))
			for _, a := range argv[1:] {
				arguments = append(arguments, strconv.Quote(a))
			}
			fmt.Fprintf(&b, "[servers.conformance-%s-%d]\nstateful = false\nwarm = %d\nworkspace = %q\ncommand = %q\narguments = [%s]\n",
				sv.name, warm, warm, s.work, argv[0], strings.Join(arguments, ", "))
		}
		if err := os.WriteFile(filepath.Join(s.base, fmt.Sprintf("warm-%d.toml", warm)), []byte(b.String()), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// lossy starts the server behind a relay with a fault.
func lossy(fault string) side {
	return func(s *site, sv server) []string {
		return append([]string{filepath.Join(s.bin, "lossy"), fault}, sv.argv(s)...)
	}
}
