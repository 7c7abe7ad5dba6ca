package importer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/presets"
)

func readCatalogue(entries table, pick string) (*draft, error) {
	names := slices.Sorted(maps.Keys(entries))
	if pick == "" && len(names) == 1 {
		pick = names[0]
	}
	entry := entries.table(pick)
	if entry == nil {
		return nil, &FormatError{fmt.Sprintf("the catalogue has %d servers; name one of them: %s", len(names), oneLine(strings.Join(names, ", "))), true}
	}
	return readDocker(pick, entry)
}

func readDocker(name string, entry table) (*draft, error) {
	image := entry.text("image")
	if image == "" {
		return nil, refuse("the entry %q has no image", oneLine(name))
	}
	about := orElse(entry.text("description"), entry.table("about").text("description"))
	d := &draft{format: "Docker's catalogue", name: orElse(name, image), about: about}
	d.packages = []presets.Package{{Ecosystem: presets.Image, Name: image}}
	if project := entry.table("source").text("project"); project != "" {
		d.note("Its source: %s.", project)
	}
	// server.yaml has them in config.
	settings := func(key string) []table { return append(entry.table("config").tables(key), entry.tables(key)...) }
	for _, s := range settings("secrets") {
		d.variables = append(d.variables, variable{name: s.text("env"), about: s.text("description"), required: true, secret: true})
	}
	asked := questions(entry)
	for _, e := range settings("env") {
		key := strings.TrimSpace(strings.Trim(e.text("value"), "{}"))
		key, _, _ = strings.Cut(key, "|")
		_, key, _ = strings.Cut(strings.TrimSpace(key), ".")
		d.variables = append(d.variables, variable{name: e.text("name"), about: e.text("description"), required: asked[key]})
	}
	run := entry
	if r := entry.table("run"); r != nil {
		run = r
	}
	var volumes []argument
	for _, v := range run.texts("volumes") {
		source, _, _ := strings.Cut(v, ":")
		volumes = append(volumes, argument{"--volume=" + v, "a directory of yours in the container", strings.Contains(v, "{{")})
		if strings.HasPrefix(source, "/") || strings.Contains(source, "{{") {
			d.paths = append(d.paths, grant{about: "fill in: what the container gets as " + v, write: !strings.HasSuffix(v, ":ro")})
		}
	}
	for _, h := range run.texts("allowHosts") {
		name, port, _ := strings.Cut(h, ":")
		d.hosts, d.hostsKnown = append(d.hosts, host{name: name, port: portNumber(port)}), true
	}
	d.noNetwork = run.flag("disableNetwork")
	d.container(image, volumes)
	for _, w := range run.texts("command") {
		d.args = append(d.args, argument{w, "", strings.Contains(w, "{{")})
	}
	return d, nil
}

func questions(entry table) map[string]bool {
	out := map[string]bool{}
	schemas := entry.tables("config")
	if p := entry.table("config").table("parameters"); p != nil {
		schemas = append(schemas, p)
	}
	for _, s := range schemas {
		for _, key := range s.texts("required") {
			out[key] = true
		}
	}
	return out
}

func portNumber(text string) int {
	n, _ := strconv.ParseUint(text, 10, 16)
	return int(n)
}
