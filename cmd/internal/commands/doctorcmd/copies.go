package doctorcmd

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// ourModule is the module that Go records in each program of mcp-jail.
const ourModule = "github.com/mcp-jail/mcp-jail"

// A build is what Go recorded in a program. It is read, and the program is not run: another user
// or a clone may have put it there.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`

	id string // of the file, which tells builds of one commit apart; "" where it is not known
}

// fits reports whether programs of two builds work together, as package programs decides that.
func (b build) fits(o build) bool { return b.Version == o.Version && b.Commit == o.Commit }

func (b build) String() string {
	if b.Commit == "" || strings.Contains(b.Version, b.Commit[:min(12, len(b.Commit))]) {
		return b.Version
	}
	rest := ""
	if strings.HasSuffix(b.Commit, " (modified)") {
		rest = ", modified"
	}
	return b.Version + " (" + b.Commit[:min(8, len(b.Commit))] + rest + ")"
}

// maxProgram bounds the size of a program that is looked at, in bytes.
const maxProgram = 256 << 20

var errNotOurs = errors.New("it is not a program of mcp-jail")

// readBuild reads what Go recorded in a program of mcp-jail.
func readBuild(file string) (b build, err error) {
	f, err := os.OpenFile(file, os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return b, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return b, err
	case !info.Mode().IsRegular() || info.Size() > maxProgram:
		return b, errNotOurs
	}
	return readBuildOf(f)
}

func readBuildOf(r io.ReaderAt) (b build, err error) {
	defer func() {
		if recover() != nil { // debug/elf may panic on a file that was made for that
			b, err = build{}, errNotOurs
		}
	}()
	recorded, err := buildinfo.Read(r)
	if err != nil || recorded.Main.Path != ourModule {
		return b, errNotOurs
	}
	b.Version = strings.TrimPrefix(recorded.Main.Version, "v")
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "development"
	}
	changed := false
	for _, s := range recorded.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			changed = s.Value == "true"
		}
	}
	if changed {
		b.Commit += " (modified)"
	}
	b.id = buildID(r)
	return b, nil
}

// buildID returns the part of Go's build ID that depends on the content of a program.
func buildID(r io.ReaderAt) string {
	file, err := elf.NewFile(r)
	if err != nil {
		return ""
	}
	section := file.Section(".note.go.buildid")
	if section == nil || section.Size > 1024 {
		return ""
	}
	note, err := section.Data()
	if err != nil {
		return ""
	}
	return string(note[bytes.LastIndexByte(note, '/')+1:])
}

// A program is a copy of mcp-jail.
type program struct {
	Path  string   `json:"path"` // without links
	Named []string `json:"named,omitempty"`
	build
	This    bool     `json:"this"`              // the copy of this command
	Clients []string `json:"clients,omitempty"` // the entries that start it
	Missing []string `json:"missing,omitempty"` // of the programs that belong beside it
	Other   []string `json:"other,omitempty"`   // those that are of another build

	first bool // the one that a shell starts
}

// tlsProgram is optional: only rules about requests need it.
const tlsProgram = "mcp-jail-tls"

// lookCopies finds the copies of mcp-jail.
func (i *installation) lookCopies() {
	add := func(path string) *program {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return nil
		}
		if strings.HasSuffix(real, ".js") {
			real = behindLauncher(real)
		}
		at := slices.IndexFunc(i.copies, func(p *program) bool { return p.Path == real })
		if at < 0 {
			b, err := readBuild(real)
			if err != nil {
				return nil
			}
			at = len(i.copies)
			i.copies = append(i.copies, &program{Path: real, build: b})
			i.copies[at].lookBeside()
		}
		p := i.copies[at]
		if path != real && !slices.Contains(p.Named, path) {
			p.Named = append(p.Named, path)
		}
		return p
	}
	if p := add(i.self); p != nil {
		p.This = true
	}
	first := true
	for _, dir := range i.searchPath() {
		if p := add(filepath.Join(dir, programs.File(programs.Main))); p != nil && first {
			p.first, first = true, false
		}
	}
	for _, dir := range i.usualDirs() {
		add(filepath.Join(dir, programs.File(programs.Main)))
	}
	for _, s := range i.starts {
		if s.jail == "" {
			continue
		}
		if p := add(s.jail); p != nil {
			p.Clients = append(p.Clients, s.name())
		}
	}
}

// searchPath returns the absolute directories of PATH.
func (i *installation) searchPath() (dirs []string) {
	value, _ := i.host.Getenv("PATH")
	for _, dir := range hostfs.SplitList(i.host.OS, value) {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	return dirs
}

// usualDirs returns where the ways of docs/install.md put mcp-jail.
func (i *installation) usualDirs() []string {
	dirs := []string{
		"/usr/local/bin", "/usr/bin", filepath.Dir(entries.CopyPath(i.host)), filepath.Join(i.host.Home, "go/bin"), filepath.Join(i.host.Home, ".local/bin"),
		"/home/linuxbrew/.linuxbrew/bin", filepath.Join(i.host.Home, ".linuxbrew/bin"), filepath.Join(i.host.Home, ".npm-global/bin"),
	}
	gobin, _ := i.host.Getenv("GOBIN")
	gopath, _ := i.host.Getenv("GOPATH")
	for _, dir := range []string{gobin, filepath.Join(gopath, "bin")} {
		if filepath.IsAbs(dir) {
			dirs = append(dirs, dir)
		}
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) || !i.mayLook(dir) })
}

// mayLook reports whether a directory is one of this machine. Tests look at those of their own.
func (i *installation) mayLook(dir string) bool {
	return i.root == "" || strings.HasPrefix(dir, i.root)
}

// npmTarget returns npm's name of a system and a processor that Go names otherwise.
func npmTarget(system, processor string) string {
	if system == "windows" {
		system = "win32"
	}
	if processor == "amd64" {
		processor = "x64"
	}
	return system + "-" + processor
}

// behindLauncher returns the program that npm's launcher in JavaScript starts, or "".
func behindLauncher(script string) string {
	below := filepath.Join("@mcp-jail", npmTarget(runtime.GOOS, runtime.GOARCH), "bin", programs.File(programs.Main))
	for dir := filepath.Dir(script); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, "node_modules", below)); err == nil {
			return real
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

func (p *program) lookBeside() {
	for _, name := range []string{programs.Companion, tlsProgram} {
		b, err := readBuild(filepath.Join(filepath.Dir(p.Path), programs.File(name)))
		switch {
		case err != nil:
			p.Missing = append(p.Missing, name)
		case !b.fits(p.build):
			p.Other = append(p.Other, name+" "+b.String())
		}
	}
}

const oneBuild = "install all three programs from one build: `make build` in a clone, or your package again"

func (i *installation) checkCopies() (all []finding) {
	versions := map[build]bool{}
	var first, this *program
	for _, p := range i.copies {
		versions[p.build] = true
		if p.first {
			first = p
		}
		if p.This {
			this = p
		}
		if p.This || p.first || len(p.Clients) > 0 {
			all = append(all, i.checkBeside(p)...)
		}
	}
	if first != nil && this != nil && first != this {
		all = append(all, finding{What: "the command mcp-jail is another copy, " + i.short(first.Path) + " " + first.String() + ": it is the first in PATH", Why: "This one is " + i.short(this.Path) + " " + this.String(),
			Fix: "remove one of the two, or change their order in PATH"})
	}
	if len(versions) > 1 {
		all = append(all, finding{What: fmt.Sprintf("%d copies of mcp-jail are of different builds", len(i.copies)),
			Why: "What one of them knows, another may not: flags, presets", Fix: "keep the newest and remove the others, as the page on installation says for each way; then `mcp-jail wrap`"})
	}
	for at := range all {
		all[at].Check = "copies"
	}
	return all
}

// checkBeside checks the programs beside a copy.
func (i *installation) checkBeside(p *program) (all []finding) {
	for _, name := range p.Missing {
		f := finding{Stops: true, What: name + " is missing beside " + i.short(p.Path), Why: "mcp-jail needs it for every command but run, and to fetch packages", Fix: oneBuild}
		if name == tlsProgram {
			f.Stops, f.Why = false, "mcp-jail needs it for rules about requests: paths, methods, secrets"
		}
		if name != tlsProgram || !p.This { // for this one, the features say so
			all = append(all, f)
		}
	}
	for _, other := range p.Other {
		name, build, _ := strings.Cut(other, " ")
		all = append(all, finding{Stops: true, What: fmt.Sprintf("%s is %s, and %s beside it is %s", i.short(p.Path), p.String(), name, build), Why: "Programs of two builds refuse to work together", Fix: oneBuild})
	}
	return all
}
