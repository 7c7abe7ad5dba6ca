package installed

import (
	"context"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// mac returns a host of macOS with these programs, which belong to the user and the group of
// administrators; "PATH -> TARGET" is a link. A client with a window started mcp-jail.
func mac(t *testing.T, lines ...string) *hostfs.Host {
	var files []string
	for _, line := range lines {
		kind := "x "
		if strings.Contains(line, " -> ") {
			kind = "l "
		}
		if line != "" {
			files = append(files, kind+line[1:])
		}
	}
	h := newMachine(t, []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}, files...).host
	h.OS, h.UID, h.Home, h.Dir = "darwin", 501, "/Users/u", "/"
	lstat := h.Lstat
	h.Lstat = func(p string) (hostfs.FileInfo, error) {
		info, err := lstat(p)
		if info.UID, info.GID = 501, 80; info.Mode.IsDir() && p != "/" {
			info.Mode |= 0o020
		}
		return info, err
	}
	return &h
}

// TestMac tests what is found for a client with a window, and that a stand-in of macOS is never asked
// for its version: it would open a dialog.
func TestMac(t *testing.T) {
	for _, c := range testkit.Table[struct {
		lang    language
		files   string
		want    string // the default
		all     int
		refused string
	}](t, "mac.txt") {
		asked := func(_ context.Context, file string) (string, error) {
			if strings.HasPrefix(file, "/usr/bin/") {
				t.Errorf("%s is run", file)
			}
			return "3.12.1", nil
		}
		found, err := InterpreterFinder{Host: mac(t, strings.Split(c.files, "|")...), Version: asked}.find(t.Context(), c.lang)
		got, refused := "", ""
		for _, i := range found.Interpreters {
			if i.Default {
				got = i.Path
			}
		}
		for _, r := range found.Refused {
			refused += r.Reason
		}
		if err != nil || got != c.want || len(found.Interpreters) != c.all || !strings.Contains(refused, c.refused) || (c.refused == "") != (refused == "") {
			t.Errorf("%s of %s: %q of %v, refused %q, %v", c.lang, c.files, got, found.Interpreters, refused, err)
		}
	}
}
