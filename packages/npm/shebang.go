package npm

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// shebang returns how a script with this line after "#!" is started. The kernel hands all
// that follows the interpreter over as one argument; only env -S splits it. A carriage
// return at the end does not count, because npm removes it when it installs a program.
func shebang(line string) (Start, error) {
	interpreter, argument, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	argument = strings.TrimSpace(argument)
	if interpreter == "" {
		return Start{}, errors.New("its #! line names no interpreter")
	}
	if path.Base(interpreter) != "env" {
		var args []string
		if argument != "" {
			args = []string{argument}
		}
		return interpreted(interpreter, args, nil)
	}
	words := []string{argument}
	if rest, ok := cutSplit(argument); ok {
		var err error
		if words, err = splitWords(rest); err != nil {
			return Start{}, fmt.Errorf("its #! line %q: %w", "#!"+line, err)
		}
	} else if strings.Contains(argument, " ") {
		// macOS splits it; on Linux the program would not start.
		words = strings.Fields(argument)
	}
	var env []string
	for len(words) > 0 && strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-") {
		env, words = append(env, words[0]), words[1:]
	}
	if len(words) == 0 || words[0] == "" {
		return Start{}, fmt.Errorf("its #! line %q names no program", "#!"+line)
	}
	if strings.HasPrefix(words[0], "-") {
		return Start{}, fmt.Errorf("its #! line %q uses the option %s of env, which is not supported", "#!"+line, words[0])
	}
	return interpreted(words[0], words[1:], env)
}

func interpreted(name string, args, env []string) (Start, error) {
	if slices.Contains([]string{"node", "nodejs"}, path.Base(name)) {
		return Start{Kind: Node, NodeArgs: args, Env: env}, nil
	}
	if strings.Contains(name, "/") && !path.IsAbs(name) {
		return Start{}, fmt.Errorf("its interpreter %s is relative to the working directory", name)
	}
	return Start{Kind: Interpreter, Interpreter: name, InterpreterArgs: args, Env: env}, nil
}

// cutSplit returns the text that env is to split: the text after -S or --split-string. The text may
// follow -S without a space, and S may follow the option v, which makes env print.
func cutSplit(argument string) (string, bool) {
	for _, option := range [...]string{"--split-string=", "--split-string ", "-S", "-vS"} {
		if rest, ok := strings.CutPrefix(argument, option); ok {
			return rest, true
		}
	}
	return "", false
}

// splitWords splits a line as env -S does, with quotes. Escapes and variables are refused.
func splitWords(line string) (words []string, err error) {
	if strings.ContainsAny(line, `\$#`) {
		return nil, errors.New(`the escapes \, $ and # of env -S are not supported`)
	}
	var word strings.Builder
	inWord, quote := false, byte(0)
	for _, c := range []byte(line) {
		switch {
		// A closing quote does not end the word: 'a'b is one.
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			inWord, quote = true, c
		case c != ' ':
			inWord = true
			word.WriteByte(c)
		case inWord:
			words = append(words, word.String())
			word.Reset()
			inWord = false
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
