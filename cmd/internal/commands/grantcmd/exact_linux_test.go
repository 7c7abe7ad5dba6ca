package grantcmd

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// randomRules returns the rules of a server: some of each kind, each path and host once.
func randomRules(random *rand.Rand) (text string) {
	some := func(n int) bool { return random.IntN(n) == 0 }
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	if some(2) {
		text += "variables = [\"" + pick("A", "D") + "\"]\n"
	}
	if some(3) {
		text += "workspace = \"" + pick("~/notes", "~/repo") + "\"\n"
	}
	if some(2) {
		text += "[servers.x.access]\nworkspace = \"" + pick("write", "read", "none") + "\"\n"
	}
	for _, path := range []string{"~/", "~/notes", "~/notes/granted", "~/repo", "~/repo/.git/hooks", "~/.ssh", "~/other"} {
		if some(4) {
			text += "[[servers.x.access.fs]]\npath = \"" + path + "\"\n" + pick("read = true", "read = true\nwrite = true", "read = true\nexecute = true", "deny = true", "deny = \"write\"") + "\n"
		}
	}
	for _, host := range []string{"*.test", "a.test", "*.part.test", "x.part.test"} {
		if some(3) {
			text += "[[servers.x.access.net]]\nhost = \"" + host + "\"\n" + pick("allow = true", "allow = true\nscheme = \"https\"\nmethods = [\"GET\"]", "allow = true\nport = 8080", "allow = false") + "\n"
		}
	}
	return text
}

// TestRandomGrants: a grant to any policy gives what it is about, and nothing beside that, and takes nothing away, or it is
// refused. What a policy gives is asked without the rows.
func TestRandomGrants(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	objects := strings.Split("--read ~/notes,--write ~/notes/granted,--execute ~/other,--read ~/,--write ~/,--read ~/.ssh,--write ~/repo,--write ~/repo/.git,--read ~/new,--deny ~/notes,--deny ~/,--deny ~/repo/.git,"+
		"--net a.test,--net *.test,--net x.part.test,--net x.part.test:8080,--net b.test:443,--env A,--env B_*,--inbound 81,--limit processes=600,--workspace ~/repo", ",")
	for name, value := range map[string]string{"A": "1", "B_C": "1", "D": "1"} {
		t.Setenv(name, value)
	}
	done := 0
	for n := range testkit.Rounds(6, 100) {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		rules := randomRules(random)
		e := newEdit(t, rules)
		testkit.PlantBelow(t, e.host.Home, "other/x", ".ssh/k", "notes/granted/x")
		for range 4 {
			e.Reset()
			words := objects[random.IntN(len(objects))]
			o := wordsOf(strings.Fields(words))[0]
			was := e.was.policies[""].target.Profile
			if _, err := e.Add("", o); err != nil || was == nil {
				continue
			}
			done++
			for _, fault := range beyond(was, e.now.policies[""].target.Profile, o, e) {
				t.Errorf("seed %d: %s: %s, with\n%s", seed, words, fault, rules)
			}
		}
	}
	if done == 0 {
		t.Error("no grant was made")
	}
}

// beyond returns what differs between two policies that is not what an object is about.
func beyond(was, is *policy.Profile, o change.Object, e *Edit) (faults []string) {
	say := func(what string, about bool) {
		if !about {
			faults = append(faults, what)
		}
	}
	setting := o.Setting.Key == "workspace"
	for _, name := range []string{"", "notes", "notes/x", "notes/granted/x", "repo", "repo/x", "repo/.git", "repo/.git/hooks", "repo/.git/hooks/x", ".ssh", ".ssh/k", "other", "other/x", "new"} {
		path := filepath.Join(e.host.Home, name)
		had, _ := was.Find(path)
		has, _ := is.Find(path)
		gained, lost := has.Rights&^had.Rights, had.Rights&^has.Rights
		inside := o.Fs.Path != "" && policy.Within(path, e.At(o.Fs.Path))
		say(fmt.Sprintf("%s: %s before, then %s", path, had.Rights, has.Rights), setting || gained|lost == 0 || inside && o.Fs.Rights().Has(gained) && o.Fs.Deny.Has(lost))
	}
	for _, host := range []string{"a.test", "b.test", "part.test", "x.part.test", "y.part.test", "elsewhere"} {
		for _, port := range []int{80, 443, 8080} {
			for _, method := range []string{"GET", "POST"} {
				scheme := map[bool]string{true: "https", false: "http"}[port == 443]
				had, _ := policy.MatchNet(was.Net, host, scheme, port, "/", method)
				has, _ := policy.MatchNet(is.Net, host, scheme, port, "/", method)
				say(fmt.Sprintf("%s %s:%d: %v before, then %v", method, host, port, had.Allow, has.Allow), had.Allow == has.Allow || has.Allow && o.Net.Host != "" && o.Net.Covers(host, port))
			}
		}
	}
	for _, name := range []string{"A", "B_C", "D"} {
		gets := func(p *policy.Profile) bool {
			return slices.ContainsFunc(p.Env, func(v policy.Variable) bool { return v.Name == name })
		}
		say("the variable "+name, gets(was) == gets(is) || gets(is) && o.Env != "" && policy.EnvIncludes(o.Env, name))
	}
	return faults
}
