package session

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// packageData is a file that a package writes.
type packageData struct {
	writer npm.Writer
	file   string // where it is kept now
}

// dataDir is the directory of such a file in the private HOME.
const dataDir = "data"

// dataVariables returns the variables that make the program write its data into a private HOME.
// Started by npx, it writes into its own package, which is read-only here and replaced by an update.
func (p *Package) dataVariables(home string) []string {
	w, ok := npm.WriterOf(p.program.Entry.Name, p.program.Entry.Version)
	if !ok || w.Variable == "" {
		return nil
	}
	if value, set := p.host.Getenv(w.Variable); set && value != "" {
		return nil // the user has chosen a place, and a rule may pass it on
	}
	file := filepath.Join(home, dataDir, filepath.Base(w.File))
	p.data = &packageData{writer: w, file: file}
	return []string{w.Variable + "=" + file}
}

// Prepare makes ready what a session of the target needs on disk: see PreparePackage and LinkHome. What
// LinkHome holds is held until this process ends.
func Prepare(t *Target, c terminal.Console) error {
	err := t.PreparePackage(c)
	if err == nil {
		LinkHome(t, c)
	}
	return err
}

// PreparePackage claims the directory of a server, and copies to its place what npx has kept of its data in there. It
// prints that it did. Of the user's HOME it copies that for a table alone: mcp-jail wrap asks for the others. For a
// trial it does nothing.
func (t *Target) PreparePackage(c terminal.Console) error {
	if t.trial != nil {
		return nil
	}
	h := t.home()
	if err := h.claim(); err != nil || t.Package == nil || t.Package.data == nil {
		return err
	}
	homes := []string{h.path()}
	if !isByHand(t) && t.Config.Servers[t.Policy.Server].ID == "" {
		homes = append(homes, t.Host.Home)
	}
	told, err := t.Package.data.takeOver(t.Host, homes)
	if told != "" {
		c.Sayf("%s", told)
	}
	return err
}

// takeOver copies the newest file that npx has kept inside the package, below the first of some home directories that
// has one. The first is the server's own. The server can write that, so takeOver follows no link out of it.
func (d *packageData) takeOver(host hostfs.Host, homes []string) (string, error) {
	below, err := filepath.Rel(host.StateDir, homes[0])
	if err != nil {
		return "", err
	}
	dir, err := private.Make(host.StateDir, filepath.Join(below, dataDir))
	if err != nil {
		return "", err
	}
	defer dir.Close()
	name := filepath.Base(d.file)
	// It was copied before, or the server has written one.
	if _, err := dir.Lstat(name); err == nil {
		return "", nil
	}
	for _, from := range homes {
		home, err := os.OpenRoot(from)
		if err != nil {
			return "", err
		}
		defer home.Close()
		for _, file := range []string{d.writer.File, d.writer.Before} {
			// A file that only older versions write counts if there is no other: newer versions would rename it.
			kept := newestOf(home, d.writer.CacheOf(file))
			text, err := home.ReadFile(kept)
			if file == "" || kept == "" || err != nil {
				continue
			}
			if _, err := dir.Create(text, private.How{}, only(name)); err != nil {
				return "", err
			}
			return fmt.Sprintf("%s is kept in %s now; what npx kept below %s was copied", name, d.file, from), nil
		}
	}
	return "", nil
}

// newestOf returns the newest of the files that a pattern matches, or "".
func newestOf(home *os.Root, pattern string) (name string) {
	files, _ := fs.Glob(home.FS(), pattern)
	var at time.Time
	for _, f := range files {
		if info, err := home.Lstat(f); err == nil && info.Mode().IsRegular() && info.ModTime().After(at) {
			name, at = f, info.ModTime()
		}
	}
	return name
}
