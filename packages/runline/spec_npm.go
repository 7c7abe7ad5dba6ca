package runline

import (
	"net/url"
	"strings"
)

func npmSpec(raw string) (Spec, string) {
	if strings.IndexByte(raw, '\\') >= 0 || windowsPath(raw) {
		return Spec{}, "npm reads a backslash or a drive letter in another way on each system"
	}
	if strings.TrimSpace(raw) != raw {
		return Spec{}, "the package begins or ends with a space"
	}
	if scheme(raw) != "" {
		return npmResolve(Spec{Raw: raw}, raw)
	}
	at := strings.IndexByte(raw[1:], '@') + 1
	name := raw
	if at > 0 {
		name = raw[:at]
	}
	if at > 0 && strings.Contains(raw[at:], ":") && !strings.Contains(name, ":") && name[0] != '@' && sshHost(raw[at+1:]) {
		return Spec{}, "npm takes user@host:path for a Git repository, and a name with a version looks alike"
	}
	if raw[0] != '@' && (strings.ContainsRune(name, '/') || archive(name)) {
		return npmResolve(Spec{Raw: raw}, raw)
	}
	if !npmName(name) {
		if raw[0] == '.' || raw[0] == '~' {
			return npmResolve(Spec{Raw: raw}, raw)
		}
		return Spec{}, "it is not the name of a package"
	}
	s := Spec{Raw: raw, Name: name}
	if at == 0 {
		s.Kind = Registry
		return s, ""
	}
	if raw[at+1:] == "" {
		s.Kind, s.Range = Registry, "*"
		return s, ""
	}
	return npmResolve(s, raw[at+1:])
}

func npmResolve(s Spec, text string) (Spec, string) {
	sch := scheme(text)
	switch {
	case sch == "file":
		return Spec{}, "file: has several readings; write a path"
	case strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~/"):
		s.Kind, s.Location = Directory, text
		if archive(text) {
			s.Kind = File
		}
		if strings.ContainsAny(text, "#?%@") {
			return Spec{}, "npm may read a part of this path as something else"
		}
		return s, ""
	case sch == "npm":
		return npmAlias(s, text[len("npm:"):])
	case sch != "":
		return npmURL(s, sch, text)
	case shorthand(text):
		repo, fragment, _ := strings.Cut(text, "#")
		s.Kind, s.Location = Git, "github:"+strings.TrimSuffix(repo, ".git")
		return gitFragment(s, fragment)
	case strings.ContainsRune(text, '/') || archive(text):
		if s.Name == "" && !strings.ContainsAny(text, "#?%@:") {
			s.Kind, s.Location = Directory, text
			if archive(text) {
				s.Kind = File
			}
			return s, ""
		}
		return Spec{}, "npm may take this for a path or for a repository"
	}
	if s.Name == "" {
		return Spec{}, "it is not the name of a package"
	}
	return npmVersion(s, text)
}

func npmAlias(s Spec, text string) (Spec, string) {
	if text == "" || s.Name == "" {
		return Spec{}, "an alias has the form NAME@npm:PACKAGE"
	}
	inner, why := npmSpec(text)
	if why != "" {
		return Spec{}, why
	}
	if inner.Kind != Registry {
		return Spec{}, "an alias stands for a package of the registry only"
	}
	inner.Raw, inner.Kind, inner.Name, inner.Target = s.Raw, Alias, s.Name, inner.Name
	return inner, ""
}

func npmURL(s Spec, sch, text string) (Spec, string) {
	switch sch {
	case "github", "gitlab", "bitbucket":
		repo, fragment, _ := strings.Cut(text[len(sch)+1:], "#")
		if !shorthand(repo) {
			return Spec{}, "it is not OWNER/REPOSITORY"
		}
		s.Kind, s.Location = Git, sch+":"+strings.TrimSuffix(repo, ".git")
		return gitFragment(s, fragment)
	case "git", "git+https", "git+http", "git+ssh", "http", "https":
	default:
		return Spec{}, "this scheme is not known"
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return Spec{}, "it is not a URL"
	}
	host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.")
	forge := host == "github.com" || host == "gitlab.com" || host == "bitbucket.org" || host == "gist.github.com" || host == "git.sr.ht"
	repo, fragment, _ := strings.Cut(text, "#")
	if strings.HasPrefix(sch, "git") {
		s.Kind, s.Location = Git, repo
		return gitFragment(s, fragment)
	}
	if forge && !archive(u.Path) {
		if host == "gist.github.com" || strings.Count(strings.Trim(u.Path, "/"), "/") != 1 || u.RawQuery != "" {
			return Spec{}, "npm may take this for a repository or for a file"
		}
		s.Kind, s.Location = Git, repo
		return gitFragment(s, fragment)
	}
	if forge && strings.Count(strings.Trim(u.Path, "/"), "/") == 1 {
		return Spec{}, "npm may take this for a repository or for a file"
	}
	s.Kind, s.Location = URL, text
	return s, ""
}

func gitFragment(s Spec, fragment string) (Spec, string) {
	switch bounds, isRange := strings.CutPrefix(fragment, "semver:"); {
	case isRange:
		if !npmRange(bounds) {
			return Spec{}, "it is not a range of versions"
		}
		s.Range = bounds
	case strings.ContainsAny(fragment, ":%"):
		return Spec{}, "the part after # has a form that versions of npm read differently"
	default:
		s.Ref = fragment
	}
	return s, ""
}

func npmVersion(s Spec, text string) (Spec, string) {
	s.Kind = Registry
	text = strings.TrimSpace(text)
	version := strings.TrimLeft(text, "=v")
	switch {
	case exactVersion(version) && (len(text)-len(version) <= 1 || text[:2] == "=v"):
		s.Version = version
	case npmRange(text):
		s.Range = text
	case version != "" && version[0] >= '0' && version[0] <= '9':
		return Spec{}, "it looks like a version, and is none that npm compares strictly"
	case text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.!~*'()") == "":
		s.Tag = text
	default:
		return Spec{}, "it is neither a version nor a range nor a tag"
	}
	return s, ""
}

func exactVersion(text string) bool {
	text, build, hasBuild := strings.Cut(text, "+")
	core, pre, hasPre := strings.Cut(text, "-")
	if hasBuild && !identifiers(build) || hasPre && !identifiers(pre) {
		return false
	}
	parts := strings.Split(core, ".")
	for _, part := range parts {
		if part == "" || len(part) > 15 || strings.Trim(part, "0123456789") != "" || len(part) > 1 && part[0] == '0' {
			return false
		}
	}
	return len(parts) == 3
}

func identifiers(text string) bool {
	for _, id := range strings.Split(text, ".") {
		if id == "" || strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" {
			return false
		}
	}
	return true
}

func npmRange(text string) bool {
	for _, alternative := range strings.Split(text, "||") {
		if strings.Trim(alternative, "<>=^~- ") == "" {
			return false // an empty alternative is rather a slip
		}
		for _, bound := range strings.Fields(alternative) {
			version := strings.TrimLeft(bound, "<>=^~")
			switch bound[:len(bound)-len(version)] {
			case "", "<", "<=", ">", ">=", "=", "^", "~", "~>":
			default:
				return false
			}
			if version == "" || version == "-" {
				continue // the version is the next word, or the other end of an interval
			}
			bound = strings.TrimPrefix(version, "v")
			bound, _, _ = strings.Cut(bound, "+")
			core, pre, hasPre := strings.Cut(bound, "-")
			parts := strings.Split(core, ".")
			if len(parts) > 3 || hasPre && (len(parts) != 3 || !identifiers(pre)) {
				return false
			}
			for _, part := range parts {
				if part != "x" && part != "X" && part != "*" && (part == "" || len(part) > 15 || strings.Trim(part, "0123456789") != "" || len(part) > 1 && part[0] == '0') {
					return false
				}
			}
		}
	}
	return true
}

func npmName(text string) bool {
	name := text
	if scope, rest, ok := strings.Cut(text, "/"); ok {
		if len(scope) < 2 || scope[0] != '@' || strings.Trim(scope[1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~") != "" {
			return false
		}
		name = rest
	}
	if name == "" || name[0] == '.' || name[0] == '_' || name[0] == '-' || len(text) > 214 || name == "node_modules" || name == "favicon.ico" {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~") == ""
}

func scheme(text string) string {
	name, _, ok := strings.Cut(text, ":")
	if !ok || name == "" || strings.Trim(strings.TrimPrefix(strings.ToLower(name), "git+"), "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return strings.ToLower(name)
}

func sshHost(text string) bool {
	host, path, ok := strings.Cut(text, ":")
	return ok && path != "" && strings.Contains(host, ".")
}

func shorthand(text string) bool {
	repo, _, _ := strings.Cut(text, "#")
	owner, name, ok := strings.Cut(repo, "/")
	return ok && owner != "" && name != "" && owner[0] != '.' && owner[0] != '-' && strings.Trim(owner+name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") == ""
}

func archive(path string) bool {
	path = strings.ToLower(path)
	return strings.HasSuffix(path, ".tgz") || strings.HasSuffix(path, ".tar.gz") || strings.HasSuffix(path, ".tar")
}
