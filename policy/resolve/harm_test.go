package resolve

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestHarm tests what may be granted without a word, what is asked for, and what never is.
func TestHarm(t *testing.T) {
	fake := newFake(aSystem, `
		d /home/u/data
		f /home/u/data/id_rsa
		f /home/u/data/id_rsa.pub
		f /home/u/data/notes.txt
		d /home/u/proj/sub
		d /home/u/proj/.git
		s /run/x.sock
		x /opt/t/tool
		f /home/u/todo.txt`)
	fake["/opt/t/mount"] = fakeFile{mode: fs.ModeSetuid | 0o755}
	h := fake.host()
	h.Environ = append(h.Environ, "HTTPS_PROXY=http://proxy.example:3128")
	const write = policy.Write | policy.Read
	for _, c := range []struct {
		path   string
		rights policy.Rights
		want   string // "" is fine, "!" begins what is never granted
	}{
		{"~/data/notes.txt", policy.Read, ""}, {"~/data/sub", write, ""}, {"~/proj/sub", write, ""}, {"~/todo.txt", policy.Read, ""}, {"/srv/data/x", policy.Read, ""}, {"/proc/1/environ", policy.Read, "another user"}, {"/home/other/x", policy.Read, "another user"}, {"/dev/sda", policy.Read, "another user"},
		{"~/data/id_rsa", policy.Read, "key or passwords"}, {"~/data/id_rsa.pub", policy.Read, ""}, {"~/data/server.pem", policy.Read, "key or passwords"}, {"~/proj/credentials.json", policy.Read, "key or passwords"},
		{"~/.ssh/config", policy.Read, "sensitive path (~/.ssh)"}, {"~/proj/.env", policy.Read, "sensitive path (**/.env)"},
		{"~/.npm", write, "package managers install"}, {"~/.cache/uv/x", write, "package managers install"}, {"~/.cargo/registry", write, "package managers install"}, {"~/.cache", write, "!a hold on"}, {"~/.npm/x", policy.Read, ""},
		{"~/proj/.vscode/x", write, "!protected name"}, {"~/proj/.git", write, "protected name"}, {"~/proj/.vscode/x", policy.Read, ""},
		{"~", policy.Read, "!"}, {"/", policy.Read, "!"}, {"/home", policy.Read, "!"},
		{"~/data", policy.Read, "directly in your home"}, {"~/new", write, "directly in your home"},
		{"~/.bashrc", write, "!it decides what a jail grants"}, {"~/.config/mcp-jail/config.toml", policy.Read, "!a hold on"}, {"/usr/lib/x", write, "!belongs to the system"}, {"/var/log/x", write, "!belongs to the system"}, {"/dev/ttyUSB0", write, "belongs to the system"}, {"~/.ssh/config", write, "!a hold on ~/.ssh"},
		{"/run/x.sock", policy.Update, "a socket of the host"}, {"~/.local/share", policy.Read, "!a hold on"}, {"/opt", policy.Read, "files of many programs"}, {"/home/v", policy.Read, "!whole home"}, {"~/proj", write, ""},
		{"/opt/t/mount", policy.Execute, "!rights of another user"}, {"/opt/t/sudo", policy.Execute, "!rights of another user"}, {"/opt/t/sudo", policy.Read, ""}, {"/opt/t/tool", policy.Execute, ""},
	} {
		got := HarmOf(&h, &policy.Policy{}, c.path, c.rights)
		is := got.Ask
		if got.Never != "" {
			is = "!" + got.Never
		}
		never, text := strings.CutPrefix(c.want, "!")
		if (c.want == "") != (is == "") || never == "" && text && got.Never == "" || !strings.Contains(is, strings.TrimPrefix(c.want, "!")) {
			t.Errorf("%s (%s): %q, want %q", c.path, c.rights, is, c.want)
		}
	}
	for host, want := range map[string]string{"api.example.com": "", "10.0.0.1": "is a private address", "169.254.169.254": "cloud", "metadata.google.internal": "cloud", "*": "every host", "proxy.example": "your proxy", "127.0.0.1": ""} {
		if got := HarmOfHost(&h, policy.NetRule{Host: host, Allow: true}); got.Never != "" || (want == "") != (got.Ask == "") || !strings.Contains(got.Ask, want) {
			t.Errorf("%s: %+v, want %q", host, got, want)
		}
	}
}
