package learn

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A program is a file that was started, with the arguments of each start.
type program struct {
	path   string
	absent bool // each time
	starts map[string]*start
	tally
}

type start struct {
	argv []string
	tally
}

func (l *learner) takeStart(o policy.Observation, k key, by *tally) {
	if !isPath(k.target) {
		l.left.add(k, Unwritable, "", by)
		return
	}
	p := l.starts[k.target]
	if p == nil {
		p = &program{path: k.target, absent: true, starts: map[string]*start{}}
		l.starts[k.target] = p
	}
	p.absent = p.absent && o.Absent
	p.join(by)
	words := strings.Join(o.Arguments, "\x00")
	if p.starts[words] == nil {
		p.starts[words] = &start{argv: o.Arguments}
	}
	p.starts[words].join(by)
}

func (l *learner) addPrograms() {
	order := slices.SortedFunc(maps.Values(l.starts), func(a, b *program) int {
		if n := a.before(&b.tally); n != 0 {
			return n
		}
		return strings.Compare(a.path, b.path)
	})
	n := 0
	rules := []Rule{}
	for _, p := range order {
		if l.Bare.Allows(policy.OpExec, p.path) {
			continue
		}
		reason, why := l.whyNoProgram(p)
		if n++; reason == "" && n > maxPrograms {
			reason = Capped
		}
		if reason != "" {
			n--
			l.left.add(key{policy.AxisFs, policy.OpExec.String(), p.path}, reason, why, &p.tally)
			continue
		}
		rules = append(rules, l.commandRule(p))
	}
	slices.SortFunc(rules, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	l.rules = append(l.rules, rules...)
}

// isOwn reports whether a program is a file of the server's own package. That lies with the packages that
// mcp-jail has installed, which are hidden from servers but for their own one.
func (l *learner) isOwn(p *program) bool {
	return slices.ContainsFunc(l.Bare.Parts, func(part policy.Part) bool {
		return p.path != part.Path && policy.Within(p.path, part.Path) && (part.Work || l.Facts.Guarded(part.Path, false) != "")
	})
}

func (l *learner) whyNoProgram(p *program) (Reason, string) {
	own := l.isOwn(p)
	if named := l.Facts.Sensitive(p.path); named != "" && !own {
		return Sensitive, named
	}
	switch inWorkspace := l.inWorkspace(p.path); {
	case !l.isWritable(p.path) || strings.ContainsAny(p.path, "*?[]"):
		return Unwritable, ""
	case p.absent:
		return Absent, ""
	case !inWorkspace && isOwnPlace(p.path):
		return System, ""
	case !own && l.Facts.Guarded(p.path, false) != "" && !policy.Within(p.path, l.Bare.Home):
		return Protected, l.Facts.Guarded(p.path, false)
	case l.Facts.Kind(p.path) != policy.KindFile:
		return Absent, ""
	}
	return "", ""
}

// commandRule makes the rule of a program. It has arguments where the observed ones are a few options, or
// begin with the name of a subcommand or script.
func (l *learner) commandRule(p *program) Rule {
	names := map[string]bool{}
	for _, s := range p.starts {
		if len(s.argv) > 0 {
			names[path.Base(s.argv[0])] = true
		}
	}
	written := p.path
	for _, n := range append(slices.Sorted(maps.Keys(names)), path.Base(p.path)) {
		if utf8.ValidString(n) && !strings.ContainsAny(n, "/*\n\x00") && l.Facts.Program(n) == p.path {
			written = n
			break
		}
	}
	if written == p.path {
		written = l.short(p.path)
	}
	r := newRule(policy.AxisProcess, written, &p.tally)
	r.Command = &policy.CommandRule{Name: written}
	if r.Command.Args, r.Note = p.arguments(written); l.isOwn(p) {
		r.Command.Args, r.Note = nil, "of its own package, in this version"
	}
	if lists := r.Command.Args; len(lists) > maxLists {
		r.Command.Args, r.Note = lists[:maxLists], "with more subcommands than these"
		l.left.add(key{policy.AxisFs, policy.OpExec.String(), p.path}, Capped, r.Note, &p.tally)
	}
	return r
}

// programDirs are where each start looks for programs. A rule for a name is about its paths there, too.
var programDirs = []string{"/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"}

// The bounds of the lists of one rule.
const (
	maxLists  = 8 // that begin with a subcommand
	maxExact  = 4 // that are exact
	maxPrefix = 6 // words before "**"
)

// arguments returns the lists of a rule, or nil for any arguments, and what to know of them.
func (p *program) arguments(written string) (lists [][]string, note string) {
	kind := path.Base(written)
	rest := p.lists()
	for _, s := range p.starts {
		// A rule with arguments is also about the name under which a program is started.
		if len(s.argv) == 0 || s.argv[0] != p.path && s.argv[0] != kind && (path.Base(s.argv[0]) != kind || !slices.Contains(programDirs, path.Dir(s.argv[0]))) {
			return nil, anyArguments
		}
	}
	switch {
	case policy.IsShell(kind):
		return shellLists(rest)
	case policy.InterpreterFamily(kind) != "":
		return scriptLists(policy.InterpreterFamily(kind), rest)
	}
	if globals, ok := subcommands[kind]; ok {
		for _, words := range rest {
			lists = append(lists, prefix(words, globals))
		}
		return distinct(lists), ""
	}
	for _, words := range rest {
		// An operand is what a tool was asked for, and different each time.
		if slices.ContainsFunc(words, func(w string) bool { return !isPlainWord(w) || w[0] != '-' }) {
			return nil, anyArguments
		}
	}
	if len(rest) > maxExact {
		return nil, anyArguments
	}
	return rest, ""
}

const (
	anyArguments = "with any arguments"
	anyCode      = "this runs any program text, whose starts have rules of their own"
)

// lists returns the arguments of each start, sorted, each once.
func (p *program) lists() (all [][]string) {
	for _, s := range p.starts {
		words := []string{}
		if len(s.argv) > 1 {
			words = s.argv[1:]
		}
		all = append(all, words)
	}
	return distinct(all)
}

func distinct(lists [][]string) [][]string {
	slices.SortFunc(lists, slices.Compare)
	return slices.CompactFunc(lists, slices.Equal)
}

func shellLists(rest [][]string) (lists [][]string, note string) {
	for _, words := range rest {
		switch {
		case len(words) == 2 && words[0] == "-c" && isPlainLine(words[1]):
			lists = append(lists, words)
		case len(words) > 0 && words[0] == "-c":
			return [][]string{{"-c", policy.AnyArguments}}, anyCode
		case len(words) > 0 && isPlainFile(words[0]):
			lists = append(lists, []string{words[0], policy.AnyArguments})
		default:
			return nil, anyCode
		}
	}
	if lists = distinct(lists); len(lists) > maxExact {
		return nil, anyCode
	}
	return lists, ""
}

// scriptLists returns lists with the script or module that an interpreter runs.
func scriptLists(family string, rest [][]string) (lists [][]string, note string) {
	for _, words := range rest {
		switch script := policy.ScriptArgument(family, words); {
		case len(words) == 1 && isPlainWord(words[0]): // --version
			lists = append(lists, words)
		case script != "" && script == words[0] && isPlainFile(script):
			lists = append(lists, []string{script, policy.AnyArguments})
		case len(words) > 1 && words[0] == "-m" && isPlainFile(words[1]):
			lists = append(lists, []string{"-m", words[1], policy.AnyArguments})
		default:
			return nil, anyCode
		}
	}
	if lists = distinct(lists); len(lists) > maxExact {
		return nil, anyCode
	}
	return lists, ""
}

// prefix returns the words up to the subcommand, with AnyArgument for the values of options before it,
// and AnyArguments for the rest.
func prefix(words, globals []string) (list []string) {
	for i := 0; i < len(words) && i < maxPrefix; i++ {
		w := words[i]
		switch {
		case !isPlainWord(w):
			list = append(list, policy.AnyArgument)
		case slices.Contains(globals, w) && i+1 < len(words):
			list = append(list, w, policy.AnyArgument)
			i++
		case w[0] == '-':
			list = append(list, w)
		default:
			return append(list, w, policy.AnyArguments)
		}
	}
	if len(words) > len(list) {
		return append(list, policy.AnyArguments)
	}
	return list
}

// subcommands are programs whose first word says what they do, with their options before it that take
// a value.
var subcommands = map[string][]string{
	"git": {"-C", "-c", "--git-dir", "--work-tree", "--namespace"}, "gh": {"-R", "--repo"}, "hg": {"-R", "--cwd"}, "svn": nil, "jj": {"-R"},
	"docker": {"-H", "--host", "-c", "--context", "--config"}, "podman": {"--url", "-c"}, "kubectl": {"-n", "--namespace", "--context", "--kubeconfig", "-s"}, "helm": {"-n", "--namespace", "--kube-context"},
	"npm": {"--prefix"}, "pnpm": {"-C", "--dir"}, "yarn": {"--cwd"}, "pip": nil, "pip3": nil, "uv": {"--directory"}, "poetry": nil, "bundle": nil, "gem": nil, "composer": nil,
	"cargo": {"-C"}, "rustup": nil, "go": {"-C"}, "dotnet": nil, "terraform": nil, "aws": {"--profile", "--region", "--output"}, "gcloud": {"--project"}, "az": nil,
	"systemctl": nil, "brew": nil, "apt": nil, "launchctl": nil, "sqlite-utils": nil, "openssl": nil, "ollama": nil,
}

var (
	plainWord = lazy.Regexp(`^(-[A-Za-z]{1,3}|--[a-z][a-z-]{0,31}|[a-z][a-z_-]{0,31})$`)
	plainFile = lazy.Regexp(`^[A-Za-z0-9_./@+-]{1,200}$`)
)

// isPlainWord reports whether a word is an option or a subcommand. No other word of a server comes into
// a rule: it may be a secret, as in mysql -pPASSWORD, or different each time.
func isPlainWord(w string) bool { return plainWord().MatchString(w) }

func isPlainFile(w string) bool { return w[:min(len(w), 1)] != "-" && plainFile().MatchString(w) }

// isPlainLine reports whether a line of a shell starts one program, with a subcommand or options and no
// operand.
func isPlainLine(line string) bool {
	words := strings.Split(line, " ")
	_, sub := subcommands[words[0]]
	for i, w := range words {
		if !isPlainWord(w) || i > 0 && w[0] != '-' && !(i == 1 && sub) {
			return false
		}
	}
	return words[0][0] != '-'
}
