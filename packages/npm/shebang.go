package npm

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// shebang returns how a script with this line after "#!" is started. The kernel hands all
// that follows the interpreter over as one argument; only env -S splits it. A carriage
// return at the end does not count, because npm removes it when it installs a program.
func shebang(line string) (Start, error) {
	words := strings.Fields(line)
	if len(words) == 0 || path.Base(words[0]) != "env" {
		interpreter, argument, _ := strings.Cut(line, " ")
		if argument = strings.TrimSpace(argument); argument == "" {
			return interpreted(line, interpreter, nil, nil)
		}
		return interpreted(line, interpreter, []string{argument}, nil)
	}
	words = words[1:]
	if len(words) > 0 && strings.HasPrefix(words[0], "-S") {
		if words[0] = strings.TrimPrefix(words[0], "-S"); words[0] == "" {
			words = words[1:]
		}
	}
	var env []string
	for len(words) > 0 && strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-") {
		env, words = append(env, words[0]), words[1:]
	}
	if len(words) == 0 || strings.ContainsAny(line, `\$#'"`) {
		return Start{}, fmt.Errorf(`its #! line %q names no program, or has quotes, \, $ or #, which are not supported`, "#!"+line)
	}
	return interpreted(line, words[0], words[1:], env)
}

// interpreted returns the start of a script by its interpreter.
func interpreted(line, name string, args, env []string) (Start, error) {
	if slices.Contains([]string{"node", "nodejs"}, path.Base(name)) {
		return Start{Kind: Node, NodeArgs: args, Env: env}, nil
	}
	if name == "" || strings.HasPrefix(name, "-") || strings.Contains(name, "/") && !path.IsAbs(name) {
		return Start{}, fmt.Errorf("its #! line %q names no interpreter, an option of env, or a path below the working directory", "#!"+line)
	}
	return Start{Kind: Interpreter, Interpreter: name, InterpreterArgs: args, Env: env}, nil
}
