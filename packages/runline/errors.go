package runline

import (
	"errors"
	"strconv"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// ErrNotLauncher says that a command starts a program directly, without fetching a package.
var ErrNotLauncher = errors.New("the command is not a package launcher")

// NotUnderstoodError says that a command is a launcher, and that its line may mean something
// that this package cannot express.
type NotUnderstoodError struct {
	Launcher string // as a user calls it: "npx", "uv tool run"; also "sh", "env", "cmd"
	Word     string // the word that is not understood; "" if a word is missing
	Why      string
}

func (e *NotUnderstoodError) Error() string {
	text := "mcp-jail does not take this " + e.Launcher + " line apart: "
	if e.Word != "" {
		text += strconv.Quote(show.Abbreviate(e.Word)) + ": "
	}
	return text + e.Why + ". The line runs as it is given"
}

// ContainerError says that the command asks another process, such as the Docker daemon, to
// start the server. The server is then no child of mcp-jail, and mcp-jail does not confine
// it. The error matches ErrNotLauncher.
type ContainerError struct {
	Program string // docker, podman, nerdctl
	Command string // run, exec, ...
}

func (e *ContainerError) Error() string {
	return e.Program + " " + e.Command + " starts the server in a container: it is not confined by mcp-jail, which confines " + e.Program + " itself only"
}

// Is reports whether target is ErrNotLauncher.
func (e *ContainerError) Is(target error) bool { return target == ErrNotLauncher }
