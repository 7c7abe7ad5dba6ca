package sources

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// readNPM reads npm's variables, the user's file and the global one.
func (in *reading) readNPM() {
	variables := in.npmVariables()
	in.add(variables)
	said := func(key string) (file string, ok bool) {
		for _, f := range in.said {
			if f.key == key && f.lacks == "" {
				return in.home(f.values[0]), true
			}
		}
		return "", false
	}
	usual := filepath.Join(in.Host.Home, ".npmrc")
	user, named := said("userconfig")
	user = filepath.Clean(cmp.Or(user, usual))
	in.elsewhere = named && user != usual
	in.add(in.npmFile(user, in.elsewhere))

	prefix, named := said("prefix")
	global := filepath.Join(cmp.Or(prefix, in.Prefix), "etc", "npmrc")
	if file, ok := said("globalconfig"); ok {
		global, named = file, true
	}
	byVariable := named && slices.ContainsFunc(variables, func(f fact) bool { return f.key == "prefix" || f.key == "globalconfig" })
	in.add(in.npmFile(global, byVariable))
}

// npmVariables returns what the variables npm_config_* say that the table has. Others are of no
// interest: npm sets some twenty for all that it starts.
func (in *reading) npmVariables() (facts []fact) {
	const prefix = "npm_config_"
	for _, v := range in.Host.Environ {
		name, value, _ := strings.Cut(v, "=")
		if len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) || value == "" {
			continue
		}
		key := name[len(prefix):]
		if !strings.HasPrefix(key, "//") { // such a key belongs to a registry
			key = strings.ToLower(key[:1] + strings.ReplaceAll(key[1:], "_", "-"))
		}
		if _, known := settingOf(NPM, key); !known {
			continue
		}
		f := fact{key: key, from: name, chosen: true}
		for one := range strings.SplitSeq(value, "\n\n") { // npm's mark between the values of a list
			f.values = append(f.values, strings.TrimSpace(one))
		}
		facts = slices.DeleteFunc(facts, func(o fact) bool { return o.key == key })
		facts = append(facts, in.filled(f))
	}
	return facts
}

// npmFile returns what an npmrc says. Lines below a [section] are none of npm's settings.
func (in *reading) npmFile(file string, chosen bool) (facts []fact) {
	lists := map[string]bool{}
	for line := range strings.FieldsFuncSeq(in.text(file), func(r rune) bool { return r == '\n' || r == '\r' }) {
		switch start := strings.TrimSpace(line); {
		case start == "" || start[0] == ';' || start[0] == '#' || start[0] == '=':
			continue
		case line[0] == '[' && strings.HasSuffix(start, "]"):
			return facts
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			value = "true"
		}
		key, isList := strings.CutSuffix(unquoted(name), "[]")
		f := in.filled(fact{key: key, values: []string{strings.TrimSpace(unquoted(value))}, from: in.short(file), named: true, chosen: chosen})
		lists[f.key] = lists[f.key] || isList
		at := slices.IndexFunc(facts, func(o fact) bool { return o.key == f.key })
		switch {
		case at < 0 && f.values[0] == "": // an empty value does not count
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
var reference = lazy.Regexp(`(\\*)\$\{([^${}?]+)(\?)?\}`)

// filled returns a fact with the variables in its key and its values. Without logins, none is filled in.
func (in *reading) filled(f fact) fact {
	fill := func(text string) string {
		return reference().ReplaceAllStringFunc(text, func(found string) string {
			m := reference().FindStringSubmatch(found)
			if n := len(m[1]); n%2 == 1 {
				return found[(n+1)/2:]
			}
			value, set := in.Host.Getenv(m[2])
			f.chosen = true
			if !in.Logins || !set && m[3] == "" {
				f.lacks = m[2]
				return found
			}
			return m[1][len(m[1])/2:] + value
		})
	}
	f.key = fill(f.key)
	values := make([]string, len(f.values))
	for i, value := range f.values {
		values[i] = fill(value)
	}
	f.values = values
	return f
}

// npmText returns a text as npm reads it from an npmrc, in which nothing is left to be filled in.
func npmText(text string) (string, error) {
	text = reference().ReplaceAllStringFunc(text, func(found string) string {
		slashes := len(found) - len(strings.TrimLeft(found, `\`))
		return strings.Repeat(`\`, slashes+1) + found
	})
	quoted, err := json.Marshal(text)
	return string(quoted), err
}

// keepUsedLogins keeps, of all logins, those that npm sends to the registries that are used.
func (in *reading) keepUsedLogins() {
	all := in.npmLogins
	in.npmLogins = map[string]string{}
	addresses := []string{in.Index}
	for _, address := range in.Scopes {
		addresses = append(addresses, address)
	}
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err != nil {
			continue
		}
		key := loginKey(u, all)
		if key == "" {
			in.loginOfAddress(u, address)
			continue
		}
		for _, name := range []string{"_authToken", "_auth", "username", "_password", "certfile", "keyfile"} {
			value := all[key+":"+name]
			if value != "" && (!strings.HasSuffix(name, "file") || in.certificate(value)) {
				in.npmLogins[key+":"+name] = value
			}
		}
	}
}

// loginKey returns the longest beginning of a registry's address for which there is a login, as npm
// looks for it: //host:port/path/, //host:port/path, //host:port/ and so on. "" if there is none.
func loginKey(u *url.URL, all map[string]string) string {
	key := nerfed(u)
	for len(key) > len("//") {
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
	host := strings.ToLower(u.Host)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	return "//" + host + strings.TrimSuffix(u.EscapedPath(), "/") + "/"
}

// loginOfAddress makes the login in the address of a registry one by its key.
func (in *reading) loginOfAddress(u *url.URL, address string) {
	for _, l := range in.logins {
		if l.address == address {
			in.npmLogins[nerfed(u)+":_auth"] = base64.StdEncoding.EncodeToString([]byte(l.user + ":" + l.password))
			return
		}
	}
}

func decoded(text string) string {
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(plain)
}
