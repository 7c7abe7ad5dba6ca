package wrapcmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/gaps"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wsl"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// defaultLinux is the value of --wsl without a name. No distribution has such a name.
const defaultLinux = "the default"

// findWSL finds wsl.exe. Tests put a program of theirs in its place.
var findWSL = wsl.Find

// prepare returns the names that are taken. With --wsl the servers then start in the Linux that it means.
func (w *wrapCmd) prepare(c terminal.Console, host hostfs.Host, files []*wrapping.File, program wrapping.Program) (*wrapping.Names, error) {
	names, err := w.names(host, files)
	if err == nil && w.linux == "" {
		leaveRefused(files, w.Selection, host, entries.ClientsHost(host))
	}
	if err != nil || w.linux == "" {
		return names, err
	}
	target, err := chooseLinux(c, w.linux)
	if err == nil {
		moveToLinux(files, w.Selection, target, program, entries.ClientsHost(host))
	}
	return names, err
}

// chooseLinux returns the distribution of WSL that --wsl means. It starts it, and looks for its mcp-jail.
func chooseLinux(c terminal.Console, name string) (wsl.Target, error) {
	program, err := findWSL()
	if err != nil {
		return wsl.Target{}, &exit.HostError{Err: err}
	}
	all, err := program.List()
	if err != nil {
		return wsl.Target{}, &exit.HostError{Err: err}
	}
	if name == defaultLinux {
		name = ""
	}
	name, _, _ = strings.Cut(name, ":")
	chosen, err := wsl.Choose(all, name)
	if err != nil {
		return wsl.Target{}, &exit.HostError{Err: err}
	}
	if !program.IsRunning(chosen.Name) {
		c.Sayf("%s is stopped: starting it, which takes some seconds", chosen.Name)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	found, err := program.Ask(ctx, chosen.Name)
	target := wsl.Target{Name: chosen.Name, Root: found.Root}
	if err == nil && found.Version == "" {
		err = target.Missing()
	}
	if err != nil {
		return target, &exit.HostError{Err: err}
	}
	c.PrintText(fmt.Sprintf("The servers will run in %s, a Linux of WSL 2, in jails of its mcp-jail (%s) and as its user. On Windows, only wsl.exe and this mcp-jail run.\n", target.Name, show.Line(found.Version)) +
		"Paths of drives become those below " + show.Name(strings.TrimSuffix(target.Root, "/")) + "/c. Packages, private HOMEs, pins and records are in that Linux: type mcp-jail list and mcp-jail why there.\n\n")
	return target, nil
}

// moveToLinux has the selected servers of some files start in a distribution of WSL, or be left.
func moveToLinux(files []*wrapping.File, sel wrapping.Selection, target wsl.Target, program wrapping.Program, host clients.Host) {
	for _, f := range files {
		for _, e := range slices.Clone(f.Entries) {
			line, wrapped := clients.ParseWrapped(e.Argv())
			if !sel.Has(e.Server) || !wrapped && e.Left != "" {
				continue
			}
			if wrapped && (line.Argv == nil || !f.Judge(e, program, host).Jailed) {
				continue
			}
			argv, flags := e.Argv(), []string(nil)
			if wrapped {
				argv, flags = line.Argv, line.Flags
			}
			if why := keepsOnWindows(f, e, flags, argv, target); why != "" {
				f.Leave(e.Key(), why)
				continue
			}
			if cmdline.LinuxOf(line.Flags) != target.String() {
				f.Reflags(e.Key(), func(flags []string) []string { return inLinux(flags, target) })
			}
		}
	}
}

// keepsOnWindows returns why a server cannot be moved to Linux, or "".
func keepsOnWindows(f *wrapping.File, e wrapping.Entry, flags, argv []string, target wsl.Target) clients.Reason {
	switch {
	case f.IsProject():
		return "is of a project's file, which is for the systems of all who work on it: a server for WSL goes into a file of your own"
	case e.Cwd != "":
		return "has a directory of Windows to start in (" + clients.Reason(e.Shape.Cwd) + "), and in Linux it would start in the home directory: take it out, and write whole paths"
	}
	if _, err := target.Line(flags, argv); err != nil {
		return clients.Reason("cannot run in Linux: " + err.Error())
	}
	return ""
}

// inLinux returns flags of run that have the server start in a distribution. What Windows cannot enforce is
// not accepted there.
func inLinux(flags []string, target wsl.Target) (moved []string) {
	flags = gaps.Unwaive(flags, gaps.Waived(flags))
	for i := 0; i < len(flags); i++ {
		if flags[i] == "--wsl" {
			i++ // its value
		} else if !strings.HasPrefix(flags[i], "--wsl=") {
			moved = append(moved, flags[i])
		}
	}
	return append(moved, "--wsl", target.String())
}

// runsHere reports whether a change has a server start on this system.
func runsHere(s wrapping.ServerChange) bool {
	after, _ := clients.ParseWrapped(s.After)
	return s.Left == "" && cmdline.LinuxOf(after.Flags) == ""
}

// linuxNotes returns a note about the servers that run in a Linux of WSL.
func linuxNotes(servers []serverStatus) (notes []string) {
	for _, s := range servers {
		if target, err := wsl.ParseTarget(s.Linux); s.Linux != "" && err == nil {
			notes = append(notes, show.Name(s.Name)+" runs in "+target.Name+", a Linux of WSL: its records are there. `"+target.Shell()+"` opens a shell there, in which you type mcp-jail why")
		}
	}
	return notes
}
