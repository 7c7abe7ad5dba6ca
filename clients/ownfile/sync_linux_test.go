package ownfile

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestReplaceIsSynced: the old file stays until the new one is on the disk.
func TestReplaceIsSynced(t *testing.T) {
	name := place(t, "old")
	file := read(t, name)
	var err error
	replace := func() { err = file.Replace([]byte("new")) }
	testkit.Must(t, testkit.WithFailing(unix.SYS_FSYNC, unix.EIO, replace))
	testkit.Is(t, "without fsync", err, unix.EIO)
	testkit.Equal(t, "the file", testkit.ReadFile(t, name), "old")
	replace()
	testkit.Works(t, "control: with it", err)
}
