package grants

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Flags returns grants as flags of `mcp-jail run`, quoted for a shell, for a server given
// on the command line. ok is false when one of them has no flag.
func (w Writer) Flags(grants []Grant) (flags []string, ok bool) {
	words, ok := w.FlagWords(grants)
	return Typed(words), ok
}

// Typed returns words that can be typed, quoted for a shell.
func Typed(words []string) (typed []string) {
	for _, w := range words {
		word, _ := show.Path(w)
		typed = append(typed, word)
	}
	return typed
}

// FlagWords returns grants as flags, as flags does, but not quoted.
func (w Writer) FlagWords(grants []Grant) (flags []string, ok bool) {
	grants = MergeGrants(grants)
	if len(grants) == 0 || !w.ByFlags {
		return nil, len(grants) == 0
	}
	for i, n := range grants {
		// --read, --write, --execute and --net replace the default policy; --env, --inbound
		// and --limit only add.
		if n.Workspace && !slices.ContainsFunc(slices.Delete(slices.Clone(grants), i, i+1), func(other Grant) bool { return other.Path != "" || other.Host != "" }) {
			continue
		}
		if n.Path != "" || n.Host != "" {
			grants = w.mergeNested(MergeGrants(append(w.Preserved(), grants...)))
			break
		}
	}
	return w.words(grants)
}

// GrantWords returns the grants that have flags as words for mcp-jail grant, which itself keeps the
// workspace. It does not matter how the server was given.
func (w Writer) GrantWords(grants []Grant) (flags []string) {
	if w.NoTable {
		return nil
	}
	grants = MergeGrants(grants)
	if words, ok := w.words(w.mergeNested(grants)); ok {
		return words
	}
	for _, n := range grants {
		if words, ok := w.words([]Grant{n}); ok {
			flags = append(flags, words...)
		}
	}
	return flags
}

func (w Writer) words(grants []Grant) (flags []string, ok bool) {
	for i := 0; i < len(grants); i++ { // it grows: a companion follows its grant
		n := grants[i]
		if n.With != "" {
			grants = slices.Insert(slices.Clone(grants), i+1, n.companion())
		}
		switch {
		case n.Workspace:
			flags = append(flags, "--workspace", w.Display(n.Path))
		case n.Path != "":
			flags = append(flags, n.pathFlags(w.ruleText(n))...)
		case n.Host != "" && n.Prefix+n.Methods != "":
			return nil, false
		case n.Host != "":
			flags = append(flags, "--net", n.Endpoint())
		case n.Inbound != 0:
			flags = append(flags, "--inbound", strconv.Itoa(n.Inbound))
		case n.Variable != "":
			flags = append(flags, "--env", n.Variable)
		case n.Preset != "":
			flags = append(flags, "--preset", n.Preset)
		case n.Limit != "":
			flags = append(flags, "--limit", n.Limit+"="+strconv.Itoa(n.Value))
		default:
			return nil, false
		}
	}
	for _, f := range flags {
		if show.Line(f) != f || show.Expands(f) {
			return nil, false // no line of a shell, or no list of a client, would hold it as it is
		}
	}
	return flags, true
}

// IsDenial reports whether an entry is that of a rule with deny, or of a flag --deny.
func IsDenial(e policy.Entry) bool {
	return e.Origin == policy.OriginRule && (strings.HasPrefix(e.Rule, "--deny ") || strings.Contains(e.Rule, ", deny = "))
}

func (g Grant) pathFlags(path string) (flags []string) {
	if g.Rights&policy.Write != 0 {
		flags = append(flags, "--write", path)
	}
	if g.Rights.Has(policy.Execute) {
		flags = append(flags, "--execute", path)
	}
	if flags == nil {
		flags = []string{"--read", path}
	}
	return flags
}

// Endpoint returns the host, with the port if no scheme implies it.
func (g Grant) Endpoint() string {
	if g.Port == 80 || g.Port == 443 {
		return g.Host
	}
	return said.Endpoint(g.Host, g.Port)
}
