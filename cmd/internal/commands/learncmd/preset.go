package learncmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/presets"
	"github.com/mcp-jail/mcp-jail/presets/learned"
)

const presetExt = ".toml"

// checkPreset finds what could not be written, before anything is started.
func (k *learnCmd) checkPreset(c terminal.Console) error {
	if k.preset == "" {
		return nil
	}
	name, isTOML := strings.CutSuffix(filepath.Base(k.preset), presetExt)
	info, err := os.Stat(k.preset)
	parent, parentErr := os.Stat(filepath.Dir(k.preset))
	given := show.Line(k.preset)
	switch {
	case k.applies || k.wraps || k.unwraps:
		return exit.UsageErrorf("--preset writes a file for others, and --apply, --wrap and --unwrap change yours: use one")
	case !isTOML:
		return exit.UsageErrorf("--preset %s: the name of the file is that of the preset, with .toml, such as weather.toml", given)
	case learned.CheckName(name) != "":
		return exit.UsageErrorf("--preset %s: %s", given, learned.CheckName(name))
	case parentErr != nil || !parent.IsDir():
		return exit.UsageErrorf("--preset %s: there is no directory %s", given, show.Line(filepath.Dir(k.preset)))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return exit.UsageErrorf("--preset %s: %s", given, show.Line(err.Error()))
	case err == nil && !info.Mode().IsRegular():
		return exit.UsageErrorf("--preset %s: it is no file", given)
	case err == nil && !k.yes && !c.Asks():
		return exit.UsageErrorf("--preset %s: the file exists, and there is no terminal to ask on whether to replace it. In a script, use --yes", given)
	}
	if k.preset, err = filepath.Abs(k.preset); err != nil || !k.command.Given {
		return err
	}
	_, err = packageOf(k.command.Argv)
	return err
}

// packageOf returns what a preset for a command line is for. A script that an interpreter runs is nothing that
// others have by that name.
func packageOf(argv []string) (presets.Package, error) {
	line, err := runline.Parse(argv)
	if err == nil && (line.Packages[0].Kind == runline.Registry) {
		return presets.Package{Ecosystem: presets.Ecosystem(line.Ecosystem()), Name: line.Packages[0].Name}, nil
	}
	program := filepath.Base(argv[0])
	own := presets.Start{Argv: argv}.Brings()
	if err == nil || policy.InterpreterFamily(program) != "" || policy.IsShell(program) || len(own) > 0 {
		return presets.Package{}, exit.UsageErrorf("--preset: a preset is for a package or for a program, and this line runs something that others do not have by its name (%s). Without --preset, learn prints the table", show.Line(strings.Join(argv[:min(3, len(argv))], " ")))
	}
	return presets.Package{Ecosystem: presets.Command, Name: strings.TrimSuffix(program, ".exe")}, nil
}

// place puts what was learned where the user wants it. reported is the error of the report.
func place(l *lesson, reported error) error {
	switch {
	case l.preset != "":
		return cmp.Or(writePreset(l), reported)
	case l.applies:
		return l.apply()
	}
	return reported
}

// writePreset writes what was learned as a preset.
func writePreset(l *lesson) error {
	argv := session.Given(l.server)
	of, err := packageOf(argv)
	if err != nil {
		return err
	}
	if e := l.server.Package.Entry(); e != nil {
		of.Versions = []string{e.Version}
	}
	words, _ := session.ServerWords(argv)
	in := learned.Input{
		Name: strings.TrimSuffix(filepath.Base(l.preset), presetExt), Title: strings.TrimSpace(l.about), Package: of,
		Result: l.result, Words: words, Values: map[string]string{},
		Workspace: l.server.Profile.Workspace, Home: canonical(l.host.Home), Private: privateWords(l.host.Home),
		IsFile: func(p string) bool { return l.kind(canonical(p)) == policy.KindFile },
		Doubt:  l.doubt(), Day: time.Now().UTC().Format(time.DateOnly),
	}
	for _, v := range l.server.Profile.Env {
		if slices.Contains(l.granted(), v.Name) {
			in.Values[v.Name] = v.Value
		}
	}
	for _, s := range l.skipped {
		in.NotCalled = append(in.NotCalled, s.Tool)
	}
	if first := l.expected.First; first != nil {
		in.Requests = len(first.Answers) - len(l.unsteady())
		for _, a := range first.Answers {
			if l.requests == nil && a.Request.Tool != "" { // a probe calls no others
				in.ReadOnly = append(in.ReadOnly, a.Request.Tool)
			}
		}
	}
	made, err := learned.Make(in)
	if err != nil {
		return fmt.Errorf("the policy cannot be written as a preset: %w", err)
	}
	if err := keepPreset(l, made.Text); err != nil {
		return err
	}
	for _, text := range made.LeftOut {
		l.c.Notef("%s not in the preset, because it names a place of yours: %s", l.c.Paint(terminal.Yellow, "note:"), show.Line(text))
	}
	short := show.Line(cli.ShortPath(l.preset, l.host.Home))
	l.c.Notef("%s %s. Read it before you give it to others: names of yours that mcp-jail does not know as such may be in it\nThey use it by  %s", l.c.Paint(terminal.Green, "written:"), short, show.Typed("mcp-jail preset --apply", filepath.Base(l.preset))+" SERVER")
	return nil
}

// privateWords are names of this user and this host.
func privateWords(home string) (words []string) {
	words = []string{filepath.Base(home)}
	if u, err := user.Current(); err == nil {
		words = append(words, u.Username)
		words = append(words, strings.Fields(u.Name)...)
	}
	if name, err := os.Hostname(); err == nil {
		words = append(words, name)
	}
	return words
}

// keepPreset writes the file in one step. A file that is there is replaced after a question only.
func keepPreset(l *lesson, text []byte) error {
	file := l.preset
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	_, err := os.Lstat(file)
	replaces := err == nil
	if replaces && !l.yes {
		if err := cli.Confirm(context.Background(), l.c, "Replace "+show.Line(cli.ShortPath(l.preset, l.host.Home))+"?"); err != nil {
			return err
		}
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".mcp-jail-preset-")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Chmod(0o644), temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if replaces {
		return os.Rename(temp.Name(), file)
	}
	// A link, unlike a rename, takes the place of no file that has come meanwhile.
	if err := os.Link(temp.Name(), file); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("nothing was written: %s exists by now", show.Line(l.preset))
	} else if err != nil {
		return os.Rename(temp.Name(), file)
	}
	return nil
}
