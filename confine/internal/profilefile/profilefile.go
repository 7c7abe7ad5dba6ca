// Package profilefile writes the profile of a start on macOS to a file for sandbox-exec, and removes what
// launchers have left.
package profilefile

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/step"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Names below mcp-jail's own state directory.
const (
	runDir      = "run"
	profileName = "profile.sb"
)

// File is the file with the profile of a start, alone in its directory. The launcher has the
// lock of the directory while it needs the file.
type File struct {
	Name   string // "" if there is none
	unlock func() // nil if there is no lock
}

// Write writes the text of a profile to a file that only this user can read, and the server
// not at all: mcp-jail's state is closed to every server. If the profile grants the place all the
// same, nothing is started. What it has made is in the result also with an error.
func Write(p *policy.Profile, text string) (made File, err error) {
	home, err := hostfs.HomeDir()
	if err != nil {
		return made, err
	}
	_, state, _, _ := hostfs.StandardDirs(&hostfs.Host{Home: home, Environ: []string{"XDG_STATE_HOME=" + os.Getenv("XDG_STATE_HOME")}})
	run, err := private.Make(state, runDir)
	if err != nil {
		return made, err
	}
	defer run.Close()
	removeLeft(run)
	name := strings.ToLower(rand.Text())
	// The umask of this process may take rights from the owner.
	if err = run.Root().Mkdir(name, 0o700); err == nil {
		err = run.Root().Chmod(name, 0o700)
	}
	if err != nil {
		return made, err
	}
	dir, err := run.Open(name)
	if err != nil {
		return made, err
	}
	defer dir.Close()
	made.Name = filepath.Join(state, runDir, name, profileName)
	if real, err := filepath.EvalSymlinks(filepath.Dir(made.Name)); err == nil {
		made.Name = filepath.Join(real, profileName)
	}
	// Without locks on this filesystem, removeLeft removes nothing.
	made.unlock, _ = dir.Lock(private.Exclusive)
	if p.RightsAt(made.Name) != 0 || p.RightsAt(filepath.Dir(made.Name)) != 0 {
		return made, &step.Error{Step: step.Spec, Detail: "the policy gives the server rights to mcp-jail's own files in " + filepath.Dir(filepath.Dir(made.Name))}
	}
	f, err := dir.OpenFile(profileName, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return made, err
	}
	if err = f.Chmod(0o600); err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		f.Close()
		return made, err
	}
	return made, f.Close()
}

// Remove removes what Write made.
func (f File) Remove() {
	if f.Name != "" {
		os.Remove(f.Name)
		os.Remove(filepath.Dir(f.Name))
	}
	if f.unlock != nil {
		f.unlock()
	}
}

// leftAfter is how old a directory of a start must be to be taken for what a launcher has left: a start
// makes it, and then locks it.
const leftAfter = time.Minute

// removeLeft removes the profiles of launchers that were killed before their supervisors knew of them.
// One that runs has its lock. What else is there stays.
func removeLeft(run *private.Dir) {
	names, _ := run.Names()
	for _, n := range names {
		info, err := n.Info()
		if err != nil || !n.IsDir() || time.Since(info.ModTime()) < leftAfter {
			continue
		}
		dir, err := run.Open(n.Name())
		if err != nil {
			continue
		}
		if unlock, err := dir.Lock(private.Exclusive); err == nil {
			dir.Remove(profileName)
			run.Remove(n.Name()) // only if it is empty
			unlock()
		}
		dir.Close()
	}
}
