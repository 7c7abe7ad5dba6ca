package resolve

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// sums adds up the rules of a profile (docs/policy.md "Rules add up"). Everything after it reads one
// summed entry a path.
type sums struct {
	*facts
	rules   map[string][]places.Target // by their canonical path; a denial may be for a path that is missing
	base    map[string]policy.Rights   // what the baseline grants
	tree    string                     // the installed package, canonical; "" for none
	targets []places.Target            // those of the resolver
	masks   *places.Masks
}

func (b *sums) addRule(n places.Target) {
	b.rules[n.Canonical] = append(b.rules[n.Canonical], n)
}

// sumAt returns the rights of all rules and of the baseline at a path. Of built-in denials, it knows those that
// the masks have found so far.
//
// Invariants: a rule more takes no right away, and a denial more gives none. Inside a stop, what it
// takes is given by rules alone that name the stop. Of the jail's own places, HOME and the installed
// package, nothing leads in or out.
func (b *sums) sumAt(p string) (rights policy.Rights) {
	var denied, base policy.Rights
	stops := b.masks.Stops
	counts := policy.AllRights // what still counts of rules from above
	for at := p; ; at = path.Dir(at) {
		base |= b.base[at] & counts &^ denied
		for _, n := range b.rules[at] {
			denied |= n.Rule.Deny
			rights |= n.Rule.Rights() & counts &^ b.unnamed(n)
		}
		e := b.entries[at]
		if at == path.Dir(at) || e.Origin == policy.OriginHome || at == b.tree {
			return rights&^denied | base
		}
		if e.Origin == policy.OriginSensitive {
			counts = 0
		}
		if s := stops[at]; s != nil {
			counts &^= s.Takes
		}
	}
}

// unnamed returns the rights that a rule does not give at its own path, since it lies in built-in denials
// that the rule does not name.
func (b *sums) unnamed(n places.Target) (taken policy.Rights) {
	for at := n.Canonical; at != path.Dir(at); at = path.Dir(at) {
		if s := b.masks.Stops[at]; s != nil && !b.names(n, at, s.Abs) {
			taken |= s.Takes
		}
	}
	return taken
}

// names reports whether the path of a rule, as it is written, has the name of a denial at a canonical
// path: links lead to directories on the way to that name alone.
func (b *sums) names(n places.Target, denial string, written []string) bool {
	if n.Rule.Made {
		return false
	}
	for _, abs := range append(written, denial) {
		if policy.Within(n.Lexical, abs) {
			return true
		}
	}
	for q := n.Lexical; q != path.Dir(q); q = path.Dir(q) {
		if path.Base(q) == path.Base(denial) && path.Join(b.paths.Canonical(path.Dir(q)), path.Base(q)) == denial {
			return true
		}
	}
	return false
}

// sum gives each entry the rights of all rules.
func (b *sums) sum() {
	for p, e := range b.entries {
		switch e.Origin {
		case policy.OriginRule, policy.OriginBaseline, policy.OriginProtected:
			if e.Rights = b.sumAt(p); e.Kind == policy.KindSpecial && b.isWriteDenied(p) {
				e.Rights = 0 // a mount does not make it read-only
			}
			b.entries[p] = e
		}
	}
}

func (b *sums) isWriteDenied(p string) bool {
	s := b.masks.Stops[p]
	return s != nil && s.Takes == policy.Write && b.entries[p].Origin == policy.OriginProtected ||
		slices.ContainsFunc(b.rules[p], func(n places.Target) bool { return n.Rule.Deny == policy.Write })
}

// mask applies the masks, which look for what can be written, and sums again with what they stop.
func (b *sums) mask() {
	b.sum()
	b.masks.Apply()
	b.sum()
	b.hideUnnamed()
}

// hideUnnamed hides what rules lead to that name another path.
func (b *sums) hideUnnamed() {
	for _, n := range b.targets {
		e := b.entries[n.Canonical]
		if n.Rule.Rights() == 0 || e.Origin != policy.OriginRule || e.Rights != 0 || b.deniedBy(n) != nil {
			continue
		}
		if s := b.masks.Stops[n.Canonical]; s != nil {
			b.masks.WarnMasked(n.Rule, s.Written)
			b.entries.Empty(n.Canonical, s.Written)
		}
	}
}

// changing returns the entries without those of rules and of the baseline that have the rights of what is
// around them.
func (b *sums) changing() places.EntrySet {
	kept := maps.Clone(b.entries)
	for p, e := range b.entries {
		if e.Origin != policy.OriginRule && b.base[p] == 0 || e.Make || e.Kind == policy.KindSpecial || e.Rights == 0 || p == path.Dir(p) || p == b.tree || b.masks.Stops[p] != nil {
			continue
		}
		around, ok := b.entries.Find(path.Dir(p))
		if ok && around.Rights == e.Rights && (around.Origin == policy.OriginRule || around.Origin == policy.OriginBaseline) && !policy.IsOwnPlace(p, around.Path) {
			delete(kept, p)
		}
	}
	return kept
}

// deniedBy returns the first denial that takes something from a rule.
func (b *sums) deniedBy(n places.Target) *places.Target {
	for at := n.Canonical; ; at = path.Dir(at) {
		for i, by := range b.rules[at] {
			if by.Rule.Deny&n.Rule.Rights() != 0 {
				return &b.rules[at][i]
			}
		}
		if at == path.Dir(at) {
			return nil
		}
	}
}

// around returns the rights of all rules around the path of a rule, and the innermost of them that has
// a right which the rule has not, or else the innermost of all.
func (b *sums) around(n places.Target) (rights policy.Rights, by *places.Target) {
	wider := false
	for at := n.Canonical; at != path.Dir(at); {
		at = path.Dir(at)
		for i, r := range b.rules[at] {
			has := r.Rule.Rights()
			rights |= has
			if more := has&^n.Rule.Rights() != 0; has != 0 && (by == nil || more && !wider) {
				by, wider = &b.rules[at][i], more
			}
		}
	}
	return rights, by
}

// checkRules refuses rules that cannot mean what their author thinks. It warns where that is seen on this
// host alone, or across files.
func (b *sums) checkRules() error {
	for _, n := range b.targets {
		if _, line := policy.SplitPosition(n.Rule.Where); n.Rule.Rights() == 0 || n.Rule.Made || n.Rule.Preset || line == 0 && !isFlag(n.Rule) {
			continue // a denial, or a rule that no file and no flag has as it is
		}
		if by := b.deniedBy(n); by != nil {
			what := "grants nothing"
			if by.Rule.Deny != policy.AllRights {
				what = "does not grant " + (by.Rule.Deny & n.Rule.Rights()).String()
			}
			if err := b.refuse(n, by, what+": "+unmarked(by.Rule)+" denies it. Remove one of the two."); err != nil {
				return err
			}
			continue
		}
		own := n.Rule.Rights()
		rights, by := b.around(n)
		switch {
		case by == nil || own&^rights != 0 || n.Rule.Deny != 0 || b.entries[n.Canonical].Make || policy.IsOwnPlace(n.Canonical, by.Canonical) || b.inDenial(n.Canonical):
		case own == rights:
			b.warnings.warn("useless-rule", n.Rule.Where, "path = %s (%s) adds nothing to %s (%s), because rights add up", show.TOML(n.Rule.Path), own, by.Rule.Label(), by.Rule.Rights())
		default:
			text := fmt.Sprintf("takes nothing away from %s (%s), because rights add up. To keep the server from changing it, write deny = \"write\" in place of %s. To hide it, write deny = true. Otherwise remove the rule.",
				by.Rule.Label(), by.Rule.Rights(), strings.Join(n.Rule.TOMLFields()[1:], ", "))
			if err := b.refuse(n, by, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuse returns an error about two rules of one file, of which the first lies in the second as they are
// written, wherever the server starts. About others, and about what a flag denies without saying it, it warns.
func (b *sums) refuse(n places.Target, by *places.Target, text string) error {
	own, line := policy.SplitPosition(n.Rule.Where)
	other, _ := policy.SplitPosition(by.Rule.Where)
	same := (line != 0 && own == other || isFlag(n.Rule) && isFlag(by.Rule)) && isRelative(n.Rule) == isRelative(by.Rule)
	if !same || by.Rule.Deny != 0 && by.Rule.Rights() != 0 || !policy.Within(n.Lexical, by.Lexical) {
		b.warnings.warn("useless-rule", n.Rule.Where, "path = %s (%s) %s", show.TOML(n.Rule.Path), n.Rule.Rights(), text)
		return nil
	}
	return &policy.ConflictError{Reason: fmt.Sprintf("%s (%s) %s", unmarked(n.Rule), n.Rule.Rights(), text)}
}

// unmarked returns the label of a rule without its denial.
func unmarked(r policy.FsRule) string {
	r.Deny = 0
	return r.Label()
}

func isRelative(r policy.FsRule) bool {
	return !strings.HasPrefix(r.Path, "/") && !strings.HasPrefix(r.Path, "~")
}

func isFlag(r policy.FsRule) bool { return strings.HasPrefix(r.Where, "--") }

// denyNarrowFlags makes a denial of a flag that does not write, inside a rule that writes: on a command
// line, --read or --execute inside --write keeps a path from being changed.
func (b *sums) denyNarrowFlags() {
	for i, n := range b.targets {
		if !isFlag(n.Rule) || n.Rule.Rights() == 0 || n.Rule.Rights()&policy.Write != 0 {
			continue
		}
		rights, by := b.around(n)
		if rights&policy.Write == 0 || b.inDenial(n.Canonical) {
			continue
		}
		b.warnings.warn("narrow-flag", "", "%s inside %s keeps the server from changing %s, as deny = \"write\" does in a file", n.Rule.Where, by.Rule.Label(), n.Rule.Path)
		b.targets[i].Rule.Deny = policy.Write
		for k, r := range b.rules[n.Canonical] {
			if r.Rule == n.Rule {
				b.rules[n.Canonical][k].Rule.Deny = policy.Write
			}
		}
	}
}

// inDenial reports whether a canonical path is or lies in a sensitive path or a protected name, before the
// masks are there.
func (b *sums) inDenial(p string) bool {
	if at := b.paths.Lstat(p); at.Err == nil && at.Info.Mode&fs.ModeSocket != 0 {
		return true
	}
	if _, ok := b.places.DecidingAround(p); ok || b.places.SensitiveAround(p) != "" || b.places.ProtectedAround(p) != "" || policy.HasProtectedName(p) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(b.places.OwnDirs(), b.places.TrustedFiles(), b.h.PseudoMounts), func(own string) bool { return policy.Within(p, b.paths.Canonical(own)) })
}
