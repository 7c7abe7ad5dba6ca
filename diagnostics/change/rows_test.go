package change

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// a profile that reads ~/notes, writes ~/work but for a protected name, and reaches a part of a host.
func profile(edit func(p *policy.Profile)) *policy.Profile {
	p := &policy.Profile{
		Entries: []policy.Entry{
			{Path: "/home/u/notes", Rights: policy.Read, Origin: policy.OriginRule},
			{Path: "/home/u/work", Rights: policy.Read | policy.Write, Origin: policy.OriginRule},
			{Path: "/home/u/work/.git/hooks", Rights: policy.Read, Origin: policy.OriginProtected},
			{Path: "/usr", Rights: policy.Read | policy.Execute, Origin: policy.OriginBaseline},
		},
		Net:     []policy.NetRule{{Host: "*.good.test", Scheme: "https", Methods: []string{"GET"}, Allow: true}, {Host: "bad.test"}},
		Env:     []policy.Variable{{Name: "A", Rule: "--env A"}, {Name: policy.StatementVar, Rule: policy.OwnVariable + "x"}},
		Inbound: []int{80},
	}
	if edit != nil {
		edit(p)
	}
	slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	return p
}

func entry(path string, rights policy.Rights, origin policy.Origin) func(*policy.Profile) {
	return func(p *policy.Profile) {
		p.Entries = slices.DeleteFunc(p.Entries, func(e policy.Entry) bool { return e.Path == path })
		p.Entries = append(p.Entries, policy.Entry{Path: path, Rights: rights, Origin: origin})
	}
}

func rule(r policy.NetRule) func(*policy.Profile) {
	return func(p *policy.Profile) { r.Allow = true; p.Net = append(p.Net, r) }
}

// TestRows: what a change gives, and whether that is more than words say. Each exact change has one beside it that is not.
func TestRows(t *testing.T) {
	const readWrite = policy.Read | policy.Write
	for name, c := range map[string]struct {
		edit  func(*policy.Profile)
		words string
		rows  string
		more  bool
	}{
		"nothing":              {nil, "--read /x", "", false},
		"a path":               {entry("/x", policy.Read, policy.OriginRule), "--read /x", "/x 0>1", false},
		"a path below":         {entry("/x/y", policy.Read, policy.OriginRule), "--read /x", "/x/y 0>1", false},
		"a path above":         {entry("/x", policy.Read, policy.OriginRule), "--read /x/y", "/x 0>1", true},
		"more rights":          {entry("/x", readWrite, policy.OriginRule), "--read /x", "/x 0>15", true},
		"fewer rights":         {entry("/home/u/work", policy.Read, policy.OriginRule), "--read /home/u/work", "/home/u/work 15>1", true},
		"a denial":             {entry("/home/u/work", 0, policy.OriginRule), "--deny /home/u/work", "/home/u/work 15>0", false},
		"a denial that gives":  {entry("/x", policy.Read, policy.OriginRule), "--deny /x", "/x 0>1", true},
		"what a program needs": {entry("/opt/p", policy.Read, policy.OriginBaseline), "--env B", "", false},
		"a path by a host":     {entry("/x", policy.Read, policy.OriginRule), "--net a.test", "/x 0>1", true},
		"a path by a limit":    {entry("/x", policy.Read, policy.OriginRule), "--limit processes=9", "/x 0>1", true},
		"a workspace":          {entry("/x", readWrite, policy.OriginRule), "--workspace /x", "/x 0>15", false},
		"a host":               {rule(policy.NetRule{Host: "a.test"}), "--net a.test", "a.test:80 no>yes, a.test:443 no>yes", false},
		"another host":         {rule(policy.NetRule{Host: "b.test"}), "--net a.test", "b.test:80 no>yes, b.test:443 no>yes", true},
		"another port":         {rule(policy.NetRule{Host: "a.test", Port: 9}), "--net a.test", "a.test:9 no>yes", true},
		"all of a host":        {rule(policy.NetRule{Host: "x.good.test"}), "--net x.good.test", "x.good.test:80 no>yes, x.good.test:443 GET>yes lifts", false},
		"all of a wildcard":    {rule(policy.NetRule{Host: "*.test"}), "--net *.test", "*.good.test:443 GET>yes lifts, *.test:80 no>yes, *.test:443 no>yes", false},
		"a denied host":        {rule(policy.NetRule{Host: "bad.test"}), "--net bad.test", "", false},
		"a host less":          {func(p *policy.Profile) { p.Net = nil }, "--net a.test", "*.good.test:443 GET>no", true},
		"a variable":           {func(p *policy.Profile) { p.Env = append(p.Env, policy.Variable{Name: "B_C"}) }, "--env B_*", "B_C no>yes", false},
		"another variable":     {func(p *policy.Profile) { p.Env = append(p.Env, policy.Variable{Name: "C"}) }, "--env B", "C no>yes", true},
		"a variable less":      {func(p *policy.Profile) { p.Env = nil }, "--env A", "A yes>no", true},
		"certificates with a host": {func(p *policy.Profile) {
			p.Env = append(p.Env, policy.Variable{Name: "SSL", Rule: policy.AuthorityRule})
		}, "--net a.test", "", false},
		"a port that leads in":       {func(p *policy.Profile) { p.Inbound = []int{80, 81} }, "--inbound 81", ":81 no>yes", false},
		"another port that leads in": {func(p *policy.Profile) { p.Inbound = []int{80, 82} }, "--inbound 81", ":82 no>yes", true},
	} {
		rows := Rows(profile(nil), profile(c.edit))
		var got []string
		for _, r := range rows {
			text := fmt.Sprintf("%s %d>%d", r.Name, r.Was.Rights, r.Is.Rights)
			if r.Axis != policy.AxisFs {
				text = fmt.Sprintf("%s %s>%s", strings.TrimSuffix(fmt.Sprintf("%s:%d", r.Name, r.Port), ":0"), has(r.Was), has(r.Is))
			}
			if r.Lifts() {
				text += " lifts"
			}
			got = append(got, text)
		}
		objects, err := Read(strings.Fields(c.words))
		if err != nil {
			t.Fatal(err)
		}
		err = Exact(rows, objects, policy.Within)
		if strings.Join(got, ", ") != c.rows || errors.As(err, new(*BeyondError)) != c.more {
			t.Errorf("%s: %q, %v; want %q, more: %v", name, strings.Join(got, ", "), err, c.rows, c.more)
		}
	}
}

// TestTable: what rows are in words.
func TestTable(t *testing.T) {
	short := func(path string) string { return "short " + path }
	for name, c := range map[string]struct {
		edit func(p *policy.Profile)
		want string
	}{
		"a path":      {entry("/x", policy.Read|policy.Write, policy.OriginRule), "short /x: nothing, read and write"},
		"less":        {entry("/home/u/work", policy.Read, policy.OriginRule), "short /home/u/work: read and write, read"},
		"usual ports": {rule(policy.NetRule{Host: "a.test"}), "a.test:80, :443: no, yes"},
		"one port":    {rule(policy.NetRule{Host: "a.test", Port: 80}), "a.test:80: no, yes"},
		"a part":      {rule(policy.NetRule{Host: "x.good.test"}), "x.good.test:80: no, yes; x.good.test:443: only GET, yes"},
		"a variable":  {func(p *policy.Profile) { p.Env = append(p.Env, policy.Variable{Name: "B"}) }, "variable B: no, yes"},
		"inbound":     {func(p *policy.Profile) { p.Inbound = nil }, "inbound port 80: yes, no"},
	} {
		var got []string
		for _, r := range Table(Rows(profile(nil), profile(c.edit)), short) {
			got = append(got, r[0]+": "+r[1]+", "+r[2])
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func has(g Gives) string {
	switch {
	case !g.Has:
		return "no"
	case g.Only != nil:
		return strings.Join(g.Only, ",")
	}
	return "yes"
}
