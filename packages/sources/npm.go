package sources

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// readNPM reads npm's variables, the user's file and the global one.
func (in *reading) readNPM() {
	in.npmVariables()
	usual := filepath.Join(in.Host.Home, ".npmrc")
	user, _ := in.place("userconfig")
	user = filepath.Clean(cmp.Or(user, usual))
	in.elsewhere = user != usual
	if in.project != "" {
		in.add(slices.DeleteFunc(in.npmFile(in.project, false), func(f fact) bool {
			filled := strings.Contains(f.key, "${") && !strings.HasPrefix(f.key, "//") // this is a login's
			if filled || f.key == "userconfig" || f.key == "globalconfig" {
				in.fail("%s names what may be another registry, and mcp-jail does not follow it. Remove that line, or add the server to your own configuration", f.name)
			}
			return f.key != "registry" && !strings.HasSuffix(f.key, ":registry")
		}))
	}
	in.add(in.npmFile(user, in.elsewhere))
	prefix, moved := in.place("prefix")
	global, named := in.place("globalconfig")
	in.add(in.npmFile(cmp.Or(global, filepath.Join(cmp.Or(prefix, in.Prefix), "etc/npmrc")), moved || named))
}

// CheckProject returns an error if an .npmrc of the working directory, or of one above it up to the home directory,
// has npm ask another registry for a package than the user's own configuration does: that may have another package of
// this name.
func (r Reader) CheckProject(name string) error {
	mine, err := r.Read(NPM)
	if err != nil {
		return nil // the installation says what is wrong
	}
	for dir := r.Host.Dir; dir != r.Host.Home; dir = filepath.Dir(dir) {
		r.project = filepath.Join(dir, ".npmrc")
		its, err := r.Read(NPM)
		if err != nil {
			return err
		}
		scope, other := its.registryOf(name)
		if _, own := mine.registryOf(name); other != own {
			return fmt.Errorf("%s has npm ask %s for %s, and your own configuration %s. If you trust the first one, write `%sregistry=%s` into ~/.npmrc",
				show.Line(r.project), show.InSentence(other), show.InSentence(name), show.InSentence(own), show.Line(scope), show.Line(other))
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return nil
}

// registryOf returns the registry that npm asks for a package, and the beginning of the key that names it: "", or "@scope:".
func (s *Sources) registryOf(name string) (key, registry string) {
	scope, _, _ := strings.Cut(name, "/")
	if address := s.Scopes[scope]; address != "" {
		return scope + ":", strings.TrimSuffix(address, "/")
	}
	return "", strings.TrimSuffix(s.Index, "/")
}

// Apart returns the registry of a package if a login of the user's is for it, and another package comes from another one.
// Where one registry has both, nothing tells which of them are public.
func (s *Sources) Apart(from, name string) (registry string) {
	_, other := s.registryOf(from)
	_, registry = s.registryOf(name)
	_, address, _ := strings.Cut(registry, ":")
	for key := range s.npmLogins {
		if place, _, _ := strings.Cut(key, ":_"); registry != other && strings.HasPrefix(address+"/", place) {
			return registry
		}
	}
	return ""
}

// place returns the path that a setting names, and whether a variable is that setting.
func (in *reading) place(key string) (file string, chosen bool) {
	at := slices.IndexFunc(in.said, func(f fact) bool { return f.key == key })
	if at < 0 || in.said[at].lacks != "" {
		return "", false
	}
	return in.inHome(in.said[at].values[0]), in.said[at].chosen
}

// npmVariables adds what the variables npm_config_* say that the table has. Others are of no
// interest: npm sets some twenty for all that it starts.
func (in *reading) npmVariables() {
	const prefix = "npm_config_"
	var facts []fact
	for _, v := range in.Host.Environ {
		name, value, _ := strings.Cut(v, "=")
		if len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) || value == "" {
			continue
		}
		key := name[len(prefix):]
		if !strings.HasPrefix(key, "//") { // such a key belongs to a registry
			key = strings.ToLower(key[:1] + strings.ReplaceAll(key[1:], "_", "-"))
		}
		if rowOf(NPM, key) < 0 {
			continue
		}
		f := fact{key: key, name: show.Line(name), chosen: true}
		for one := range strings.SplitSeq(value, "\n\n") { // npm's mark between the values of a list
			f.values = append(f.values, in.filled(&f, strings.TrimSpace(one)))
		}
		facts = slices.DeleteFunc(facts, func(o fact) bool { return o.key == key })
		facts = append(facts, f)
	}
	in.add(facts)
}

// npmFile returns what an npmrc says. Lines below a [section] are none of npm's settings.
func (in *reading) npmFile(file string, chosen bool) (facts []fact) {
	lists := map[string]bool{}
	for line := range strings.FieldsFuncSeq(in.text(file), func(r rune) bool { return r == '\n' || r == '\r' }) {
		start := strings.TrimSpace(line)
		if start == "" || strings.ContainsRune(";#=", rune(start[0])) {
			continue
		}
		if line[0] == '[' && strings.HasSuffix(start, "]") {
			break
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			value = "true"
		}
		key, isList := strings.CutSuffix(unquoted(name), "[]")
		if !ok && rowOf(NPM, key) < 0 { // a key without a value, or a piece of something that is not to be told
			continue
		}
		f := fact{chosen: chosen}
		f.key = in.filled(&f, key)
		f.name = show.Line(f.key) + " in " + in.short(file)
		f.values = []string{in.filled(&f, strings.TrimSpace(unquoted(value)))}
		lists[f.key] = lists[f.key] || isList
		at := slices.IndexFunc(facts, func(o fact) bool { return o.key == f.key })
		switch {
		case at < 0:
			facts = append(facts, f)
		case lists[f.key]:
			facts[at].values = append(facts[at].values, f.values...)
		default:
			facts[at] = f
		}
	}
	return facts
}

// unquoted returns a key or a value of an npmrc without the quotation marks around it, or without
// the comment after it.
func unquoted(text string) string {
	text = strings.TrimSpace(text)
	for _, q := range []string{`"`, `'`} {
		if len(text) > 1 && strings.HasPrefix(text, q) && strings.HasSuffix(text, q) {
			inner := text
			if q == "'" {
				inner = text[1 : len(text)-1]
			}
			var value string
			if json.Unmarshal([]byte(inner), &value) == nil {
				return value
			}
			return inner
		}
	}
	var out strings.Builder
	for i := 0; i < len(text) && text[i] != ';' && text[i] != '#'; i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte(`\;#`, text[i+1]) >= 0 {
			i++
		}
		out.WriteByte(text[i])
	}
	return strings.TrimSpace(out.String())
}

// reference is a variable in an npmrc. npm leaves one that is not set as it is, unless a question
// mark follows its name. An odd number of backslashes makes it a text.
var reference = show.Pattern(`(\\*)\$\{([^${}?]+)(\?)?\}`)

// filled returns a text of a fact with the variables in it. Without logins, none is filled in.
func (in *reading) filled(f *fact, text string) string {
	return reference().ReplaceAllStringFunc(text, func(found string) string {
		m := reference().FindStringSubmatch(found)
		slashes, name := m[1], m[2]
		if len(slashes)%2 == 1 {
			return found[(len(slashes)+1)/2:]
		}
		value, set := in.Host.Getenv(name)
		f.chosen = true
		if !in.Logins || !set && m[3] == "" {
			f.lacks = name
			return found
		}
		return slashes[:len(slashes)/2] + value
	})
}

// npmText returns a text as npm reads it from an npmrc, in which nothing is left to be filled in.
func npmText(text string) string {
	text = reference().ReplaceAllStringFunc(text, func(found string) string {
		slashes, _, _ := strings.Cut(found, "$")
		return slashes + `\` + found
	})
	quoted, _ := json.Marshal(text) // no text is refused
	return string(quoted)
}

// keepUsedLogins keeps, of all logins, those that npm sends to the registries that are used.
func (in *reading) keepUsedLogins() {
	all := in.npmLogins
	in.npmLogins = map[string]string{}
	for _, address := range in.addresses() {
		u, err := url.Parse(address)
		if err != nil {
			continue
		}
		key := loginKey(u, all)
		if at := slices.IndexFunc(in.logins, func(l hostLogin) bool { return l.address == address }); key == "" && at >= 0 {
			l := in.logins[at]
			key = nerfed(u)
			all[key+":_auth"] = base64.StdEncoding.EncodeToString([]byte(l.user + ":" + l.password))
		}
		for _, name := range loginNames {
			value := all[key+":"+name]
			if value != "" && (!strings.HasSuffix(name, "file") || in.certificate(value)) {
				in.npmLogins[key+":"+name] = value
			}
		}
	}
}

// loginNames are the ends of the keys of a registry's login. A name needs a password, and a certificate its key.
var loginNames = []string{"_authToken", "_auth", "username", "_password", "certfile", "keyfile"}

// loginKey returns the longest beginning of a registry's address for which there is a login, as npm
// looks for it: //host:port/path/, //host:port/path, //host:port/ and so on. "" if there is none.
func loginKey(u *url.URL, all map[string]string) string {
	for key := nerfed(u); len(key) > len("//"); {
		has := func(name string) bool { return all[key+":"+name] != "" }
		if has("_authToken") || has("_auth") || has("username") && has("_password") || has("certfile") && has("keyfile") {
			return key
		}
		if rest, ok := strings.CutSuffix(key, "/"); ok {
			key = rest
		} else {
			key = key[:strings.LastIndexByte(key, '/')+1]
		}
	}
	return ""
}

// nerfed returns the address of a registry as the keys of its logins begin.
func nerfed(u *url.URL) string {
	usual := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	return "//" + strings.TrimSuffix(strings.ToLower(u.Host), usual) + strings.TrimSuffix(u.EscapedPath(), "/") + "/"
}
