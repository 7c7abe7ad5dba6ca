package winpath

import "strings"

// A Shim is what a batch file of npm starts: node with a script.
type Shim struct {
	Beside string   // a node.exe that goes before that of PATH, if it exists
	Flags  []string // for node
	Script string
}

// ReadShim reads a batch file of npm (cmd-shim) that lies in dir. It reports false for every file that does
// not end as these do.
func ReadShim(text, dir string) (s Shim, ok bool) {
	text = strings.TrimPrefix(text, "\ufeff")
	var last string
	node := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		node = node || strings.EqualFold(line, `SET "_prog=node"`)
		if line != "" && line != ")" {
			last = line
		}
	}
	// The newer form ends with one line for both cases, after an & if it resets the variables.
	if i := strings.LastIndex(last, `& "%_prog%"`); i >= 0 {
		last = last[i+2:]
	}
	rest, newer := strings.CutPrefix(last, `"%_prog%"`)
	if !newer || !node {
		if rest, ok = strings.CutPrefix(last, "node "); !ok || !strings.Contains(text, `IF EXIST "%~dp0\node.exe"`) {
			return Shim{}, false
		}
	}
	rest, ok = strings.CutSuffix(rest, "%*")
	if !ok {
		return Shim{}, false
	}
	flags, script, ok := strings.Cut(rest, `"`)
	if !ok || strings.ContainsAny(flags, "%&|<>^\"'()") {
		return Shim{}, false
	}
	script, after, ok := strings.Cut(script, `"`)
	if !ok || strings.TrimSpace(after) != "" {
		return Shim{}, false
	}
	relative, ok := strings.CutPrefix(script, `%dp0%\`)
	if !ok {
		if relative, ok = strings.CutPrefix(script, `%~dp0\`); !ok {
			return Shim{}, false
		}
	}
	if strings.ContainsAny(relative, "%&|<>^") {
		return Shim{}, false
	}
	whole, err := Clean(dir + `\` + relative)
	if err != nil {
		return Shim{}, false
	}
	return Shim{Beside: strings.TrimRight(dir, `\`) + `\node.exe`, Flags: strings.Fields(flags), Script: whole}, true
}
