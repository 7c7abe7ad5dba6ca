package cmdline

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// Names of the two programs.
const (
	Main      = "mcp-jail"     // serves sessions
	Companion = "mcp-jail-cli" // has the other commands
)

// Version and commit of a release. Its build sets them
// (-ldflags "-X github.com/mcp-jail/mcp-jail/cmd/internal/cmdline.release=1.2.3").
var release, releaseCommit string

// Version returns the version of this program without the "v" of its tag: that of the release,
// else that of the module or tag that Go built it from, else "development".
func Version() string {
	if release != "" {
		return release
	}
	if module := moduleVersion(); module != "" && module != "(devel)" {
		return strings.TrimPrefix(module, "v")
	}
	return "development"
}

// moduleVersion returns the version of the main module as Go recorded it: that of
// go install MODULE@VERSION, or that of the tag of a checkout.
func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

// Commit returns the commit that this program was built from: the one that Go recorded, else
// that of the release, else "unknown".
func Commit() string {
	commit := cmp.Or(releaseCommit, "unknown")
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += " (modified)"
			}
		}
	}
	return commit
}

// Build returns a text that distinguishes this build from others. Two builds of one changed
// checkout have the same text.
func Build() string { return strings.Join([]string{Version(), moduleVersion(), Commit()}, " ") }

// Name returns the path by which this program was called, if that is a name of mcp-jail.
func Name() string {
	if len(os.Args) > 0 && filepath.Base(os.Args[0]) == Main {
		return os.Args[0]
	}
	return Main
}

// Beside returns the path of a program in the directory of this one.
func Beside(name string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if errors.Is(err, fs.ErrNotExist) && runtime.GOOS == "linux" {
		return "", fmt.Errorf("there is no /proc here, which says where this program is: %w", err)
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(self), File(name)), nil
}

// File returns the name of the file of a program, as this system has it.
func File(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

// install says how both programs get into one directory.
const install = "install both from one build: go install github.com/mcp-jail/mcp-jail/cmd/...@latest, or in a clone: make build"

// callerVariable names the build of the program that executed this one.
const callerVariable = "MCP_JAIL_CALLER"

// Execute puts the program of that name, from the directory of this one, in the place of this
// process. It returns only if it cannot.
func Execute(name string, args []string) error {
	path, err := Beside(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		need := "mcp-jail needs it for every command but run"
		if name != Companion {
			need = Companion + " needs it for run"
		}
		return fmt.Errorf("%s is missing: %s; %s", path, need, install)
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a program; %s", path, install)
	}
	argv := append([]string{Name()}, args...)
	if err := execute(path, argv, append(os.Environ(), callerVariable+"="+Build())); err != nil {
		return fmt.Errorf("%s cannot be executed: %w; %s", path, err, install)
	}
	return nil
}

// Caller reports whether the other program executed this one, and returns an error if the other
// program is of another build. It removes callerVariable from the environment. Call it once,
// before anything else reads the environment.
func Caller() (executed bool, err error) {
	caller, executed := os.LookupEnv(callerVariable)
	if !executed {
		return false, nil
	}
	os.Unsetenv(callerVariable)
	if caller != Build() {
		return true, fmt.Errorf("%s and %s are of two builds, %q and %q; %s", Main, Companion, caller, Build(), install)
	}
	return true, nil
}
