package session

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/homelinks"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
	"github.com/mcp-jail/mcp-jail/presets"
)

// maxEarlier bounds the size of a file that is copied.
const maxEarlier = 64 << 20

// Earlier is what a server kept without a jail, in the user's HOME, and what its private HOME lacks: logins that its
// preset knows.
type Earlier struct {
	target *Target
	groups []group
	Left   []string // what is not copied, and why
}

// A group are files that make sense together. The first one makes the others count.
type group []earlierFile

// earlierFile is a file by its path below the user's HOME, which it has below the private one too.
type earlierFile struct {
	Path string
	Text []byte
}

// logins returns the directories of the logins, as the user writes them.
func (e Earlier) logins() string {
	var dirs []string
	for _, g := range e.groups {
		if dir := show.Line("~/" + strings.SplitN(g[0].Path, "/", 2)[0]); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ", ")
}

// Home returns the private HOME.
func (e Earlier) Home() string { return e.target.home().path() }

// Files returns the files that Copy copies.
func (e Earlier) Files() (all []earlierFile) {
	for _, g := range e.groups {
		all = append(all, g...)
	}
	return all
}

// FindEarlier returns what the server of a target kept. Only what the server's own line names counts: a server gets
// nothing of another.
func FindEarlier(t *Target) Earlier {
	e := Earlier{target: t}
	if isByHand(t) || t.Policy.HomeReal {
		return e
	}
	user, err := os.OpenRoot(t.Host.Home)
	if err != nil {
		return e
	}
	defer user.Close()
	var own *private.Dir // nil: the server has no HOME yet
	if below, err := filepath.Rel(t.Host.StateDir, t.home().path()); err == nil {
		if own, err = private.Open(t.Host.StateDir, below); err == nil {
			defer own.Close()
		}
	}
	argv := t.givenCommand()
	p, err := presets.Find(t.Preset())
	if err != nil {
		p, _ = presets.ForLine(argv)
	}
	if p == nil {
		return e
	}
	patterns := p.LoginFiles(entryOf(p, argv, t.Host))
	if patterns == nil {
		return e
	}
	for _, main := range e.matches(user, patterns[0]) {
		if own != nil {
			if _, err := own.Root().Lstat(main.Path); !errors.Is(err, fs.ErrNotExist) { // a link of a rule leads out of it, to the user's own
				continue
			}
		}
		g := group{main}
		for _, pattern := range patterns[1:] {
			g = append(g, e.matches(user, path.Join(path.Dir(main.Path), path.Base(pattern)))...)
		}
		e.groups = append(e.groups, g)
	}
	return e
}

// matches reads the files of the user that match a pattern. A link is not followed.
func (e *Earlier) matches(user *os.Root, pattern string) (files []earlierFile) {
	found, _ := fs.Glob(os.DirFS(user.Name()), pattern)
	for _, name := range found {
		info, err := user.Lstat(name)
		switch link := linkIn(user, name); {
		case link != "":
			e.Left = append(e.Left, "~/"+name+": ~/"+link+" is a symbolic link")
		case err != nil || !info.Mode().IsRegular():
		case info.Size() > maxEarlier:
			e.Left = append(e.Left, fmt.Sprintf("~/%s: it is larger than %d MB", name, maxEarlier>>20))
		default:
			if text, err := readFound(user, name, info); err != nil {
				e.Left = append(e.Left, err.Error())
			} else {
				files = append(files, earlierFile{name, text})
			}
		}
	}
	return files
}

// linkIn returns the part of a path that is a symbolic link, or "".
func linkIn(root *os.Root, name string) string {
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if info, err := root.Lstat(name[:i]); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return name[:i]
		}
	}
	return ""
}

// Copy copies the files into the private HOME, and returns a sentence for each group. It overwrites no file: what the
// server has there of a login that it did not finish stays beside it. The server can write its HOME, so Copy follows
// no link out of it.
func (e Earlier) Copy() (told []string, err error) {
	t := e.target
	if len(e.groups) == 0 {
		return nil, nil
	}
	if err := t.home().claim(); err != nil {
		return nil, err
	}
	for _, g := range e.groups {
		var names []string
		// The one that makes the others count comes last: a copy that fails is not taken for one.
		for _, f := range slices.Backward(g) {
			if err := e.write(f); err != nil {
				return told, err
			}
			names = append(names, "~/"+f.Path)
		}
		told = append(told, "copied: "+strings.Join(names, ", ")+" to the HOME of "+show.Name(t.Policy.Server)+"; yours stays as it is")
	}
	return told, nil
}

func (e Earlier) write(f earlierFile) error {
	below, err := filepath.Rel(e.target.Host.StateDir, filepath.Join(e.Home(), path.Dir(f.Path)))
	if err != nil {
		return err
	}
	dir, err := private.Make(e.target.Host.StateDir, below)
	if err != nil {
		return err
	}
	defer dir.Close()
	name := path.Base(f.Path)
	if _, err := dir.Lstat(name); err == nil { // of a login that the server did not finish
		if err := dir.Rename(name, name+".before-login"); err != nil {
			return err
		}
	}
	return dir.Replace(name, f.Text, private.How{Sync: true})
}

// readFound reads a file that was looked at. Another server may be allowed to write the directory, and put
// a link to another file of the user in its place meanwhile, or a fifo.
func readFound(from *os.Root, name string, found fs.FileInfo) ([]byte, error) {
	f, err := from.OpenFile(name, os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if opened, err := f.Stat(); err != nil || !os.SameFile(found, opened) {
		return nil, errors.Join(err, &fs.PathError{Op: "copy", Path: name, Err: errors.New("it was replaced meanwhile")})
	}
	return io.ReadAll(io.LimitReader(f, maxEarlier))
}

// home is the directory with the private HOME and the records of a server.
type home struct {
	host   *hostfs.Host
	policy *policy.Policy // of the server
}

func (t *Target) home() *home { return &home{&t.Host, t.Policy} }

func (h *home) path() string {
	return filepath.Join(records.Path(*h.host, h.policy.KeptName()), "home")
}

// claim makes the directory, and holds it until this process ends. Callers call it before they use
// anything there.
func (h *home) claim() error {
	return h.refuse(records.TakeHome(*h.host, h.policy.KeptName()))
}

// refuse returns the error of a start whose directory cannot be made.
func (h *home) refuse(err error) error {
	switch {
	case err == nil || h.policy.HomeReal:
		return nil
	case errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES):
		err = fmt.Errorf("the HOME of this server cannot be made: %w. Make that place writable, or let XDG_STATE_HOME name one of your directories", err)
	}
	return &terminal.HostError{Err: err}
}

// Prepare makes ready what a session of the target needs on disk: see ClaimHome and LinkHome. What LinkHome holds
// is held until this process ends.
func Prepare(t *Target, c terminal.Console) error {
	err := t.ClaimHome()
	if err == nil {
		LinkHome(t, c)
	}
	return err
}

// LinkHome makes what the rules of the server and of its tools grant below the user's home appear in the
// private HOME. Until release is called, no other start takes that away. A link that cannot be made
// ends no start.
func LinkHome(t *Target, c terminal.Console) (release func()) {
	if t.Policy.HomeReal {
		return func() {}
	}
	wanted := slices.Clone(t.Profile.HomeLinks)
	if t.Config != nil && !t.Policy.Stateful {
		for _, name := range append(t.Config.ToolsWithTable(t.Policy.Server), config.AnyTool) {
			if p, err := t.PolicyOf(name); err == nil {
				wanted = append(wanted, resolve.HomeLinks(p, t.Host)...)
			}
		}
	}
	h := homelinks.Home{StateDir: t.Host.StateDir, Server: filepath.Join(records.ServersDir, t.Policy.KeptName())}
	told, release, err := h.Link(wanted)
	for _, line := range told {
		c.Sayf("%s", show.Line(line))
	}
	if err != nil {
		c.Sayf("warning: what rules grant below your home directory is not at its place in the server's HOME: %s", show.Line(err.Error()))
	}
	return release
}

// isByHand reports whether the server is neither in a table nor has an id: anybody may have written its line.
func isByHand(t *Target) bool { return t.Config == nil }

// IsOwn reports whether the line of a server is of the user's own: of a server with an id, or of a table of the user's
// configuration. A project's entry may name a file of the project with --config.
func IsOwn(t *Target) bool {
	return t.Policy.ID != "" || t.Config != nil && t.Policy.Project == "" && len(t.Host.Configs) == 0
}

// ClaimHome begins a start: it makes the directory of the server, and holds it until this process ends. Without an
// error, the start takes the programs that PATH has: see takePrograms.
func (t *Target) ClaimHome() error {
	t.begun = true
	unnoted, err := t.takePrograms(t.Profile)
	if unnoted != nil {
		t.Warnings = append(t.Warnings, policy.Warning{Code: "program-not-noted", Message: "the program of this server could not be noted (" + unnoted.Error() + "): the next start takes another one unasked", Where: t.Policy.Where})
	}
	if err != nil {
		return err
	}
	return t.home().claim()
}

// about returns the command, the package and the configuration of a target, for `mcp-jail status`.
func (t *Target) about() (a records.About) {
	var redact *diagnostics.Redactor
	if t.Profile != nil {
		redact = diagnostics.NewRedactor(t.Profile.Env)
	}
	for _, word := range t.givenCommand() {
		a.Command = append(a.Command, redact.Redact(word))
	}
	if e := t.Package.Entry(); e != nil {
		a.Package = &records.Package{Ecosystem: string(e.Ecosystem), Spec: e.Spec, Name: e.Name, Version: e.Version}
	}
	a.Configuration = t.configuration()
	if t.Policy != nil {
		if a.Project = t.Policy.Project; t.Policy.Key != "" {
			a.Name = cmp.Or(t.commandLine.Called, t.Policy.Server)
		}
		for _, word := range policy.OrderWaivers(t.Policy.Waive) {
			a.Waived = append(a.Waived, string(word))
		}
	}
	return a
}

// NewRecorder returns the recorder of a session of a target.
func NewRecorder(t *Target) *records.Recorder {
	r := records.New(t.Host, t.Policy.KeptName())
	r.Project, r.About = t.Policy.Project, t.about
	return r
}

func (t *Target) givenCommand() []string {
	if t.given == nil && t.Policy != nil {
		return append([]string{t.Policy.Command}, t.Policy.Arguments...)
	}
	return t.given
}

// configuration returns the source of the policy of a target, or nil if the target was not loaded
// by Load.
func (t *Target) configuration() *records.Configuration {
	if t.Policy == nil || t.source.again == nil {
		return nil
	}
	c := &records.Configuration{ID: t.source.options.ID, Files: AbsolutePaths(t.source.options.Files)}
	if len(c.Files) == 0 {
		c.Workspace = expand(t.source.options.Workspace, t.Host)
	}
	c.Configured = t.Config != nil && t.commandLine.Command == nil
	return c
}
