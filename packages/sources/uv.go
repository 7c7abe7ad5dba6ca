package sources

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// readUv reads uv's variables, and the user's file before the system's, or the one that UV_CONFIG_FILE names.
func (in *reading) readUv() {
	var variables []fact
	for _, f := range in.pythonVariables("UV_") {
		row, known := settingOf(Uv, f.key)
		switch words := strings.Fields(f.values[0]); {
		case strings.HasPrefix(f.key, "index-") && !known: // the login of an index
		case row.what == index || row.what == extra:
			f.values = nil
			for _, word := range words {
				f.values = append(f.values, in.named(word))
			}
			variables = append(variables, f)
		default:
			variables = append(variables, f)
		}
	}
	// The newer name of two is the stronger one: default-index and index, then index-url and extra-index-url.
	slices.SortStableFunc(variables, func(a, b fact) int { return uvRank(a.key) - uvRank(b.key) })
	in.add(variables)
	file, named := in.variable("UV_CONFIG_FILE")
	_, none := in.variable("UV_NO_CONFIG")
	in.elsewhere = named || none
	switch {
	case named:
		in.add(in.uvFile(file, true))
	case !none:
		in.add(in.uvFile(filepath.Join(in.configDir(), "uv/uv.toml"), false))
		in.add(in.uvFile("/etc/uv/uv.toml", false))
	}
}

func uvRank(key string) int {
	return slices.IndexFunc(table, func(s setting) bool { return s.tool == Uv && s.key == key })
}

// uvFile returns what a uv.toml says.
func (in *reading) uvFile(file string, chosen bool) (facts []fact) {
	var all map[string]any
	if err := toml.Unmarshal([]byte(in.text(file)), &all); err != nil {
		in.fail(fmt.Errorf("%s is not used: %w. Correct it", show.Line(in.short(file)), err))
	}
	add := func(key string, value ...string) {
		facts = append(facts, fact{key: key, values: value, from: in.short(file), named: true, chosen: chosen})
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		switch value := all[key].(type) {
		case string:
			add(key, value)
		case bool:
			add(key, fmt.Sprint(value))
		case []any:
			if key == "index" {
				in.uvIndexes(value, add)
				continue
			}
			var texts []string
			for _, one := range value {
				texts = append(texts, fmt.Sprint(one))
			}
			add(key, texts...)
		default:
			add(key)
		}
	}
	slices.SortStableFunc(facts, func(a, b fact) int { return uvRank(a.key) - uvRank(b.key) })
	return facts
}

// uvIndexes adds the tables [[index]]. An explicit one is asked only for packages that name it.
func (in *reading) uvIndexes(tables []any, add func(key string, value ...string)) {
	for _, t := range tables {
		table, _ := t.(map[string]any)
		address, _ := table["url"].(string)
		name, _ := table["name"].(string)
		if name != "" {
			address = in.named(name + "=" + address)
		}
		switch {
		case table["explicit"] == true:
		case table["default"] == true:
			add("default-index", address)
		default:
			add("index", address)
		}
	}
}

// named returns the address of NAME=ADDRESS, with the login that the variables of that name say.
func (in *reading) named(text string) string {
	name, address, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(name, ":/") {
		return text
	}
	key := "UV_INDEX_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
	user, _ := in.variable(key + "_USERNAME")
	password, _ := in.variable(key + "_PASSWORD")
	u, err := url.Parse(address)
	if !in.Logins || user+password == "" || err != nil {
		return address
	}
	u.User = url.UserPassword(user, password)
	return u.String()
}
