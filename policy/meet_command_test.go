package policy

import (
	"testing"

	"pgregory.net/rapid"
)

// TestMeetCommands checks that the meet of two random lists for a program starts it with the arguments that both
// allow, and that its variables are those that both pass.
func TestMeetCommands(t *testing.T) {
	const git = "/usr/bin/git"
	allowed, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.SampledFrom([]string{"log", "status", "-x"})
		profile := func() *Profile {
			c := Command{Name: "git", Starts: []Start{{File: git}}, Args: [][]string{}, Envs: []string{rapid.SampledFrom([]string{"GIT_*", "GIT_TRACE", "*", "HOME"}).Draw(rt, "env")}}
			for range rapid.IntRange(0, 3).Draw(rt, "lists") {
				list := rapid.SliceOfN(rapid.OneOf(word, rapid.Just(AnyArgument)), 0, 2).Draw(rt, "list")
				if rapid.Bool().Draw(rt, "rest") {
					list = append(list, AnyArguments)
				}
				c.Args = append(c.Args, list)
			}
			return &Profile{Programs: []string{git}, CommandArgs: []string{"git"}, Commands: []Command{c}}
		}
		a, b := profile(), profile()
		met, err := Meet(a, b)
		if err != nil {
			rt.Fatal(err)
		}
		for range 20 {
			s := ProgramStart{Argv: append([]string{"git"}, rapid.SliceOfN(word, 0, 3).Draw(rt, "arguments")...), IsFile: func(path string) bool { return path == git }}
			is, want := met.MatchStart(s).Allowed, a.MatchStart(s).Allowed && b.MatchStart(s).Allowed
			if is != want {
				rt.Fatalf("%q: %v, want %v\n%+v\n%+v\n%+v", s.Argv, is, want, a.Commands, b.Commands, met.Commands)
			}
			if allowed++; !is {
				allowed, refused = allowed-1, refused+1
			}
		}
		for _, c := range met.Commands {
			for _, name := range c.Envs {
				passes := func(p *Profile) bool { return EnvIncludes(p.Commands[0].Envs[0], name) }
				if len(c.Args) > 0 && !(passes(a) && passes(b)) {
					rt.Fatalf("passes %s: %+v\n%+v", name, a.Commands, b.Commands)
				}
			}
		}
	})
	if allowed == 0 || refused == 0 {
		t.Errorf("%d starts were allowed and %d refused", allowed, refused)
	}
}
