package install

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
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
	others   []string                       // programs in bin/ that are no entry points
	bound    bool                           // the tree runs on one minor version of Python only
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
	t.bound = t.bound || m.Bound()
	if text, err = readSmall(site, filepath.Join(dir, "WHEEL")); err != nil {
		return err
	}
	// The tags say whether the wheel has machine code or suits one version of Python only.
	t.bound = t.bound || python.BoundTags(text)
	text, err = readSmall(site, filepath.Join(dir, "entry_points.txt"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	programs, pipx := python.EntryPoints(text)
	t.programs[m.Name] = append(programs, pipx...)
	for _, name := range python.InstallerFiles() {
		if err := site.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// RECORD lists what was removed just now, and paths of this machine.
	record := filepath.Join(dir, "RECORD")
	if text, err = readSmall(site, record); err != nil {
		return err
	}
	return site.WriteFile(record, []byte(python.PortableRecord(text)), 0o644)
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
		t.others = append(t.others, e.Name())
		if err := makePortable(root, "bin/"+e.Name()); err != nil {
			return err
		}
	}
	written := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(t.programs)) {
		for _, e := range t.programs[name] {
			if written[spelled(t.system, e.Name)] {
				continue // pipx.run repeats it, or two packages have it: the first by name
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

func (t *pythonTree) list() (out []python.Metadata) {
	for _, name := range slices.Sorted(maps.Keys(t.metadata)) {
		out = append(out, t.metadata[name])
	}
	return out
}

// program returns the name of the program that a line runs. root is the package that the line
// names first.
func (t *pythonTree) program(line *runline.Line, root string) (string, error) {
	var own, all []string
	for name, programs := range t.programs {
		for _, e := range programs {
			all = append(all, e.Name)
			if name == root && !slices.Contains(own, e.Name) {
				own = append(own, e.Name)
			}
		}
	}
	slices.Sort(own)
	want := line.Program
	if want == "" { // pipx takes the program of the package's name, or else the only one
		want = root
		at := slices.IndexFunc(own, func(name string) bool { return python.Normal(name) == root })
		if at >= 0 {
			return own[at], nil
		}
		if len(own) == 1 {
			return own[0], nil
		}
	}
	if slices.Contains(all, want) || slices.Contains(t.others, want) {
		return want, nil
	}
	return "", &python.ProgramError{Package: root, Program: want, Names: own}
}

// hashOf returns the SHA-256 of a regular file as pip writes it.
func hashOf(name string) (string, error) {
	info, err := os.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		return "", fmt.Errorf("the file %s: %w", name, err)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
