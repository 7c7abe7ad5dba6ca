package target

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/launcher"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// installedPackage is the package behind the launcher's line of a target.
type installedPackage struct {
	line    launcher.Line
	program *installed.Program // nil: the line runs as it is given
	asGiven error              // why program is nil
	data    *packageData       // the file that the package writes; nil if none is known
	env     []string           // NAME=value that the program gets
}

// findPackage finds the installed program for the launcher's line of a target, and sets t.pkg.
// Without an error, t.pkg is nil if the command is no launcher, or starts a container. usePackage
// puts the program into the policy.
func (t *Target) findPackage(ctx context.Context) error {
	t.given = append([]string{t.Policy.Command}, t.Policy.Arguments...)
	line, err := launcher.Parse(t.given)
	var container *launcher.ContainerError
	switch {
	case errors.As(err, &container):
		t.Warnings = append(t.Warnings, policy.Warning{Code: "container", Message: container.Error(), Where: t.Policy.Where})
		return nil
	case errors.Is(err, launcher.ErrNotLauncher):
		return nil
	case err != nil:
		t.pkg = &installedPackage{asGiven: err}
		return nil
	}
	t.pkg = &installedPackage{line: line}
	program, err := t.packageFinder().Find(ctx, &line)
	var shadow *installed.ShadowError
	switch {
	case errors.As(err, &shadow):
		t.pkg.asGiven = err
		t.Warnings = append(t.Warnings, policy.Warning{Code: "shadow", Message: shadow.Error() + ". That has what is granted to this server, and its tools are not compared with pinned ones", Where: t.Policy.Where})
		return nil
	case errors.Is(err, installed.ErrNotInstalled), errors.Is(err, installed.ErrAsGiven):
		t.pkg.asGiven = err
		return nil
	case err != nil:
		return &installError{line.Packages[0].String(), err.Error()}
	}
	t.pkg.program = program
	if program.Shadow != "" {
		t.Warnings = append(t.Warnings, policy.Warning{Code: "shadow", Message: fmt.Sprintf("the pinned %s %s runs; %s would run %s instead. To use that, start its program by its path", program.Entry.Name, program.Entry.Version, line.Launcher, program.Shadow), Where: t.Policy.Where})
	}
	if program.NotUsed != "" {
		t.Warnings = append(t.Warnings, policy.Warning{Code: "interpreter-not-used", Message: program.NotUsed, Where: t.Policy.Where})
	}
	if w := t.sourceWarning(); w != "" {
		t.Warnings = append(t.Warnings, policy.Warning{Code: "package-source", Message: w, Where: t.Policy.Where})
	}
	t.useEnvironment(program)
	return nil
}

// packageFinder returns the finder of installed programs for the target.
func (t *Target) packageFinder() installed.Finder {
	host := t.Host
	host.Dir = t.workspaceDir() // the launcher would look for programs of the project there
	f := installed.FinderFor(&host)
	f.Untrusted = t.Untrusted
	if t.trial != nil {
		f.Store, f.LockFile = t.trial.Store, t.trial.LockFile
	}
	return f
}

// workspaceDir returns the directory of the workspace.
func (t *Target) workspaceDir() string { return t.expand(t.Policy.Workspace, t.Host.Dir) }

// expand returns the absolute path of a path of the policy. A relative one begins at base.
func (t *Target) expand(path, base string) string {
	if path == "~" || strings.HasPrefix(path, "~/") {
		return filepath.Join(t.Host.Home, path[1:])
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// PackageStore returns the store of the user's packages.
func PackageStore(host hostfs.Host) store.Store {
	return installed.FinderFor(&host).Store
}

// LockFile returns the lock file, which lies beside the user's configuration.
func LockFile(host hostfs.Host) string { return installed.FinderFor(&host).LockFile }

// notInstalled says that the package is not installed, or not any more.
func (p *installedPackage) notInstalled() string {
	var gone *installed.GoneError
	if errors.As(p.asGiven, &gone) {
		return gone.Error()
	}
	return p.line.Packages[0].String() + " is not installed yet"
}

// PackageText returns a line about the package of a target, for check and plan. It is "" for a
// server that no launcher starts.
func (t *Target) PackageText() string {
	switch {
	case t.pkg == nil:
		return ""
	case t.pkg.program != nil:
		e := t.pkg.program.Entry
		return fmt.Sprintf("%s %s, pinned %s in %s: %s runs it without %s", e.Name, e.Version, e.Pinned.Local().Format(time.DateOnly), LockFile(t.Host), t.Policy.Command, t.pkg.line.Launcher)
	case t.NeedsInstall():
		return t.pkg.notInstalled() + ": the first start fetches it, or mcp-jail install does"
	}
	if errors.Is(t.pkg.asGiven, installed.ErrNotInstalled) {
		return t.pkg.notInstalled() + ", and run does not fetch it here: mcp-jail install does"
	}
	return t.pkg.asGiven.Error() // it says that the line runs as it is given
}

// Package returns the pinned package whose program a target runs, or nil if it runs its command
// as it is given.
func (t *Target) Package() *lockfile.Entry {
	if t.pkg == nil || t.pkg.program == nil {
		return nil
	}
	return t.pkg.program.Entry
}

// PreparePackage moves and copies the data of earlier sessions to where the server finds them,
// and prints what it did. It calls ClaimHome. For a trial it does nothing.
func (t *Target) PreparePackage(c terminal.Console) error {
	var told []string
	var err error
	if t.trial == nil {
		told, err = t.takeOver(t.given)
	}
	for _, text := range told {
		c.Ownf("%s", text)
	}
	return err
}

// CheckPackage returns an error if the files of a target's package are not those that were
// installed. The files are compared once. The first call waits for that, until ctx ends at the
// latest.
func (t *Target) CheckPackage(ctx context.Context) error {
	if t.pkg == nil || t.pkg.program == nil {
		return nil
	}
	err := t.pkg.program.Check(ctx)
	var changed *store.ChangedError
	if errors.As(err, &changed) {
		return &installError{changed.ID.Name, changed.Error() + ". To install the pinned ones again: mcp-jail install --repair " + t.Asked() + ". To accept what the registry has now: mcp-jail install --update " + t.Asked()}
	}
	return err
}

// Asked returns the arguments of mcp-jail install for the package of a target: a configured
// server, or the command line of the user. It leaves out the arguments of the server: they do not
// count, and may be secret.
func (t *Target) Asked() string {
	if t.Config != nil {
		var words []string
		for _, file := range t.Host.Configs {
			words = append(words, "--config", file)
		}
		return show.Spelled(append(words, t.Policy.Server))
	}
	if t.pkg == nil {
		return "-- " + show.Spelled(t.given)
	}
	return AskedLine(t.given, &t.pkg.line)
}

// AskedLine returns the arguments of mcp-jail install for the words of a launcher's line.
func AskedLine(words []string, line *launcher.Line) string {
	if n := len(words) - len(line.Args); n > 0 && slices.Equal(words[n:], line.Args) {
		words = words[:n]
	}
	return "-- " + show.Spelled(words)
}

// Close releases what a target holds.
func (t *Target) Close() {
	if t.pkg != nil && t.pkg.program != nil {
		t.pkg.program.Close()
	}
}

// useEnvironment adds the variables that the launcher's line sets, and those of the package's
// data, to the variables of the host. It leaves out p.OwnEnv: mcp-jail takes the variables of the
// host for the user's.
func (t *Target) useEnvironment(p *installed.Program) {
	t.Host.Environ = slices.Clone(t.Host.Environ)
	t.pkg.env = append(slices.Clone(p.Env), t.dataVariables(p)...)
	t.Host.Environ = append(t.Host.Environ, t.pkg.env...)
}

// usePackage makes a policy of the target's server start the installed program in place of the
// launcher.
func (t *Target) usePackage(p *policy.Policy) {
	if t.pkg == nil || t.pkg.program == nil {
		return
	}
	p.Command, p.Arguments = t.pkg.program.Command, t.pkg.program.Arguments
	p.Packages.Tree, p.Packages.Bin, p.Packages.Env = t.pkg.program.Dir, t.pkg.program.Bin, t.pkg.program.OwnEnv
	p.Env = slices.Clone(p.Env)
	for _, v := range t.pkg.env {
		name, _, _ := strings.Cut(v, "=")
		p.Env = append(p.Env, policy.EnvRule{Name: name, Read: true, Where: "the package " + t.pkg.program.Entry.Name})
	}
}

// dataVariables returns the variables that make a program write its data to HOME. Started by
// npx, it writes into its own package, which is read-only here and replaced by an update.
func (t *Target) dataVariables(p *installed.Program) []string {
	w, ok := npm.WriterOf(p.Entry.Name, p.Entry.Version)
	if !ok || w.Variable == "" || t.Policy.HomeReal {
		return nil
	}
	if value, set := t.Host.Getenv(w.Variable); set && value != "" {
		return nil // the user has chosen a place, and a rule may pass it on
	}
	file := filepath.Join(t.privateHome(), "data", filepath.Base(w.File))
	t.pkg.data = &packageData{writer: w, file: file}
	return []string{w.Variable + "=" + file}
}

// packageData is a file that a package writes.
type packageData struct {
	writer npm.Writer
	file   string // where it is kept now
}

// privateHome returns the server's private HOME.
func (t *Target) privateHome() string {
	return filepath.Join(records.Path(t.Host, t.Policy.KeptName()), "home")
}

// takeOver moves or copies the data that an older mcp-jail, or npx itself, has kept for this
// server to where mcp-jail keeps them now. It returns a sentence for each thing that it moved or
// left.
func (t *Target) takeOver(argv []string) (told []string, err error) {
	former := config.DefaultName(argv, t.Host.Dir)
	if t.Policy.FromCommandLine && t.Policy.Server == cmdline.DefaultName(argv, t.Host.Dir) && former != t.Policy.Server {
		text, err := moveHome(t.Host, former, t.Policy.Server)
		if text != "" {
			told = append(told, text)
		}
		if err != nil {
			return told, err
		}
	}
	if err := t.ClaimHome(); err != nil || t.pkg == nil || t.pkg.data == nil {
		return told, err
	}
	text, err := t.pkg.data.takeOver(t.Host, t.privateHome())
	if text != "" {
		told = append(told, text)
	}
	return told, err
}

// moveHome moves the directory of a server to its present name, unless that has one. It returns a
// sentence about the directory that it moved or left.
func moveHome(host hostfs.Host, from, to string) (told string, err error) {
	servers, err := private.Open(host.StateDir, records.ServersDir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer servers.Close()
	if _, err := servers.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	before, now := records.Path(host, from), records.Path(host, to)
	if _, err := servers.Lstat(to); err == nil {
		return fmt.Sprintf("an older private HOME of this server is left in %s, since its package has one in %s: copy what you need of it, and remove it", before, now), nil
	}
	if err := servers.Rename(from, to); err != nil {
		return "", fmt.Errorf("the server's private HOME %s cannot be moved to %s: %w", before, now, err)
	}
	return fmt.Sprintf("this server's private HOME belongs to its package now, and was moved from %s to %s", before, now), nil
}

// takeOver copies the newest file that npx has kept inside of the package, from the private HOME
// or else from the user's. The server can write its HOME, so takeOver follows no link out of it.
func (d *packageData) takeOver(host hostfs.Host, own string) (string, error) {
	below, err := filepath.Rel(host.StateDir, own)
	if err != nil {
		return "", err
	}
	dir, err := private.Make(host.StateDir, below)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	home := dir.Root()
	name, err := filepath.Rel(own, d.file)
	if err != nil {
		return "", err
	}
	if _, err := home.Lstat(name); err == nil {
		return "", nil
	}
	if err := home.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", err
	}
	text, from := d.newest(home), own
	if text == nil {
		root, err := os.OpenRoot(host.Home)
		if err != nil {
			return "", err
		}
		defer root.Close()
		text, from = d.newest(root), host.Home
	}
	if text == nil {
		return "", nil
	}
	if err := home.WriteFile(name, text, 0o600); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is kept in %s now; what npx kept below %s was copied", filepath.Base(name), d.file, from), nil
}

// newest returns the newest of the files that npx has kept below a home directory, or nil. A file
// that only older versions write counts if there is no other: newer versions would rename it.
func (d *packageData) newest(home *os.Root) (text []byte) {
	for _, file := range []string{d.writer.File, d.writer.Before} {
		if file != "" && text == nil {
			text = newestOf(home, ".npm/_npx/*/node_modules/"+d.writer.Package+"/"+file)
		}
	}
	return text
}

// newestOf returns the newest of the files that a pattern matches below a home directory.
func newestOf(home *os.Root, pattern string) (text []byte) {
	files, _ := fs.Glob(home.FS(), pattern)
	var at time.Time
	for _, f := range files {
		info, err := home.Lstat(f)
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().After(at) {
			continue
		}
		if read, err := home.ReadFile(f); err == nil {
			text, at = read, info.ModTime()
		}
	}
	return text
}
