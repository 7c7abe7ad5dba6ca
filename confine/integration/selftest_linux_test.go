package integration

import (
	"errors"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/rootfs"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// TestCheckMounts: a name that does not lead to the carve-out that was attached there
// fails the start: it leads to what should be below it, or to what has not its flags.
func TestCheckMounts(t *testing.T) {
	if inMounts(t, "mount -t tmpfs -o ro,noexec none /mnt;") {
		return
	}
	dir := testkit.Plant(t, "file")
	idOf := func(path string) policy.FileID {
		fd, err := rootfs.OpenLast(&stub.Task{}, unix.AT_FDCWD, path)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		id, err := jailtest.Identity(fd)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	file, sealed, gone := dir+"/file", "/mnt", dir+"/gone"
	for _, c := range []struct {
		what string
		op   spec.MountOp
		want error
	}{
		{"a mask", spec.MountOp{Kind: spec.MountMask, Path: sealed, Id: idOf(file)}, nil},
		{"a mask that is elsewhere", spec.MountOp{Kind: spec.MountMask, Path: file, Id: idOf(file)}, rootfs.ErrSwapped},
		{"a mask of what is gone", spec.MountOp{Kind: spec.MountMask, Path: gone, Id: idOf(file)}, nil},
		{"an own place that is elsewhere", spec.MountOp{Kind: spec.MountTmpfs, Path: dir, Id: idOf(dir)}, rootfs.ErrSwapped},
		{"a copy that is elsewhere", spec.MountOp{Kind: spec.MountCopy, Path: dir, Id: idOf(dir)}, rootfs.ErrSwapped},
		{"read-only", spec.MountOp{Kind: spec.MountBind, Path: sealed, Ro: true}, nil},
		{"read-only, elsewhere", spec.MountOp{Kind: spec.MountBind, Path: file, Ro: true}, rootfs.ErrSwapped},
		{"read-only, gone", spec.MountOp{Kind: spec.MountBind, Path: gone, Ro: true}, unix.ENOENT},
		{"without programs", spec.MountOp{Kind: spec.MountBind, Path: sealed, Noexec: true}, nil},
		{"without programs, elsewhere", spec.MountOp{Kind: spec.MountBind, Path: file, Noexec: true}, rootfs.ErrSwapped},
		{"pinned read-only", spec.MountOp{Kind: spec.MountPin, Path: sealed, Ro: true}, nil},
		{"pinned read-only, elsewhere", spec.MountOp{Kind: spec.MountPin, Path: file, Ro: true}, rootfs.ErrSwapped},
		{"writable, which is no carve-out", spec.MountOp{Kind: spec.MountBind, Path: gone}, nil},
	} {
		c.op.Inside = true
		if err := (&jail.Builder{Init: &stub.Task{}, Order: &spec.Order{Mounts: []spec.MountOp{c.op}}}).CheckMounts(); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
}
