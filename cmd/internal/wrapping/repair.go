package wrapping

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Reasons to put this program into an entry of the user's own.
const (
	otherProgram clients.Reason = "starts a program called mcp-jail that is not this one"
	ownProgram   clients.Reason = "starts a program in the project, which may become another one with the project"
	unknownDir   clients.Reason = "starts a program by a path that is relative to a directory that only the client knows"
	launched     clients.Reason = "starts mcp-jail through another program, which may take another version each time"
)

// start returns whether an entry starts this program, or what else. It is unclear where this program may not be what the
// entry means.
func (j judge) start(e Entry, line clients.Wrapped) Verdict {
	if len(line.Launcher) > 0 {
		if v := j.launched(line); v.State != Jailed {
			return v
		}
	} else if OnWindows(j.file) {
		return Verdict{Why: unknownStart}
	}
	if slices.Contains(append([]string{j.program.Path}, j.program.Also...), line.Program) && j.program.is(line.Program) {
		return Verdict{State: Jailed}
	}
	path, known := j.file.replaced(line.Program, j.host)
	if !known {
		return Verdict{Why: unknownStart}
	}
	// An absolute path is as it is, one with a slash is relative to the start, a bare name is searched.
	dir, dirKnown := j.directory(e)
	switch {
	case filepath.IsAbs(path):
	case strings.ContainsAny(path, `/\`):
		if !dirKnown {
			return j.mends(Stale, unknownDir)
		}
		if v := j.found(filepath.Join(dir, path)); v.State != Gone {
			return v
		}
		return j.mends(Stale, unknownDir)
	default:
		found, ok := j.search(e, path, dir)
		if !ok {
			return j.mends(Stale, otherProgram+": no directory of PATH has it")
		}
		path = found
	}
	return j.found(path)
}

// mends returns a state of which wrap mends an entry of the user's own.
func (j judge) mends(state State, why clients.Reason) Verdict {
	if j.file.IsProject() {
		state = Unclear
	}
	return Verdict{State: state, Why: why}
}

// directory returns where a client starts an entry, and whether that is known.
func (j judge) directory(e Entry) (dir string, known bool) {
	dir, known = j.host.Project, !j.file.IsProject() || j.file.Client.Dir == clients.DirProject || j.file.Client.Dir == clients.DirOpen
	if e.Cwd != "" {
		if dir, known = j.file.replaced(e.Cwd, j.host); !filepath.IsAbs(dir) {
			dir = filepath.Join(j.host.Project, dir)
		}
	}
	return dir, known
}

// found says of the program that a client finds what start does.
func (j judge) found(path string) Verdict {
	_, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return j.mends(Gone, clients.Reason("starts "+path+", which does not exist any more"))
	case !j.program.is(path):
		return j.mends(Stale, otherProgram+clients.Reason(" ("+path+"): which jail its server gets is not known"))
	case j.file.IsProject() && j.host.Project != "" && slices.ContainsFunc(repository(j.host), func(dir string) bool { return hostfs.Within(j.host.OS, path, dir) }):
		// It is this program now, and the next checkout may have another one there.
		return Verdict{Why: ownProgram}
	}
	return Verdict{State: Jailed}
}

// repository returns the directory of the project, and those above it that belong to its repository.
func repository(host clients.Host) []string {
	return append([]string{host.Project}, host.Above[:max(0, host.Repo)]...)
}

// search returns the program that a client starts for a bare name: from the entry's own PATH if that
// is known and has one, else from the PATH of this process.
func (j judge) search(e Entry, name, dir string) (path string, ok bool) {
	// A client searches in the PATH that the entry sets.
	for _, v := range e.Env {
		value, known := j.file.replaced(v.Value, j.host)
		if v.Name != "PATH" && !(j.host.OS == "windows" && strings.EqualFold(v.Name, "PATH")) || v.Unset || !known {
			continue
		}
		for _, d := range hostfs.SplitList(j.host.OS, value) {
			if !filepath.IsAbs(d) {
				d = filepath.Join(dir, d)
			}
			if file, err := exec.LookPath(filepath.Join(d, name)); err == nil { // with the endings of Windows
				return file, true
			}
		}
	}
	path, err := exec.LookPath(name)
	return path, err == nil
}
