// Package learned writes a learned policy as a preset that others can use.
//
// A policy names places of the machine on which it was learned. In a preset, what an argument or a variable of
// the server names becomes a right of that argument or variable, the workspace becomes ".", and what lies in the
// user's home directory begins with "~". A rule that cannot be said without a name of that machine or of its user
// is left out, and Preset.LeftOut has it.
//
//   - learned.go has the rules, and what becomes of each.
//   - slots.go has the words of a command line as a preset knows them.
//   - text.go writes the file.
package learned

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/learn"
	"github.com/mcp-jail/mcp-jail/presets"
)

// Input is what a preset is made of.
type Input struct {
	Name    string // of the preset
	Title   string // what the server calls itself; "" for nothing
	Package presets.Package
	Result  *learn.Result
	Words   []string          // that the server itself gets as arguments
	Values  map[string]string // of the variables that it gets
	// Workspace and Home are absolute. Private are words that no preset may have, such as the name of the user.
	Workspace, Home string
	Private         []string
	IsFile          func(path string) bool // reports whether there is a file and no directory
	ReadOnly        []string               // tools that say that they only read
	NotCalled       []string               // tools that no request called
	Requests        int                    // that had the same answer
	Doubt           string                 // why the policy is not known to be enough; "" if it was verified
	Day             string                 // of the lesson
}

// A Preset is what became of a policy.
type Preset struct {
	Text    []byte
	LeftOut []string // rules that would name a place of this machine, as they were learned
}

// Make makes a preset of a learned policy. Its error is that of presets.Read.
func Make(in Input) (*Preset, error) {
	m := &maker{Input: in, slots: map[string]*slot{}}
	for _, t := range in.Result.Tables { // a process for each call has the rules of all of them, as in other presets
		for _, r := range t.Rules {
			m.rule(r)
		}
	}
	text := m.text()
	if _, err := presets.Read(text, in.Name+".toml"); err != nil {
		return nil, err
	}
	return &Preset{text, m.left}, nil
}

type maker struct {
	Input
	slots    map[string]*slot // by the value that an argument or a variable has
	files    []policy.FsRule
	wider    []string // rules that say more than was learned
	hosts    []policy.NetRule
	names    []string // of variables
	programs []policy.CommandRule
	left     []string
}

// rule adds what becomes of a rule.
func (m *maker) rule(r learn.Rule) {
	ok := true
	switch {
	case r.Fs != nil:
		ok = m.file(*r.Fs)
	case r.Net != nil:
		ok = m.host(*r.Net)
	case r.Env != nil:
		if !slices.Contains(m.names, r.Env.Name) {
			m.names = append(m.names, r.Env.Name)
		}
	case r.Command != nil:
		ok = m.program(*r.Command)
	}
	if text := r.Text(); !ok && !slices.Contains(m.left, text) {
		m.left = append(m.left, text)
	}
}

// file reports false for a rule that is left out. A path of an argument or a variable counts for that, and one of
// the workspace for ".": both can be wider than what was learned, and the file says so.
func (m *maker) file(r policy.FsRule) bool {
	at := m.absolute(r.Path)
	if s := m.slotOf(at); s != nil {
		s.rights |= r.Rights()
		s.inner = s.inner || at != s.at
		return true
	}
	name := at
	switch {
	case m.Workspace != "" && m.Workspace != m.Home && policy.Within(at, m.Workspace):
		if name = "."; at != m.Workspace {
			m.note("the workspace")
		}
	case at == m.Home, m.isPrivate(at):
		return false
	case policy.Within(at, m.Home):
		name = "~" + strings.TrimPrefix(at, m.Home)
		if !isOfPrograms(strings.TrimPrefix(name, "~/")) {
			return false
		}
	case !isOfSystem(at):
		return false
	}
	i := slices.IndexFunc(m.files, func(f policy.FsRule) bool { return f.Path == name })
	if i < 0 {
		m.files = append(m.files, policy.FsRule{Path: name})
		i = len(m.files) - 1
	}
	f, more := &m.files[i], r.Rights()
	f.Read, f.Create, f.Update = f.Read || more.Has(policy.Read), f.Create || more.Has(policy.Create), f.Update || more.Has(policy.Update)
	f.Delete, f.Execute = f.Delete || more.Has(policy.Delete), f.Execute || more.Has(policy.Execute)
	return true
}

func (m *maker) note(what string) {
	if !slices.Contains(m.wider, what) {
		m.wider = append(m.wider, what)
	}
}

// absolute returns the path that a path of a rule, an argument or a variable stands for.
func (m *maker) absolute(p string) string {
	switch {
	case p == "~", strings.HasPrefix(p, "~/"):
		return path.Join(m.Home, p[1:])
	case path.IsAbs(p), m.Workspace == "":
		return path.Clean(p)
	}
	return path.Join(m.Workspace, p)
}

// isPrivate reports whether a text has a word that is the user's: a name, a value of a variable or an argument, or the
// home directory or workspace. An address of mail is one, too.
func (m *maker) isPrivate(text string) bool {
	text = strings.ToLower(text)
	home := strings.ToLower(m.Home)
	inHome := strings.TrimPrefix(text, home)
	if strings.Contains(strings.ReplaceAll(" "+text, "/@", "/"), "@") || home != "/" && strings.Contains(inHome, home) {
		return true
	}
	for _, word := range m.Private {
		if hasWord(inHome, strings.ToLower(word)) {
			return true
		}
	}
	for _, value := range m.Values {
		if value = strings.ToLower(value); len(value) > 2 && strings.Contains(text, value) {
			return true
		}
	}
	return m.isOfProject(inHome) || m.isOfArgument(text)
}

// shortWord is the length of words that can be a part of any other one.
const shortWord = 4

// hasWord reports whether a text has a word: a short one by itself, and another one anywhere.
func hasWord(text, word string) bool {
	if len(word) > shortWord {
		return strings.Contains(text, word)
	}
	isPart := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return word != "" && slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !isPart(r) }), word)
}

// isOfProject reports whether a text has the name of the workspace, after which programs call their files. That of
// the server's own package says nothing of the user.
func (m *maker) isOfProject(text string) bool {
	project := strings.ToLower(path.Base(m.Workspace))
	return m.Workspace != "" && len(project) > 1 && !strings.Contains(strings.ToLower(m.Package.Name), project) &&
		(hasWord(text, project) || strings.Contains(text, project) && strings.ContainsAny(project, "-_. "))
}

// isOfArgument reports whether a text and a value of the command line are parts of each other, such as a token. A
// short value can be a usual word.
func (m *maker) isOfArgument(text string) bool {
	const shortest = 8
	return slices.ContainsFunc(m.Words, func(word string) bool {
		if _, value, joined := strings.Cut(word, "="); strings.HasPrefix(word, "-") {
			if word = value; !joined {
				return false
			}
		}
		word = strings.ToLower(word)
		return len(word) >= shortest && strings.Contains(text, word) || len(text) >= shortest && !strings.Contains(text, "/") && strings.Contains(word, text)
	})
}

// isOfPrograms reports whether a path of a home directory is one that programs choose, and not the user.
func isOfPrograms(p string) bool {
	return strings.HasPrefix(p, ".") || strings.HasPrefix(p, "Library/") || strings.HasPrefix(p, "AppData/")
}

// systemDirs have the same content on other machines with the same programs.
var systemDirs = []string{"/etc", "/usr", "/opt", "/bin", "/sbin", "/lib", "/lib64", "/proc", "/sys", "/Applications", "/Library", "/System"}

func isOfSystem(p string) bool {
	return slices.ContainsFunc(systemDirs, func(dir string) bool { return policy.Within(p, dir) && p != dir })
}

// host reports false for a rule that is left out.
func (m *maker) host(r policy.NetRule) bool {
	if s := m.slotOfHost(r); s != nil {
		return true
	}
	if m.isPrivate(r.Host) || learn.IsLocal(r.Host) {
		return false
	}
	r.Where = ""
	m.hosts = append(m.hosts, r)
	return true
}

// program reports false for a rule that is left out: one for a program of this machine, or with such an argument.
func (m *maker) program(r policy.CommandRule) bool {
	if strings.Contains(r.Name, "/") && !isOfSystem(path.Clean(r.Name)) || m.isPrivate(r.Name) {
		return false
	}
	for _, list := range r.Args {
		for _, word := range list {
			if strings.HasPrefix(word, "~") || strings.Contains(word, "/") && !isOfSystem(path.Clean(word)) || m.isPrivate(word) {
				return false
			}
		}
	}
	i := slices.IndexFunc(m.programs, func(o policy.CommandRule) bool { return o.Name == r.Name })
	if i < 0 {
		m.programs = append(m.programs, policy.CommandRule{Name: r.Name, Args: slices.Clone(r.Args), Envs: r.Envs})
		return true
	}
	p := &m.programs[i] // another tool starts it, too
	if p.Args == nil || r.Args == nil {
		p.Args = nil
	} else {
		p.Args = append(p.Args, r.Args...)
	}
	if p.Envs == nil || r.Envs == nil {
		p.Envs = nil
	} else {
		p.Envs = append(p.Envs, r.Envs...)
	}
	return true
}
