package attacks

// fileAttacks are attacks on files outside the grants, on files that are taken out of a grant,
// and attempts to turn a grant into something that it is not.
func fileAttacks() []attackGroup {
	return []attackGroup{
		{"Files that are not granted", []attack{
			{what: "read a file", forms: []string{
				"read OUT/secret", "read WS/../../out/secret", "read-dotdot WS ../../out/secret", "read-dotdot /proc/self ../..OUT/secret",
				"read-opath OUT/secret", "read-mapped OUT/secret", "read-from OUT secret", "call open @OUT/secret 0",
				"call openat -100 @OUT/secret 0", "call openat2 -100 @OUT/secret #24 24",
			}},
			{what: "the same by the links of /proc", forms: []string{
				"read /proc/self/rootOUT/secret", "read /proc/thread-self/rootOUT/secret", "read /proc/self/cwd/../../out/secret", "read /proc/INIT/rootOUT/secret",
				"read /proc/INIT/cwdOUT/secret", "read /proc/PID/rootOUT/secret", "read /proc/PID/cwdOUT/secret",
			}},
			{what: "read where the name only begins like a grant", forms: []string{"read PRE/secret", "list PRE", "read WS/../../home-secret/secret"}},
			{what: "see whether a file is there", forms: []string{
				"stat OUT/secret", "statx OUT/secret", "access OUT/secret", "opath OUT/secret", "readlink OUT/link", "statfs OUT/secret",
			}},
			{what: "read what its extended attributes hold", forms: []string{
				"xattr-value OUT/secret user.secret", "xattr-of-link OUT/secret user.secret", "xattrs OUT/secret", "xattr-at OUT/secret user.secret", "call getxattr @OUT/secret @user.secret #64 64",
			}},
			{what: "enter or list a directory", forms: []string{"list OUT", "chdir OUT", "opath OUT", "list /proc/self/rootOUT"}},
			{what: "make something", forms: []string{
				"create OUT/new", "mkdir OUT/new", "mkfile OUT/new", "symlink OUT/new", "mkfifo OUT/new", "mksock OUT/new", "tmpfile OUT/new", "link WS/a OUT/new",
				"call mkdirat -100 @OUT/new 0755", "call creat @OUT/new 0644", "call mknodat -100 @OUT/new 0100644 0", "call symlinkat @x -100 @OUT/new", "call linkat -100 @WS/a -100 @OUT/new 0",
			}},
			{what: "change content", forms: []string{"write OUT/secret", "append OUT/secret", "rewrite OUT/secret", "truncate OUT/secret", "open-truncate OUT/secret", "reopen OUT/secret", "call truncate @OUT/secret 0"}},
			{what: "remove or move", forms: []string{
				"unlink OUT/secret", "rmdir OUT/empty", "rename OUT/secret OUT/away", "rename OUT/secret WS/stolen", "rename WS/a OUT/secret", "exchange WS/a OUT/secret", "rename OUT WS/stolen",
				"call unlinkat -100 @OUT/secret 0", "call renameat -100 @OUT/secret -100 @WS/x", "call renameat2 -100 @OUT/secret -100 @WS/a 2",
			}},
			{what: "change mode, owner, times, attributes", forms: []string{
				"chmod OUT/secret", "chmod-fd OUT/secret", "lchown OUT/secret", "utimes OUT/secret", "utimes-fd OUT/secret", "setxattr OUT/secret user.x", "set-flags OUT/secret",
				"call chmod @OUT/secret 0600", "call fchmodat -100 @OUT/secret 0600", "call fchmodat2 -100 @OUT/secret 0600 0", "call utimensat -100 @OUT/secret 0 0",
			}},
			{what: "watch what happens to them", forms: []string{"watch OUT", "watch OUT/secret", "dnotify OUT", "fanotify OUT"}},
			{what: "a hard link to one, made in the workspace", forms: []string{"read-linked OUT/secret WS/l", "call link @OUT/secret @WS/l", "create-linked OUT/x WS/l"}},
			{what: "a symlink in the workspace, there before the start", forms: []string{"read WS/out", "write WS/out", "list WS/outdir", "read WS/outdir/secret", "create WS/outdir/new", "chmod WS/out"}},
			{what: "a symlink made during the run", forms: []string{"read-symlink OUT/secret WS/l", "read-symlink OUT/secret /tmp/attack-link", "read-symlink /proc/self/rootOUT/secret WS/l"}},
			{what: "a directory that becomes a symlink while it is read", forms: []string{"read-swapped WS/race OUT secret", "read-swapped WS/race HOME/.ssh id"}},
			{what: "the descriptor of a directory that the host moves out of the grant, and from there upwards", forms: []string{"read-moved WS/moved"}},
			{what: "open by file handle, also a guessed one", forms: []string{"read-handle WS HANDLE", "read-handle / HANDLE", "handle OUT/secret", "handle WS/a", "reaches EBADF open_by_handle_at -1 #64 0"}},
			{what: "have io_uring open it", forms: []string{"read-uring OUT/secret"}},
			{what: "start a program", forms: []string{"exec OUT/exe", "execat OUT/exe", "ld.so OUT/exe", "mapexec OUT/exe", "memexec OUT/exe", "call execveat -100 @OUT/nothing 0 0 0x100000"}},
			{what: "the host's /tmp and /dev/shm", forms: []string{"read HOSTTMP", "write HOSTTMP", "unlink HOSTTMP", "read HOSTSHM", "write HOSTSHM", "unlink HOSTSHM", "chmod HOSTSHM"}},
			{what: "passwords, identity and state of the system", forms: []string{
				"read /etc/shadow", "read /etc/gshadow", "read /etc/machine-id", "list /root", "list /home", "list /var/log", "list /run", "list /boot", "list /var/lib", "write /etc/passwd", "litter /etc/attack", "write /etc/hosts",
				"litter /usr/bin/attack", "litter /usr/lib/attack", "chmod /usr/bin/env", "write /usr/bin/env", "litter /attack", "litter-dir /attack-dir", "list /",
			}},
		}},
		{"What is taken out of a grant (the home directory is granted to read and write)", []attack{
			{what: "read keys, credentials, histories", forms: []string{
				"read HOME/.ssh/id", "list HOME/.ssh", "stat HOME/.ssh/id", "read HOME/.aws/credentials", "read HOME/.netrc", "read HOME/.bash_history", "read HOME/.config/gh/hosts.yml",
				"read-dotdot HOME/.ssh id", "read-from HOME/.ssh id", "read-opath HOME/.netrc", "read-mapped HOME/.netrc", "read-symlink HOME/.netrc WS/l", "read-linked HOME/.netrc WS/l", "read /proc/self/rootHOME/.netrc",
				"call open @HOME/.netrc 0", "call openat -100 @HOME/.ssh/id 0", "read-uring HOME/.netrc",
			}},
			{what: "move, replace, remove, chmod them", forms: []string{
				"rename HOME/.ssh HOME/ssh", "rename HOME/.netrc HOME/netrc", "create-renamed HOME/x HOME/.netrc", "unlink HOME/.netrc", "exchange HOME/note HOME/.netrc", "chmod HOME/.netrc", "chmod HOME/.ssh",
				"swap-dir HOME/.ssh", "create HOME/.ssh/authorized_keys", "mkdir HOME/.ssh/new", "utimes HOME/.netrc", "setxattr HOME/.netrc user.x", "lchown HOME/.netrc", "set-flags HOME/.netrc",
				"call rename @HOME/.ssh @HOME/ssh", "call renameat2 -100 @HOME/note -100 @HOME/.netrc 2",
			}},
			{what: "a .env at any depth: read, move, replace, link", forms: []string{
				"read WS/.env", "write WS/.env", "read WS/pkg/.env.local", "rename WS/.env WS/env", "rename WS/pkg WS/moved-pkg", "unlink WS/.env", "create-renamed WS/x WS/.env", "exchange WS/a WS/.env",
				"read-linked WS/.env WS/l", "read-linked WS/pkg/.env.local WS/l", "swap-dir WS/pkg", "chmod WS/.env", "truncate WS/.env", "read-mapped WS/.env", "watch WS/nothing/../.env-missing", "call rename @WS/pkg @WS/p",
			}},
			{what: "a denied path inside a granted one", forms: []string{
				"read WS/src/generated/hidden/key", "list WS/src/generated/hidden", "stat WS/src/generated/hidden/key", "rename WS/src/generated/hidden WS/src/generated/x", "create WS/src/generated/hidden/new", "rmdir WS/src/generated/hidden",
				"exchange WS/src/generated/hidden WS/empty", "chmod WS/src/generated/hidden",
			}},
			{what: "write to a part that is read-only", forms: []string{
				"write WS/src/code", "append WS/src/code", "rewrite WS/src/code", "truncate WS/src/code", "open-truncate WS/src/code", "reopen WS/src/code", "create WS/src/new", "mkdir WS/src/new", "symlink WS/src/new", "mkfifo WS/src/new",
				"tmpfile WS/src/new", "link WS/a WS/src/new", "unlink WS/src/code", "rename WS/src/code WS/code", "rename WS/src/code WS/src/c", "create-renamed WS/x WS/src/code", "exchange WS/a WS/src/code", "read-linked WS/src/code WS/l",
				"call open @WS/src/code 1", "call openat -100 @WS/src/code 2", "call truncate @WS/src/code 0", "call unlinkat -100 @WS/src/code 0", "call creat @WS/src/code 0644",
			}},
			{what: "its mode, owner, times, attributes", forms: []string{
				"chmod WS/src/code", "chmod-fd WS/src/code", "chmod WS/src", "lchown WS/src/code", "utimes WS/src/code", "utimes-fd WS/src/code", "setxattr WS/src/code user.x", "set-flags WS/src/code",
				"call chmod @WS/src/code 0600", "call fchmodat -100 @WS/src/code 0600", "call fchmodat2 -100 @WS/src/code 0600 0", "call utimensat -100 @WS/src/code 0 0",
			}},
			{what: "move the parent of such a part away and make it anew", forms: []string{
				"rename WS/src WS/old", "swap-dir WS/src", "exchange WS/src WS/empty", "rename WS/sub WS/old", "rename WS/sub/dir WS/sub/old", "swap-dir WS/sub", "exchange WS/sub WS/empty", "rename WS HOME/old",
				"call rename @WS/sub @WS/old", "call renameat -100 @WS/sub -100 @WS/old", "call renameat2 -100 @WS/sub -100 @WS/empty 2",
			}},
			{what: "git's hooks and configuration: write, replace, swap .git", forms: []string{
				"write WS/.git/config", "write WS/.git/hooks/pre", "create WS/.git/hooks/new", "mkdir WS/.git/hooks/new", "symlink WS/.git/hooks/new", "link WS/a WS/.git/hooks/new", "tmpfile WS/.git/hooks/new", "rename WS/a WS/.git/hooks/pre",
				"create-renamed WS/.git/config.lock WS/.git/config", "exchange WS/a WS/.git/config", "unlink WS/.git/config", "unlink WS/.git/hooks/pre", "rename WS/.git/hooks WS/.git/h", "swap-dir WS/.git/hooks", "swap-dir WS/.git",
				"exchange WS/.git WS/empty", "swap-dir WS/sub/dir/.git", "write WS/sub/dir/.git/config", "create WS/sub/dir/.git/hooks/new", "chmod WS/.git/hooks/pre", "truncate WS/.git/config", "create-within WS/.git/hooks new",
				"call openat -100 @WS/.git/config 1", "call linkat -100 @WS/a -100 @WS/.git/hooks/new 0",
			}},
			{what: "files that editors, clients and CI run or believe", forms: []string{
				"write WS/.mcp.json", "write WS/.vscode/tasks.json", "create WS/.vscode/settings.json", "write WS/.github/workflows/ci.yml", "create WS/.github/workflows/new.yml", "write WS/.husky/pre-commit", "rename WS/.vscode WS/v",
				"create-renamed WS/x WS/.mcp.json", "unlink WS/.mcp.json", "write HOME/.mcp.json", "write HOME/.claude.json", "write HOME/.cursor/mcp.json", "create-renamed HOME/x HOME/.cursor/mcp.json", "rename HOME/.cursor HOME/c",
				"swap-dir HOME/.cursor", "write HOME/.codex/config.toml", "unlink HOME/.codex/config.toml", "swap-dir HOME/.codex",
			}},
			{what: "start-up files of the user's shells, session, git and editors", forms: []string{
				"write HOME/.bashrc", "create-renamed HOME/x HOME/.bashrc", "unlink HOME/.bashrc", "exchange HOME/note HOME/.bashrc", "link HOME/note HOME/.profile", "create HOME/.zshrc", "create-renamed HOME/x HOME/.zshrc", "symlink HOME/.vimrc",
				"write HOME/.config/git/config", "swap-dir HOME/.config/git", "create HOME/.gitconfig", "mkdirs HOME/.config/systemd/user", "rename WS/full HOME/.config/autostart", "mkdirs HOME/.local/bin", "create HOME/bin/new",
				"write WS/dotfiles/rc", "swap-dir WS/dotfiles", "call openat -100 @HOME/.pam_environment 0101 0644", "call rename @WS/full @HOME/.config/nvim",
			}},
			{what: "the same where they do not exist yet", forms: []string{
				"create WS/.envrc", "create WS/.gitmodules", "mkdir WS/.idea", "create WS/.git/commondir", "create WS/.git/config.worktree", "mkdirs WS/.claude", "create WS/sub/.mcp.json", "create-renamed WS/x WS/.envrc", "create-linked WS/x WS/.envrc",
				"symlink WS/.envrc", "tmpfile WS/.envrc", "repository WS/full", "mkfifo WS/.envrc", "rename WS/full WS/.idea", "exchange WS/a WS/.envrc", "create-within WS .envrc", "create-within WS ./full/../.envrc", "create /proc/self/cwd/.envrc",
				"call open @WS/.envrc 0101 0644", "call openat -100 @WS/.envrc 0101 0644", "call creat @WS/.envrc 0644", "call mknodat -100 @WS/.envrc 0100644 0", "call mkdirat -100 @WS/.idea 0755", "call linkat -100 @WS/a -100 @WS/.envrc 0",
				"call renameat2 -100 @WS/a -100 @WS/.envrc 0", "call symlinkat @a -100 @WS/.envrc",
			}},
			{what: "a socket under such a name", allowed: "bind is not mediated; no program reads or runs a socket", forms: []string{"mksock WS/.envrc"}},
			{what: "mcp-jail's own configuration, trust store and records", forms: []string{
				"write HOME/.config/mcp-jail/config.toml", "create-renamed HOME/x HOME/.config/mcp-jail/config.toml", "rename HOME/.config/mcp-jail HOME/m", "swap-dir HOME/.config/mcp-jail", "rename HOME/.config HOME/c", "swap-dir HOME/.config",
				"create HOME/.config/mcp-jail/new", "unlink HOME/.config/mcp-jail/config.toml", "read STATE/trust.toml", "write STATE/trust.toml", "create-renamed HOME/x STATE/trust.toml", "unlink STATE/trust.toml", "rename STATE HOME/m", "swap-dir STATE",
				"rename HOME/.local HOME/l", "swap-dir HOME/.local", "list STATE", "read STATE/servers/other/last.json", "create STATE/new",
			}},
			{what: "what other servers answered, in mcp-jail's cache", forms: []string{
				"read HOME/.cache/mcp-jail/catalog/other", "write HOME/.cache/mcp-jail/catalog/other", "unlink HOME/.cache/mcp-jail/catalog/other", "create HOME/.cache/mcp-jail/catalog/new", "create-renamed HOME/x HOME/.cache/mcp-jail/catalog/other",
				"list HOME/.cache/mcp-jail/catalog", "list HOME/.cache/mcp-jail", "rename HOME/.cache/mcp-jail HOME/m", "swap-dir HOME/.cache/mcp-jail", "rename HOME/.cache HOME/c", "swap-dir HOME/.cache",
			}},
			{what: "the private HOME of another server", forms: []string{
				"read STATE/servers/other/home/token", "list STATE/servers", "list STATE/servers/other/home", "write STATE/servers/other/home/token", "create STATE/servers/other/home/new", "read STATE/servers/attacker/home/../../other/home/token",
				"read-dotdot STATE/servers/attacker/home ../../other/home/token", "rename STATE/servers/other STATE/servers/attacker/home/stolen", "read-symlink STATE/servers/other/home/token WS/l",
			}},
			{what: "the launcher itself, in a place that is granted to write", forms: []string{
				"write HOME/apps/mcp-jail", "truncate HOME/apps/mcp-jail", "unlink HOME/apps/mcp-jail", "create-renamed HOME/x HOME/apps/mcp-jail", "exchange HOME/note HOME/apps/mcp-jail", "rename HOME/apps HOME/b", "swap-dir HOME/apps", "chmod HOME/apps/mcp-jail",
				"link HOME/apps/mcp-jail HOME/apps/other", "reopen HOME/apps/mcp-jail",
			}},
			{what: "start a program from a grant without execute", forms: []string{"exec WS/exe", "execat WS/exe", "exec WS/src/code", "execs WS/a", "exec WS/src/exe"}},
			{what: "the same by the dynamic loader or from a copy in memory", allowed: "this policy has no command rules, so a server may run any file that it may read. A list of programs refuses copies. It refuses the loader if no listed program needs it (TestJailPrograms), or if a rule has `args` or `envs` (TestJailCommands)",
				forms: []string{"ld.so WS/exe", "mapexec WS/exe", "memexec WS/exe"}},
			{what: "write to the programs of an executable part", forms: []string{"write WS/tools/tool", "create WS/tools/new", "rename WS/tools WS/t", "create-renamed WS/x WS/tools/tool", "swap-dir WS/tools", "reopen WS/tools/exe"}},
			{what: "a hidden file by its other, hard-linked name in the same grant", allowed: "a hard link is a name like any other", forms: []string{"read WS/hard"}},
		}},
		{"What a writable grant must not be turned into", []attack{
			{what: "a set-id program", forms: []string{
				"id-file WS/a chmod", "id-file WS/a fchmod", "id-file WS/a fchmodat2", "id-file WS/a open", "id-file WS/a mknod", "id-file WS/a tmpfile", "call chmod @WS/a 04755", "call chmod @WS/a 02755",
				"call fchmodat -100 @WS/a 06755", "call fchmodat2 -100 @WS/a 04755 0", "call creat @WS/new 04755", "call openat -100 @WS/new 0101 02755", "call open @WS/new 0101 04755", "call mknod @WS/new 0104755 0", "call mknodat -100 @WS/new 0102755 0",
			}},
			{what: "a program with file capabilities", forms: []string{"setcap WS/a", "setxattr WS/a trusted.x", "call setxattr @WS/a @security.capability #20 20 0"}},
			{what: "a file of another user", forms: []string{"give-away WS/a 12345", "call chown @WS/a 12345 12345"}},
			{what: "a device node or a whiteout", forms: []string{"mkdev WS/null", "mkblk WS/loop", "whiteout WS/a WS/moved-a", "call mknod @WS/d 020666 0x103", "call mknodat -100 @WS/d 060666 0x700", "call renameat2 -100 @WS/a -100 @WS/x 4"}},
		}},
	}
}
