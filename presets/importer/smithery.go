package importer

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

func readSmithery(root table) (*draft, error) {
	d := &draft{format: "an entry of Smithery", name: orElse(root.text("qualifiedName"), root.text("name")), about: orElse(root.text("description"), root.text("displayName"))}
	start := root.table("startCommand")
	for _, c := range root.tables("connections") {
		if start == nil || c.text("type") == "stdio" {
			start = c
		}
	}
	if start == nil {
		return nil, refuse("the file has neither a startCommand nor connections")
	}
	if kind := start.text("type"); kind != "stdio" {
		d.note("Smithery runs this server itself, as %s. What its program is stands in its repository.", orElse(kind, "a service"))
	}
	function := orElse(start.text("commandFunction", "stdioFunction"), root.text("commandFunction"))
	schema := start.table("configSchema")
	if schema == nil {
		schema = root.table("configSchema")
	}
	d.fromFunction(function)
	required := schema.texts("required")
	questions := schema.table("properties")
	env := variablesOf(function)
	for _, key := range slices.Sorted(maps.Keys(questions)) {
		q := questions.table(key)
		v := variable{about: q.text("description"), value: q.text("default"), required: slices.Contains(required, key), secret: q.flag("sensitive") || looksSecret(key)}
		if name, ok := env[key]; ok || key == strings.ToUpper(key) {
			name = orElse(name, key)
			v.name = name
			d.variables = append(d.variables, v)
			continue
		}
		d.args = append(d.args, argument{"<" + key + ">", orElse(v.about, key), true})
		if isPath("", key, v.about) {
			d.paths = append(d.paths, grant{about: "fill in: " + orElse(v.about, key)})
		}
	}
	return d, nil
}

// fromFunction takes the program and the words in front of the first computed one from the
// text of a commandFunction, where they are plain strings.
func (d *draft) fromFunction(text string) {
	if text == "" {
		return
	}
	d.note("The command is JavaScript, of which only its plain words were read: compare it with the original.")
	if m := regexp.MustCompile(`\bcommand\s*:\s*(?:'([^'\\\n]*)'|"([^"\\\n]*)")`).FindStringSubmatch(text); m != nil {
		d.command = m[1] + m[2]
	}
	if m := regexp.MustCompile(`\bargs\s*:\s*\[([^\]]*)\]`).FindStringSubmatch(text); m != nil {
		word := regexp.MustCompile(`^\s*(?:'([^'\\\n]*)'|"([^"\\\n]*)")\s*(?:,|$)`)
		for rest := m[1]; ; {
			w := word.FindStringSubmatch(rest)
			if w == nil {
				return
			}
			d.word(w[1] + w[2])
			rest = rest[len(w[0]):]
		}
	}
}

func variablesOf(text string) map[string]string {
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`['"]?([A-Za-z_][A-Za-z0-9_]*)['"]?\s*:\s*(?:String\()?config\.([A-Za-z_][A-Za-z0-9_]*)`).FindAllStringSubmatch(text, -1) {
		out[m[2]] = m[1]
	}
	return out
}

func looksSecret(key string) bool {
	key = strings.ToLower(key)
	return slices.ContainsFunc([]string{"token", "secret", "password", "apikey", "api_key", "credential"}, func(part string) bool { return strings.Contains(key, part) })
}
