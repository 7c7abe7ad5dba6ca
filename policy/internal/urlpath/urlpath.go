// Package urlpath reads the path of a request as servers do: as all of them do, and as the most lenient
// one does.
package urlpath

import (
	"cmp"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Prefix returns the segments of a path_prefix; a trailing slash adds none.
func Prefix(prefix string) []string {
	segments, _ := Segments(strings.TrimSuffix(prefix, "/"))
	return segments
}

// IsClean reports whether all servers read the path of a request in the same
// way. If they do not, no rule with a path_prefix allows the request.
func IsClean(path string) bool {
	_, clean := Segments(path)
	return clean
}

// Segments splits and unescapes the path of a request. clean is false if servers
// disagree about the meaning of the path: dot segments and spellings that some servers
// take for them, empty segments, backslashes, semicolons, escaped separators, escaped or
// broken escapes, control characters, broken UTF-8.
func Segments(path string) (segments []string, clean bool) {
	path, _, _ = strings.Cut(path, "?")
	path = strings.TrimPrefix(path, "/")
	if path == "" {
		return nil, true
	}
	clean = true
	parts := strings.Split(path, "/")
	for i, p := range parts {
		u, err := url.PathUnescape(p)
		switch {
		case err != nil:
			clean, u = false, p
		case strings.ContainsAny(u, "/\\%;"), strings.ContainsFunc(u, unicode.IsControl), !utf8.ValidString(u), dots(u):
			clean = false
		case u == "" && i != len(parts)-1:
			clean = false
		}
		segments = append(segments, u)
	}
	return segments, clean
}

// WideSegments splits the path of a request as the most lenient server does, for rules that refuse. It
// ignores letter case, the form of characters, invisible ones, parameters, and the dots and blanks
// at the end of a segment, and takes every separator for one.
func WideSegments(path string) (segments []string) {
	path, _, _ = strings.Cut(path, "?")
	if u, err := url.PathUnescape(path); err == nil {
		path = u
	}
	path = wideText(path)
	if end := strings.IndexAny(path, "?#"); end >= 0 { // some unescape before they cut off the query
		path = path[:end]
	}
	for _, p := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		name, _, _ := strings.Cut(p, ";")
		segments = append(segments, cmp.Or(strings.TrimRight(strings.TrimSpace(name), ". "), p))
	}
	return segments
}

// wideText returns a text in a form that all of its spellings share: the compatible form of Unicode,
// without accents and invisible characters, and of each letter one case.
func wideText(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r > 126 }) {
		s = norm.NFKD.String(foldLetters.Replace(foldDots.Replace(s)))
	}
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Mn, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) {
			return -1
		}
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

// foldLetters has the letters that become ASCII in the other case, and that unicode.SimpleFold leaves.
// In Java, "\u0131" is "i" where case is ignored.
var foldLetters = strings.NewReplacer("ß", "ss", "ẞ", "ss", "ı", "i")

// dots reports whether a segment, or its part before an escaped separator, is "." or "..".
// It also reports segments that some server turns into one of these: by removing invisible
// characters, or by replacing fullwidth characters with ASCII.
func dots(segment string) bool {
	for _, part := range strings.FieldsFunc(foldDots.Replace(segment), func(r rune) bool { return strings.ContainsRune(`/\?#`, r) }) {
		seen := strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
				return -1
			}
			return r
		}, part)
		// Three dots are a name like any other, if they are there as such.
		if seen != "" && strings.Trim(seen, ".") == "" && (len(seen) <= 2 || seen != segment) {
			return true
		}
	}
	return false
}

// foldDots has the characters of Unicode that stand for dots and separators (NFKC; the
// ideographic full stops as in host names).
var foldDots = strings.NewReplacer(
	"．", ".", "․", ".", "﹒", ".", "。", ".", "｡", ".", "‥", "..", "…", "...",
	"／", "/", "＼", `\`, "﹨", `\`, "？", "?", "﹖", "?", "＃", "#", "﹟", "#",
)
