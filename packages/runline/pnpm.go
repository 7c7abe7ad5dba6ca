package runline

import "strings"

func (p *parser) pnpm() error {
	for i, word := range p.words {
		if word == "dlx" {
			p.words = append(append([]string{}, p.words[:i]...), p.words[i+1:]...)
			return p.pnpmDlx()
		}
		if !strings.HasPrefix(word, "-") {
			return ErrNotLauncher
		}
	}
	return ErrNotLauncher
}

// pnpmDlx parses the words after pnpx or pnpm dlx. pnpm reads options up to the package, if
// no option before it has a value as a word of its own. So only --package=SPEC is accepted.
func (p *parser) pnpmDlx() error {
	p.line.Launcher = PnpmDlx
	words := p.words
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		word := words[0]
		name, value, hasValue := strings.Cut(word, "=")
		o := pnpmOption(name)
		if o.use != unknown && o.use != refused && o.value != hasValue {
			return p.bad(word, "only the form --option=VALUE is read alike by every version of pnpm")
		}
		if err := p.apply(o, word, value); err != nil {
			return err
		}
		words = words[1:]
	}
	return p.program(words)
}

func pnpmOption(name string) option {
	switch name {
	case "--package":
		return option{name: "package", use: pkg, value: true}
	case "--silent", "-s":
		return quiet("silent")
	case "-y", "--yes": // the pnpx of pnpm 6 asks otherwise; later ones do not know it, and end
		return option{name: "yes", use: yes}
	case "--loglevel", "--reporter":
		return quietWith(strings.TrimLeft(name, "-"))
	case "--allow-build", "--registry":
		return fetchesWith(strings.TrimLeft(name, "-"))
	case "-c", "--shell-mode":
		return refuses(name, "a shell runs the command")
	case "-C", "--dir", "--filter", "-F", "-r", "--recursive", "-w", "--workspace-root":
		return refuses(name, "it changes where pnpm runs the program")
	case "--":
		return refuses(name, "versions of pnpm read it differently")
	}
	return option{name: name}
}
