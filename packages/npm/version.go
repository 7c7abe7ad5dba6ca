package npm

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// The bounds of node-semver.
const (
	maxVersionLength = 256
	maxInteger       = 1<<53 - 1
)

// A version is a semantic version. Build metadata is dropped, because it never decides.
type version struct {
	major, minor, patch uint64
	pre                 []string // identifiers of the prerelease
}

func parseVersion(text string) (version, error) {
	p, err := parsePartial(text)
	switch {
	case err != nil:
		return version{}, err
	// node-semver takes "=1.2.3" for a range, and not for a version.
	case p.prefix != "" && p.prefix != "v" || p.given < 3 || p.x < 3 || len(strings.TrimSpace(text)) > maxVersionLength:
		return version{}, fmt.Errorf("%q is not a version such as 1.2.3 or 1.2.3-beta.1", text)
	}
	return p.version, nil
}

// A partial is a version of which parts may be missing or "x": 1, 1.x, 1.2.*.
type partial struct {
	version
	prefix string // of "v", "=" and spaces
	given  int    // parts that are written
	x      int    // the first part that is missing or an x, from 0; 3 if there is none
	late   bool   // a number follows an x
}

func parsePartial(text string) (partial, error) {
	bad := fmt.Errorf("%q is not a version", text)
	text = strings.TrimSpace(text)
	rest := strings.TrimLeft(text, "v= ")
	p := partial{prefix: text[:len(text)-len(rest)], x: 3}
	rest, build, hasBuild := strings.Cut(rest, "+")
	core, pre, hasPre := strings.Cut(rest, "-")
	if hasBuild && !areIdentifiers(build, false) || hasPre && !areIdentifiers(pre, true) {
		return p, bad
	}
	parts := strings.Split(core, ".")
	if len(parts) > 3 || (hasPre || hasBuild) && len(parts) < 3 {
		return p, bad
	}
	p.given = len(parts)
	p.x = len(parts)
	for i, to := range []*uint64{&p.major, &p.minor, &p.patch}[:len(parts)] {
		if parts[i] == "x" || parts[i] == "X" || parts[i] == "*" {
			p.x = min(p.x, i)
			continue
		}
		if !isNumber(parts[i]) {
			return p, bad
		}
		n, err := strconv.ParseUint(parts[i], 10, 64)
		if err != nil || n > maxInteger {
			return p, fmt.Errorf("%q has a number beyond %d", text, maxInteger)
		}
		*to = n
		p.late = p.late || i > p.x
	}
	if hasPre {
		p.pre = strings.Split(pre, ".")
	}
	return p, nil
}

// isNumber reports whether s is a number without a leading zero.
func isNumber(s string) bool { return isDigits(s) && (len(s) == 1 || s[0] != '0') }

func isDigits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// areIdentifiers reports whether s is a list of identifiers with dots between them. In a
// prerelease, a number has no leading zero.
func areIdentifiers(s string, prerelease bool) bool {
	for id := range strings.SplitSeq(s, ".") {
		if id == "" || prerelease && isDigits(id) && !isNumber(id) {
			return false
		}
		for _, c := range []byte(id) {
			if c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
				return false
			}
		}
	}
	return true
}

// compare orders versions by precedence (semver.org, section 11).
func (v version) compare(w version) int {
	if c := cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor), cmp.Compare(v.patch, w.patch)); c != 0 {
		return c
	}
	switch {
	case len(v.pre) == 0 && len(w.pre) == 0:
		return 0
	case len(v.pre) == 0:
		return 1
	case len(w.pre) == 0:
		return -1
	}
	for i := range min(len(v.pre), len(w.pre)) {
		if c := compareIdentifiers(v.pre[i], w.pre[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(v.pre), len(w.pre))
}

// compareIdentifiers orders identifiers of a prerelease: numbers come before words.
func compareIdentifiers(a, b string) int {
	switch x, y := isDigits(a), isDigits(b); {
	case x && y:
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	case x:
		return -1
	case y:
		return 1
	}
	return cmp.Compare(a, b)
}
