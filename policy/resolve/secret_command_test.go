package resolve

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// TestSecretCommand checks that a secret's command is refused if the server could write a
// file that the command runs or reads.
func TestSecretCommand(t *testing.T) {
	const rules = "\n[[servers.s.access.fs]]\npath = \"~/grant\"\nread = true\nwrite = true\n"
	files := "x /opt/op\nx /opt/sh #!/usr/bin/bash\\n\nf /opt/get.py\nx /home/u/grant/op\nx /home/u/grant/py\nf /home/u/grant/get.py\nd /home/u/grant/bin\n" +
		"x /opt/by #!/home/u/grant/py -u\\n\nx /opt/byenv #!/usr/bin/env -S A=b py\\n\nx /opt/deep #!/opt/by\\n\nx /opt/with #!/usr/bin/env -S python3 /home/u/grant/get.py\\n\n" +
		"l /opt/link /home/u/grant/op\nl /home/u/grant/back /opt/op\nx /home/u/bin/tool\n" +
		"x /usr/bin/env\nl /usr/local/bin/get-token /home/u/grant/py\nx /usr/local/bin/safe"
	for _, tt := range []struct{ name, command, path, program, err string }{
		{"a program", `"/opt/op", "read", "op://vault/item"`, "", "/opt/op", ""},
		{"by name", `"op"`, "/opt", "/opt/op", ""},
		{"of the home directory", `"~/bin/tool"`, "", "/home/u/bin/tool", ""},
		{"a shell", `"sh", "-c", "op read 'op://a/b' | tr -d x > /dev/null"`, "/opt", "/opt/sh", ""},
		{"its script", `"python3", "/opt/get.py"`, "", "/usr/bin/python3.11", ""},
		{"by env", `"env", "A=b", "safe"`, "/usr/local/bin", "/usr/bin/env", ""},
		{"a word that has a file in the grant", `"op", "show", "grant/op"`, "/opt", "/opt/op", ""},
		{"a name that is in the grant alone", `"env", "get.py"`, "/home/u/grant", "/usr/bin/env", ""},
		{"absent", `"nothing"`, "", "", ""},
		{"absent by path", `"/opt/nothing"`, "", "", ""},

		{"a program of the grant", `"/home/u/grant/op"`, "", "", "the command needs /home/u/grant/op, and the server may write to /home/u/grant/op (c.toml:7: path = \"~/grant\")"},
		{"by a name in PATH", `"op"`, "/home/u/grant:/opt", "", "the command needs /home/u/grant/op,"},
		{"a link into the grant", `"/opt/link"`, "", "", "the server may write to /home/u/grant/op"},
		{"a link of the grant", `"/home/u/grant/back"`, "", "", "the server may replace the symbolic link /home/u/grant/back"},
		{"a script", `"python3", "/home/u/grant/get.py"`, "", "", "the command needs /home/u/grant/get.py"},
		{"a script by ~", `"sh", "-c", "exec ~/grant/get.py"`, "/opt", "", "the command needs /home/u/grant/get.py"},
		{"a script by $HOME", `"sh", "-c", "x=\"$HOME/grant/get.py\"; $x"`, "/opt", "", "the command needs /home/u/grant/get.py"},
		{"a script by a quoted $HOME", `"sh", "-c", "\"$HOME\"/grant/get.py"`, "/opt", "", "the command needs /home/u/grant/get.py"},
		{"a script by ~user", `"sh", "-c", "~u/grant/get.py"`, "/opt", "", "the command needs /home/u/grant/get.py"},
		{"a script by a variable", `"sh", "-c", "${PROJECT}/get.py"`, "/opt", "", "the command needs /home/u/grant"},
		{"a script in quotes and escapes", `"sh", "-c", "/home/'u'/gr\\ant/get.py"`, "/opt", "", "the command needs /home/u/grant/get.py"},
		{"a name that leads there, by env", `"env", "A=b", "get-token"`, "/usr/local/bin", "", "the command needs /usr/local/bin/get-token, and the server may write to /home/u/grant/py"},
		{"a name that leads there, by a shell", `"sh", "-c", "get-token|tr a b"`, "/opt:/usr/local/bin", "", "the command needs /usr/local/bin/get-token"},
		{"the interpreter of an argument", `"env", "/opt/by"`, "", "", "the command needs /home/u/grant/py"},
		{"the interpreter of a name among the arguments", `"env", "by"`, "/opt", "", "the command needs /home/u/grant/py"},
		{"a script that is not there yet", `"python3", "/home/u/grant/later.py"`, "", "", "the command needs /home/u/grant/later.py"},
		{"relative to /", `"python3", "home/u/grant/get.py"`, "", "", "the command needs /home/u/grant/get.py"},
		{"by dots", `"python3", "/opt/../home/u/grant/get.py"`, "", "", "the command needs /home/u/grant/get.py"},
		{"an option", `"/opt/op", "--file=/home/u/grant/x"`, "", "", "the command needs /home/u/grant/x"},
		{"an option without a space", `"/opt/op", "-f/home/u/grant/x"`, "", "", "the command needs /home/u/grant/x"},
		{"a file to send", `"cat", "/home/u/grant/x"`, "/opt:/usr/bin", "", ""}, // this fake host has no cat
		{"a file to print", `"/opt/op", "/home/u/grant/x"`, "", "", "what is sent as the secret"},
		{"a directory", `"/opt/op", "-C", "~/grant"`, "", "", "the command needs /home/u/grant,"},
		{"its interpreter", `"/opt/by"`, "", "", "the command needs /home/u/grant/py"},
		{"its interpreter by env", `"/opt/byenv"`, "/home/u/grant", "", "the command needs /home/u/grant/py"},
		{"the interpreter of its interpreter", `"/opt/deep"`, "", "", "the command needs /home/u/grant/py"},
		{"an argument of its #! line", `"/opt/with"`, "", "", "the command needs /home/u/grant/get.py"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host := func(h *hostfs.Host) {
				h.Environ = append(h.Environ, "PATH="+cmp.Or(tt.path, "/usr/bin:relative"), "LD_LIBRARY_PATH=/opt:/home/u/grant/lib", "PYTHONPATH=/opt", "EDITOR=/home/u/grant/ed", "PROJECT=/home/u/grant", "AWS_CONFIG_FILE=/home/u/grant/aws")
			}
			p, _, err := resolveFake(t, newFake(aSystem, files), api+`{ env = "T", command = [`+tt.command+`] }`+rules, host)
			var re *RuleError
			if tt.err != "" {
				if !errors.As(err, &re) || !strings.Contains(err.Error(), tt.err) || !strings.HasPrefix(err.Error(), "c.toml:6: secret: ") {
					t.Errorf("%v", err)
				}
				return
			}
			testkit.Must(t, err)
			s := p.Secrets[0]
			if s.Program != tt.program {
				t.Errorf("%q", s.Program)
			}
			if s.Program == "" {
				return
			}
			// Its PATH has no directory that the server can write.
			if strings.Contains(s.Path, "grant") || strings.Contains(s.Path, "relative") || !strings.Contains(s.Path, "/usr/bin") {
				t.Errorf("PATH is %s", s.Path)
			}
			if slices.Sort(s.Unset); !slices.Equal(s.Unset, []string{"AWS_CONFIG_FILE", "EDITOR", "LD_LIBRARY_PATH", "PROJECT"}) {
				t.Errorf("unset is %s", s.Unset)
			}
		})
	}
}

// TestSecretSettings checks that a program that prints secrets is refused if a rule lets a
// server write its settings. It is accepted if the settings are hidden in a wider grant.
func TestSecretSettings(t *testing.T) {
	h := newFake(aSystem, "x /opt/aws\nx /opt/gh\nf /home/u/.aws/config\nf /home/u/.config/gh/hosts.yml")
	for _, tt := range []struct{ command, path, rights, err string }{
		{`"aws", "sts"`, "~/.aws", "write", `the command runs aws, which reads /home/u/.aws, and the server "o" may write there (c.toml:9: path = "~/.aws")`},
		{`"aws", "sts"`, "~/.aws/config", "write", "the command runs aws"},
		{`"bash", "-c", "x=$(aws sts); echo $x"`, "~/.aws", "write", "the command runs aws"},
		{`"aws", "sts"`, "~/.aws", "read", ""},
		{`"aws", "sts"`, "~", "write", ""},
		{`"gh", "auth", "token"`, "~/.aws", "write", ""},
		{`"gh", "auth", "token"`, "~/.config", "write", ""},
		{`"gh", "auth", "token"`, "~/.config/gh", "write", "the command runs gh"},
	} {
		text := api + `{ env = "T", command = [` + tt.command + "] }\n[servers.o]\ncommand = \"server\"\n[[servers.o.access.fs]]\nread = true\npath = \"" + tt.path + "\"\n" + tt.rights + " = true\n"
		if tt.rights == "read" {
			text = strings.Replace(text, "\nread = true\n", "\n", 1)
		}
		_, _, err := resolveFake(t, h, text, func(h *hostfs.Host) { h.Environ = append(h.Environ, "PATH=/opt:/usr/bin") })
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s with %s: %v", tt.command, tt.path, err)
		}
	}
}
