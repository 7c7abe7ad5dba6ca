package commands

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type doctorCmd struct {
	apparmor bool
	format   string
}

// doctor returns the command.
func doctor(line *cli.CommandLine) *cobra.Command {
	d := &doctorCmd{}
	cmd := line.Command("doctor [options]", 0, false, func([]string) error { return d.Run(line.Console) })
	cmd.Long = `Builds a jail and runs a program in it, which tests the jail from inside. On macOS it
first repeats the self-test of the system's sandbox, without which no server starts.
It also looks at mcp-jail's own folders, at the policies, and at your servers' programs.

Exit status 0: all is well (notes do not count); 1: something else FAILs; 3: no jail
can be built.

If AppArmor forbids user namespaces (Ubuntu 23.10 and newer), allow them for mcp-jail
alone:

    mcp-jail doctor --apparmor | sudo tee /etc/apparmor.d/mcp-jail
    sudo apparmor_parser -r /etc/apparmor.d/mcp-jail`
	cmd.Flags().BoolVar(&d.apparmor, "apparmor", false, "Only print a profile for AppArmor")
	cli.AddFlags(cmd, cli.FormatFlag(&d.format))
	return cmd
}

// Run prints a line for each thing that it looks at, and then what to do.
func (d *doctorCmd) Run(c terminal.Console) error {
	if d.apparmor && runtime.GOOS != "linux" {
		return terminal.UsageErrorf("--apparmor is for Linux: this system has no AppArmor, and needs no profile")
	}
	switch {
	case d.format == "json" && d.apparmor:
		return terminal.UsageErrorf("--format json has the checks alone, without --apparmor")
	case d.apparmor:
		return printApparmorProfile(c)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	proved := confine.Prove(ctx, true, func(line string) { c.Sayf("%s", line) })
	tried := tryJail()
	all := append(jailChecks(tried), networkCheck(tryEgress()))
	x, err := index.Read()
	if err != nil {
		return err
	}
	all = append(all, folderChecks(x.Host)...)
	all = append(all, policyChecks(x)...)
	all = append(all, programChecks(x)...)
	all = append(all, pathChecks(x.Host)...)
	selfTest := selfTestText(c, proved)
	if d.format == "json" {
		printCheckReport(c, all, selfTest)
	} else {
		printChecks(c, all)
		if selfTest != "" {
			c.PrintText("\n" + selfTest)
		}
	}
	switch {
	case tried.err != nil, proved.Failed != nil:
		return terminal.ReportedStatus(terminal.Host)
	case slices.ContainsFunc(all, func(k check) bool { return k.mark == fails }):
		return terminal.ReportedStatus(terminal.Failure)
	}
	if d.format != "json" {
		c.Printf("\nYour servers can run in a jail on this machine.\n")
	}
	return nil
}

// A check is one thing that doctor looked at, and what to do about it.
type check struct {
	mark, subject, text string
	advice              []advice
}

type advice struct{ say, command string }

// The marks of checks. A note is no fault.
const (
	well  = "ok"
	fails = "FAIL"
	note  = "note"
)

func printChecks(c terminal.Console, all []check) {
	colours := map[string]string{well: terminal.Green, fails: terminal.Red, note: terminal.Yellow}
	for _, k := range all {
		first := fmt.Sprintf("%-4s  %-7s  ", k.mark, k.subject)
		text := terminal.ShortHome(elsewhere.Replace(k.text), os.Getenv("HOME"))
		for line := range strings.SplitSeq(text, "\n") {
			folded := terminal.Hang(first, strings.Repeat(" ", 15), strings.TrimSpace(line), c.TextColumns())
			if rest, cut := strings.CutPrefix(folded, k.mark); cut {
				folded = c.Paint(colours[k.mark], k.mark) + rest
			}
			c.Printf("%s\n", folded)
			first = strings.Repeat(" ", 15)
		}
	}
	gap := "\n"
	for _, k := range all {
		for _, a := range k.advice {
			c.Printf("%s%s\n", gap, terminal.Hang("", "", elsewhere.Replace(a.say), c.TextColumns()))
			if gap = ""; a.command != "" {
				c.Printf("  %s\n", a.command)
			}
		}
	}
}

// printCheckReport is printChecks in JSON.
func printCheckReport(c terminal.Console, all []check, selfTest string) {
	type advised struct {
		Text    string `json:"text"`
		Command string `json:"command,omitempty"`
	}
	type checked struct {
		Result  string    `json:"result"` // ok, note or FAIL
		Subject string    `json:"subject"`
		Text    string    `json:"text"`
		Advice  []advised `json:"advice"`
	}
	report := struct {
		Checks   []checked `json:"checks"`
		SelfTest string    `json:"self_test,omitempty"`
	}{SelfTest: selfTest}
	for _, k := range all {
		of := checked{k.mark, k.subject, elsewhere.Replace(k.text), []advised{}}
		for _, a := range k.advice {
			of.Advice = append(of.Advice, advised{elsewhere.Replace(a.say), a.command})
		}
		report.Checks = append(report.Checks, of)
	}
	cli.PrintJSON(c, report)
}

// elsewhere takes out of advice of package confine what sends its reader to doctor, which prints it itself here.
var elsewhere = strings.NewReplacer(
	"the output of `mcp-jail doctor`", toReport, "the output of mcp-jail doctor", toReport,
	"run mcp-jail doctor, which makes the self-test", "run this again, and report it with "+toReport+" if it stays so",
	" (mcp-jail doctor says how)", "",
)

const toReport = "all that is printed here"

// selfTestText says what the self-test of a Mac found out. It is "" where there is no self-test.
func selfTestText(c terminal.Console, t confine.SelfTest) string {
	switch {
	case !t.Made && t.Why == "":
		return ""
	case !t.Made:
		return c.Paint(terminal.Red, "the self-test has no result, and no server starts:") + "\n" + elsewhere.Replace(show.Line(t.Why)) + "\n"
	}
	var b strings.Builder
	if t.Failed == nil {
		b.WriteString(c.Paint(terminal.Green, "the self-test has passed") + "\n")
	} else {
		fmt.Fprintf(&b, "%s\n", c.Paint(terminal.Red, fmt.Sprintf("%d parts of the self-test have failed:", len(t.Failed))))
	}
	for _, f := range t.Failed {
		fmt.Fprintf(&b, "\n%s: this does not hold: %s\n  %s\n", f.ID, f.What, show.Line(f.Got))
		if f.Fatal {
			b.WriteString("  No server starts, and you cannot accept that.\n")
		} else {
			fmt.Fprintf(&b, "  Servers that need it do not start. To start one without it: %s\n", confine.WaiveFlags([]policy.Axis{f.Axis}))
		}
	}
	return b.String()
}

// leastFree is the free space, in bytes, below which a package may not fit.
const leastFree = 500e6

// folderChecks finds those of mcp-jail's own folders that it cannot use: they belong to another user, as after a command
// with sudo, or cannot be written, or the disk is full.
func folderChecks(host hostfs.Host) (all []check) {
	free := int64(-1)
	for _, dir := range []string{host.ConfigDir, host.StateDir, host.DataDir, host.CacheDir} {
		other := otherOwner(dir, host)
		at, err := canWrite(dir)
		switch left := freeBytes(at); {
		case other != "":
			all = append(all, check{fails, "folders", other + " belongs to another user, so mcp-jail does not use it", []advice{{"To make it yours:", "sudo chown -R \"$USER\" " + show.Spelled([]string{dir})}}})
		case err != nil:
			all = append(all, check{mark: fails, subject: "folders", text: "mcp-jail cannot write to " + dir + ": " + err.Error()})
		case left >= 0 && (free < 0 || left < free):
			free = left
		}
	}
	if all != nil {
		return all
	}
	k := check{mark: well, subject: "folders", text: "mcp-jail can write to its own folders"}
	if free >= 0 {
		k.text += " (" + cli.SizeText(free) + " free)"
	}
	if free >= 0 && free < leastFree {
		k.mark = note
	}
	return []check{k}
}

// canWrite reports whether a directory can be written, or made. It returns the directory that exists.
func canWrite(dir string) (at string, err error) {
	for at = dir; ; at = filepath.Dir(at) {
		if err = mayWrite(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return at, err
		}
	}
}

const maxNames = 2000 // that are looked at in a directory

// otherOwner returns a file of another user in one of mcp-jail's own directories, or in a directory
// there. It returns "" if there is none.
func otherOwner(dir string, host hostfs.Host) string {
	if host.UID < 0 {
		return ""
	}
	d, err := private.Open(dir, ".")
	if err != nil {
		return ""
	}
	defer d.Close()
	seen := 0
	var look func(name string, depth int) string
	look = func(name string, depth int) string {
		entries, err := fs.ReadDir(d.Root().FS(), name)
		if err != nil {
			return ""
		}
		for _, e := range entries {
			if seen++; seen > maxNames {
				return ""
			}
			below := filepath.Join(name, e.Name())
			if info, err := host.Lstat(filepath.Join(dir, below)); err == nil && info.UID != host.UID {
				return filepath.Join(dir, below)
			}
			if e.IsDir() && depth > 1 {
				if other := look(below, depth-1); other != "" {
					return other
				}
			}
		}
		return ""
	}
	return look(".", 2)
}

// policyChecks names the mistakes in the policies and in the configuration.
func policyChecks(x *index.Index) (all []check) {
	for _, f := range x.Files {
		if f.Err != nil {
			all = append(all, check{mark: fails, subject: "clients", text: f.Err.Error()})
		}
	}
	for _, err := range x.Broken {
		all = append(all, check{mark: fails, subject: "policy", text: err.Error()})
	}
	for _, p := range x.ConfigurationProblems() {
		k := check{mark: fails, subject: "policy", text: p.What}
		if p.Fix != "" { // a project's file that is not accepted is no mistake
			k.mark, k.text, k.advice = note, p.What+", so "+p.Effect, []advice{{"To read it and decide:", p.Command}}
		}
		all = append(all, k)
	}
	return all
}

// programChecks says of which servers the program is missing.
func programChecks(x *index.Index) (all []check) {
	servers := 0
	for _, s := range x.Servers {
		words := s.Words
		if len(words) == 0 || len(s.Entries) == 0 || slices.ContainsFunc(s.Entries, func(e *index.Entry) bool { return e.File.References(words[0]) }) {
			continue
		}
		servers++
		if _, err := exec.LookPath(words[0]); err == nil || errors.Is(err, exec.ErrDot) || strings.ContainsRune(words[0], filepath.Separator) && !filepath.IsAbs(words[0]) {
			continue // a relative path is one of the directory that the client chooses
		}
		k := check{mark: fails, subject: "servers", text: fmt.Sprintf("%s cannot start: there is no program %s", show.Name(s.Name), show.Quote(words[0]))}
		if !filepath.IsAbs(words[0]) {
			k.text += " in your PATH"
		}
		all = append(all, k)
	}
	if all == nil && servers > 0 {
		all = []check{{mark: well, subject: "servers", text: "the programs that start your " + cli.Plural(servers, "server") + " are installed. Scripts and packages were not looked at"}}
	}
	if all == nil {
		all = []check{{mark: note, subject: "servers", text: "no client has a server that starts a program here"}}
	}
	return all
}

// profiles are the files from which shells take their PATH.
var profiles = []string{".profile", ".bash_profile", ".bash_login", ".bashrc", ".zshenv", ".zprofile", ".zshrc", ".config/fish/config.fish"}

// pathChecks says whether new terminals find mcp-jail: its folder is in PATH, and if it is one of the user's own, one of
// the files above puts it there.
func pathChecks(host hostfs.Host) []check {
	self, err := cmdline.Beside(cmdline.Main)
	if err != nil || index.InLauncherCache(self) {
		return nil
	}
	dir := filepath.Dir(self)
	found, err := exec.LookPath(cmdline.Main)
	k := check{mark: note, subject: "PATH", text: "new terminals will not find mcp-jail"}
	below, isOwn := strings.CutPrefix(dir, host.Home+string(filepath.Separator))
	switch {
	case err == nil && !sameFile(found, self):
		k.text = "terminals start another mcp-jail: " + found
	case !isOwn && err == nil, isOwn && slices.ContainsFunc(profiles, func(name string) bool { return mentions(filepath.Join(host.Home, name), below) }):
		return nil
	}
	file := "~/.profile"
	// A new window on a desktop reads no other file.
	if shell := filepath.Base(os.Getenv("SHELL")); shell == "bash" || shell == "zsh" {
		file = "~/." + shell + "rc"
	}
	if isOwn {
		dir = "$HOME/" + below
	}
	if !strings.ContainsAny(dir, "'\"") {
		k.advice = []advice{{"To let new terminals find mcp-jail:", `echo 'export PATH="` + dir + `:$PATH"' >> ` + file}}
	}
	return []check{k}
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, failed := os.Stat(b)
	return err == nil && failed == nil && os.SameFile(one, other)
}

// mentions reports whether a file of a shell has a folder below HOME.
func mentions(file, below string) bool {
	text, err := os.ReadFile(file)
	return err == nil && (strings.Contains(string(text), below) || below == "go/bin" && strings.Contains(string(text), "GOPATH"))
}
