package install

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
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
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// pythonTree describes an unpacked tree.
type pythonTree struct {
	metadata map[string]python.Metadata     // by the packages' names
	programs map[string][]python.EntryPoint // by the packages' names
	bound    bool                           // a wheel is for one minor version of Python only
	system   string                         // as in runtime.GOOS
}

// maxMetadata bounds a file that describes a package.
const maxMetadata = 4 << 20

// finishTree turns what pip or uv has unpacked into a tree that can be sealed: programs in
// bin/, starters for entry points, and nothing that names this machine.
func finishTree(system string, stage *os.Root, work string) (*pythonTree, error) {
	t := &pythonTree{system: system, metadata: map[string]python.Metadata{}, programs: map[string][]python.EntryPoint{}}
	site, err := stage.OpenRoot(filepath.Join(work, "site"))
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
	root, err := stage.OpenRoot(work)
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
	t.bound = t.bound || python.BoundTags(text)
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
	text, err := readHead(root, name, maxMetadata+1)
	if err == nil && len(text) > maxMetadata {
		err = fmt.Errorf("%s has more than %d bytes", name, maxMetadata)
	}
	return text, err
}

func readHead(root *os.Root, name string, limit int64) (string, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit))
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
	all, bound := []python.Metadata{{Python: asked}}, t.bound
	for _, name := range slices.Sorted(maps.Keys(t.metadata)) {
		m := t.metadata[name]
		all, bound = append(all, m), bound || m.Bound()
	}
	return python.Range(all, bound, installed)
}

// program returns the file of the program that a line runs, below work. root is the package that the
// line names first.
func (t *pythonTree) program(stage *os.Root, work string, line *runline.Line, root string) (string, error) {
	file := path.Join("bin", line.Program)
	if _, err := stage.Lstat(filepath.Join(work, file)); err == nil && line.Program == path.Base(file) {
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

// samePath says that two packages of a tree have written one file, so that a part of one would run as
// the other. The packages are named by their dist-info.
func samePath(path, a, b string) error {
	a, b = strings.TrimSuffix(a, ".dist-info"), strings.TrimSuffix(b, ".dist-info")
	return fmt.Errorf("the packages %s and %s both write %s, and only one of the two files could be there: "+
		"mcp-jail does not install them together", a, b, path)
}

// checkPaths returns an error if two packages have written one file, or one has written into
// the dist-info of another. infos are the directories dist-info in site. A file that both packages
// have in the same form, such as the __init__.py of a common namespace, is no such file.
func checkPaths(system string, site *os.Root, infos []string) error {
	first := map[string]python.Recorded{}
	owner := map[string]string{}
	for _, dir := range infos {
		files, err := readRecord(site, filepath.Join(dir, "RECORD"))
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		for _, f := range files {
			top, _, below := strings.Cut(f.Path, "/")
			// Files beside dist-info may be shared, but metadata belong to one package.
			if below && top != dir && strings.HasSuffix(spelled(system, top), ".dist-info") {
				return samePath(f.Path, top, dir)
			}
			name := spelled(system, f.Path)
			other, there := first[name]
			if there && owner[name] != dir && !isSameFile(site, f, other) {
				return samePath(f.Path, owner[name], dir)
			}
			first[name], owner[name] = f, dir
		}
	}
	return nil
}

// spelled returns one spelling for all names of a file: usually on macOS, case does not count.
func spelled(system, name string) string {
	if system == "darwin" {
		return strings.ToLower(name)
	}
	return name
}

// isSameFile reports whether two packages recorded the same content for a file, and the file has it. The
// packages themselves have written the sums.
func isSameFile(site *os.Root, a, b python.Recorded) bool {
	sum, err := sumOf(site, filepath.FromSlash(a.Path))
	return err == nil && a.Sum == b.Sum && a.Sum == base64.RawURLEncoding.EncodeToString(sum)
}

// sumOf returns the SHA-256 of a regular file.
func sumOf(root *os.Root, name string) ([]byte, error) {
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file", name), err)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}

// request returns what pip or uv is asked for: the pinned files, the pinned versions if the files may
// be others, or what the line wants.
func (p *pythonFetch) request() (r python.Request, err error) {
	for _, s := range p.line.Packages {
		r.Requirements = append(r.Requirements, python.Requirement(s))
	}
	if p.built != nil {
		r.Local = p.local()
	}
	pinned := pinnedPackages(p.pinned)
	file := filepath.Join(p.jail.Home(), "pinned.txt")
	switch {
	case pinned == nil:
	case p.pinned.ScriptsRan: // a wheel that is built here has another hash each time
		r.Versions, err = file, p.write(file, python.Versions(pinned))
	default:
		r.Pinned, err = file, p.write(file, python.Requirements(pinned))
	}
	return r, err
}

// write writes a file of the stage, in place of one that is there.
func (p *pythonFetch) write(file, text string) error {
	err := p.stage.Remove(file)
	return errors.Join(err, p.stage.Root().WriteFile(p.stage.Below(file), []byte(text), 0o600))
}

// withPip lets pip resolve and download, and then unpack what is there.
func (p *pythonFetch) withPip(ctx context.Context) ([]python.Package, error) {
	dir := filepath.Join(p.jail.Home(), "wheels")
	if err := p.fresh(dir, dir); err != nil {
		return nil, err
	}
	request, err := p.request()
	if err != nil {
		return nil, err
	}
	if err := p.look(ctx, request, dir); err != nil {
		return nil, err
	}
	if err := p.online(ctx, append([]string{p.python.Path}, request.PipDownload(dir)...)...); err != nil {
		return p.fromSource(ctx, err)
	}
	packages, files, err := p.readWheels(dir)
	if err != nil {
		return nil, err
	}
	return packages, p.offline(ctx, fetching, append([]string{p.python.Path}, python.PipInstall(p.site(), files)...)...)
}

// look has pip resolve what is asked for by the metadata of the index. The error is errKnown if that is what is
// known. What pip cannot tell is downloaded.
func (p *pythonFetch) look(ctx context.Context, request python.Request, dir string) error {
	if p.known == nil || p.built != nil {
		return nil
	}
	list := filepath.Join(p.jail.Home(), "newest.txt")
	if err := p.fresh(list); err != nil {
		return err
	}
	var failed *pythonError
	err := p.run(ctx, *p.jail, looking, "", append([]string{p.python.Path}, request.PipLook(dir, list)...)...)
	if err != nil && !(errors.As(err, &failed) && failed.needsSource()) {
		return err
	}
	text, err := readSmall(p.stage.Root(), p.stage.Below(list))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if packages, err := python.ReadWheels(text); err == nil && p.isKnown(packages) {
		return errKnown
	}
	return nil
}

// isKnown reports whether packages are those that are known, and installed for this Python.
func (p *pythonFetch) isKnown(packages []python.Package) bool {
	if p.known == nil || python.Digest(packages) != p.known.Tree {
		return false
	}
	fits, err := python.Fits(p.known.Engines, p.python.Version)
	return fits && err == nil
}

func (p *pythonFetch) readWheels(dir string) (packages []python.Package, files []string, err error) {
	entries, err := fs.ReadDir(p.stage.Root().FS(), filepath.ToSlash(p.stage.Below(dir)))
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		name, version, err := python.ParseWheel(e.Name())
		if err != nil {
			return nil, nil, err
		}
		hash, err := p.hashOf(file)
		if err != nil {
			return nil, nil, err
		}
		if source := p.built[name]; source != "" {
			hash = source // two builds of the same sources may differ
		}
		packages = append(packages, python.Package{Name: name, Version: version, Hashes: []string{hash}})
		files = append(files, file)
	}
	slices.SortFunc(packages, func(a, b python.Package) int { return strings.Compare(a.Name, b.Name) })
	return packages, files, nil
}

// hashOf returns the SHA-256 of a file as pip writes it.
func (p *pythonFetch) hashOf(name string) (string, error) {
	sum, err := sumOf(p.stage.Root(), p.stage.Below(name))
	return "sha256:" + hex.EncodeToString(sum), err
}

// withUv lets uv resolve, and then install exactly the files whose hashes it has written, or those that
// are pinned.
func (p *pythonFetch) withUv(ctx context.Context) ([]python.Package, error) {
	request, err := p.request()
	if err != nil {
		return nil, err
	}
	list := request.Pinned
	if list == "" {
		in := filepath.Join(p.jail.Home(), "wanted.txt")
		list = filepath.Join(p.jail.Home(), "resolved.txt")
		text := strings.Join(request.Requirements, "\n") + "\n"
		if err := p.write(in, text); err != nil {
			return nil, err
		}
		if err := p.online(ctx, append([]string{p.uv}, request.UvCompile(p.python.Path, in, list)...)...); err != nil {
			return nil, err
		}
	}
	text, err := p.stage.Root().ReadFile(p.stage.Below(list))
	if err != nil {
		return nil, fmt.Errorf("uv wrote no list of packages: %w", err)
	}
	packages, err := python.ReadRequirements(string(text))
	if err != nil {
		return nil, fmt.Errorf("the list of packages that uv wrote cannot be read: %w", err)
	}
	if p.isKnown(packages) {
		return nil, errKnown
	}
	return packages, p.online(ctx, append([]string{p.uv}, python.UvInstall(p.python.Path, p.site(), list)...)...)
}
