package features

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
)

// SandboxExec is the program of macOS that starts another under a profile of Seatbelt. It is never looked
// up in PATH.
const SandboxExec = "/usr/bin/sandbox-exec"

// seatbeltFeature evaluates the file of sandbox-exec, or the error of looking at it. Whether a profile
// can be applied, which another sandbox around this process prevents, only the self-test can tell.
func seatbeltFeature(mode fs.FileMode, owner int, err error) Feature {
	const fix = "use a macOS that has it as Apple ships it"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Unavailable("this macOS has no "+SandboxExec, fix)
	case errors.Is(err, fs.ErrPermission):
		return Unavailable("another sandbox around this process hides "+SandboxExec, "start mcp-jail outside of it")
	case err != nil:
		return Unavailable(fmt.Sprintf("%s cannot be looked at: %v", SandboxExec, err), fix)
	case !mode.IsRegular() || mode&0o111 == 0:
		return Unavailable(SandboxExec+" is no program", fix)
	case owner != 0:
		return Unavailable(fmt.Sprintf("%s belongs to user %d and not to root", SandboxExec, owner), fix)
	case mode&0o022 != 0:
		return Unavailable(SandboxExec+" can be written by others than its owner", fix)
	}
	return Available(SandboxExec)
}

// seatbeltTempDir returns the name for the TMPDIR of one jail, with 8 hex digits that are random.
func seatbeltTempDir(uid int, random [4]byte) string {
	return fmt.Sprintf("%s%d-%x", seatbelt.TempPrefix, uid, random)
}
