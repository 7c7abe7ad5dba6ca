package resolve

import (
	"testing"
)

// TestLinksAstray: the opens that read are looked at only where a link of a grant leads to
// a sensitive path that is not granted.
func TestLinksAstray(t *testing.T) {
	secrets := "f /home/u/.ssh/id\nf /home/u/.netrc\nf /home/u/proj/.env\nf /home/u/other/x\nf /home/u/other/.env\nf /home/u/own/key\nf /home/u/proj/plain\n"
	for link, want := range map[string]bool{
		"":                                                              false,
		"l /home/u/proj/l plain":                                        false,
		"l /home/u/proj/l /home/u/other/x":                              false, // it is not granted, and no secret
		"l /home/u/proj/l /home/u/absent":                               false,
		"l /home/u/proj/l /usr/bin/node":                                false,
		"l /home/u/proj/l /home/u/.ssh/id":                              true,
		"l /home/u/proj/l /home/u/.ssh":                                 true,
		"l /home/u/proj/deep/l ../../.netrc":                            true,
		"l /home/u/proj/l .env":                                         true,
		"l /home/u/proj/l /home/u/other/.env":                           true,
		"l /home/u/proj/l m\nl /home/u/proj/m /home/u/.ssh/id":          true,
		"l /home/u/proj/node_modules/.bin/l /home/u/.ssh/id":            false, // npm's own
		"d /data/ssh\nf /data/ssh/id\nl /home/u/proj/l /home/u/own/key": true,
	} {
		server := aServer + "[servers.s.access]\nsensitive_paths = [\"~/own\"]\n[[servers.s.access.fs]]\npath = \".\"\nread = true\n"
		if p, _ := mustResolve(t, newFake(aSystem, secrets+link), server); p.LinksAstray != want {
			t.Errorf("%q: %v", link, p.LinksAstray)
		}
	}
	granted := fsRules(".:rw", "~/.ssh/id:r")
	if p, _ := mustResolve(t, newFake(aSystem, secrets+"l /home/u/proj/l /home/u/.ssh/id"), granted); p.LinksAstray {
		t.Error("what a rule grants is not refused")
	}
}
