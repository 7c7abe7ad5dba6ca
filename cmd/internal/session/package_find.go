package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/wrapper"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// findPackage finds the installed program for the launcher's line of a target, and sets t.Package.
// Without an error, t.Package is nil if the command is no launcher, or has the server started elsewhere. Package.use
// puts the program into the policy.
func (t *Target) findPackage(ctx context.Context) error {
	t.given = append([]string{t.Policy.Command}, t.Policy.Arguments...)
	line, err := runline.Parse(t.given)
	switch {
	case errors.Is(err, runline.ErrNotLauncher):
		t.warnElsewhere()
		return nil
	case err != nil:
		t.Package = t.newPackage(runline.Line{}, err)
		return nil
	}
	if t.Host.OS == "windows" {
		t.Package = t.newPackage(runline.Line{}, &runline.NotUnderstoodError{Launcher: string(line.Launcher), Why: "mcp-jail fetches no packages on Windows"})
		return nil
	}
	t.Package = t.newPackage(line, nil)
	program, err := t.packageFinder().Find(ctx, &line)
	var gaps *confine.GapError
	switch {
	case errors.Is(err, installed.ErrNotInstalled):
		t.Package.asGiven = err
		return nil
	case errors.As(err, &gaps):
		return &terminal.HostError{Err: gaps}
	case err != nil:
		return &Error{Reason: installed.Anew(err, t.Package.asked).Error()}
	}
	t.Package.program = program
	if program.Local != "" {
		t.Warnings = append(t.Warnings, policy.Warning{Code: "local-package", Message: fmt.Sprintf("the pinned %s %s runs; %s would run %s instead. To use that, start its program by its path", program.Entry.Name, program.Entry.Version, line.Launcher, show.Line(program.Local)), Where: t.Policy.Where})
	}
	if program.NotUsed != "" {
		t.Warnings = append(t.Warnings, policy.Warning{Code: "interpreter-not-used", Message: program.NotUsed, Where: t.Policy.Where})
	}
	if program.Unfit != "" {
		t.Warnings = append(t.Warnings, policy.Warning{Code: "engines", Message: program.Unfit, Where: t.Policy.Where})
	}
	// The variables that the line sets, and those of the package's data, are added to the host's.
	t.Package.env = slices.Clone(program.Env)
	if !t.Policy.HomeReal {
		t.Package.env = append(t.Package.env, t.dataVariable()...)
	}
	t.Host.Environ = append(slices.Clone(t.Host.Environ), t.Package.env...)
	return nil
}

// dataVariable returns the variable that makes the program write its data into its private HOME, not into its own
// package, which is read-only here and replaced by an update. A value of the user's that the server does not get names no
// other place.
func (t *Target) dataVariable() []string {
	name, file := npm.DataVariable(t.Package.program.Entry.Name)
	value, _ := t.Host.Getenv(name)
	if _, granted := policy.MatchEnv(t.Policy.Env, name); name == "" || value != "" && granted {
		return nil
	}
	return []string{name + "=" + filepath.Join(t.homePath(), file)}
}

// warnElsewhere warns of a command that has another process start the server: it is no child of mcp-jail.
func (t *Target) warnElsewhere() {
	program, where := wrapper.Elsewhere(t.given)
	message := program + " starts the server " + where + ": it is not confined by mcp-jail, which confines " + program + " itself only"
	switch where {
	case "":
		return
	case wrapper.AsOther:
		message = program + " starts the server as another user, which no program can do in a jail: the server will not start"
	}
	t.Warnings = append(t.Warnings, policy.Warning{Code: "elsewhere", Message: message, Where: t.Policy.Where})
}

func (t *Target) newPackage(line runline.Line, asGiven error) *Package {
	return &Package{line: line, asGiven: asGiven, given: t.given, asked: t.asked(&line), dir: t.workspaceDir(), host: &t.Host, rules: t.Policy.Packages, waive: t.Policy.Waive, own: IsOwn(t)}
}

func (t *Target) packageFinder() installed.Finder {
	host := t.Host
	host.Dir = launcherDir(t) // the launcher would look for programs of the project there
	f := installed.FinderFor(&host)
	f.Untrusted, f.Waive, f.Own = t.writers().whyUntrusted, t.Policy.Waive, IsOwn(t)
	if t.trial != nil {
		f.Store, f.LockFile = t.trial.Store, t.trial.LockFile
	}
	return f
}

// launcherDir returns where the launcher of a server starts.
func launcherDir(t *Target) string {
	switch {
	case t.Policy.ID == "" || t.Policy.StartIn == "" || t.Policy.StartIn == policy.StartInWorkspace:
		return t.workspaceDir()
	case t.Policy.StartIn == policy.StartInHome:
		return t.homePath()
	}
	return expand(t.Policy.StartIn, t.Host)
}

func (t *Target) workspaceDir() string { return expand(t.Policy.Workspace, t.Host) }

// Expand returns where a path of the policy leads, before links are followed. Relative ones are in the workspace.
func (t *Target) Expand(path string) string {
	in := t.Host
	in.Dir = t.workspaceDir()
	return expand(path, in)
}

// expand returns the absolute path of a path of the policy. A relative one begins at host.Dir.
func expand(path string, host hostfs.Host) string {
	if rest, ok := hostfs.CutHome(host.OS, path); ok || path == "~" {
		return filepath.Join(host.Home, strings.TrimPrefix(rest, "~"))
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(host.Dir, path)
}

// Close releases what a target holds.
func (t *Target) Close() {
	if t.Package.Entry() != nil {
		t.Package.program.Close()
	}
}

// Asked returns the arguments of mcp-jail install for the package of a target: a configured
// server, or the command line of the user. It leaves out the arguments of the server: they do not
// count, and may be secret.
func (t *Target) Asked() string {
	if t.Package != nil {
		return t.Package.asked
	}
	return t.asked(&runline.Line{})
}

func (t *Target) asked(line *runline.Line) string {
	if t.Config != nil && t.Policy.ID == "" {
		var words []string
		for _, file := range t.Host.Configs {
			words = append(words, "--config", file)
		}
		return show.Spelled(append(words, t.Policy.Server))
	}
	waive := t.commandLine.Waive
	if t.Policy.ID != "" {
		waive = t.Policy.Waive
	}
	return AskedLine(waive, t.given, line)
}

// AskedLine returns the arguments of mcp-jail install for the words of a launcher's line whose
// command line waives some axes.
func AskedLine(waive []policy.Axis, words []string, line *runline.Line) string {
	if n := len(words) - len(line.Args); n > 0 && slices.Equal(words[n:], line.Args) {
		words = words[:n]
	}
	return strings.TrimSpace(confine.WaiveFlags(waive) + " -- " + show.Spelled(words))
}

// PackageStore returns the store of the user's packages.
func PackageStore(host hostfs.Host) store.Store {
	return installed.FinderFor(&host).Store
}

// LockFile returns the lock file, which lies beside the user's configuration.
func LockFile(host hostfs.Host) string { return installed.FinderFor(&host).LockFile }
