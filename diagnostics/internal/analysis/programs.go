package analysis

import (
	_ "embed"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/policy"
)

//go:embed programs.toml
var data string

// ProgramRow is what is known of one program. programs.toml describes its members.
type ProgramRow struct {
	Name        string
	Words       []string
	Unless      []string
	BesideWords []string `toml:"beside_words"` // a line with one of Words has one of these, too
	Port        int
	Variables   []string
	Any         bool
	Beside      string // the row also counts where a program of this directory of the home is allowed
	Login       []string
	Places      []string
	Above       int  // how many levels above a place the grant is for
	Given       bool // paths of the server's arguments count, whatever the line names
	Needs       []string
	Modules     []string
	NameOf      string `toml:"name_of"`
	Limit       string
	Says        string
	Page        string
	Real        string
}

type table struct {
	Trees    []string
	Marks    []string
	Harmless struct{ Hosts, Parts, Trees []string }
	Program  []ProgramRow
}

var load = sync.OnceValue(func() (t table) {
	if err := toml.Unmarshal([]byte(data), &t); err != nil {
		panic("programs.toml: " + err.Error()) // a test reads it
	}
	return t
})

// ProgramRows returns all rows.
func ProgramRows() []ProgramRow { return load().Program }

// trees returns the directories of a home in which programs are installed with what they need.
func trees() []string { return load().Trees }

// marks returns the names of files that a program reads from its own directory.
func marks() []string { return load().Marks }

// MatchPrograms returns the rows whose words are in a line, each with the name that the line has for NAME. A row for
// any program counts for lines of no other row.
func MatchPrograms(line string) (rows []ProgramRow) {
	lower := strings.ToLower(line)
	for _, r := range ProgramRows() {
		switch {
		case words.Distrusts(line), !words.ContainsAny(lower, r.Words), words.ContainsAny(lower, r.Unless),
			r.BesideWords != nil && !words.ContainsAny(lower, r.BesideWords), r.IsAny() && len(rows) > 0:
			continue
		case r.NameOf != "":
			m := regexp.MustCompile(r.NameOf).FindStringSubmatch(line)
			if m == nil {
				continue
			}
			named := strings.NewReplacer("NAME", m[1], "PREFIX_", strings.ToUpper(m[1])+"_")
			for _, all := range []*[]string{&r.Places, &r.Modules, &r.Login, &r.Variables} {
				*all = slices.Clone(*all)
				for i := range *all {
					(*all)[i] = named.Replace((*all)[i])
				}
			}
			r.Name = strings.Replace(r.Name, "NAME", m[1], 1)
		}
		rows = append(rows, r)
	}
	return rows
}

// IsAny reports whether a row is about any program.
func (r ProgramRow) IsAny() bool { return r.NameOf != "" && r.Login != nil }

// needsOf returns what programs of a directory need elsewhere. Both are paths inside the home.
func needsOf(dir string) (needs []string) {
	for _, r := range ProgramRows() {
		if r.Beside != "" && r.Beside == dir {
			needs = append(needs, r.Needs...)
		}
	}
	return needs
}

// IsHarmless reports whether programs try what was refused by themselves and do without it.
func IsHarmless(d policy.Denial) bool {
	h := load().Harmless
	switch d.Axis {
	case policy.AxisNet:
		host, _, _, _ := words.SplitEndpoint(d.Target)
		if addr, err := netip.ParseAddr(host); err == nil {
			host = addr.Unmap().String()
		}
		return slices.Contains(h.Hosts, host)
	case policy.AxisFs:
		within := func(dir string) bool { return policy.Within(d.Target, dir) }
		part := func(name string) bool { return slices.Contains(h.Parts, name) }
		return slices.ContainsFunc(h.Trees, within) || slices.ContainsFunc(strings.Split(d.Target, "/"), part) || path.Ext(d.Target) == ".pyc"
	}
	return false
}
