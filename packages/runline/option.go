package runline

import "strings"

// use is what an option does to the line.
type use uint8

const (
	unknown      use = iota
	silent           // what is printed, asked or kept: neither the packages nor the program
	fetch            // how packages are fetched: goes into Options
	refused          // known, and not expressible
	yes              // fetch without a question
	noInstall        // do not fetch
	offline          // do not use the network
	pkg              // one more package
	from             // the package that provides the program
	with             // packages beside it, separated by commas
	requirements     // files of requirements, separated by commas
	call             // a shell command
	python           // the interpreter
	nodeOptions      // NODE_OPTIONS
	isolated         // ignore installed tools
	onBun            // bun is the interpreter
)

// option is what a launcher knows of one option.
type option struct {
	name  string // the long name, without hyphens
	use   use
	value bool   // it has a value
	why   string // of one that is refused
}

func quiet(name string) option     { return option{name: name, use: silent} }
func quietWith(name string) option { return option{name: name, use: silent, value: true} }
func fetches(name string) option   { return option{name: name, use: fetch} }
func fetchesWith(name string) option {
	return option{name: name, use: fetch, value: true}
}
func refuses(name, why string) option { return option{name: name, use: refused, why: why} }

// apply puts an option with its value into the line. word is what the user wrote.
func (p *parser) apply(o option, word, value string) error {
	if o.value {
		switch {
		case value == "":
			return p.bad(word, "it has no value")
		case strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0:
			return p.bad(word, "its value contains a control character")
		}
	} else {
		value = "true"
	}
	l := &p.line
	switch o.use {
	case unknown:
		return p.bad(word, p.user+" has no such option in every version, or it is not known here")
	case refused:
		return p.bad(word, o.why)
	case silent, yes:
	case fetch:
		l.Options = append(l.Options, Option{o.name, value})
	case noInstall:
		l.NoInstall = true
	case offline:
		l.Offline = true
	case isolated:
		l.Isolated = true
	case onBun:
		l.BunAsNode = true
	case call:
		if l.Call != "" {
			return p.bad(word, "it is given twice")
		}
		l.Call = value
	case python:
		if l.Python != "" {
			return p.bad(word, "it is given twice")
		}
		l.Python = value
	case nodeOptions:
		if l.NodeOptions != "" {
			return p.bad(word, "it is given twice")
		}
		l.NodeOptions = value
	case requirements:
		l.Requirements = append(l.Requirements, strings.Split(value, ",")...)
	case pkg, from, with:
		return p.addPackages(o.use, word, value)
	}
	return nil
}

func (p *parser) addPackages(u use, word, value string) error {
	l := &p.line
	specs := []string{value}
	if u == with {
		specs = splitRequirements(value)
	}
	if u == from && l.named {
		return p.bad(word, "it is given twice")
	}
	for _, raw := range specs {
		spec, why := parseSpec(l.Launcher, raw)
		if why != "" {
			return p.bad(raw, why)
		}
		if u == from {
			// --with may come before --from.
			l.Packages = append([]Spec{spec}, l.Packages...)
		} else {
			l.Packages = append(l.Packages, spec)
		}
	}
	l.named = l.named || u != with
	return nil
}

func (p *parser) program(words []string) error {
	l := &p.line
	if len(words) == 0 {
		return p.bad("", NoPackage)
	}
	word := words[0]
	if word == "" {
		return p.bad("", "the package is an empty word")
	}
	l.Args = words[1:len(words):len(words)]
	if l.named {
		if !programWord(word) {
			return p.bad(word, "this is not the name of a program")
		}
		l.Program = word
		return nil
	}
	spec, why := parseSpec(l.Launcher, word)
	if why != "" {
		return p.bad(word, why)
	}
	l.typed = word
	l.Packages = append([]Spec{spec}, l.Packages...)
	return nil
}

// programWord reports whether a word can be the name of a package's program. A path names
// another file, and a character that a shell knows has an effect in npm 7 to 9.
func programWord(word string) bool {
	for i := 0; i < len(word); i++ {
		if !nameByte(word[i]) {
			return false
		}
	}
	return word[0] != '-' && word[0] != '.'
}

func (p *parser) variable(a Assignment) error {
	o, ok := variableOption(p.line.Launcher, a.Name)
	if !ok || a.Value == "" && p.line.Ecosystem() == NPM {
		return nil
	}
	word := a.Name + "=" + a.Value
	switch {
	case o.use == silent || o.use == yes && (a.Value == "true" || a.Value == "1"):
		return nil
	case o.use == fetch && (o.value || a.Value == "true" || a.Value == "1"):
		if _, given := p.line.Option(o.name); given {
			return nil // the option of the line wins
		}
		return p.apply(o, word, a.Value)
	case o.use == python && p.line.Python == "":
		return p.apply(o, word, a.Value)
	case o.use == offline && (a.Value == "true" || a.Value == "1"):
		return p.apply(o, word, "")
	}
	return p.bad(word, "this variable changes what "+p.user+" does")
}

// variableOption returns the option that a variable stands for. It is an unknown one if the
// variable belongs to the launcher and nothing more is known.
func variableOption(l Launcher, name string) (option, bool) {
	lower := strings.ToLower(name)
	for _, prefix := range [...]string{"npm_config_", "pnpm_config_", "yarn_", "bun_", "uv_", "pip_", "pipx_"} {
		rest, ok := strings.CutPrefix(lower, prefix)
		if !ok {
			continue
		}
		rest = strings.ReplaceAll(rest, "_", "-")
		switch prefix {
		case "npm_config_":
			// Bun and pnpm read some of these variables, too.
			if o := npmOption(rest); (l == Npx || l == NpmExec) && o.name == rest { // --reg has no variable
				return o, true
			}
			return option{name: rest}, l.Ecosystem() == NPM
		case "pnpm_config_":
			return option{name: rest}, l == PnpmDlx
		case "yarn_":
			return option{name: rest}, l == YarnDlx
		case "bun_":
			return option{name: rest}, l == Bunx
		case "uv_":
			return uvOption("--" + rest), l == Uvx
		}
		return option{name: rest}, l == PipxRun
	}
	return option{}, false
}
