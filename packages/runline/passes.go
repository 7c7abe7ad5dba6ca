package runline

import "strings"

// maxPassed is how many wrappers elsewhere looks behind.
const maxPassed = 8

// A Passed is a program that starts the program of another command line.
type Passed struct {
	Program string // with its command: "op run"
	Secrets bool   // it gives it secrets or variables that it has from elsewhere
}

// Behind returns the command line that wrappers start in the end, and the wrappers. It returns argv
// itself if there are none, or if a shell starts the command.
func Behind(argv []string) (inner []string, passed []Passed) {
	for range maxPassed {
		if len(argv) == 0 || argv[0] == "" || relative(argv[0]) {
			break
		}
		name := programName(argv[0])
		rest, ok := passes(name, argv[1:])
		if !ok || len(rest) == 0 {
			break
		}
		w := passerOf(name, argv[1:])
		passed = append(passed, Passed{strings.TrimSpace(name + " " + w.command), w.secrets})
		argv = rest
	}
	return argv, passed
}

// Commands returns the command lines of which one becomes the server: argv, or what a shell runs that
// argv starts.
func Commands(argv []string) [][]string { return commandsOf(argv, 0) }

func commandsOf(argv []string, depth int) (commands [][]string) {
	inner, _ := Behind(argv)
	if len(inner) == 0 || inner[0] == "" || depth > maxPassed {
		return [][]string{argv}
	}
	text, ok := shellText(programName(inner[0]), inner[1:])
	if !ok {
		return [][]string{argv}
	}
	for _, c := range serverCommands(text) {
		commands = append(commands, commandsOf(c, depth+1)...)
	}
	return commands
}

// passer says how a program that starts another one is written.
type passer struct {
	command string // its word before the options and the command; "" if there is none
	valued  string // options whose value is the next word, each between blanks
	words   int    // words of its own before the command
	secrets bool
	known   bool
}

// passerOf returns how a wrapper is written with these words.
func passerOf(name string, words []string) passer {
	plain := func(valued string, own int) passer { return passer{valued: valued, words: own, known: true} }
	keeper := func(valued string, own int, commands ...string) passer {
		for _, c := range commands {
			if c == "" || firstWord(words, valued) == c {
				return passer{command: c, valued: valued, words: own, secrets: true, known: true}
			}
		}
		return passer{}
	}
	switch name {
	case "nohup", "setsid", "unbuffer", "winpty", "chronic", "command", "exec", "time", "gtime", "dbus-run-session", "catchsegv", "stdbuf", "gstdbuf", "proxychains", "proxychains4":
		return plain(" -i -o -e -f -a ", 0)
	case "tini", "dumb-init", "catatonit", "torsocks", "torify", "prlimit":
		return plain(" -p -e -r ", 0)
	case "flock", "setarch":
		return plain(" -w --wait --timeout -E --conflict-exit-code ", 1)
	case "timeout", "gtimeout":
		return plain(" -k --kill-after -s --signal ", 1)
	case "nice", "ionice":
		return plain(" -n --adjustment -c --class --classdata ", 0)
	case "chrt", "taskset":
		return plain(" -T -P -D ", 1)
	case "xargs":
		return plain(" -I -n -P -L -d -E -a -s --max-args --max-procs --delimiter --arg-file ", 0)
	case "strace", "ltrace":
		return plain(" -e -o -p -s -u -a -P ", 0)
	case "caffeinate":
		return plain(" -t -w ", 0)
	case "sshpass":
		return plain(" -p -f -d -P ", 0)
	case "xvfb-run":
		return plain(" -e -f -n -s -w -p --error-file --auth-file --server-num --server-args --wait --xauth-protocol ", 0)
	case "op":
		return keeper(" --env-file --account --config --cache --session ", 0, "run")
	case "doppler", "infisical", "bws", "secretspec", "teller", "vlt", "phase":
		return keeper(" -p --project -c --config -t --token --env --path --projectId --project-id --scope ", 0, "run")
	case "aws-vault", "chamber", "asdf", "granted":
		return keeper(" -d --duration --region --backend --mfa-token -t ", map[bool]int{true: 0, false: 1}[name == "asdf"], "exec")
	case "sops":
		return keeper(" --user --same-process --input-type --output-type ", 1, "exec-env")
	case "envchain":
		return keeper("", 1, "")
	case "gopass":
		return keeper("", 1, "env")
	case "direnv":
		return keeper("", 1, "exec")
	case "mise", "rtx":
		return keeper(" -C --cd -E --env -j --jobs ", 0, "exec", "x")
	case "dotenv", "dotenvx":
		if w := keeper(" -f --env-file -e --file -c -v -fk -p -q ", 0, "run"); w.known {
			return w
		}
		return keeper(" -f --env-file -e --file -c -v -p ", 0, "")
	case "env-cmd", "cross-env", "with-env":
		return keeper(" -f --file -e --environments -r --rc-file ", 0, "")
	}
	return passer{}
}

// firstWord returns the first word that is no option and no value of one, or "".
func firstWord(words []string, valued string) string {
	for i := 0; i < len(words) && words[i] != "--"; i++ {
		switch {
		case !strings.HasPrefix(words[i], "-"):
			return words[i]
		case strings.Contains(valued, " "+words[i]+" "):
			i++
		}
	}
	return ""
}

// passes returns the words that a wrapper starts. ok is false if the program is none.
func passes(name string, words []string) (inner []string, ok bool) {
	if name == "env" {
		return behindEnv(words), true
	}
	w := passerOf(name, words)
	if !w.known {
		return nil, false
	}
	own := w.words
	if w.command != "" {
		own++
	}
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "--":
			return words[min(i+1+own, len(words)):], true
		case strings.HasPrefix(word, "-") && word != "-":
			if strings.Contains(w.valued, " "+word+" ") {
				i++
			}
		case own > 0:
			own--
		case w.secrets && assignment(word), (name == "mise" || name == "rtx") && strings.Contains(word, "@"): // mise exec node@20 -- …
		case name == "sops": // the command line is one word
			return strings.Fields(word), true
		default:
			return words[i:], true
		}
	}
	return nil, true
}

func assignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && variableName(name)
}

// behindEnv returns the words that env starts.
func behindEnv(words []string) []string {
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "-u", word == "--unset", word == "-C", word == "--chdir":
			i++
		case word == "-S" || word == "--split-string" || word == "-vS":
			if i+1 == len(words) {
				return nil
			}
			return behindEnv(append(strings.Fields(words[i+1]), words[i+2:]...))
		case strings.HasPrefix(word, "-S"), strings.HasPrefix(word, "--split-string="):
			return behindEnv(append(strings.Fields(strings.TrimPrefix(strings.TrimPrefix(word, "-S"), "--split-string=")), words[i+1:]...))
		case strings.HasPrefix(word, "-"):
		case strings.Contains(word, "="):
		default:
			return words[i:]
		}
	}
	return nil
}
