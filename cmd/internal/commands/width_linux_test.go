package commands

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/docs"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

const widthClient = `{"mcpServers": {
 "notes": {"command": "/bin/true", "args": ["--with", "an argument that is long", "--and", "another argument that is long", "--and", "one more"]},
 "memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]},
 "a-server-of-a-long-name-in-two-clients": {"command": "docker", "args": ["run", "-i", "--rm", "mcp/fetch"]},
 "remote": {"command": "npx", "args": ["mcp-remote", "https://example.com/sse"]}
}}`

// TestTerminalWidth: what each command prints on a terminal fits it, at each width, but for what
// cannot be broken: words, and lines that users copy.
func TestTerminalWidth(t *testing.T) {
	home := widthHome(t)
	client := filepath.Join(home, ".cursor", "mcp.json")
	testkit.Must(t, os.MkdirAll(filepath.Dir(client), 0o700))
	testkit.Must(t, os.WriteFile(client, []byte(widthClient), 0o600))
	lines := testkit.Table[[]string](t, "width.txt")
	for _, t := range docs.Topics() {
		lines = append(lines, []string{"help", t.Name})
	}
	literal := map[string]bool{} // lines of help texts that users copy
	for _, cmd := range append(commandTree(&cli.CommandLine{}).Commands(), commandTree(&cli.CommandLine{})) {
		walk(cmd, func(cmd *cobra.Command) {
			lines = append(lines, []string{cmd.Name(), "--help"})
			for line := range strings.SplitSeq(cmd.Long, "\n") {
				literal[line] = strings.HasPrefix(line, "    ") && !strings.Contains(strings.TrimSpace(line), "   ")
			}
			for line := range strings.SplitSeq(cmd.Example, "\n") {
				literal[line] = true
			}
		})
	}
	for _, width := range []int{60, 80, 120} {
		for _, args := range lines {
			if args = append([]string{}, args...); len(args) > 0 && args[0] == "mcp-jail" {
				args = args[1:]
			}
			text := shown(t, width, args)
			if text == "" {
				t.Errorf("%q prints nothing", args)
			}
			for line := range strings.Lines(text) {
				line = strings.TrimRight(line, "\r\n")
				if utf8.RuneCountInString(line) > width && !literal[line] && !cannotBreak(line, width) {
					t.Errorf("%d: %q prints %d characters: %s", width, args, utf8.RuneCountInString(line), line)
				}
			}
		}
	}
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, visit)
	}
}

// copied matches what users copy, and what a difference shows: commands, lines of a configuration.
var copied = regexp.MustCompile(`^\s*(mcp-jail |sudo |echo |\[|\]|\{|\}|"|[+-] ?["{} ]|#:schema|[a-z_]+ = |[A-Z_]+=|\S+$)`)

// cannotBreak reports whether a line is copied, or ends in something that has no room after the
// indentation of a further line.
func cannotBreak(line string, width int) bool {
	if copied.MatchString(line) {
		return true
	}
	end := line
	for _, mark := range []string{"`", "'"} {
		if strings.HasSuffix(strings.TrimRight(line, ".,;:)"), mark) {
			end = strings.TrimRight(line, ".,;:)")
			end = end[strings.LastIndex(end[:len(end)-1], mark)+1:]
			return len(end) > width-16
		}
	}
	return len(end)-strings.LastIndexByte(end, ' ') > width-16
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// shown returns what a command prints on a terminal of a width, without colours.
func shown(t *testing.T, width int, args []string) string {
	t.Helper()
	screen, program, err := testkit.Terminal(width, 24)
	testkit.Must(t, err)
	defer screen.Close()
	text := make(chan string)
	go func() {
		b, _ := io.ReadAll(screen) // fails with EIO after the last close of the other end
		text <- string(b)
	}()
	main(args, terminal.New(program, program, program))
	program.Close()
	return colour.ReplaceAllString(<-text, "")
}

// TestWidths: a pipe gets whole cells, and help in 80 columns; COLUMNS decides everywhere.
func TestWidths(t *testing.T) {
	widthHome(t)
	longest := func(text string) (n int) {
		for line := range strings.Lines(colour.ReplaceAllString(text, "")) {
			n = max(n, utf8.RuneCountInString(strings.TrimRight(line, "\r\n")))
		}
		return n
	}
	help := []string{"unwrap", "--help"}
	if n := longest(printed(t, help)); n > 80 || n < 70 {
		t.Errorf("help in a pipe: %d columns", n)
	}
	for _, width := range []string{"60", "70", "95"} {
		t.Setenv("COLUMNS", width)
		for where, text := range map[string]string{"a pipe": printed(t, help), "a terminal": shown(t, 120, help)} {
			if n := longest(text); n > 95 || n < 50 || (width == "60") != (n <= 60) || (width == "95") != (n > 70) {
				t.Errorf("COLUMNS=%s in %s: %d columns", width, where, n)
			}
		}
	}
}

// TestMain runs the tests, or the supervisor of a jail or mcp-jail-cli, which are the test
// binary, too.
func TestMain(m *testing.M) {
	confine.RunSupervisor()
	testkit.Programs{commandsName: commandsMain}.Dispatch()
	os.Exit(m.Run())
}

var must = testkit.Must
