package policy

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMeetCommands checks that the meet of two random lists starts the programs, with the arguments and the variables,
// that both allow, and no others.
func TestMeetCommands(t *testing.T) {
	const git, sh, tool, own = "/usr/bin/git", "/usr/bin/sh", "/usr/bin/tool", "/usr/bin/server"
	forms := map[string][]Start{"git": {{File: git, Name: "git"}}, "any git": {{File: git}}, "sh": {{File: sh}}, "tool": {{File: sh, Script: tool}}, "sh -e tool": {{File: sh, Lead: []string{"log"}, Script: tool}}}
	names := []string{"LD_PRELOAD", "GIT_TRACE", "GIT_DIR", "HOME", "OTHER"}
	allowed, refused, kept, dropped := 0, 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.SampledFrom([]string{"log", "status", tool})
		profile := func() *Profile {
			p := &Profile{Programs: []string{own}, OwnPrograms: []string{own}}
			if rapid.IntRange(0, 9).Draw(rt, "none") == 0 {
				return &Profile{} // any program
			}
			for range rapid.IntRange(0, 4).Draw(rt, "rules") {
				name := rapid.SampledFrom([]string{"git", "any git", "sh", "tool", "sh -e tool"}).Draw(rt, "program")
				c := Command{Name: name, Starts: forms[name], Envs: rapid.SampledFrom([][]string{nil, {}, {"GIT_*"}, {"GIT_TRACE", "OTHER"}, {"*"}}).Draw(rt, "envs")}
				for range rapid.IntRange(0, 3).Draw(rt, "lists") {
					list := rapid.SliceOfN(rapid.OneOf(word, rapid.Just(AnyArgument)), 0, 2).Draw(rt, "list")
					if rapid.Bool().Draw(rt, "rest") {
						list = append(list, AnyArguments)
					}
					c.Args = append(c.Args, list)
				}
				if c.Args != nil || c.Envs != nil {
					p.CommandArgs = append(p.CommandArgs, name)
				}
				p.Commands, p.Programs = append(p.Commands, c), append(p.Programs, c.Starts[0].File, c.Starts[0].Script)
			}
			if p.CommandArgs == nil {
				p.Commands, p.OwnPrograms = nil, nil // as package resolve does
			}
			return p
		}
		starts := func(p *Profile, s ProgramStart, file string) (CommandMatch, bool) {
			if p.Programs != nil && !slices.Contains(p.Programs, file) {
				return CommandMatch{}, false // by the kernel
			}
			if !p.ConstrainsStarts() {
				return CommandMatch{}, true
			}
			m := p.MatchStart(s)
			return m, m.Allowed
		}
		a, b := profile(), profile()
		met, err := Meet(a, b)
		if err != nil {
			rt.Fatal(err)
		}
		for range 20 {
			file := rapid.SampledFrom([]string{git, sh, own}).Draw(rt, "file")
			s := ProgramStart{
				Argv:   append([]string{"git"}, rapid.SliceOfN(word, 0, 3).Draw(rt, "arguments")...),
				IsFile: func(path string) bool { return path == file }, IsScript: func(word, script string) bool { return word == script },
			}
			m, is := starts(met, s, file)
			ofA, inA := starts(a, s, file)
			ofB, inB := starts(b, s, file)
			if is != (inA && inB) {
				rt.Fatalf("%s as %q: %v, want %v and %v\n%+v\n%+v\n%+v", file, s.Argv, is, inA, inB, a, b, met)
			}
			if !is {
				refused++
				continue
			}
			allowed++
			for _, name := range names {
				granted := func(string) bool { return false }
				switch keeps := m.Keeps(name+"=x", granted); {
				case keeps != (ofA.Keeps(name+"=x", granted) && ofB.Keeps(name+"=x", granted)):
					rt.Fatalf("%s as %q: %s is kept: %v\n%+v\n%+v\n%+v", file, s.Argv, name, keeps, a, b, met)
				case keeps:
					kept++
				default:
					dropped++
				}
			}
		}
	})
	if allowed == 0 || refused == 0 || kept == 0 || dropped == 0 {
		t.Errorf("%d starts were allowed and %d refused, %d variables kept and %d dropped", allowed, refused, kept, dropped)
	}
}
