package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// aNixOS has every program below /nix/store, links to it everywhere else, and no libraries in /usr.
const aNixOS = `
x /nix/store/aaa-node/bin/node
l /nix/store/aaa-node/bin/npx ../lib/npx-cli.js
x /nix/store/aaa-node/lib/npx-cli.js #!/nix/store/aaa-node/bin/node\n
x /nix/store/bbb-bash/bin/bash
l /nix/store/bbb-bash/bin/sh bash
f /nix/store/ccc-glibc/lib/libc.so.6
f /nix/store/ddd-cacert/etc/ssl/certs/ca-bundle.crt
f /nix/store/eee-etc/etc/passwd
l /nix/store/fff-system/sw /nix/store/ggg-path
l /nix/store/ggg-path/bin/node /nix/store/aaa-node/bin/node
l /nix/store/ggg-path/bin/npx /nix/store/aaa-node/bin/npx
l /nix/store/ggg-path/bin/sh /nix/store/bbb-bash/bin/sh
x /nix/store/hhh-server/bin/server
l /nix/store/iii-profile/bin/server /nix/store/hhh-server/bin/server
l /nix/store/jjj-user/bin/mine /nix/store/hhh-server/bin/server
l /run/current-system /nix/store/fff-system
l /nix/var/nix/profiles/per-user/u/profile /nix/store/iii-profile
l /home/u/.nix-profile /nix/var/nix/profiles/per-user/u/profile
l /etc/static /nix/store/eee-etc/etc
l /etc/ssl /etc/static/ssl
l /nix/store/eee-etc/etc/ssl /nix/store/ddd-cacert/etc/ssl
l /etc/profiles/per-user/u /nix/store/jjj-user
f /etc/passwd
f /etc/nsswitch.conf
l /etc/localtime /etc/zoneinfo/UTC
l /bin/sh /nix/store/bbb-bash/bin/sh
l /usr/bin/env /nix/store/kkk-coreutils/bin/env
x /nix/store/kkk-coreutils/bin/env
x /home/u/bin/static
x /home/u/bin/script #!/usr/bin/env node\n
d /home/u/proj
d /tmp
`

// TestNoInterop: a server in WSL does not get the variables that lead to Windows, also by a rule for what
// begins so. By its exact name one is granted, with a warning.
func TestNoInterop(t *testing.T) {
	for rules, want := range map[string]string{"": "", "WSL*": "WSL_DISTRO_NAME", "*": "WSL_DISTRO_NAME", "WSL_INTEROP": "WSL_INTEROP"} {
		text := aServer
		if rules != "" {
			text += "[[servers.s.access.env]]\nname = \"" + rules + "\"\nread = true\n"
		}
		p, warnings := mustResolve(t, newFake(aSystem), text, func(h *hostfs.Host) {
			h.Environ = append(h.Environ, "WSL_INTEROP=/run/WSL/8_interop", "WSLENV=PATH/l", "WSL_DISTRO_NAME=Debian")
		})
		var got []string
		for _, v := range p.Env {
			if strings.HasPrefix(v.Name, "WSL") {
				got = append(got, v.Name)
			}
		}
		if strings.Join(got, " ") != want || strings.Contains(codes(warnings), "dangerous-variable") != (rules == "WSL_INTEROP") {
			t.Errorf("%q: %q, %s", rules, got, codes(warnings))
		}
	}
}

// anImmutable is a system whose /usr cannot be written: what users change is below /var.
const anImmutable = `
l /home var/home
l /opt var/opt
l /root var/roothome
l /usr/local ../var/usrlocal
l /srv var/srv
x /var/usrlocal/bin/server
x /var/opt/tool/bin/tool
x /usr/bin/node
f /usr/lib/libc.so
l /bin usr/bin
l /lib usr/lib
f /etc/passwd
d /etc/ssl/certs
d /tmp
d /var/home/u/proj/src
f /var/home/u/.ssh/id_ed25519
f /var/home/u/proj/.env
f /var/home/u/data/file
d /var/home/u/proj/.git/hooks
x /var/home/u/.local/bin/mine
`

// TestHomeBelowLink: where /home is a link, rules, the workspace and programs are found by both names.
// What is sensitive or protected stays so by both.
func TestHomeBelowLink(t *testing.T) {
	for _, c := range []struct{ home, dir string }{{"/home/u", "/home/u/proj"}, {"/var/home/u", "/var/home/u/proj"}, {"/home/u", "/var/home/u/proj"}} {
		here := func(h *hostfs.Host) {
			h.Home, h.Dir = c.home, c.dir
			h.ConfigDir, h.StateDir, h.CacheDir = c.home+"/.config/mcp-jail", c.home+"/.local/state/mcp-jail", c.home+"/.cache/mcp-jail"
			h.Environ = append(h.Environ, "PATH="+c.home+"/.local/bin:/usr/local/bin:/opt/tool/bin:/usr/bin:/bin", "HOME="+c.home)
		}
		p, _ := mustResolve(t, newFake(anImmutable), aServer, here)
		if p.Workspace != "/var/home/u/proj" || p.Program != "/var/usrlocal/bin/server" {
			t.Errorf("%s: workspace %s, program %s", c.home, p.Workspace, p.Program)
		}
		if !p.RightsAt("/var/home/u/proj/src").Has(policy.Read|policy.Write) || p.RightsAt("/var/home/u/proj/.env") != 0 || p.RightsAt("/var/home/u/proj/.git/hooks")&policy.Write != 0 {
			t.Errorf("%s: the workspace: %v", c.home, p.Entries)
		}
		has := map[string]bool{}
		for _, l := range p.Links {
			has[l.Path] = true
		}
		if !has["/usr/local"] && p.RightsAt("/usr/local") == 0 {
			t.Errorf("%s: no /usr/local: %v", c.home, p.Links)
		}
		for _, path := range []string{"~/data", "/home/u/data", "/var/home/u/data"} {
			p, ws := mustResolve(t, newFake(anImmutable), fsRules(path+":r"), here)
			if !p.RightsAt("/var/home/u/data/file").Has(policy.Read) || len(ws) > 0 {
				t.Errorf("%s: %s: %v %v", c.home, path, p.RightsAt("/var/home/u/data/file"), ws)
			}
		}
		for _, path := range []string{"/home/u", "/var/home/u", "/var/home"} {
			p, _ := mustResolve(t, newFake(anImmutable), fsRules(path+":r"), here)
			if p.RightsAt("/var/home/u/.ssh/id_ed25519") != 0 || !p.RightsAt("/var/home/u/data/file").Has(policy.Read) {
				t.Errorf("%s: %s grants .ssh: %v", c.home, path, p.Entries)
			}
		}
		for command, program := range map[string]string{"mine": "/var/home/u/.local/bin/mine", "tool": "/var/opt/tool/bin/tool"} {
			p, _ := mustResolve(t, newFake(anImmutable), strings.Replace(aServer, `"server"`, `"`+command+`"`, 1), here)
			if p.Program != program {
				t.Errorf("%s: %s", command, p.Program)
			}
		}
	}
	// The default policy grants neither name of the home directory.
	for _, dir := range []string{"/home/u", "/var/home/u", "/home", "/var/home"} {
		p, _ := mustResolve(t, newFake(anImmutable), aServer, func(h *hostfs.Host) { h.Dir = dir })
		if p.Workspace != "" {
			t.Errorf("started in %s: workspace %s", dir, p.Workspace)
		}
	}
}
