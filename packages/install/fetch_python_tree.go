package install

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/packages/runline"
)

// pythonTree describes an unpacked tree.
type pythonTree struct {
	metadata map[string]python.Metadata     // by the packages' names
	programs map[string][]python.EntryPoint // by the packages' names
	bound    []string                       // the packages whose wheels are for one minor version of Python
	system   string                         // as in runtime.GOOS
}

// maxMetadata bounds a file that describes a package.
const maxMetadata = 4 << 20

// finishTree turns what pip or uv has unpacked into a tree that can be sealed: programs in
// bin/, starters for entry points, and nothing that names this machine.
func finishTree(system, work string) (*pythonTree, error) {
	t := &pythonTree{system: system, metadata: map[string]python.Metadata{}, programs: map[string][]python.EntryPoint{}}
	site, err := os.OpenRoot(filepath.Join(work, "site"))
	if err != nil {
		return nil, err
	}
	defer site.Close()
	infos, err := fs.Glob(site.FS(), "*.dist-info")
	if err != nil {
		return nil, err
	}
	// Before metadata are believed: one package may have written another's.
	if err := checkPaths(system, site, infos); err != nil {
		return nil, err
	}
	for _, dir := range infos {
		if err := t.addPackage(site, dir); err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
	}
	root, err := os.OpenRoot(work)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return t, t.writePrograms(root)
}

func (t *pythonTree) addPackage(site *os.Root, dir string) error {
	text, err := readSmall(site, filepath.Join(dir, "METADATA"))
	if err != nil {
		return err
	}
	m := python.ReadMetadata(text)
	t.metadata[m.Name] = m
	if text, err = readSmall(site, filepath.Join(dir, "WHEEL")); err != nil {
		return err
	}
	if python.BoundTags(text) {
		t.bound = append(t.bound, m.Name)
	}
	text, err = readSmall(site, filepath.Join(dir, "entry_points.txt"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	t.programs[m.Name] = python.EntryPoints(text)
	for _, name := range python.InstallerFiles() {
		if err := site.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// RECORD lists what was removed just now, and paths of this machine.
	record := filepath.Join(dir, "RECORD")
	files, err := readRecord(site, record)
	if err != nil {
		return err
	}
	return site.WriteFile(record, []byte(python.PortableRecord(files)), 0o644)
}

func readRecord(site *os.Root, name string) ([]python.Recorded, error) {
	text, err := readSmall(site, name)
	if err != nil {
		return nil, err
	}
	return python.ReadRecord(text)
}

func readSmall(root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxMetadata+1))
	if err == nil && len(text) > maxMetadata {
		err = fmt.Errorf("%s has more than %d bytes", name, maxMetadata)
	}
	return string(text), err
}

// writePrograms moves the programs of site/bin to bin, replaces the programs of entry points by
// starters, and writes python.ChildrenFile.
func (t *pythonTree) writePrograms(root *os.Root) error {
	if err := root.Rename("site/bin", "bin"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := errors.Join(root.MkdirAll("bin", 0o755), root.MkdirAll(filepath.Dir(python.ChildrenFile), 0o755)); err != nil {
		return err
	}
	if err := root.RemoveAll("bin/__pycache__"); err != nil {
		return err
	}
	if err := root.WriteFile(python.ChildrenFile, []byte(python.Children()), 0o644); err != nil {
		return err
	}
	there, err := fs.ReadDir(root.FS(), "bin")
	if err != nil {
		return err
	}
	for _, e := range there {
		if err := makePortable(root, "bin/"+e.Name()); err != nil {
			return err
		}
	}
	written := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(t.programs)) {
		for _, e := range t.programs[name] {
			if written[spelled(t.system, e.Name)] {
				continue // two packages have it: the first by name
			}
			written[spelled(t.system, e.Name)] = true
			if err := writeProgram(root, "bin/"+e.Name, []byte(e.Starter())); err != nil {
				return err
			}
		}
	}
	return nil
}

func makePortable(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxMetadata {
		return err
	}
	text, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	if text, ok := python.Portable(text); ok {
		return writeProgram(root, name, text)
	}
	return nil
}

// writeProgram replaces a program. A link that was there is replaced, and not followed.
func writeProgram(root *os.Root, name string, text []byte) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(root.WriteFile(name, text, 0o755), root.Chmod(name, 0o755))
}

// versions returns the versions of Python on which the tree runs: those that all packages accept, and
// that the line asks for. installed is the one for which it was unpacked.
func (t *pythonTree) versions(line *runline.Line, installed string) string {
	asked, _ := python.VersionRange(line.Python) // interpreters has read it
	all, bound := []python.Metadata{{Python: asked}}, t.bound != nil
	for _, name := range slices.Sorted(maps.Keys(t.metadata)) {
		m := t.metadata[name]
		all, bound = append(all, m), bound || m.Bound()
	}
	return python.Range(all, bound, installed)
}

// program returns the file of the program that a line runs, below work. root is the package that the
// line names first.
func (t *pythonTree) program(work string, line *runline.Line, root string) (string, error) {
	file := path.Join("bin", line.Program)
	if _, err := os.Lstat(filepath.Join(work, file)); err == nil && line.Program == path.Base(file) {
		return file, nil
	}
	failed := &python.ProgramError{Package: root, Program: line.Program}
	for _, e := range t.programs[root] {
		failed.Names = append(failed.Names, e.Name)
	}
	slices.Sort(failed.Names)
	return "", failed
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
