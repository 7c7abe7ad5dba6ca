package callcmd

import (
	"os"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// asker returns a function for the values that only a client knows: from --input, from the user, or,
// for a file that an entry of the user's names, from there. It asks for each once.
func (k *Chooser) asker(c terminal.Console, f *wrapping.File) func(clients.Reference) (string, error) {
	answered := map[string]string{}
	return func(r clients.Reference) (string, error) {
		if value, ok, err := k.given(r.Name); ok || err != nil {
			return value, err
		}
		if value, ok := answered[r.Text]; ok {
			return value, nil
		}
		var value string
		var err error
		switch {
		case r.Kind == clients.FileText && !f.IsProject():
			file, readErr := ownfile.Read(r.Name)
			if readErr != nil {
				return "", readErr
			}
			value = strings.TrimRight(string(file.Data), "\n")
		case r.Kind == clients.Input && c.Asks(), r.Kind == clients.Secret && c.Asks():
			value, err = ask(c, f, r)
		default:
			err = &wrapping.UnknownValueError{Reference: r}
		}
		if err == nil {
			answered[r.Text] = value
		}
		return value, err
	}
}

// given returns the value of --input NAME=VALUE, or of the environment for --input NAME.
func (k *Chooser) given(name string) (value string, ok bool, err error) {
	for _, in := range k.Inputs {
		given, value, has := strings.Cut(in, "=")
		switch {
		case given != name:
		case has:
			return value, true, nil
		default:
			variable := variableFor(name)
			if value, ok := os.LookupEnv(variable); ok {
				return value, true, nil
			}
			return "", false, exit.UsageErrorf("--input %s: the environment variable %s is not set", show.Name(name), variable)
		}
	}
	return "", false, nil
}

// variableFor returns the environment variable of an input: its name in capital letters, with "_" in
// place of what a variable cannot have.
func variableFor(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(name))
}

// ask asks the user for a value.
func ask(c terminal.Console, f *wrapping.File, r clients.Reference) (string, error) {
	in := wrapping.Input{Hidden: true}
	if r.Kind == clients.Input {
		in = wrapping.InputOf(f, r.Name)
	}
	question := show.Name(r.Name)
	if in.Description != "" {
		question = show.Line(in.Description) + " (" + question + ")"
	}
	if len(in.Options) > 0 {
		question += ", one of " + show.Line(strings.Join(in.Options, ", "))
	}
	if in.Default != "" {
		question += " [" + show.Line(in.Default) + "]"
	}
	value, err := cli.AskText(c, question+": ", in.Hidden)
	if err != nil {
		return "", err
	}
	if value == "" {
		value = in.Default
	}
	if len(in.Options) > 0 && !slices.Contains(in.Options, value) {
		return "", exit.UsageErrorf("%s is not one of %s", show.Quote(value), strings.Join(in.Options, ", "))
	}
	return value, nil
}

// howToGive says how a value can be given that was not asked for.
func (k *Chooser) howToGive(r clients.Reference) string {
	if r.Name == "" {
		return "start the server from its client"
	}
	return "there is no terminal to ask on. Give it with  " + show.Typed(programs.Main+" "+k.Verb+" --input", r.Name+"=VALUE") + " ...  or set " + variableFor(r.Name) + " and give  --input " + show.Name(r.Name)
}
