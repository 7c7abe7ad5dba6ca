package clients

import (
	"path"
	"slices"
	"strings"
)

// ByFile returns the client and the place to which the absolute path of a file belongs. It prefers
// a place that is this file on this host. Otherwise it takes a place of a project whose path below
// the project ends the path of the file. Of several clients, it returns the first in All.
func ByFile(file string, h Host) (client Client, place Place, found bool) {
	EachReader(file, h, func(c Client, p Place) {
		if !found {
			client, place, found = c, p, true
		}
	})
	if found {
		return client, place, true
	}
	for _, c := range all() {
		for _, p := range c.Places {
			// The file may be that of another project.
			if p.Scope == Project && h.endsAs(p, file) {
				return c, p, true
			}
		}
	}
	return Client{}, Place{}, false
}

// EachReader calls a function for each client that looks for servers in a file on this host, in the
// order of All, and for each of its places that is this file.
func EachReader(file string, h Host, each func(Client, Place)) {
	for _, c := range all() {
		for _, p := range c.Places {
			if slices.ContainsFunc(p.LocateAll(h), func(at Location) bool { return h.matches(at, file) }) {
				each(c, p)
			}
		}
	}
}

func (h Host) matches(at Location, file string) bool {
	if at.Pattern == "" {
		return h.slashes(file) == h.slashes(at.File)
	}
	rest, ok := strings.CutPrefix(h.slashes(file), h.slashes(at.Dir)+"/")
	if !ok {
		return false
	}
	return matches(h.slashes(at.Pattern), rest)
}

func matches(pattern, name string) bool {
	before, after, deep := strings.Cut(pattern, "**/")
	// ** is for any folders: of what is below, only the last name is compared.
	if deep {
		rest, ok := strings.CutPrefix(name, before)
		if !ok || strings.Contains(before, Any) {
			return false
		}
		pattern, name = after, path.Base(rest)
	}
	matched, err := path.Match(pattern, name)
	return err == nil && matched
}

func (h Host) endsAs(p Place, file string) bool {
	elements := strings.Split(h.slashes(file), "/")
	n := strings.Count(p.Linux, "/") + 1
	if dir, _, deep := strings.Cut(p.Linux, "/**/"); deep {
		at := strings.LastIndex("/"+strings.Join(elements, "/"), "/"+dir+"/")
		return at >= 0 && matches(h.slashes(p.Linux), ("/" + strings.Join(elements, "/"))[at+1:])
	}
	return len(elements) > n && matches(h.slashes(p.Linux), strings.Join(elements[len(elements)-n:], "/"))
}

// slashes makes paths of one host comparable. Windows does not tell upper from lower case.
func (h Host) slashes(file string) string {
	if h.OS == "windows" {
		file = strings.ToLower(strings.ReplaceAll(file, `\`, "/"))
	}
	return file
}
