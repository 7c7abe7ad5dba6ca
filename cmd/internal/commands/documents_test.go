package commands

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
	"github.com/tailscale/hujson"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/markdown"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestDocumentedCommands tests that every command line of mcp-jail in every document is one
// that mcp-jail accepts: in blocks of code, and in the text where a piece of code begins with
// the name of a command.
func TestDocumentedCommands(t *testing.T) {
	found := 0
	for _, d := range documents(t) {
		for _, b := range d.Blocks {
			for _, line := range commandLines(b) {
				if found++; parseCommand(line) != nil {
					t.Errorf("%s:%d: %s: %v", d.Name, b.Line, line, parseCommand(line))
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d command lines were found", found)
	}
	for _, line := range []string{"mcp-jail rum x", "mcp-jail run --reed x -- y", "mcp-jail wrap --client", "mcp-jail run a b", "mcp-jail check -- x", "mcp-jail why a b", "mcp-jail 'x"} {
		if parseCommand(line) == nil {
			t.Errorf("%s passes", line)
		}
	}
}

// TestDocumentedConfigurations tests that every configuration in every document decodes: in
// TOML and JSON, for mcp-jail and for clients. A comment before a block of TOML completes it:
//
//	<!-- below: LINES -->        the block decodes below these lines
//	<!-- lines below: LINES -->  each of its lines does, by itself
//	<!-- refused: WORDS -->      the block is an example of a mistake, whose message has WORDS
func TestDocumentedConfigurations(t *testing.T) {
	found := map[string]int{}
	for _, d := range documents(t) {
		for _, b := range d.Blocks {
			if b.Kind != markdown.Code {
				continue
			}
			found[b.Language()]++
			if err := checkConfiguration(b); err != nil {
				t.Errorf("%s:%d: %v", d.Name, b.Line, err)
			}
		}
	}
	if found["toml"] < 20 || found["json"]+found["jsonc"] < 5 {
		t.Errorf("only %v were found", found)
	}
	for _, text := range testkit.Table[string](t, "documents.txt") {
		if checkConfiguration(markdown.Parse("x.md", text).Blocks[0]) == nil {
			t.Errorf("this passes:\n%s", text)
		}
	}
}

func documents(t *testing.T) []markdown.Document {
	t.Helper()
	docs, err := markdown.ReadAll(filepath.Join("..", "..", ".."))
	if err != nil || len(docs) < 10 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	return docs
}

// commandLines returns the command lines of mcp-jail in a block.
func commandLines(b markdown.Block) (lines []string) {
	if b.Kind != markdown.Code {
		for _, span := range b.Spans() {
			if strings.HasPrefix(span, "mcp-jail ") {
				lines = append(lines, span)
			}
		}
		return lines
	}
	prompt := ""
	switch {
	case b.Language() == "console":
		prompt = "$ " // other lines are output
	case b.Language() != "sh" && !b.Indented:
		return nil
	}
	text := strings.ReplaceAll(b.Text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), prompt)
		if !ok {
			continue
		}
		if at := commandStart.FindStringIndex(line); at != nil {
			lines = append(lines, "mcp-jail "+line[at[1]:])
		}
	}
	return lines
}

// commandStart matches what may be before the arguments of mcp-jail: variables, programs
// that start others, and the name itself.
var commandStart = regexp.MustCompile(`^(?:[A-Z_]+=\S* |sudo |source <\(|npx (?:-y )?|(?:claude|gemini|codex|qwen) mcp add .*?)?(?:\S*/)?mcp-jail(?: -- | )`)

// parseCommand returns an error if mcp-jail refuses a command line as a mistake. It runs
// nothing.
func parseCommand(line string) error {
	words, err := shellWords(line)
	if err != nil {
		return err
	}
	args, server := cmdline.Split(words[1:])
	typed := &cli.CommandLine{Server: server}
	args = slices.DeleteFunc(args, cmdline.IsHelp)
	if len(args) == 0 || args[0] == "--version" || args[0] == "COMMAND" {
		return nil
	}
	if args[0] == "run" {
		_, err := cmdline.ParseRun(args)
		return err
	}
	root := commandTree(typed)
	cmd, args, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := cli.CheckWords(cmd.Flags(), args); err != nil {
		return err
	}
	return parseArguments(cmd, server, args)
}

// parseArguments compares the flags and the number of words with those of a command. The text
// of its use says how many words there may be.
func parseArguments(cmd *cobra.Command, server cmdline.Server, args []string) error {
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	given := len(cmd.Flags().Args())
	takes := 0
	_, names, _ := strings.Cut(cmd.Use, " ")
	for name := range strings.FieldsSeq(names) {
		switch {
		case strings.Contains(name, "..."):
			takes = cli.AnyNumber
		case strings.Trim(name, "[]") == strings.ToUpper(strings.Trim(name, "[]")):
			takes++
		}
	}
	if given > takes {
		return fmt.Errorf("%s takes fewer words", cmd.Name())
	}
	if behind := map[string]bool{"plan": true, "install": true}; server.Given && !behind[cmd.Name()] {
		return fmt.Errorf("%s takes no command after --", cmd.Name())
	}
	return nil
}

// shellWords divides a command line as a shell does, up to its end: a comment, a pipe, or
// another command.
func shellWords(line string) (words []string, err error) {
	word, open, quote := "", false, rune(0)
	end := func() {
		if open {
			words = append(words, word)
		}
		word, open = "", false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ':
			end()
		case r == '#' && !open, strings.ContainsRune("|&;<>)", r):
			end()
			return words, nil
		default:
			word += string(r)
			open = true
		}
	}
	end()
	if quote != 0 {
		return nil, fmt.Errorf("a quotation mark is not closed")
	}
	return words, nil
}

// checkConfiguration decodes a block of code.
func checkConfiguration(b markdown.Block) error {
	switch b.Language() {
	case "toml":
		return checkTOML(b)
	case "json":
		for line := range strings.Lines(b.Text) { // a document, or one on each line
			if json.Valid([]byte(b.Text)) || json.Valid([]byte(line)) {
				continue
			}
			return fmt.Errorf("this is not JSON: %s", b.Text)
		}
	case "jsonc":
		text := strings.TrimSpace(b.Text)
		if !strings.HasPrefix(text, "{") {
			text = "{" + text + "\n}" // a part of a file
		}
		value, err := hujson.Standardize([]byte(text))
		if err != nil {
			return err
		}
		var root any
		if err := json.Unmarshal(value, &root); err != nil {
			return err
		}
		return checkEntries(root)
	}
	return nil
}

// checkEntries tests the command lines of all servers in a client's configuration that start
// in mcp-jail.
func checkEntries(value any) error {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if err := checkEntries(item); err != nil {
				return err
			}
		}
	case map[string]any:
		var args []string
		list, _ := v["args"].([]any)
		for _, word := range list {
			args = append(args, fmt.Sprint(word))
		}
		if command, _ := v["command"].(string); filepath.Base(command) == "mcp-jail" && len(args) > 0 {
			before, _ := cmdline.Split(args)
			if _, err := cmdline.ParseRun(before); err != nil {
				return err
			}
		}
		for _, item := range v {
			if err := checkEntries(item); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkTOML(b markdown.Block) error {
	if lines, ok := strings.CutPrefix(b.Comment, "lines below:"); ok {
		for line := range strings.Lines(b.Text) {
			if err := decodes(strings.TrimSpace(lines) + "\n" + line); err != nil {
				return err
			}
		}
		return nil
	}
	if words, ok := strings.CutPrefix(b.Comment, "refused:"); ok {
		_, err := config.Decode([]byte(b.Text), "toml")
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(words)) {
			return fmt.Errorf("this is not refused with %q: %v", strings.TrimSpace(words), err)
		}
		return nil
	}
	lines, _ := strings.CutPrefix(b.Comment, "below:")
	if lines == b.Comment {
		lines = ""
	}
	return decodes(strings.TrimSpace(lines) + "\n" + b.Text)
}

// serverHead matches the name of a server in the head of one of its tables.
var serverHead = regexp.MustCompile(`(?m)^\[\[?servers\.("[^"]+"|[A-Za-z0-9_-]+)`)

// foreign matches the table of the servers in the configuration of a client.
var foreign = regexp.MustCompile(`(?m)^\[(?:mcp_servers|providers)\.`)

// decodes decodes a configuration. The version, and the commands of its servers, may be
// missing.
func decodes(text string) error {
	if foreign.MatchString(text) {
		return toml.Unmarshal([]byte(text), &map[string]any{})
	}
	if !regexp.MustCompile(`(?m)^version\s*=`).MatchString(text) {
		text = "version = 1\n" + text
	}
	if _, err := config.Decode([]byte(text), "toml"); err == nil {
		return nil
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return decodeLayered(dir, text)
}

// decodeLayered decodes a part of a configuration above a layer that has the commands of its
// servers.
func decodeLayered(dir, text string) error {
	below, above := filepath.Join(dir, "below.toml"), filepath.Join(dir, "above.toml")
	commands := "version = 1\n"
	seen := map[string]bool{}
	for _, m := range serverHead.FindAllStringSubmatch(text, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			commands += "[servers." + m[1] + "]\ncommand = \"x\"\n"
			if strings.Contains(text, "[servers."+m[1]+".tools") {
				commands += "stateful = false\n"
			}
		}
	}
	if err := os.WriteFile(below, []byte(commands), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(above, []byte(text), 0o600); err != nil {
		return err
	}
	_, err := config.Load(config.LoadOptions{Files: []string{below, above}})
	return err
}

// refusedExample matches a configuration and what check prints about it.
var refusedExample = regexp.MustCompile("(?s)(<!-- refused: [^\n]* -->\n```toml\n)(.*?)(```\n\n```text\n)(.*?)```\n")

// TestDocumentedRefusals tests that docs/policy.md shows a message of check as the
// program prints them. MCPJAIL_UPDATE=1 writes them there.
func TestDocumentedRefusals(t *testing.T) {
	file, err := filepath.Abs(filepath.Join("..", "..", "..", "docs", "policy.md"))
	testkit.Must(t, err)
	text, err := os.ReadFile(file)
	testkit.Must(t, err)
	shown := string(text)
	if n := len(refusedExample.FindAllString(shown, -1)); n != 1 {
		t.Fatalf("the page has %d examples, want 1", n)
	}
	t.Chdir(t.TempDir())
	said := refusedExample.ReplaceAllStringFunc(shown, func(example string) string {
		m := refusedExample.FindStringSubmatch(example)
		return m[1] + m[2] + m[3] + checkSays(t, m[2]) + "```\n"
	})
	switch {
	case said == shown:
	case os.Getenv("MCPJAIL_UPDATE") != "":
		testkit.Must(t, os.WriteFile(file, []byte(said), 0o644))
	default:
		t.Errorf("the page shows\n%s\nthe program says (MCPJAIL_UPDATE=1 writes it there)\n%s", shown, said)
	}
}

// checkSays returns what check prints to standard error about a configuration that cannot
// be used.
func checkSays(t *testing.T, config string) string {
	t.Helper()
	testkit.Must(t, os.WriteFile("mcp-jail.toml", []byte(config), 0o600))
	out, err := os.Create("said")
	testkit.Must(t, err)
	defer out.Close()
	if status := main([]string{"check", "mcp-jail.toml"}, terminal.New(out, out, out)); status != terminal.Failure {
		t.Errorf("exit status %d", status)
	}
	said, err := os.ReadFile("said")
	testkit.Must(t, err)
	return string(said)
}
