package clients

import (
	"errors"
	"strings"
	"testing"
)

// TestParseWrapped tests which command lines are ours, and what they contain.
func TestParseWrapped(t *testing.T) {
	for line, want := range map[string]string{ // NAME|FLAGS|ARGV, or "" for none of ours
		"mcp-jail run -- npx x":                             "||npx x",
		"/opt/a/mcp-jail run --name n -- npx x":             "n|--name n|npx x",
		`C:\Tools\mcp-jail.exe run --name=n -- npx.cmd`:     "n|--name=n|npx.cmd",
		`C:\Tools\MCP-JAIL.EXE run -- x`:                    "||x",
		"mcp-jail run --env A --name n --net h -- x -- y":   "n|--env A --name n --net h|x -- y",
		"mcp-jail run --read --name --name n -- x":          "n|--read --name --name n|x",
		"mcp-jail run --id a-1 -- x":                        "|--id a-1|x",
		"mcp-jail run --id=a-1 -- x":                        "|--id=a-1|x",
		"mcp-jail run notes":                                "notes|notes|",
		"mcp-jail run --config /a.toml notes":               "notes|--config /a.toml notes|",
		"mcp-jail run -- mcp-jail run -- x":                 "||mcp-jail run -- x",
		"mcp-jail run --name":                               "", // without a value
		"mcp-jail run --env -- x":                           "",
		"mcp-jail run --":                                   "",
		"mcp-jail run":                                      "",
		"mcp-jail":                                          "",
		"mcp-jail plan -- x":                                "",
		"mcp-jail -- run x":                                 "",
		"Mcp-Jail run -- x":                                 "",
		"my-mcp-jail run -- x":                              "",
		"/opt/mcp-jail/bin/other run -- x":                  "",
		"mcp-jail-cli run -- x":                             "",
		"npx mcp-jail run -- x":                             "||x",
		"npx -y mcp-jail@1.2 run --name n -- npx -y x":      "n|--name n|npx -y x",
		"npx.cmd --yes mcp-jail run -- x":                   "||x",
		"/opt/bin/npx -p mcp-jail mcp-jail run -- x":        "||x",
		"npm exec -- mcp-jail run --name n -- x":            "n|--name n|x",
		"bunx mcp-jail run notes":                           "notes|notes|",
		"pnpm dlx mcp-jail run -- x":                        "||x",
		"go run a.test/b/mcp-jail/cmd/mcp-jail@v1 run -- x": "||x",
		"go run -mod=mod ./cmd/mcp-jail run --name n -- x":  "n|--name n|x",
		"env mcp-jail run -- x":                             "||x",
		"env A=B mcp-jail run -- x":                         "", // A would be lost
		"env -u A mcp-jail run -- x":                        "",
		"npx mcp-jail":                                      "",
		"npx mcp-jail wrap now":                             "",
		"npx -y":                                            "",
		"npx -p":                                            "",
		"npx other run -- mcp-jail run -- x":                "",
		"npm run mcp-jail run -- x":                         "",
		"ssh host mcp-jail run -- x":                        "", // that of the other machine
		"docker run image mcp-jail run -- x":                "",
		"node mcp-jail run -- x":                            "",
		"":                                                  "",
	} {
		w, ok := ParseWrapped(strings.Fields(line))
		got := strings.Join([]string{w.Name, strings.Join(w.Flags, " "), strings.Join(w.Argv, " ")}, "|")
		if ok != (want != "") || ok && got != want || (w.ID == "a-1") != strings.Contains(line, "a-1") {
			t.Errorf("%s: %v %q, want %q", line, ok, got, want)
		}
	}
}

func stdio(server string, argv ...any) Entry {
	return cursor().Entry(Item{Path: []string{"mcpServers", server}, Value: map[string]any{"command": argv[0], "args": argv[1:]}})
}

// TestWrapErrors tests what is refused.
func TestWrapErrors(t *testing.T) {
	plain := stdio("x", "npx", "y")
	for _, c := range []struct {
		entry Entry
		w     Wrapping
		is    error
		want  string
	}{
		{plain, Wrapping{Program: "/bin/mcp-jail"}, nil, ""},
		{stdio("x", "mcp-jail", "run", "--", "y"), Wrapping{Program: "/bin/mcp-jail", ID: "x-0"}, nil, ""},
		{plain, Wrapping{Program: "/bin/jail"}, nil, "base name has to be mcp-jail"},
		{plain, Wrapping{}, nil, "base name has to be mcp-jail"},
		{Entry{}, Wrapping{Program: "mcp-jail"}, ErrLeft, ""},
	} {
		edit, err := c.entry.Wrap(c.w)
		if c.want == "" && c.is == nil {
			if err != nil {
				t.Errorf("%+v: %v", c.w, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) || edit.Words != nil {
			t.Errorf("%+v: %v, want %q", c.w, err, c.want)
		}
	}
	for _, argv := range [][]any{{"npx", "y"}, {"mcp-jail", "run", "notes"}} {
		if edit, err := stdio("x", argv...).Unwrap(); !errors.Is(err, ErrNotWrapped) || edit.Drop != 0 {
			t.Errorf("%q: %+v, %v", argv, edit, err)
		}
	}
}
