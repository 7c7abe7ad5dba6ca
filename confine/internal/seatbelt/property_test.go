package seatbelt_test

import (
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// words are names of directories and files from which profiles and questions are made.
var words = []string{
	"a", "b", "Users", "me", "w", "x", ".env", "node_modules", "Käse", "o'\"k", "office", "back\\slash",
	".git", "hooks", "config", ".github", "workflows", "modules", "worktrees", "refs", "heads", "remotes", "gitdir", "commondir",
	".vscode", ".hg", "hgrc", "kilo.json", ".mcp.json", "sub.git",
}

// odd are spellings of them that some disk takes for the same.
var odd = []string{
	".GIT", ".VSCode", "KILO.json", ".v\u017fcode", "\u212ailo.json", ".g\u0130t", ".git.", ".git\u200d", ".vscode ", "HOOKS", "hook\u017f", "Config",
	"o\ufb03ce", "OFFICE", "Ka\u0308se", "K\u00c4SE", ".ENV", "NODE_MODULES", "REFS", "A", "B", "W", ".GitHub", "work\ufb02ows", "Modules",
}

type generator struct{ *rand.Rand }

func (g generator) word() string { return words[g.IntN(len(words))] }

func (g generator) path(most int) string {
	var b strings.Builder
	for range 1 + g.IntN(most) {
		if g.IntN(12) == 0 {
			b.WriteString("/" + odd[g.IntN(len(odd))])
		} else {
			b.WriteString("/" + g.word())
		}
	}
	return b.String()
}

func (g generator) below(p *policy.Profile, most int) string {
	return p.Entries[g.IntN(len(p.Entries))].Path + g.path(most)
}

// profile returns a profile as Resolve could make one.
func (g generator) profile() *policy.Profile {
	p := &policy.Profile{}
	seen := map[string]bool{}
	temps := g.IntN(10) == 0
	for range 1 + g.IntN(7) {
		e := policy.Entry{Path: g.path(4), Kind: policy.KindDir, Rights: policy.Rights(g.IntN(32)), Origin: policy.OriginRule}
		if len(p.Entries) > 0 && g.IntN(2) == 0 {
			e.Path = g.below(p, 3)
		} else if temps {
			e.Path = []string{"/private", "/private/tmp", "/private/tmp/mj-501-0", "/private/tmp/mj-501-0/a", "/private/tmp/a"}[g.IntN(5)]
		}
		switch g.IntN(10) {
		case 0:
			e.Origin = policy.OriginHome
		case 1:
			e.Origin, e.Rights = policy.OriginSensitive, 0
		case 2:
			e.Origin, e.Rights = policy.OriginProtected, policy.Read
		case 3:
			e.Origin = policy.OriginBaseline
		}
		switch g.IntN(8) {
		case 0, 1:
			e.Kind = policy.KindFile
			e.Rights &= policy.FileRights
		case 2:
			e.Kind = policy.KindSpecial
			e.Rights &= policy.Read | policy.Update
		}
		if !seen[e.Path] {
			seen[e.Path] = true
			p.Entries = append(p.Entries, e)
		}
	}
	g.finish(p)
	return p
}

// finish sorts the entries and adds the names that need one.
func (g generator) finish(p *policy.Profile) {
	inFile := func(name string) bool {
		return slices.ContainsFunc(p.Entries, func(f policy.Entry) bool {
			return f.Kind != policy.KindDir && f.Path != name && policy.Within(name, f.Path)
		})
	}
	p.Entries = slices.DeleteFunc(slices.Clone(p.Entries), func(e policy.Entry) bool { return inFile(e.Path) })
	slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	for range g.IntN(4) {
		name := g.below(p, 3)
		missing := !slices.ContainsFunc(p.Entries, func(e policy.Entry) bool { return policy.Within(e.Path, name) })
		if !missing || inFile(name) {
			continue
		}
		if g.IntN(4) > 0 {
			p.Unprotected = append(p.Unprotected, name)
		} else {
			p.GitDirs = append(p.GitDirs, name)
		}
	}
	if g.IntN(8) == 0 {
		p.GitDirs = append(p.GitDirs, p.Entries[g.IntN(len(p.Entries))].Path)
	}
	for range g.IntN(3) {
		p.IgnoreCase = append(p.IgnoreCase, p.Entries[g.IntN(len(p.Entries))].Path)
	}
	if g.IntN(6) == 0 {
		p.Programs = []string{p.Entries[0].Path, g.below(p, 2)}
	}
	if g.IntN(6) == 0 {
		p.ListOnly = []string{path.Dir(p.Entries[0].Path), g.path(2), p.Entries[0].Path + "/a"}
	}
	slices.Sort(p.Unprotected)
	slices.Sort(p.GitDirs)
}

// question returns a path to ask about.
func (g generator) question(p *policy.Profile) string {
	switch g.IntN(8) {
	case 0:
		return p.Entries[g.IntN(len(p.Entries))].Path
	case 1:
		if p.ListOnly != nil && g.IntN(2) == 0 {
			return strings.TrimSuffix(p.ListOnly[g.IntN(3)], "/") + []string{"", g.path(1)}[g.IntN(2)]
		}
		if policy.Within(p.Entries[0].Path, "/private") {
			return []string{"/private/tmp/mj-501-", "/private/tmp/MJ-501-", "/private/tmp/mj"}[g.IntN(3)] + []string{"0", "1", ""}[g.IntN(3)] + g.path(2)
		}
		return g.path(5)
	case 2:
		if len(p.Unprotected) > 0 {
			u := p.Unprotected[g.IntN(len(p.Unprotected))]
			return []string{u, path.Dir(u), u + g.path(1), strings.ToUpper(u[:1]) + u[1:]}[g.IntN(4)]
		}
	case 3:
		if len(p.GitDirs) > 0 {
			return p.GitDirs[g.IntN(len(p.GitDirs))] + g.path(5)
		}
	}
	return g.below(p, 6)
}

var questions = []struct {
	op policy.Op
	as string
}{
	{policy.OpRead, "file-read-data"}, {policy.OpRead, "file-read-xattr"}, {policy.OpExec, "process-exec*"}, {policy.OpWrite, "file-write-data"},
	{policy.OpCreate, "file-write-create"}, {policy.OpMkdir, "file-write-create"}, {policy.OpRemove, "file-write-unlink"},
}

// wants returns what the policy says about an operation: the answers of Mediate count too where an
// entry covers the path.
func wants(t *testing.T, p *policy.Profile, op policy.Op, name string) bool {
	want := p.Allows(op, name)
	if _, covered := p.Find(name); covered && (p.Mediate(op, name) == policy.Granted) != want {
		t.Fatalf("Allows and Mediate disagree about %s %s", op, name)
	}
	return want
}

func TestTextsNeverGrantMoreThanTheProfile(t *testing.T) {
	// Seven faults put in on purpose are found, in the first 278 profiles.
	g := generator{rand.New(rand.NewPCG(0, 48))}
	a := answers{narrower: map[string]int{}}
	for range testkit.Rounds(400, 1000) {
		p := g.profile()
		rules := compiled(t, p)
		for range 40 {
			name := g.question(p)
			if !insideFile(p, name) {
				a.ask(t, p, rules, name)
			}
		}
		if t.Failed() && a.wider > 5 {
			t.FailNow()
		}
	}
	t.Logf("%d answers, %d wider, narrower: %v", a.n, a.wider, a.narrower)
}

// TestRareProfiles asks about profiles of which the random ones have one in a thousand.
func TestRareProfiles(t *testing.T) {
	entry := func(path string, rights policy.Rights) policy.Entry {
		return policy.Entry{Path: path, Kind: policy.KindDir, Rights: rights, Origin: policy.OriginRule}
	}
	for name, p := range map[string]*policy.Profile{
		"/w/g/worktrees/a": {Entries: []policy.Entry{entry("/w", policy.AllRights), entry("/w/g/worktrees", policy.AllRights)}, GitDirs: []string{"/w/g"}},
	} {
		a := answers{narrower: map[string]int{}}
		a.ask(t, p, compiled(t, p), name)
		a.ask(t, p, compiled(t, p), name+"/b")
	}
}

// compiled returns the rules of a profile's text as it was read back.
func compiled(t *testing.T, p *policy.Profile) []seatbelttest.Rule {
	text, err := seatbelt.Compile(seatbelt.Input{Profile: p, Self: "/opt/own/mcp-jail"})
	if err != nil {
		t.Fatalf("%v\n%s", err, dump(p))
	}
	rules := testkit.Get(seatbelttest.Read(text.Profile, text.Params))(t)
	return rules
}

// answers counts the answers that differ.
type answers struct {
	n, wider int
	narrower map[string]int
}

func (a *answers) ask(t *testing.T, p *policy.Profile, rules []seatbelttest.Rule, name string) {
	e, covered := p.Find(name)
	for _, q := range questions {
		want := wants(t, p, q.op, name)
		want = want || q.as == "file-read-data" && slices.Contains(p.ListOnly, name) && !covered
		want = want && !(isTemp(name) && !isTemp(e.Path))
		a.compare(t, p, q.op.String()+" ("+q.as+")", name, want,
			seatbelttest.Allowed(rules, q.as, name, ""), func() string { return explanation(p, q.op, name) })
	}
	a.n += 2
	made := p.Allows(policy.OpCreate, name) && p.RightsAt(path.Dir(name)).Has(policy.Update) && !(isTemp(name) && !isTemp(e.Path))
	named := e.Path == name && e.Kind == policy.KindSpecial && e.Origin == policy.OriginRule && p.Allows(policy.OpWrite, name)
	if seatbelttest.Allowed(rules, "network-outbound", name, "") && !made && !named || seatbelttest.Allowed(rules, "network-bind", name, "") && !made {
		if a.wider++; a.wider < 6 {
			t.Errorf("wider: a socket at %q\n%s", name, dump(p))
		}
	}
	if p.ProtectsFromLink(name) && seatbelttest.Allowed(rules, "file-write-create", name, "SYMLINK") {
		if a.wider++; a.wider < 6 {
			t.Errorf("wider: a link at %q\n%s", name, dump(p))
		}
	}
	if p.ProtectsFromLink(name) && !ofGitObjects.MatchString(name) && seatbelttest.Allowed(rules, "file-write-create", name, "DIRECTORY") {
		if a.wider++; a.wider < 6 {
			t.Errorf("wider: a directory with contents at %q\n%s", name, dump(p))
		}
	}
	a.compare(t, p, "attributes", name, p.Mediate(policy.OpAttributes, name) == policy.Granted && !(isTemp(name) && !isTemp(e.Path)), seatbelttest.Allowed(rules, "file-write-mode", name, ""),
		func() string { return explanation(p, policy.OpWrite, name+"/.") })
	for _, e := range p.Entries {
		for pin := e.Path; pin != "/" && p.IgnoresCase(pin); pin = path.Dir(pin) {
			if pin != name && fold(pin) == fold(name) && p.Mediate(policy.OpMkdir, pin) == policy.Pinned && seatbelttest.Allowed(rules, "file-write-create", name, "") {
				a.wider++
				t.Errorf("wider: %s, which is %s\n%s", name, pin, dump(p))
			}
		}
	}
}

// ofGitObjects matches what is below the directories of a git directory that have directories.
var ofGitObjects = regexp.MustCompile(`/(objects|refs|logs)/`)

func (a *answers) compare(t *testing.T, p *policy.Profile, what, name string, want, got bool, why func() string) {
	a.n++
	if got && !want {
		if a.wider++; a.wider < 6 {
			t.Errorf("wider: %s %q\n%s", what, name, dump(p))
		}
	}
	if want && !got {
		because := why()
		if a.narrower[because]++; because == "" && a.narrower[""] < 6 {
			t.Errorf("narrower, and nothing says why: %s %q\n%s", what, name, dump(p))
		}
	}
}

// isTemp reports whether a path is the TMPDIR of a server, or in one. Only an entry that names it grants
// something there.
func isTemp(name string) bool {
	rest, ok := strings.CutPrefix(strings.ToLower(name), seatbelt.TempPrefix)
	return ok && rest != ""
}

func insideFile(p *policy.Profile, name string) bool {
	return slices.ContainsFunc(p.Entries, func(e policy.Entry) bool {
		return e.Kind != policy.KindDir && e.Path != name && policy.Within(name, e.Path)
	})
}

func dump(p *policy.Profile) string {
	var b strings.Builder
	for _, e := range p.Entries {
		b.WriteString("  " + e.Path + " " + e.Kind.String() + " " + e.Rights.String() + " " + e.Origin.String() + "\n")
	}
	b.WriteString("  unprotected: " + strings.Join(p.Unprotected, " ") + "\n  git dirs: " + strings.Join(p.GitDirs, " ") + "\n  programs: " + strings.Join(p.Programs, " ") + "\n  ignore case: " + strings.Join(p.IgnoreCase, " ") + "\n")
	return b.String()
}
