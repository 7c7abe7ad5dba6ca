package wrapcmd

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A screen is what wrap and unwrap show before they ask. All of it fits into a terminal of 80 by 24. What is not needed
// for the answer is among the differences and the notes.
type screen struct {
	c       terminal.Console
	home    string
	changes []*wrapping.Change
	reach   func(wrapping.ServerChange) string // what is said of a server that changes
	intro   []string                           // before the servers
	outro   []string                           // after them: paragraphs, and lines that begin with two spaces
	notes   func()
}

// rows is the height of a small terminal, and separators are the empty lines and that of the question.
const rows, separators = 24, 4

// print prints the servers between the other lines. If all that is too much for a small terminal, the servers come last,
// in a line each: what they may reach is what the user is asked about.
func (s *screen) print() {
	outro := s.paragraphs(s.outro)
	table := s.table(false)
	if len(s.intro)+len(table)+len(outro)+separators > rows {
		table = s.table(true)
		s.printLines(outro)
		s.printLines(s.intro)
		s.printLines(table)
		return
	}
	s.printLines(s.intro)
	s.printLines(table)
	s.printLines(outro)
}

func (s *screen) isEmpty() bool { return countChanged(s.changes) == 0 }

// printAll prints what the keys of the question show.
func (s *screen) printAll() {
	if s.notes != nil {
		s.notes()
	}
	s.printDiffs()
	s.c.Printf("Nothing was changed (--dry-run).\n")
}

func (s *screen) printLines(lines []string) {
	if len(lines) > 0 {
		s.c.Printf("%s\n\n", strings.Join(lines, "\n"))
	}
}

// paragraphs breaks texts into lines. A text that begins with a space is a command, and stays whole.
func (s *screen) paragraphs(texts []string) (lines []string) {
	for _, text := range texts {
		if strings.HasPrefix(text, " ") {
			lines = append(lines, text)
			continue
		}
		lines = append(lines, strings.Split(terminal.Hang("", "", text, s.c.TextColumns()), "\n")...)
	}
	return lines
}

// table returns the lines about the servers that change, below the files that they are in.
func (s *screen) table(short bool) (lines []string) {
	width := 0
	for _, ch := range s.changes {
		for _, server := range ch.Changed() {
			width = max(width, len([]rune(index.ServerTitle(server.Entry))))
		}
	}
	width = min(width, 24)
	indent := strings.Repeat(" ", width+4)
	for _, ch := range s.changes {
		if len(ch.Changed()) == 0 {
			continue
		}
		lines = append(lines, s.heading(ch.File))
		for _, server := range ch.Changed() {
			head, words := fmt.Sprintf("  %-*s  ", width, index.ServerTitle(server.Entry)), show.Line(s.reach(server))
			if short {
				lines = append(lines, head+fitting(words, s.c.TextColumns()-len(indent)))
			} else {
				lines = append(lines, strings.Split(terminal.Hang(head, indent, words, s.c.TextColumns()), "\n")...)
			}
			for _, text := range server.Careful {
				text = s.c.Paint(terminal.Yellow, "careful:") + " " + show.Line(terminal.ShortHome(text, s.home))
				lines = append(lines, strings.Split(terminal.Hang(indent, indent, text, s.c.TextColumns()), "\n")...)
			}
		}
	}
	return lines
}

// fitting returns as many of the items of a list as fit, and says that there are more.
func fitting(words string, room int) string {
	const more = ", … (v)"
	if len([]rune(words)) <= room {
		return words
	}
	all := strings.Split(words, ", ")
	for len(all) > 1 && len([]rune(strings.Join(all, ", ")+more)) > room {
		all = all[:len(all)-1]
	}
	return strings.Join(all, ", ") + more
}

// heading names a file, its clients, and what a reader of a shared file must know.
func (s *screen) heading(f *wrapping.File) string {
	title := f.Client.Title
	if n := len(f.Also); n > 0 {
		title += fmt.Sprintf(" and %d more", n)
	}
	title = s.c.Paint(terminal.Bold, title) + "  " + show.Name(cli.ShortPath(f.Path, s.home))
	switch p := f.Plugin(); {
	case p != nil:
		title += " (a file of " + show.Line(p.Title()) + ": an update undoes this)"
	case f.IsProject():
		title += " (others who use it need mcp-jail too)"
	case wrapping.OnWindows(f):
		title += " (a client on Windows, outside of this Linux)"
	}
	return title
}

// reach says what a server may reach that wrap puts into a jail, what wrap mends, or that it cannot start.
func reach(s wrapping.ServerChange, home string) string {
	line, wrapped := clients.ParseWrapped(s.Argv())
	switch {
	case s.Fails != nil:
		return "cannot start, with a jail or without: " + strings.Join(s.Fails, "; ")
	case line.ID != "" && s.Former == "" && s.Own != nil && s.Own.Server.ID != line.ID: // another entry has the id, with its words
		own := s
		own.Entry.Command, own.Entry.Args = line.Argv[0], line.Argv[1:]
		return "gets a policy of its own: " + reach(own, home)
	case s.Repair != "":
		return "starts this mcp-jail from now on: it " + terminal.ShortHome(string(s.Repair), home)
	case wrapped && s.Accepts != nil:
		return "gets the weaker jail"
	case wrapped && s.Careful == nil:
		return "it has a new command, and keeps its policy"
	case isCoarse(s):
		return "all of your files to read, every host: no jail on Windows holds more"
	}
	words := strings.Join(s.Gets, ", ")
	if words == "" {
		words = "its own data"
	}
	remarks := slices.Clone(s.Remarks)
	if s.Own != nil && s.Own.Server.Name != records.FileName(s.Server) { // another server has its name
		remarks = append(remarks, "its policy is named "+s.Own.Server.Name)
	}
	if s.For != "" {
		remarks = append(remarks, "in "+cli.ShortPath(s.For, home))
	}
	return strings.Join(append([]string{words}, remarks...), "; ")
}

// repairs says once why several servers are repaired, and returns what is said of each server that changes.
func repairs(servers []wrapping.ServerChange, home string) (intro []string, of func(wrapping.ServerChange) string) {
	n := map[clients.Reason]int{}
	for _, s := range servers {
		if s.Repair != "" {
			n[s.Repair]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(n)) {
		if n[why] > 1 {
			intro = append(intro, fmt.Sprintf("%s: each %s. From now on it starts this one.", cli.Plural(n[why], "server"), terminal.ShortHome(string(why), home)))
		}
	}
	return intro, func(s wrapping.ServerChange) string {
		if s.Repair != "" && n[s.Repair] > 1 {
			return "starts this mcp-jail from now on"
		}
		return reach(s, home)
	}
}

// isCoarse reports whether a server gets a jail of Windows, which restricts no files and no hosts.
func isCoarse(s wrapping.ServerChange) bool {
	return runtime.GOOS == "windows" || s.Own != nil && slices.Contains(s.Own.Server.Waive, policy.WaiveWindows)
}

// losses says what all servers lose that are put into a jail.
func losses(servers []wrapping.ServerChange) []string {
	if len(servers) == 0 || slices.ContainsFunc(servers, isCoarse) {
		return nil
	}
	it := "None of them can"
	if len(servers) == 1 {
		it = "It cannot"
	}
	about := ""
	for _, s := range servers {
		if slices.Contains(s.Gets, "the project folder") {
			about = "The project folder is where your client works. A server may read and change it. "
		}
	}
	return []string{about + it + " reach your other files, or a host or variable that is not listed. Keys and .env files stay hidden, also in a folder that you allow. If a tool needs more, its error message says so and names the command.", ""}
}

// versions says which packages are pinned now, and which cannot be.
func versions(servers []wrapping.ServerChange, missing []*missingPackage, noInstall bool) (texts []string) {
	var pinned, unpinned []string
	for _, p := range missing {
		pinned = append(pinned, p.servers...)
	}
	for _, s := range servers {
		if s.Unpinned && !isCoarse(s) {
			unpinned = append(unpinned, index.ServerTitle(s.Entry))
		}
	}
	pinned, unpinned = unique(pinned), unique(unpinned)
	if len(pinned) > 0 {
		when := " will be downloaded"
		if noInstall {
			when += " at the first start"
		}
		texts = append(texts, listed(pinned)+when+", and keep this version until you run", "  mcp-jail install --update")
	}
	if len(unpinned) > 0 {
		texts = append(texts, listed(unpinned)+" will fail unless it may reach the registry: each start downloads the package.")
	}
	return texts
}

func unique(names []string) (once []string) {
	for _, name := range names {
		if !slices.Contains(once, name) {
			once = append(once, name)
		}
	}
	return once
}

// memoryFiles returns the file in which a server-memory keeps its memories without a jail, and the one in its own HOME. They are ""
// if it has one elsewhere.
func memoryFiles(home, stateDir, id string, s wrapping.ServerChange) (outside, inside string) {
	const name = "@modelcontextprotocol/server-memory"
	if !slices.Contains(s.Args, name) || slices.Contains(s.EnvNames(), "MEMORY_FILE_PATH") {
		return "", ""
	}
	newest := time.Time{}
	for _, file := range hostfs.Glob(home)("~/.npm/_npx/*/node_modules/" + name + "/dist/memory.jsonl") {
		file = home + strings.TrimPrefix(file, "~")
		if info, err := os.Stat(file); err == nil && info.ModTime().After(newest) {
			outside, newest = file, info.ModTime()
		}
	}
	return outside, filepath.Join(stateDir, "servers", id, "home/memory.jsonl")
}

// noMemories says how a server that would not find its memories in the jail does.
func noMemories(s wrapping.ServerChange, host hostfs.Host) []string {
	outside, inside := memoryFiles(host.Home, host.StateDir, s.Own.Server.ID, s)
	if _, err := os.Stat(inside); outside == "" || err == nil {
		return nil
	}
	return []string{s.Own.Server.Name + " starts without the memories that it has now. To give it these, type this after the wrap:",
		"  (umask 077; mkdir -p " + show.Spelled([]string{filepath.Dir(inside)}) + " && cp " + show.Spelled([]string{outside, inside}) + ")"}
}

// listed returns names as a sentence has them: "a, b and c".
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// maxOpen is how many servers that stay without a jail have a line with the reason.
const maxOpen = 3

// stayOpen names the servers that start without a jail, and stay so.
func stayOpen(changes []*wrapping.Change) (texts []string) {
	var names []string
	for _, ch := range changes {
		for _, s := range ch.Servers {
			if s.Open {
				names = append(names, index.ServerTitle(s.Entry))
				texts = append(texts, index.ServerTitle(s.Entry)+" stays without a jail: it "+show.Line(s.Left)+".")
			}
		}
	}
	if len(texts) > maxOpen {
		return []string{listed(unique(names)) + " stay without a jail. There is more to know about them."}
	}
	return texts
}

// withNotes names the servers that will not work as they are.
func withNotes(servers []wrapping.ServerChange) []string {
	var names []string
	for _, s := range servers {
		if len(s.Notes) > 0 {
			names = append(names, index.ServerTitle(s.Entry))
		}
	}
	if names == nil {
		return nil
	}
	return []string{"There is more to know about " + listed(unique(names)) + "."}
}

// ask shows the differences and the notes as long as the user wants to see them. It returns nil if the answer is yes.
func (s *screen) ask(question string) error {
	keys := " y: yes  N: no  d: changes"
	if s.notes != nil {
		keys += "  v: more on each server"
	}
	for {
		answer, err := cli.AskKey(s.c, question, keys)
		switch {
		case err != nil:
			return err
		case answer == "y" || answer == "yes":
			return nil
		case answer == "d":
			s.c.Printf("\n")
			s.printDiffs()
		case answer == "v" && s.notes != nil:
			s.c.Printf("\n")
			s.notes()
		case answer == "" || strings.HasPrefix("no", answer):
			return &terminal.DeclinedError{}
		}
	}
}

func (s *screen) printDiffs() {
	for _, ch := range s.changes {
		if len(ch.Changed()) > 0 && ch.Rewrites() {
			s.c.Printf("%s\n", index.DiffText(s.c, ch))
		}
	}
}

// printWritten says what was done, and what the user does next.
func (s *screen) printWritten(verb, stateDir string, written []*wrapping.Change) {
	var reload [][2]string // clients, and how they read their files again
	width := 0
	for _, ch := range written {
		for _, c := range append([]clients.Client{ch.File.Client}, ch.File.Also...) {
			first, _, _ := strings.Cut(c.Reload, ". ")
			row := [2]string{c.Title, strings.TrimSuffix(first, ".")}
			if ch.Rewrites() && first != "" && !slices.Contains(reload, row) {
				reload, width = append(reload, row), max(width, len(c.Title))
			}
		}
	}
	n, all := countChanged(written), countChanged(s.changes)
	if n < all {
		verb += fmt.Sprintf(" %d of", n)
	}
	s.c.Printf("%s %s.", verb, cli.Plural(all, "server"))
	if reload == nil {
		s.c.Printf("\n")
		return
	}
	s.c.Printf(" Now restart your clients:\n")
	for _, row := range reload {
		head := fmt.Sprintf("  %-*s  ", width, row[0])
		s.c.Printf("%s\n", terminal.Hang(head, strings.Repeat(" ", len(head)), row[1], s.c.TextColumns()))
	}
	s.c.Printf("To see how they do:\n  mcp-jail status\n")
	s.c.PrintText("The old files are in " + cli.ShortPath(filepath.Join(stateDir, "backups"), s.home) + ".\n")
}

// printNotes prints what the answer does not need: of each server its line, all that it may reach, its policy file, and
// what the user can do about it.
func (w *wrapCmd) printNotes(c terminal.Console, host hostfs.Host, changes []*wrapping.Change, more []string) {
	note := func(indent, text string) {
		text = show.Line(terminal.ShortHome(text, host.Home))
		c.Printf("%s\n", terminal.Hang(indent, strings.Repeat(" ", len(indent)+2), text, c.TextColumns()))
	}
	heading := "More on each server:"
	for _, ch := range changes {
		shown := slices.DeleteFunc(slices.Clone(ch.Servers), hasNoNote)
		if len(shown) == 0 {
			continue
		}
		if heading != "" {
			c.Printf("%s\n", c.Paint(terminal.Bold, heading))
			heading = ""
		}
		title := ch.File.Client.Title
		for _, also := range ch.File.Also {
			title += ", " + also.Title
		}
		note("", c.Paint(terminal.Bold, title)+"  "+show.Name(cli.ShortPath(ch.File.Path, host.Home)))
		if real := ch.File.Real(); real != "" && real != ch.File.Path {
			note("  ", "it is a link to "+real)
		}
		isOwn := func(s wrapping.ServerChange) bool { return s.Own != nil }
		if slices.ContainsFunc(ch.Changed(), isOwn) && ch.File.InGit() {
			note("  ", "it is in a git work tree: a copy of it has the ids of your servers")
		}
		for _, s := range shown {
			note("  ", c.Paint(terminal.Bold, index.ServerTitle(s.Entry))+": "+lineOf(s))
			for _, text := range serverNotes(s, host.Home) {
				note("    - ", text)
			}
		}
	}
	for _, f := range wrapping.Unread(index.ClientsHost(host), w.Selection) {
		if f.Starts {
			more = append(more, f.Path+" of "+f.Client.Title+" is not read: "+f.Why)
		}
	}
	for _, text := range more {
		note("", text)
	}
	c.Printf("\n")
}

// lineOf returns the command line of a server, without mcp-jail.
func lineOf(s wrapping.ServerChange) string {
	line := s.Argv()
	if w, is := clients.ParseWrapped(line); is && w.Argv != nil {
		line = w.Argv
	}
	return terminal.ShownLine(line)
}

// hasNoNote reports whether there is nothing to tell of a server: it starts in the jail, and does so after the answer.
func hasNoNote(s wrapping.ServerChange) bool {
	return s.Left == string(clients.Jailed) && len(s.Notes) == 0 && s.Newer == nil
}

func serverNotes(s wrapping.ServerChange, home string) (texts []string) {
	switch {
	case s.Left != "":
		texts = append(texts, "it stays as it is: it "+s.Left)
	case s.Fails != nil:
		texts = append(texts, "it "+reach(s, home))
	case s.Repair != "":
		texts = append(texts, "from now on it starts this mcp-jail")
	default:
		texts = append(texts, "may reach: "+reach(s, home))
	}
	if s.Own != nil && s.Left == "" {
		file := "policy file: " + cli.ShortPath(s.Own.Path, home)
		if s.Preset != "" {
			file += ", from the preset " + s.Preset
		}
		texts = append(texts, file)
	}
	texts = append(texts, s.Notes...)
	if s.Newer != nil {
		texts = append(texts, "its preset gives more now: "+strings.Join(s.Newer, ", ")+". To take that:  "+show.Typed("mcp-jail grant", s.Own.Server.Name, "--preset", s.Own.Server.Preset))
	}
	return texts
}
