package said

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

var (
	// sh: 1: git: not found; bash: line 1: git: command not found; zsh: command not found: git
	shellProgram = lazy.Regexp(`(?:^|[:\s])([A-Za-z0-9_.+/~-]+): (?:command )?not found\s*$`)
	// ./build: 12: …, ./build: line 12: …   (a script of a shell)
	shellLine = lazy.Regexp(`^\S+: (?:line )?\d+: `)
	// sh: 1: tsc: Permission denied
	shellRefused = lazy.Regexp(`(?:^|[:\s])([A-Za-z0-9_.+-]+): Permission denied\s*$`)
	zshProgram   = lazy.Regexp(`command not found: ([A-Za-z0-9_.+/~-]+)`)
	// spawn git ENOENT   (node)
	nodeProgram = lazy.Regexp(`\b(?:spawn|spawnSync|execvp|posix_spawn) (.+?) (ENOENT|EACCES|EPERM)\b`)
	// exec: "git": executable file not found in $PATH   (Go)
	goProgram = lazy.Regexp(`exec: "([^"]+)": (executable file not found|permission denied|no such file or directory|stat )`)
	// env: ‘node’: No such file or directory
	envProgram = lazy.Regexp(`\benv: ['"‘]?([^'"’:\s]+)['"’]?: (No such file or directory|Permission denied)`)
	// Executable doesn't exist at /x   (playwright); Failed to spawn: `x`   (uv)
	otherProgram = lazy.Regexp("(?i)(?:executable (?:doesn't|does not) exist at|failed to (?:spawn|execute|start):?|cannot execute|cannot run program) ['\"`]?([A-Za-z0-9_.+/~@-]+)")

	nameToken = lazy.Regexp(`[A-Za-z_][A-Za-z0-9_]*`)
	askAfter  = lazy.Regexp(`(?i)\b([A-Z_][A-Z0-9_]+)['"` + "`" + `]?\s+(?:environment variables?|env(?:ironment)? vars?|is required|is not set|not set|is missing|is undefined|must be (?:set|provided|defined)|(?:is|was) not (?:defined|provided|found)|required)`)
	askBefore = lazy.Regexp(`(?:(?i:environment variables?|env vars?|environment key|missing required(?: configuration)?|missing|please (?:set|provide|export)|must set|set the|KeyError|required variable|required env)(?: is| are)?(?: not set| missing| required)?)[:=(\s]+(?:the )?['"` + "`" + `$]*([A-Z_][A-Z0-9_]+)`)
)

// contextWords mark a line that is about variables. A line that only contains a name is no
// evidence.
var contextWords = []string{"env", "variable", "required", "require", "missing", "not set", "unset", "undefined", "keyerror", "must", "please", "not found", "not provided", "not defined", "expected", "specify", "no value", "invalid", "need", "api key", "token", "credential"}

func programReferences(line string) []Reference {
	var refs []Reference
	add := func(name string, f Fault) {
		name = strings.Trim(name, "'\"`")
		if name != "" && !isNumber(name) && len(refs) < 4 {
			refs = append(refs, Reference{Kind: Program, Name: name, Fault: f})
		}
	}
	if strings.Contains(line, "not found") {
		if m := zshProgram().FindStringSubmatch(line); m != nil {
			add(m[1], Absent)
		} else if m := shellProgram().FindStringSubmatch(line); m != nil && looksLikeShell(line) {
			add(m[1], Absent)
		}
	}
	if m := shellRefused().FindStringSubmatch(line); m != nil && looksLikeShell(line) {
		add(m[1], Refused)
	}
	for _, m := range nodeProgram().FindAllStringSubmatch(line, 2) {
		add(m[1], faultOfErrno(m[2]))
	}
	for _, m := range goProgram().FindAllStringSubmatch(line, 2) {
		f, _ := MatchFault(m[2])
		add(m[1], max(f, Absent))
	}
	for _, m := range envProgram().FindAllStringSubmatch(line, 2) {
		f, _ := MatchFault(m[2])
		add(m[1], f)
	}
	for _, m := range otherProgram().FindAllStringSubmatch(line, 2) {
		add(m[1], Absent)
	}
	return refs
}

// looksLikeShell reports whether a shell wrote the line, and not for example a module
// loader ("module x: not found").
func looksLikeShell(line string) bool {
	if strings.Contains(line, "command not found") {
		return true
	}
	if shellLine().MatchString(line) {
		return true
	}
	head, _, _ := strings.Cut(line, ":")
	head = head[strings.LastIndexByte(head, '/')+1:]
	switch head {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "env":
		return true
	}
	return false
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

func variableReferences(line string) []Reference {
	lower := strings.ToLower(line)
	if !ContainsAny(lower, contextWords) || DistrustsAuthority(line) { // that is about a certificate
		return nil
	}
	strict := map[string]bool{} // names that the sentence asks for
	for _, m := range askAfter().FindAllStringSubmatch(line, 4) {
		strict[m[1]] = true
	}
	for _, m := range askBefore().FindAllStringSubmatch(line, 4) {
		strict[m[1]] = true
	}
	var refs []Reference
	seen := map[string]bool{}
	for _, name := range nameToken().FindAllString(line, 200) {
		// A lower-case name needs an underscore, or it is a word of the sentence.
		if seen[name] || len(name) < 3 || strings.ToUpper(name) != name && !strings.Contains(name, "_") {
			continue
		}
		seen[name] = true
		refs = append(refs, Reference{Kind: Variable, Name: name, Asked: strict[name], Vague: !strict[name]})
	}
	return refs
}

// MayNameFault reports whether a line may describe a refusal. It is cheaper than
// extracting names.
func MayNameFault(line string) bool {
	if f, _ := MatchFault(line); f != NoFault {
		return true
	}
	return ContainsAny(strings.ToLower(line), contextWords)
}

// IsVariable reports whether a name can be that of a variable.
func IsVariable(name string) bool {
	for i := 0; i < len(name); i++ {
		if c := name[i]; !isWordByte(c) || i == 0 && c >= '0' && c <= '9' {
			return false
		}
	}
	return name != ""
}
