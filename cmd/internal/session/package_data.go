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

// PreparePackage claims the directory of a server, and copies there what npx has kept of its data. It
// prints that it did. For a trial it does nothing.
func (t *Target) PreparePackage(c terminal.Console) error {
	if t.trial != nil {
		return nil
	}
	h := t.home()
	if err := h.claim(); err != nil || t.Package == nil || t.Package.data == nil || isByHand(t) {
		return err
	}
	told, err := t.Package.data.takeOver(t.Host, h.path())
	if told != "" {
		c.Sayf("%s", told)
	}
	return err
}

// takeOver copies the newest file that npx has kept inside the package, from the private HOME
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
	// It was copied before, or the server has written one.
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
