package runline

import (
	"slices"
	"strings"
)

// pythonSpec reads a requirement (PEP 508 without markers), with the @VERSION of uvx, a URL
// or a path.
func pythonSpec(l Launcher, raw string) (Spec, string) {
	s := Spec{Raw: raw}
	text := strings.TrimSpace(raw)
	if strings.ContainsAny(text, ";") {
		return s, "an environment marker depends on the interpreter"
	}
	n := 0
	for n < len(text) && nameByte(text[n]) {
		n++
	}
	name, rest := text[:n], strings.TrimLeft(text[n:], " ")
	if python, ok := pythonName(name); ok && pythonRest(rest) {
		s.Kind, s.Name = Registry, python
		return s.requirement(l, rest)
	}
	switch sch := pythonScheme(text); {
	case strings.HasPrefix(sch, "git+"):
		return s.pythonGit(text)
	case sch == "http" || sch == "https":
		s.Kind, s.Location = URL, text
		return s, ""
	case sch != "":
		return s, "this scheme is not known"
	case strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") || strings.Contains(text, "/") && !strings.ContainsAny(text, "@:[ "):
		s.Kind, s.Location = Directory, text
		if archive(text) || strings.HasSuffix(text, ".whl") || strings.HasSuffix(text, ".zip") {
			s.Kind = File
		}
		return s, ""
	}
	return s, "it is not a requirement"
}

func (s Spec) requirement(l Launcher, rest string) (Spec, string) {
	if extras, after, ok := strings.Cut(rest, "]"); ok && rest[0] == '[' {
		for _, extra := range strings.Split(extras[1:], ",") {
			name, ok := pythonName(strings.TrimSpace(extra))
			if !ok {
				return s, "it has an extra that is not a name"
			}
			s.Extras = append(s.Extras, name)
		}
		slices.Sort(s.Extras)
		s.Extras = slices.Compact(s.Extras)
		rest = strings.TrimLeft(after, " ")
	}
	switch {
	case rest == "":
		return s, ""
	case rest[0] == '@':
		text := strings.TrimLeft(rest[1:], " ")
		if sch := pythonScheme(text); sch != "" {
			return s.pythonURL(sch, text)
		}
		switch {
		case l != Uvx:
			return s, "NAME@VERSION is a form of uvx"
		case text == "latest":
			s.Tag = text
		case strings.Contains(rest, " ") || !pythonVersion(text):
			return s, "uvx takes one version or \"latest\" after @"
		default:
			s.Version = text
		}
		return s, ""
	}
	return s.bounds(strings.Trim(rest, "() "))
}

// bounds reads the version specifiers of PEP 440.
func (s Spec) bounds(text string) (Spec, string) {
	var all []string
	for _, bound := range strings.Split(text, ",") {
		bound = strings.ReplaceAll(bound, " ", "")
		op := bound[:len(bound)-len(strings.TrimLeft(bound, "<>=!~"))]
		version := strings.TrimSuffix(bound[len(op):], ".*")
		if !slices.Contains([]string{"==", "===", ">=", "<=", "!=", "~=", ">", "<"}, op) || !pythonVersion(version) {
			return s, "it is not a requirement"
		}
		all = append(all, bound)
	}
	if version, ok := strings.CutPrefix(all[0], "=="); len(all) == 1 && ok && !strings.HasSuffix(version, "*") {
		s.Version = strings.TrimPrefix(version, "=")
		return s, ""
	}
	s.Range = strings.Join(all, ",")
	return s, ""
}

func (s Spec) pythonURL(sch, text string) (Spec, string) {
	switch {
	case strings.HasPrefix(sch, "git+"):
		return s.pythonGit(text)
	case sch == "http" || sch == "https":
		s.Kind, s.Location = URL, text
		return s, ""
	}
	return s, "this scheme is not known"
}

func (s Spec) pythonGit(text string) (Spec, string) {
	location, fragment, _ := strings.Cut(text, "#")
	s.Kind, s.Location = Git, location
	// An "@" before the path belongs to the user.
	_, path, ok := strings.Cut(location, "://")
	if !ok {
		return s, "it is not a URL"
	}
	_, path, _ = strings.Cut(path, "/")
	if i := strings.LastIndexByte(path, '@'); i >= 0 {
		s.Ref = path[i+1:]
		s.Location = location[:len(location)-len(s.Ref)-1]
	}
	for _, part := range strings.Split(fragment, "&") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "":
		case "egg":
			name, valid := pythonName(value)
			if !valid || s.Name != "" && s.Name != name {
				return s, "its #egg= is not a name"
			}
			s.Name = name
		case "subdirectory":
			s.Location += "#subdirectory=" + value
		default:
			return s, "the part after # is not known"
		}
	}
	return s, ""
}

func pythonRest(text string) bool {
	return text == "" || strings.IndexByte("[@<>=!~(", text[0]) >= 0
}

// pythonName returns a name as PEP 503 normalises it, and whether it is one.
func pythonName(text string) (string, bool) {
	if text == "" || !alphanumeric(text[0]) || !alphanumeric(text[len(text)-1]) {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case !nameByte(c):
			return "", false
		case alphanumeric(c):
			b.WriteByte(c)
		case alphanumeric(text[i-1]):
			b.WriteByte('-')
		}
	}
	return strings.ToLower(b.String()), true
}

// typedName returns the name that a requirement begins with, as it was typed. It is "" for
// a URL or a path.
func typedName(text string) string {
	text = strings.TrimSpace(text)
	n := 0
	for n < len(text) && nameByte(text[n]) {
		n++
	}
	if _, ok := pythonName(text[:n]); !ok || !pythonRest(strings.TrimLeft(text[n:], " ")) {
		return ""
	}
	return text[:n]
}

func alphanumeric(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

func nameByte(c byte) bool { return alphanumeric(c) || c == '.' || c == '_' || c == '-' }

func pythonVersion(text string) bool {
	text = strings.TrimPrefix(strings.ToLower(text), "v")
	return text != "" && text[0] >= '0' && text[0] <= '9' && strings.Trim(text, "0123456789abcdefghijklmnopqrstuvwxyz.!+_-") == ""
}

func pythonScheme(text string) string {
	name, _, ok := strings.Cut(text, "://")
	if !ok || strings.Trim(strings.ToLower(name), "abcdefghijklmnopqrstuvwxyz+") != "" {
		return ""
	}
	return strings.ToLower(name)
}
