package wrapping

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/internal/environ"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Verdict says how an entry starts its server.
type Verdict struct {
	Jailed  bool            // in a jail of this mcp-jail
	Unclear bool            // its command line says so, and something else of the entry could make it untrue
	Open    bool            // it starts a program without a jail, and wrap leaves it all the same
	Why     clients.Reason  // if it is not Jailed: why that is unclear, or why wrap leaves the entry
	Line    clients.Wrapped // of an entry that is Jailed or Unclear
}

// Reasons why it is unclear how an entry starts.
const (
	OtherProgram clients.Reason = "starts a program called mcp-jail that is not this one: which jail its server gets is not known"
	OwnProgram   clients.Reason = "starts a program in the project, which may become another one with the project"
	UnknownStart clients.Reason = "has a program whose path only the client knows"
	StartsAway   clients.Reason = "is started on another machine or in a container, and which mcp-jail is there is not known"
)

// startsNothing reports whether an entry is known to start no program. One that is not understood
// may start: a client can be more patient than mcp-jail is.
func (f *File) startsNothing(e Entry) bool {
	switch e.Left {
	case clients.NoCommand, clients.Disabled:
		return true
	case clients.Remote:
		return f.runsCommand(e) == ""
	}
	return false
}

// Judge returns how an entry of the file starts its server. It looks at the whole entry: its
// variables can make the command line start another program, or give mcp-jail another
// configuration. An entry of a project's file may set less than the user's own.
func (f *File) Judge(e Entry, program Program, host clients.Host) Verdict {
	line, ok := clients.ParseWrapped(e.Argv())
	j := judge{f, program, host}
	switch {
	case !ok && e.Left == clients.Remote && f.runsCommand(e) != "":
		return Verdict{Why: f.runsCommand(e), Open: true}
	case !ok && e.Left != "":
		return Verdict{Why: e.left(), Open: !f.startsNothing(e)}
	case !ok:
		// It would be wrapped, unless the decision finds a reason against it.
		_, why := j.change(e, &ServerChange{Entry: e}, func() string { return "any" })
		return Verdict{Why: why, Open: why != ""}
	case e.Left == clients.Ambiguous || e.Left == clients.Beside || e.mixed != "":
		return Verdict{Unclear: true, Why: e.left(), Line: line}
	}
	var why clients.Reason
	for _, s := range e.asRead() {
		if why == "" {
			why = j.wrapped(s, line)
		}
	}
	return Verdict{Jailed: why == "", Unclear: why != "", Why: why, Line: line}
}

// A judge looks at the entries of a file, as this host sees them.
type judge struct {
	file    *File
	program Program // this mcp-jail
	host    clients.Host
}

func (j judge) wrapped(e Entry, line clients.Wrapped) clients.Reason {
	why := j.start(e, line)
	if why == "" && e.Elsewhere != "" {
		why = StartsAway
	}
	if why == "" {
		why = j.variables(e, line)
	}
	if why == "" && j.file.IsProject() {
		why = j.project(e, line)
	}
	return why
}

func (s Entry) left() clients.Reason {
	switch {
	case s.mixed != "" && s.Left != clients.Ambiguous:
		return s.mixed
	case s.Left == clients.Ambiguous:
		return s.Left + ": " + clients.Reason(s.Detail)
	case s.Detail != "":
		return s.Left + " (" + clients.Reason(s.Detail) + ")"
	}
	return s.Left
}

func (j judge) variables(e Entry, line clients.Wrapped) clients.Reason {
	project := j.file.IsProject()
	if why := j.sharedVariable(line.Argv == nil); why != "" {
		return why
	}
	if names, err := j.steering(e); names != nil {
		if why, detail := forbidden(names, project); why == OddName {
			return why + ": " + clients.Reason(detail)
		}
		return clients.Reason("sets " + listed(names) + ", which acts on mcp-jail itself, outside of the jail: " + takeOut(names))
	} else if err != nil && project {
		return clients.Reason("has a file of variables that is not known, and some would act on mcp-jail itself: " + err.Error())
	}
	return ""
}

// steering returns the variables of an entry that it may not set, because they act outside of the
// jail. The error says that the entry may set further variables.
func (j judge) steering(e Entry) (names []string, err error) {
	project := j.file.IsProject()
	fromFile, _, err := e.fileNames(e.by.client, j.file.within(j.host))
	var named []string
	// npm replaces ${NAME} in the user's .npmrc: a project that sets NAME chooses a registry.
	if project {
		named = npm.References(userSettings(j.host.Home))
	}
	for _, name := range append(setNames(e.Entry), fromFile...) {
		if (!environ.MaySet(name, project) || slices.Contains(named, name)) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
}

func takeOut(names []string) string {
	them := "it"
	if len(names) > 1 {
		them = "them"
	}
	return "take " + them + " out there; where mcp-jail is to obey " + them + ", set " + them + " in the environment that starts the client"
}

func listed(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

func setNames(e clients.Entry) (names []string) {
	for _, v := range e.Env {
		names = append(names, v.Name)
	}
	return append(names, e.Names...)
}

// userSettings returns the text of the user's own .npmrc, or "". npm replaces the variables that it
// names, so they can choose a registry.
func userSettings(home string) string {
	file, err := ownfile.Read(filepath.Join(home, ".npmrc"))
	if err != nil {
		return ""
	}
	return string(file.Data)
}

// within returns the host as the file sees it: one of the user has no project.
func (f *File) within(host clients.Host) clients.Host {
	if !f.IsProject() {
		host.Project = ""
	}
	return host
}

func (j judge) start(e Entry, line clients.Wrapped) clients.Reason {
	project := j.file.IsProject()
	if slices.Contains(append([]string{j.program.Path}, j.program.Also...), line.Program) && j.program.is(line.Program) {
		return ""
	}
	path, known := j.file.replaced(line.Program, j.host)
	if !known {
		return UnknownStart
	}
	dir, dirKnown := j.host.Project, !project || j.file.Client.Dir == clients.DirProject || j.file.Client.Dir == clients.DirOpen
	if e.Cwd != "" {
		if dir, dirKnown = j.file.replaced(e.Cwd, j.host); !filepath.IsAbs(dir) {
			dir = filepath.Join(j.host.Project, dir)
		}
	}
	// An absolute path is as it is, one with a slash is relative to the start, a bare name is searched.
	switch {
	case filepath.IsAbs(path):
	case strings.ContainsAny(path, `/\`):
		if !dirKnown {
			return UnknownStart
		}
		path = filepath.Join(dir, path)
	default:
		found, ok := j.search(e, path, dir)
		if !ok {
			return OtherProgram
		}
		path = found
	}
	switch {
	case !j.program.is(path):
		return OtherProgram
	case project && j.host.Project != "" && slices.ContainsFunc(repository(j.host), func(dir string) bool { return policy.Within(path, dir) }):
		// It is this program now, and the next checkout may have another one there.
		return OwnProgram
	}
	return ""
}

// repository returns the directory of the project, and those above it that belong to its repository.
func repository(host clients.Host) []string {
	return append([]string{host.Project}, host.Above[:max(0, host.Repo)]...)
}

// search returns the program that a client starts for a bare name: from the entry's own PATH if that
// is known and has one, else from the PATH of this process.
func (j judge) search(e Entry, name, dir string) (path string, ok bool) {
	// A client searches in the PATH that the entry sets.
	for _, v := range e.Env {
		value, known := j.file.replaced(v.Value, j.host)
		if v.Name != "PATH" || v.Unset || !known {
			continue
		}
		for _, d := range filepath.SplitList(value) {
			if !filepath.IsAbs(d) {
				d = filepath.Join(dir, d)
			}
			if info, err := os.Stat(filepath.Join(d, name)); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return filepath.Join(d, name), true
			}
		}
	}
	path, err := exec.LookPath(name)
	return path, err == nil
}

// replaced returns a text as the clients that read the file replace its variables. ok is false if
// one of them does what is not known here, or another thing than the others.
func (f *File) replaced(text string, host clients.Host) (value string, ok bool) {
	value, ok = replaced(f.Client, text, f.within(host))
	for _, c := range f.Also {
		if v, known := replaced(c, text, f.within(host)); !known || v != value {
			return "", false
		}
	}
	return value, ok
}

func (f *File) clients() []clients.Client { return append([]clients.Client{f.Client}, f.Also...) }

func replacesBefore(c clients.Client, word string, n int) bool {
	refs := c.References(word)
	return len(refs) > 0 && strings.Index(word, refs[0].Text) < n
}
