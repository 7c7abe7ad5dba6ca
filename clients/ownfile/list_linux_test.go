package ownfile

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestReplaceAccessList: a file with an access list, or in a directory that gives it one, is not replaced.
func TestReplaceAccessList(t *testing.T) {
	// user::rw-, user:1:rw-, group::---, mask::rw-, other::---
	list := []byte("\x02\x00\x00\x00\x01\x00\x06\x00\xff\xff\xff\xff\x02\x00\x06\x00\x01\x00\x00\x00\x04\x00\x00\x00\xff\xff\xff\xff\x10\x00\x06\x00\xff\xff\xff\xff\x20\x00\x00\x00\xff\xff\xff\xff")
	name := place(t, "old")
	testkit.Must(t, unix.Setxattr(name, "system.posix_acl_access", list, 0))
	wantRefused(t, read(t, name).Replace([]byte("new")), "it has an access list")
	testkit.Equal(t, "the file", testkit.ReadFile(t, name), "old")

	name = place(t, "old")
	testkit.Must(t, unix.Setxattr(filepath.Dir(name), "system.posix_acl_default", list, 0))
	wantRefused(t, read(t, name).Replace([]byte("new")), "its directory gives new files an access list")
	testkit.Equal(t, "the file", testkit.ReadFile(t, name), "old")
	entries, err := os.ReadDir(filepath.Dir(name))
	testkit.Must(t, err)
	testkit.Equal(t, "the files", len(entries), 1)
}
