package importer

import (
	"maps"
	"slices"
	"strings"
)

func readBundle(root, server table) (*draft, error) {
	d := &draft{format: "the manifest of a bundle", name: root.text("name"), about: orElse(root.text("description"), root.text("display_name"))}
	d.note("Unpack the bundle, and write its directory in place of /fill/in/bundle.")
	asked := root.table("user_config")
	run := server.table("mcp_config")
	if d.command = inBundle(run.text("command")); strings.Contains(d.command, "/") && !strings.HasPrefix(d.command, "/") {
		d.command = "/fill/in/bundle/" + d.command
	}
	words := run.texts("args")
	if d.command == "" {
		entry := server.text("entry_point")
		switch server.text("type") {
		case "node":
			d.command, words = "node", append([]string{"${__dirname}/" + entry}, words...)
		case "python":
			d.command, words = "python3", append([]string{"${__dirname}/" + entry}, words...)
		case "uv":
			d.command, words = "uv", append([]string{"run", "--directory", "${__dirname}", entry}, words...)
		default:
			d.command = inBundle("${__dirname}/" + entry)
		}
	}
	for _, word := range words {
		key, isAsked := userKey(word)
		a := argument{word: inBundle(word)}
		if isAsked {
			q := asked.table(key)
			a.open, a.about = true, orElse(q.text("description"), orElse(q.text("title"), key))
			if q.flag("sensitive") {
				a.about = "a secret, which other programs of yours can see here; " + a.about
			}
		} else {
			a.open = strings.Contains(a.word, "${")
		}
		d.args = append(d.args, a)
	}
	env := run.table("env")
	for _, name := range slices.Sorted(maps.Keys(env)) {
		v := variable{name: name, required: true}
		if key, ok := userKey(env.text(name)); ok {
			q := asked.table(key)
			v.about, v.value = orElse(q.text("description"), q.text("title")), q.text("default")
			v.required, v.secret = q.flag("required"), q.flag("sensitive")
		} else {
			v.value, v.fixed = inBundle(env.text(name)), true
		}
		d.variables = append(d.variables, v)
	}
	for _, key := range slices.Sorted(maps.Keys(asked)) {
		q := asked.table(key)
		if kind := q.text("type"); kind == "directory" || kind == "file" {
			d.paths = append(d.paths, grant{about: "fill in: " + orElse(q.text("description"), orElse(q.text("title"), key))})
		}
	}
	d.paths = append(d.paths, grant{path: "/fill/in/bundle", about: "the bundle itself"})
	return d, nil
}

func inBundle(word string) string {
	return strings.NewReplacer("${__dirname}", "/fill/in/bundle", "${/}", "/", "${pathSeparator}", "/").Replace(word)
}

func userKey(word string) (string, bool) {
	_, rest, ok := strings.Cut(word, "${user_config.")
	key, _, closed := strings.Cut(rest, "}")
	return key, ok && closed
}
