package npm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// EngineFits reports whether a version is in a range of engines by the rules of node-semver: "||",
// "1.2 - 2.3", "1.x", "~1.2", "^1.2.3", and comparators. Prereleases count as versions like any other, so
// that 24.0.0-nightly fits ">=22". The error says that one of the two cannot be read; npm then treats the
// version as not in the range.
func EngineFits(rng, text string) (bool, error) {
	v, err := parseVersion(text)
	if err != nil {
		return false, err
	}
	sets, err := parseRange(rng)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(sets, func(set []comparator) bool { return has(set, v) }), nil
}

// A comparator is one bound: an operator of "<", "<=", ">", ">=" or "=", and a version.
type comparator struct {
	op string
	version
}

func has(set []comparator, v version) bool {
	for _, c := range set {
		d := v.compare(c.version)
		switch {
		case c.op == "<" && d >= 0, c.op == "<=" && d > 0, c.op == ">" && d <= 0, c.op == ">=" && d < 0, c.op == "=" && d != 0:
			return false
		}
	}
	return true
}

// parseRange returns the sets of a range, of which one must hold. An empty set holds for
// every version. The bounds of versions with open parts and of hyphen ranges begin with the first prerelease.
func parseRange(text string) ([][]comparator, error) {
	var sets [][]comparator
	for part := range strings.SplitSeq(text, "||") {
		set, err := parseSet(stripBuild(strings.Join(strings.Fields(part), " ")))
		if err != nil {
			return nil, fmt.Errorf("the range %q cannot be read: %w", text, err)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func stripBuild(s string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "+")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		n := 0
		for n < len(after) && (areIdentifiers(after[n:n+1], false) || n > 0 && after[n] == '.' && n+1 < len(after) && areIdentifiers(after[n+1:n+2], false)) {
			n++
		}
		if n == 0 {
			out.WriteByte('+')
		}
		s = after[n:]
	}
}

func parseSet(text string) ([]comparator, error) {
	if from, to, ok := strings.Cut(text, " - "); ok {
		return hyphenRange(from, to)
	}
	words := strings.Fields(text)
	var set []comparator
	for i := 0; i < len(words); i++ {
		op, rest := cutOperator(words[i])
		// node-semver takes an operator with blanks after it together with the next word.
		if rest == "" && i+1 < len(words) { // "> 1.2"
			i++
			if strings.ContainsRune("<>~^", rune(words[i][0])) {
				return nil, fmt.Errorf("%q follows %q", words[i], op)
			}
			op, rest = cutOperator(op + words[i])
		}
		c, err := desugar(op, rest)
		if err != nil {
			return nil, err
		}
		set = append(set, c...)
	}
	return set, nil
}

func cutOperator(word string) (op, rest string) {
	for _, op := range [...]string{">=", "<=", "~>", ">", "<", "=", "~", "^"} {
		if rest, ok := strings.CutPrefix(word, op); ok {
			return op, rest
		}
	}
	return "", word
}

func desugar(op, text string) ([]comparator, error) {
	p, err := parsePartial(text)
	if err != nil {
		return nil, err
	}
	switch op {
	case "~", "~>":
		return between(p, p.upper(1)), nil
	case "^":
		return between(p, p.upper(p.caret())), nil
	}
	if p.late {
		return nil, fmt.Errorf("%q has a number after an x", text)
	}
	if p.x == 3 {
		if p.prefix != "" && p.prefix != "v" {
			return nil, fmt.Errorf("%q has %q before it", text, p.prefix)
		}
		if op == "" {
			op = "="
		}
		return []comparator{{op, p.version}}, nil
	}
	return xRange(op, p), nil
}

func xRange(op string, p partial) []comparator {
	switch {
	case p.x == 0 && (op == ">" || op == "<"):
		return []comparator{{"<", version{pre: []string{"0"}}}} // none
	case p.x == 0:
		return nil
	case op == ">": // >1.2 is >=1.3.0
		return []comparator{{">=", first(p.upper(p.x - 1))}}
	case op == "<=": // <=1.2 is <1.3.0-0
		return []comparator{{"<", first(p.upper(p.x - 1))}}
	case op == ">=":
		return []comparator{{">=", first(p.floor())}}
	case op == "<":
		return []comparator{{"<", first(p.floor())}}
	}
	return between(p, p.upper(p.x-1))
}

// between returns the bounds from p to upper, which is not included. If even the first number of p
// is open, it returns no bounds: all versions fit.
func between(p partial, upper version) []comparator {
	if p.x == 0 {
		return nil
	}
	lower := p.version
	if p.x < 3 {
		lower = first(p.floor())
	}
	return []comparator{{">=", lower}, {"<", first(upper)}}
}

func (p partial) floor() version {
	v := version{major: p.major, minor: p.minor, patch: p.patch}
	if p.x < 3 {
		v.patch = 0
	}
	if p.x < 2 {
		v.minor = 0
	}
	return v
}

// upper returns the first version after all versions that share the parts of p from the major (0)
// to the given part. If that part of p is open, upper raises the last written part.
func (p partial) upper(part int) version {
	switch min(part, max(p.x-1, 0)) {
	case 0:
		return version{major: p.major + 1}
	case 1:
		return version{major: p.major, minor: p.minor + 1}
	}
	return version{major: p.major, minor: p.minor, patch: p.patch + 1}
}

// caret returns the last part that "^" keeps: the first that is not 0. upper handles open parts.
func (p partial) caret() int {
	switch {
	case p.major > 0:
		return 0
	case p.minor > 0:
		return 1
	}
	return 2
}

// first returns the first prerelease of a version.
func first(v version) version {
	v.pre = []string{"0"}
	return v
}

// hyphenRange returns the bounds of "from - to". If parts of to are open, all versions that begin
// with its written parts are included.
func hyphenRange(from, to string) ([]comparator, error) {
	f, err := parsePartial(from)
	if err != nil {
		return nil, err
	}
	t, err := parsePartial(to)
	if err != nil {
		return nil, err
	}
	for _, end := range []partial{f, t} {
		if end.x == 3 && end.prefix != "" && end.prefix != "v" {
			return nil, fmt.Errorf("\"%s - %s\" has %q before a version", from, to, end.prefix)
		}
	}
	var set []comparator
	switch {
	case f.x == 0:
	case f.x < 3:
		set = append(set, comparator{">=", first(f.floor())})
	case len(f.pre) > 0:
		set = append(set, comparator{">=", f.version})
	default:
		set = append(set, comparator{">=", first(f.version)})
	}
	switch {
	case t.x == 0:
	case t.x < 3:
		set = append(set, comparator{"<", first(t.upper(t.x - 1))})
	case len(t.pre) == 0:
		set = append(set, comparator{"<", first(t.upper(2))})
	default:
		set = append(set, comparator{"<=", t.version})
	}
	return set, nil
}

// Engines returns the range of node versions that a package.json asks for, "" if it asks
// for none. Only the form {"engines": {"node": RANGE}} binds; npm ignores the lists of old
// packages. The error says that the file, or the range in it, has no form that npm reads.
func Engines(packageJSON []byte) (string, error) {
	manifest, err := readObject(packageJSON)
	if err != nil {
		return "", fmt.Errorf("package.json: %w", err)
	}
	engines := manifest.object("engines")
	node := engines.text("node")
	if node == "" && engines.truth("node") {
		return "", fmt.Errorf("package.json: engines.node is %s, not a range such as \">=20\"", bytes.TrimSpace(engines["node"]))
	}
	if _, err := parseRange(node); err != nil {
		return "", fmt.Errorf("package.json: engines.node: %w", err)
	}
	return node, nil
}
