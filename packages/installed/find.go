package installed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/sources"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Finder finds installed programs.
type Finder struct {
	Store     store.Store
	LockFile  string
	Host      *hostfs.Host
	Untrusted func(file string) string // why a file is not chosen as interpreter: see runtime.Finder
	Waive     []policy.Axis            // of the server: see Jail
	// Own says that the line is of the user's own configuration. A package of the project does not stop it.
	Own bool
}

// Program is what runs in place of a launcher.
type Program struct {
	Command   string   // "node", or an absolute path
	Arguments []string // the program's file and the arguments of the line
	Env       []string // NAME=value: what the line sets
	Bin       string   // the directory of the tree's programs, which belongs at the end of PATH, for the program alone
	Entry     *store.Entry
	Dir       string // the directory of the tree
	Local     string // where the project has a package or a program that the launcher would run instead; usually ""
	NotUsed   string // the interpreter of PATH that is not used, and which server may write it; usually ""
	Unfit     string // that the interpreter is none that the package asks for; usually ""

	tree    *store.Tree
	checked chan error
}

// ErrNotInstalled says that the package of a line is not installed, or not pinned.
var ErrNotInstalled = store.ErrNotInstalled

// A GoneError says that a package is pinned, and that the store does not have its files. It
// matches ErrNotInstalled.
type GoneError struct{ Name, Version string }

func (e *GoneError) Error() string {
	return e.Name + " " + e.Version + " is pinned, and its files are gone"
}

// Is reports whether target is ErrNotInstalled.
func (e *GoneError) Is(target error) bool { return target == ErrNotInstalled }

// Find returns the program of a line. The caller closes it.
func (f Finder) Find(ctx context.Context, line *runline.Line) (*Program, error) {
	local, err := f.local(line)
	if err != nil {
		return nil, err
	}
	entry, err := f.entry(line)
	if err != nil {
		return nil, err
	}
	tree, err := f.Store.Open(ID(entry))
	if errors.Is(err, ErrNotInstalled) {
		return nil, &GoneError{entry.Name, entry.Version}
	}
	if err != nil {
		return nil, err
	}
	p := &Program{Entry: entry, Dir: tree.Dir, Local: local, tree: tree, checked: make(chan error, 1)}
	// Reading the tree takes long: it goes on while the jail is prepared. Check waits for it.
	go func() { p.checked <- tree.Check(entry.Files) }()
	switch line.Ecosystem() {
	case runline.NPM:
		err = f.node(ctx, p, line)
	default:
		err = f.python(ctx, p, line)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	for _, a := range line.Env {
		p.Env = append(p.Env, a.Name+"="+a.Value)
	}
	return p, nil
}

// FinderFor returns the finder of the user's packages.
func FinderFor(host *hostfs.Host) Finder {
	return Finder{Store: store.Store{Dir: filepath.Join(host.DataDir, "packages")}, LockFile: filepath.Join(host.ConfigDir, store.FileName), Host: host}
}

// Has reports whether the package of a line is pinned and installed.
func (f Finder) Has(line *runline.Line) bool {
	entry, err := f.entry(line)
	if err != nil {
		return false
	}
	tree, err := f.Store.Open(ID(entry))
	if err == nil {
		tree.Close()
	}
	return err == nil
}

// ID returns the name of an entry's tree in the store.
func ID(e *store.Entry) store.ID {
	return store.ID{Ecosystem: string(e.Ecosystem), Name: e.Name, Version: e.Version, Digest: strings.TrimPrefix(e.Tree, "sha256:")}
}

func (f Finder) entry(line *runline.Line) (*store.Entry, error) {
	entry, err := Pinned(f.LockFile, Keys(line, f.Host, f.Own))
	switch {
	case err != nil:
		return nil, err
	case entry == nil:
		return nil, fmt.Errorf("%s is not in %s: %w", line.Packages[0], f.LockFile, ErrNotInstalled)
	}
	return entry, nil
}

// Check returns nil if the files of the tree are those that the lock file pins. The first call
// waits until they are compared, at most until ctx ends.
func (p *Program) Check(ctx context.Context) error {
	select {
	case err := <-p.checked:
		p.checked <- err
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close releases the tree, which can then be removed.
func (p *Program) Close() error {
	p.Check(context.Background())
	return p.tree.Close()
}

// Key returns the key of a line in the lock file. If variables of the host choose where packages come
// from, the key says so: a project may have brought the client's entry that sets them, and what it
// chose is not pinned for a line without them.
func Key(line *runline.Line, host *hostfs.Host) store.Key {
	words := append([]string{line.Wanted()}, chosen(line.Ecosystem(), host)...)
	return store.Key{Ecosystem: store.Ecosystem(line.Ecosystem()), Spec: strings.Join(words, " ")}
}

// OfProject comes after the spec of a line, and before the directory, in the key of what a project's line has fetched.
const OfProject = " --project="

// Keys returns the keys under which the lock file may have the package of a line. The first one counts more, and
// is that of what is fetched for the line. A line of the user's own has one key. Another line has two: that of its
// directory, and that of the user's own lines. A project's entry may choose npm or a proxy by variables. So what is
// fetched for it is a pin of that directory alone.
func Keys(line *runline.Line, host *hostfs.Host, own bool) []store.Key {
	keys := []store.Key{Key(line, host)}
	if own {
		return keys
	}
	dir := host.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	project := keys[0]
	project.Spec += OfProject + dir
	return append([]store.Key{project}, keys...)
}

// Pinned returns the entry of the first of some keys that the lock file has, or nil.
func Pinned(lockFile string, keys []store.Key) (*store.Entry, error) {
	for _, key := range keys {
		if e, err := store.Find(lockFile, key); e != nil || err != nil {
			return e, err
		}
	}
	return nil, nil
}

// chosen returns, as --NAME=VALUE, where the host's variables have the packages of an ecosystem fetched from.
func chosen(ecosystem runline.Ecosystem, host *hostfs.Host) (options []string) {
	tools := []sources.Tool{sources.NPM}
	if ecosystem != runline.NPM {
		tools = []sources.Tool{sources.Uv, sources.Pip}
	}
	for _, tool := range tools {
		from, err := sources.Reader{Host: host, Logins: true}.Read(tool)
		if err == nil { // else the installation says what is wrong
			options = append(options, from.Chosen()...)
		}
	}
	slices.Sort(options)
	return slices.Compact(options)
}

// python fills in how a program of PyPI is started: the starter of an entry point by Python,
// another program of the tree directly. The starter finds its packages by itself; package
// python has the layout of the tree.
func (f Finder) python(ctx context.Context, p *Program, line *runline.Line) error {
	name := line.Program
	if name == "" {
		name = p.Entry.Program
	}
	p.Bin = filepath.Join(p.Dir, "bin")
	file := filepath.Join(p.Bin, filepath.Base(name))
	head, err := readHead(file)
	if err != nil || name == "" || filepath.Base(name) != name {
		return f.noProgram(ctx, p, name)
	}
	p.Arguments = line.Args
	if !python.IsStarter(head) {
		p.Command = file
		return nil
	}
	// -s and -B: neither the user's own packages, nor files written beside the modules.
	p.Arguments = append([]string{"-s", "-B", file}, line.Args...)
	// Its path, without links: a tree does not take part in a virtual environment that PATH leads into.
	chosen, err := f.interpreter(ctx, p, Python, python.Fits)
	p.Command = chosen.Path
	return err
}

func (f Finder) noProgram(ctx context.Context, p *Program, name string) error {
	e := &python.ProgramError{Package: p.Entry.Name, Program: name}
	entries, err := os.ReadDir(p.Bin)
	if err != nil {
		return p.Check(ctx) // it tells what is missing
	}
	for _, there := range entries {
		e.Names = append(e.Names, there.Name())
	}
	slices.Sort(e.Names)
	return e
}

func readHead(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 128)
	n, err := io.ReadFull(f, head)
	if err == io.ErrUnexpectedEOF || err == io.EOF {
		err = nil
	}
	return head[:n], err
}

func (f Finder) node(ctx context.Context, p *Program, line *runline.Line) error {
	// Another line with the same packages may have made the pin.
	name, start, err := npm.RootProgram(os.DirFS(p.Dir), line.Names(), line.Program)
	if err != nil {
		return err
	}
	dir := filepath.Join(p.Dir, "node_modules", filepath.FromSlash(name))
	file := filepath.Join(dir, filepath.FromSlash(start.Entry))
	p.Bin = filepath.Join(p.Dir, "node_modules", ".bin")
	switch start.Kind {
	case npm.Node:
		var chosen Interpreter
		chosen, err = f.interpreter(ctx, p, Node, npm.EngineFits)
		if p.Command = chosen.Path; chosen.Default {
			p.Command = string(Node)
		}
		p.Arguments = append(p.Arguments, start.NodeArgs...)
		if start.Entry != "" {
			p.Arguments = append(p.Arguments, file)
		}
	case npm.Direct:
		p.Command = file
	case npm.Interpreter:
		p.Command = userInterpreter(start.Interpreter)
		p.Arguments = append(append(p.Arguments, start.InterpreterArgs...), file)
	default:
		err = fmt.Errorf("%s is a program of the kind %q, which cannot be started", file, start.Kind)
	}
	p.Arguments = append(p.Arguments, line.Args...)
	return err
}

// userInterpreter returns the interpreter of a #! line. If its path is not in a directory of the
// system, only the file name counts, and PATH says where it is: the publisher of a package does
// not choose among the user's files.
func userInterpreter(name string) string {
	for _, dir := range [...]string{"/usr/", "/bin/", "/sbin/"} {
		if strings.HasPrefix(filepath.Clean(name), dir) {
			return name
		}
	}
	return filepath.Base(name)
}

// interpreter returns the interpreter that fits the package, without links. One that a server may write never
// fits. If no Node.js fits, it returns the usual one and sets p.Unfit. The usual case asks none: it is PATH's own, with a remembered version, and for a package that takes
// any version of node without one.
func (f Finder) interpreter(ctx context.Context, p *Program, lang language, fits func(rng, version string) (bool, error)) (Interpreter, error) {
	versions := openVersions(f.Host, f.Waive)
	defer versions.save()
	rng := p.Entry.Engines
	named, file, version := versions.locate(lang)
	if named != "" && f.Untrusted != nil {
		if why := f.Untrusted(named); why != "" {
			p.NotUsed = named + " is not used: " + why
		}
	}
	if p.NotUsed == "" {
		fitting, err := fits(rng, version)
		if lang == Node && rng == "" || version != "" && err == nil && fitting {
			return Interpreter{Path: file, Version: version, Default: true}, nil
		}
	}
	found, err := versions.find(ctx, f.Untrusted, lang)
	if err != nil {
		return Interpreter{}, err
	}
	chosen, err := found.Choose(rng, fits)
	if lang == Node && err != nil && len(found.Interpreters) > 0 { // engines advise: npx warns, and starts it
		chosen, err = found.Choose("", nil)
		p.Unfit = "the package asks for Node.js " + rng + ", and this is " + chosen.Version + " (" + chosen.Path + "): as with npx, it is started all the same"
	}
	return chosen, err
}
