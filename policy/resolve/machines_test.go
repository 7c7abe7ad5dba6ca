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

const nixPath = "PATH=/home/u/.nix-profile/bin:/etc/profiles/per-user/u/bin:/run/current-system/sw/bin"

// TestNixOS: a program is found through the links of a system, of a user's profile and of a user of the
// system. The store, the links on the way and the authorities are in the jail, and PATH stays usable.
func TestNixOS(t *testing.T) {
	for _, c := range []struct{ command, program, dir, link string }{
		{"node", "/nix/store/aaa-node/bin/node", "/run/current-system/sw/bin", "/run/current-system"},
		{"/run/current-system/sw/bin/node", "/nix/store/aaa-node/bin/node", "/run/current-system/sw/bin", "/run/current-system"},
		{"server", "/nix/store/hhh-server/bin/server", "/home/u/.nix-profile/bin", "/home/u/.nix-profile"},
		{"mine", "/nix/store/hhh-server/bin/server", "/etc/profiles/per-user/u/bin", "/etc/profiles/per-user/u"},
		{"/home/u/bin/static", "/home/u/bin/static", "/run/current-system/sw/bin", "/run/current-system"},
		{"/home/u/bin/script", "/home/u/bin/script", "/run/current-system/sw/bin", "/run/current-system"},
	} {
		p, ws := mustResolve(t, newFake(aNixOS), strings.Replace(aServer, `"server"`, `"`+c.command+`"`, 1), func(h *hostfs.Host) {
			h.Environ = append(h.Environ, nixPath)
		})
		if p.Program != c.program || len(ws) > 0 {
			t.Errorf("%s: program %s, warnings %v", c.command, p.Program, ws)
		}
		for _, needed := range []string{"/nix/store/ccc-glibc/lib/libc.so.6", "/nix/store/ddd-cacert/etc/ssl/certs/ca-bundle.crt", "/nix/store/bbb-bash/bin/bash"} {
			if !p.RightsAt(needed).Has(policy.Read | policy.Execute) {
				t.Errorf("%s: %s: %s", c.command, needed, p.RightsAt(needed))
			}
		}
		links := map[string]string{}
		for _, l := range p.Links {
			links[l.Path] = l.Target
		}
		for _, needed := range []string{c.link, "/etc/ssl", "/etc/static"} {
			if links[needed] == "" {
				t.Errorf("%s: no link %s among %v", c.command, needed, p.Links)
			}
		}
		for _, v := range p.Env {
			if v.Name == "PATH" && !strings.Contains(":"+v.Value+":", ":"+c.dir+":") {
				t.Errorf("%s: PATH=%s", c.command, v.Value)
			}
		}
		if shells := links["/bin/sh"]; shells == "" && p.RightsAt("/bin/sh") == 0 {
			t.Errorf("%s: no /bin/sh: %v", c.command, p.Links)
		}
	}
}

// TestWindowsHomes: below /mnt/c of WSL, the keys and browser profiles of Windows are sensitive, and so
// are the sockets by which programs of Windows are started.
func TestWindowsHomes(t *testing.T) {
	fake := newFake(aSystem, "f /mnt/c/Users/me/.ssh/id_ed25519\nf /mnt/c/Users/me/work/x\nf /mnt/c/Users/me/work/.env\nf /mnt/c/Users/me/AppData/Roaming/gcloud/x\nf /mnt/c/Users/other/.aws/credentials\nf /mnt/c/data/x\ns /run/WSL/8_interop\nd /run/user")
	for _, c := range []struct{ rule, granted, hidden string }{
		{"/mnt/c/Users/me", "/mnt/c/Users/me/work/x", "/mnt/c/Users/me/.ssh/id_ed25519 /mnt/c/Users/me/AppData/Roaming/gcloud/x /mnt/c/Users/me/work/.env"},
		{"/mnt/c", "/mnt/c/data/x /mnt/c/Users/me/work/x", "/mnt/c/Users/me/.ssh/id_ed25519 /mnt/c/Users/other/.aws/credentials"},
		{"/mnt/c/data", "/mnt/c/data/x", "/mnt/c/Users/me/work/x"},
		{"/mnt/c/Users/me/.ssh", "/mnt/c/Users/me/.ssh/id_ed25519", ""},
		{"/run", "/run/user", "/run/WSL/8_interop"},
	} {
		p, _ := mustResolve(t, fake, fsRules(c.rule+":r"))
		for _, name := range strings.Fields(c.granted) {
			if !p.RightsAt(name).Has(policy.Read) {
				t.Errorf("%s does not grant %s", c.rule, name)
			}
		}
		for _, name := range strings.Fields(c.hidden) {
			if p.RightsAt(name) != 0 {
				t.Errorf("%s grants %s", c.rule, name)
			}
		}
	}
}

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
