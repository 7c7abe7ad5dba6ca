package policy

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"unicode"
)

// IgnoresCase reports whether the entry of a path may be passed by under another spelling: see IgnoreCase.
func (p *Profile) IgnoresCase(name string) bool {
	return slices.ContainsFunc(p.IgnoreCase, func(dir string) bool { return Within(path.Dir(name), dir) })
}

// foldCase returns a path as case-insensitive filesystems compare it. They also split
// ligatures and drop invisible characters (Linux: fs/unicode, for ext4 and f2fs). vfat,
// exfat and SMB ignore dots and spaces at the end of a name.
func foldCase(s string) string {
	if isFolded(s) {
		return s
	}
	if strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		s = strings.Map(func(r rune) rune {
			if unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
				return -1
			}
			return unicode.ToLower(r)
		}, s)
		s = strings.NewReplacer("\u017f", "s", "\ufb00", "ff", "\ufb01", "fi", "\ufb02", "fl", "\ufb03", "ffi", "\ufb04", "ffl", "\ufb05", "st", "\ufb06", "st").Replace(s)
	}
	s = strings.ToLower(s)
	if !strings.Contains(s, "./") && !strings.Contains(s, " /") && strings.TrimRight(s, ". ") == s {
		return s
	}
	names := strings.Split(s, "/")
	for i, name := range names {
		names[i] = cmp.Or(strings.TrimRight(name, ". "), name)
	}
	return strings.Join(names, "/")
}

// FoldUnprotected brings the names in Unprotected into the form in which they are compared, which then is fast.
func (p *Profile) FoldUnprotected() {
	for i, name := range p.Unprotected {
		p.Unprotected[i] = foldCase(name)
	}
}

// isFolded reports whether foldCase leaves a path as it is. It does so with most paths.
func isFolded(s string) bool {
	for i := range len(s) {
		if c := s[i]; c > unicode.MaxASCII || 'A' <= c && c <= 'Z' || (c == '.' || c == ' ') && (i+1 == len(s) || s[i+1] == '/') {
			return false
		}
	}
	return true
}
