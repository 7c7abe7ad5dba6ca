package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestPlans plays testdata/plans/*.txt: hosts and profiles, and what the plans of them say, in the lines that begin
// with ">". Lines with other words are:
//
//	== NAME                     a new case; NAME is part of the name of a golden file
//	on linux|hostns|mac|windows|none
//	                            its host, hostns without user namespaces; the profile is that of plantest
//	yes|no|unsure FEATURE WHY; FIX
//	                            a feature of the host
//	facts|profile FIELD JSON    another field of either
//	entry PATH RIGHTS ORIGIN…   an entry more, or another one at its path; "copy": it is thrown away after a call
//	failed PROBE AXIS           a probe of the self-test that failed
//	stated                      the profile has the statement for the server
//	reads                       what is watched
//	show WHAT…                  what follows says of the plan: see plays
func TestPlans(t *testing.T) {
	files := testkit.Get(filepath.Glob("testdata/plans/*.txt"))(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			var c *planCase
			var out strings.Builder
			for line := range strings.Lines(testkit.ReadFile(t, file)) {
				line = strings.TrimSuffix(line, "\n")
				if strings.HasPrefix(line, ">") {
					continue
				}
				out.WriteString(line + "\n")
				if name, ok := strings.CutPrefix(line, "== "); ok {
					c = &planCase{t: t, name: name, p: plantest.Profile(), f: plantest.Kernel()}
				} else if line != "" && line[0] != '#' {
					out.WriteString(c.play(line))
				}
			}
			testkit.Golden(t, strings.TrimPrefix(file, "testdata/"), out.String())
		})
	}
}

type planCase struct {
	t    *testing.T
	name string
	p    *policy.Profile
	f    kernel.Facts
	w    Watching
}

// play does what a line says and returns what it shows.
func (c *planCase) play(line string) string {
	verb, rest, _ := strings.Cut(line, " ")
	field, text, _ := strings.Cut(rest, " ")
	switch verb {
	case "on":
		c.on(rest)
	case "yes":
		c.feature(field, kernel.Available(text))
	case "no":
		why, fix, _ := strings.Cut(text, "; ")
		c.feature(field, kernel.Unavailable(why, fix))
	case "unsure":
		c.feature(field, kernel.Undetermined(text))
	case "facts":
		c.set(reflect.ValueOf(&c.f).Elem(), field, text)
	case "profile":
		c.set(reflect.ValueOf(c.p).Elem(), field, text)
	case "entry":
		c.entry(strings.Fields(rest))
	case "failed":
		c.f.Proof.Failed = append(c.f.Proof.Failed, kernel.ProbeResult{ID: field, Axis: policy.Axis(cmp.Or(text, "fs")), What: "what " + field + " is about", Got: "it worked"})
	case "stated":
		c.p.Env = append(c.p.Env, policy.Variable{Name: policy.StatementVar, Value: string(policy.NewStatement(c.p).Encode())})
	case "reads":
		c.w.Reads = true
	case "show":
		return c.show(strings.Fields(rest))
	default:
		c.t.Fatalf("%s: %s is not known", c.name, verb)
	}
	return ""
}

func (c *planCase) on(host string) {
	switch host {
	case "linux":
	case "hostns":
		refuseNamespaces(&c.f)
	case "mac":
		c.f = plantest.Mac()
	case "windows":
		c.f, c.p = plantest.Windows(), windowsProfile()
	case "none":
		c.f = kernel.Facts{Features: kernel.Features{OS: "freebsd"}}
	default:
		c.t.Fatalf("%s: the host %s is not known", c.name, host)
	}
}

func (c *planCase) feature(field string, value kernel.Feature) {
	reflect.ValueOf(&c.f).Elem().FieldByName(field).Set(reflect.ValueOf(value))
}

func (c *planCase) set(of reflect.Value, field, text string) {
	for name := range strings.SplitSeq(field, ".") {
		of = of.FieldByName(name)
	}
	of.SetZero()
	if err := json.Unmarshal([]byte(text), of.Addr().Interface()); err != nil {
		c.t.Fatalf("%s: %s: %v", c.name, field, err)
	}
}

func (c *planCase) entry(words []string) {
	e := policy.Entry{Path: words[0], Named: words[0], Kind: policy.KindDir, Rule: "path = " + words[0], Origin: policy.OriginRule}
	for i, letter := range "rcudx" {
		if strings.ContainsRune(words[1], letter) {
			e.Rights |= 1 << i
		}
	}
	for _, word := range words[2:] {
		switch word {
		case "file":
			e.Kind = policy.KindFile
		case "baseline":
			e.Origin = policy.OriginBaseline
		case "home":
			e.Origin, e.Rule = policy.OriginHome, "the private HOME"
		case "copy":
			e.Make, e.Ephemeral = true, true
		}
	}
	c.p.Entries = append(slices.DeleteFunc(c.p.Entries, func(old policy.Entry) bool { return old.Path == e.Path }), e)
	slices.SortFunc(c.p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
}

// show returns what the plan says. "all" has a golden file of its own.
func (c *planCase) show(what []string) string {
	plan := Compile(c.p, c.f, c.w)
	o := plan.Spec
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(strings.TrimRight("> "+fmt.Sprintf(format, args...), " ") + "\n")
	}
	switch about := strings.Join(what[1:], " "); what[0] {
	case "all":
		c.golden(plan)
	case "gaps": // with a word in them
		for _, g := range plan.Gaps {
			if strings.Contains(fmt.Sprint(g), about) {
				line("%s%s %s: %s %s", map[bool]string{true: "fatal "}[g.Fatal], g.Axis, g.Platform, g.What, strings.Join(g.Paths, " "))
			}
		}
	case "fatal":
		line("%t", slices.ContainsFunc(plan.Gaps, func(g Gap) bool { return g.Fatal }))
	case "hostns":
		line("%t %s", o.HostNS, plan.HostNamespaces.Answer)
	case "held": // with a word in it
		for _, e := range plan.Enforced {
			if strings.Contains(fmt.Sprint(e), about) {
				line("%s: %s (%s)", e.Axis, e.What, e.By)
			}
		}
	case "told": // to the server
		for _, v := range o.Env {
			if text, ok := strings.CutPrefix(v, policy.StatementVar+"="); ok {
				var s policy.Statement
				testkit.Must(c.t, json.Unmarshal([]byte(text), &s))
				line("%s, temporary files in %s", s.Net.Access, s.Temporary)
			}
		}
	case "start":
		line("%s in %s, temporary %s, %+v", o.Program, o.Dir, o.TempDir, o.Limits)
	case "notes":
		for _, n := range plan.Notes {
			if strings.Contains(n, about) {
				line("%s", n)
			}
		}
	case "env": // with a beginning
		for _, v := range o.Env {
			if strings.HasPrefix(v, about) {
				line("%s", v)
			}
		}
	case "files": // with a content
		for _, made := range o.Files {
			if made.Content == about || about == "" {
				line("%s over %t", made.Path, made.Over)
			}
		}
	case "links":
		for _, l := range o.Links {
			line("%s -> %s", l.Path, l.Target)
		}
	case "waive": // what accepts all gaps
		line("%q", plan.Axes())
	case "entry": // of the supervisor at a path
		if e, ok := o.Profile.Find(about); ok && e.Path == about {
			line("%s, %s", e.Rights, e.Origin)
		}
	case "fails": // what the self-test must not list
		line("%q", o.MustFail)
	case "keep":
		line("%+v", o.Keep)
	case "cgroup":
		line("used %t", !plan.Cgroup.None())
	case "rules": // of Landlock at a path
		for _, r := range o.Landlock.Rules {
			if r.Path == about {
				line("%s", landlock.AccessNames(r.Access))
			}
		}
	case "watched":
		line("reads %t, can be %t", plan.WatchesReads, plan.CanWatch())
	default:
		c.t.Fatalf("%s: show %s is not known", c.name, what[0])
	}
	return strings.ReplaceAll(b.String(), "geheim", "SECRET")
}

// golden compares all of a plan with a file.
func (c *planCase) golden(plan *Plan) {
	got := planText(plan)
	if plan.Seatbelt != nil && plan.Seatbelt.Profile != nil {
		for _, g := range plan.Gaps {
			if g.Platform != "" {
				got += string(g.Platform) + ": " + g.What + "\n"
			}
		}
		in := *plan.Seatbelt
		var entries []string
		for _, e := range in.Profile.Entries {
			entries = append(entries, e.Path)
		}
		in.Profile = nil
		got += fmt.Sprintf("seatbelt %+v of %s\nwaive %q\n", in, strings.Join(entries, ", "), plan.Axes())
	}
	testkit.Golden(c.t, "plan_"+c.name+".golden", strings.ReplaceAll(got, "geheim", "SECRET"))
}
