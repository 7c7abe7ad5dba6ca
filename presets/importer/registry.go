package importer

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/presets"
)

// confinable are the types of packages, the best first.
var confinable = [...]string{"npm", "pypi", "mcpb", "oci", "docker"}

func readRegistry(root table) (*draft, error) {
	d := &draft{format: "the registry's server.json", name: root.text("name"), about: root.text("description")}
	if status := root.text("status"); status != "" && status != "active" {
		d.note("The publisher says of this server: %s.", status)
	}
	kind := func(p table) string { return strings.ToLower(p.text("registryType", "registry_type", "registry_name")) }
	rank := func(p table) int {
		if i := slices.Index(confinable[:], kind(p)); i >= 0 {
			return i
		}
		return len(confinable)
	}
	packages := root.tables("packages")
	if len(packages) == 0 {
		return readRemote(d, root)
	}
	slices.SortStableFunc(packages, func(a, b table) int { return rank(a) - rank(b) })
	p := packages[0]
	name, version := p.text("identifier", "name"), p.text("version")
	if name == "" {
		return nil, refuse("a package of the file has no identifier")
	}
	if k := kind(p); (k == "npm" || k == "pypi") && isRegistryName(root.text("name")) {
		d.mcpName = root.text("name")
	}
	runtime := d.arguments(p.tables("runtimeArguments", "runtime_arguments"))
	d.hash(p.text("fileSha256", "file_sha256"))
	for _, e := range p.tables("environmentVariables", "environment_variables") {
		d.variables = append(d.variables, inputVariable(e))
	}
	switch kind(p) {
	case "npm":
		d.packages = []presets.Package{{Ecosystem: presets.NPM, Name: name}}
		d.launch(p.text("runtimeHint", "runtime_hint"), "npx", runtime, name, version)
	case "pypi":
		d.packages = []presets.Package{{Ecosystem: presets.PyPI, Name: name}}
		d.launch(p.text("runtimeHint", "runtime_hint"), "uvx", runtime, name, version)
	case "oci", "docker":
		d.packages = []presets.Package{{Ecosystem: presets.Image, Name: name}}
		d.container(atVersion(name, ":", version), runtime)
	case "mcpb":
		d.note("The server is a bundle: unpack %s, and import its manifest.json.", name)
	default:
		d.note("The package is of %s, which mcp-jail does not start by itself: %s %s.", orElse(kind(p), "an unknown kind"), name, version)
	}
	d.args = append(d.args, d.arguments(p.tables("packageArguments", "package_arguments"))...)
	return d, nil
}

// launchers are the launchers that a file may ask for, with the words before their options.
var launchers = map[string][]string{
	"npx": {"npx"}, "bunx": {"bunx"}, "pnpx": {"pnpx"}, "pnpm": {"pnpm", "dlx"},
	"uvx": {"uvx"}, "uv": {"uv", "tool", "run"}, "pipx": {"pipx", "run"},
}

// launch writes the line of a launcher: its own arguments, and then the package, unless one of them is
// the package already.
func (d *draft) launch(hint, usual string, runtime []argument, name, version string) {
	words, known := launchers[hint]
	if !known || (usual == "npx") != slices.Contains([]string{"npx", "bunx", "pnpx", "pnpm"}, hint) {
		if words = launchers[usual]; hint != "" {
			d.note("The file asks for %s, which fetches no package. The line uses %s.", hint, usual)
		}
	}
	d.command = words[0]
	d.word(words[1:]...)
	for i, w := range words[1:] { // "dlx" or "tool", "run" may be among the arguments, too
		if i < len(runtime) && runtime[0].word == w {
			runtime = runtime[1:]
		}
	}
	has := func(options ...string) bool {
		return slices.ContainsFunc(runtime, func(a argument) bool {
			option, _, _ := strings.Cut(a.word, "=")
			return slices.Contains(options, option)
		})
	}
	if d.command == "npx" && !has("-y", "--yes") {
		d.word("-y")
	}
	d.args = append(d.args, runtime...)
	// A launcher takes its first word that is no option, and no option's value, for the package.
	at := slices.IndexFunc(runtime, func(a argument) bool { return !strings.HasPrefix(a.word, "-") })
	isPackage := at == 0 || at > 0 && slices.Contains([]string{"-y", "--yes", "--", "-q", "--quiet", "--isolated", "--offline"}, runtime[at-1].word)
	switch {
	case isPackage && !runtime[at].open && packageOf(runtime[at].word) == name:
		return // with the version that the file asks for there
	case isPackage:
		d.note("The line starts the package %s, and not %s, because of the file's runtimeArguments. Look whether you trust it.", runtime[at].word, name)
	case has("-p", "--package", "--from", "--spec"):
		d.note("An option of the line names the package. The word %s after it is the program in it.", name)
		d.word(name[strings.LastIndexByte(name, '/')+1:])
		return
	}
	d.word(atVersion(name, "@", version))
}

// packageOf returns a package without its version.
func packageOf(word string) string {
	for _, sign := range []string{"==", "@"} {
		if at := strings.LastIndex(word, sign); at > 0 {
			return word[:at]
		}
	}
	return word
}

// isRegistryName reports whether a name has the form of those in the MCP registry.
func isRegistryName(name string) bool {
	space, server, ok := strings.Cut(name, "/")
	plain := func(s, more string) bool {
		return s != "" && len(s) <= 100 && strings.Trim(s, more+"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
	}
	return ok && plain(space, ".-") && plain(server, "._-")
}

func (d *draft) container(image string, runtime []argument) {
	d.note("A container is not confined by mcp-jail: look for the same server as a package.")
	d.command = "docker"
	d.word("run", "-i", "--rm")
	for _, v := range d.variables {
		if v.required {
			d.word("-e", v.name)
		}
	}
	d.args = append(d.args, runtime...)
	d.word(image)
}

func (d *draft) hash(sha256 string) {
	if sha256 != "" {
		d.note("SHA-256 of the file: %s.", sha256)
	}
}

func atVersion(name, sign, version string) string {
	if version == "" || version == "latest" || sign == ":" && strings.ContainsAny(name[strings.LastIndexByte(name, '/')+1:], ":@") {
		return name
	}
	return name + sign + version
}

func (d *draft) arguments(list []table) (out []argument) {
	for _, a := range list {
		value, hint := a.text("value"), orElse(a.text("valueHint", "value_hint"), a.text("name"))
		about, required := orElse(a.text("description"), hint), isRequired(a)
		if isPath(a.text("format"), hint, about) {
			d.paths = append(d.paths, grant{about: "fill in: " + about})
		}
		open := value == "" || strings.Contains(value, "{")
		if value == "" {
			value = orElse(a.text("default"), "<"+hint+">")
		}
		for _, key := range slices.Sorted(maps.Keys(a.table("variables"))) { // of {KEY} in the value
			q := a.table("variables").table(key)
			value = strings.ReplaceAll(value, "{"+key+"}", orElse(orElse(q.text("value"), q.text("default")), "<"+key+">"))
			required = required || isRequired(q)
			if text := q.text("description"); text != "" {
				about += "; " + key + ": " + text
			}
			if isPath(q.text("format"), key, q.text("description")) {
				d.paths = append(d.paths, grant{about: "fill in: " + orElse(q.text("description"), key)})
			}
		}
		if choices := a.texts("choices"); len(choices) > 0 {
			about += "; one of " + strings.Join(choices, ", ")
		}
		flag := a.text("name")
		switch {
		case open && required:
			d.missing = append(d.missing, "the argument "+orElse(orElse(a.text("valueHint", "value_hint"), flag), value))
		case open:
			about = "optional; " + about
		}
		switch {
		case a.text("type") != "named" || flag == "":
			out = append(out, argument{value, about, open})
		case a.text("format") == "boolean" || a.text("value") == "" && !a.has("default") && !a.has("valueHint") && !a.has("value_hint") && !required:
			out = append(out, argument{flag, about, true})
		case open:
			out = append(out, argument{flag + "=" + value, about, true})
		default:
			out = append(out, argument{flag, "", false}, argument{value, about, false})
		}
	}
	return out
}

func isRequired(t table) bool { return t.flag("isRequired", "is_required", "required") }

func isPath(format, hint, about string) bool {
	if format == "filepath" {
		return true
	}
	text := strings.ToLower(hint)
	return slices.ContainsFunc([]string{"_dir", "directory", "filepath", "file_path", "_path", "folder"}, func(part string) bool { return strings.Contains(text, part) }) ||
		strings.HasPrefix(strings.ToLower(about), "path to")
}

func inputVariable(e table) variable {
	return variable{
		name: e.text("name"), about: e.text("description"), value: orElse(e.text("default"), e.text("value")),
		required: isRequired(e), secret: e.flag("isSecret", "is_secret", "secret"),
	}
}

func readRemote(d *draft, root table) (*draft, error) {
	for _, r := range root.tables("remotes") {
		u, err := url.Parse(r.text("url"))
		if err != nil || u.Scheme != "https" || strings.Contains(u.Host, "{") {
			continue
		}
		d.packages = []presets.Package{{Ecosystem: presets.NPM, Name: "mcp-remote"}}
		d.command = "npx"
		d.word("-y", "mcp-remote", r.text("url"))
		to := host{name: u.Hostname(), scheme: "https", port: portNumber(u.Port())}
		for _, h := range r.tables("headers") {
			d.header(&to, h)
		}
		d.hosts = append(d.hosts, to)
		d.note("The server is elsewhere. A client that knows remote servers needs no mcp-jail for it; its logins may need more hosts, and access.inbound.")
		return d, nil
	}
	return nil, refuse("the file has neither a package nor a remote server with an https URL")
}

// header has mcp-remote send a header field to a server elsewhere. A secret and required variable
// in it becomes a secret of the rule for its host; mcp-remote then has only a placeholder.
func (d *draft) header(to *host, h table) {
	field := inputVariable(h)
	value, asked := h.text("value"), h.table("variables")
	if value == "" {
		value, asked = "{"+field.name+"}", table{field.name: map[string]any(h)}
	}
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		v := inputVariable(asked.table(key))
		v.name = variableName(key)
		value = strings.ReplaceAll(value, "{"+key+"}", "${"+v.name+"}")
		with := *to
		with.secrets = append(slices.Clone(to.secrets), policy.Secret{Env: v.name, Header: []string{field.name}})
		if _, err := with.rule(); err == nil && v.secret && v.required {
			*to = with
			continue
		}
		d.variables = append(d.variables, v)
	}
	open := !field.required
	d.args = append(d.args, argument{"--header", "", open}, argument{field.name + ":" + value, field.about, open})
}

func variableName(header string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z') {
			return r
		}
		return '_'
	}, header))
}
