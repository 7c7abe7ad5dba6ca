package runline

import "strings"

// Where is where a server runs that another process starts.
type Where string

// The places.
const (
	InContainer    Where = "in a container"
	OnMachine      Where = "on another machine"
	ByService      Where = "by a service of this machine"
	AsOther        Where = "as another user"
	InSystem       Where = "in another system of this machine"
	OutsideSandbox Where = "outside of the sandbox or container that the client is in"
)

// ElsewhereError says that the command asks another process, such as the Docker daemon or the ssh
// server of another machine, to start the server. The server is then no child of mcp-jail, and
// mcp-jail does not confine it. Of [AsOther], the kernel starts no such program in a jail. The error
// matches ErrNotLauncher.
type ElsewhereError struct {
	Program string // docker, ssh, ...
	Command string // run, exec, ...; "" if every use of the program does so
	Where   Where
}

// Said returns the program with its command.
func (e *ElsewhereError) Said() string { return strings.TrimSpace(e.Program + " " + e.Command) }

func (e *ElsewhereError) Error() string {
	if e.Where == AsOther {
		return e.Said() + " starts the server as another user, which no program can do in a jail: the server will not start"
	}
	return e.Said() + " starts the server " + string(e.Where) + ": it is not confined by mcp-jail, which confines " + e.Program + " itself only"
}

// Is reports whether target is ErrNotLauncher.
func (e *ElsewhereError) Is(target error) bool { return target == ErrNotLauncher }

// elsewhere returns where the program of a command line has its server started, or nil if the program
// is none that does so. It looks at the commands behind wrappers and in texts for a shell, too.
func elsewhere(argv []string, depth int) *ElsewhereError {
	if len(argv) == 0 || argv[0] == "" || relative(argv[0]) || depth > maxPassed {
		return nil
	}
	name, words := programName(argv[0]), argv[1:]
	if where, commands := carries(name); where != "" {
		command, ok := commandAmong(words, commands)
		if !ok {
			return nil
		}
		return &ElsewhereError{Program: name, Command: command, Where: where}
	}
	if text, ok := shellText(name, words); ok {
		for _, command := range serverCommands(text) {
			if e := elsewhere(command, depth+1); e != nil {
				return e
			}
		}
		return nil
	}
	if inner, ok := passes(name, words); ok {
		return elsewhere(inner, depth+1)
	}
	return nil
}

// carries returns where a program starts others, and with which commands: "" in a list stands for
// every use, and several words for a command of several.
func carries(name string) (where Where, commands []string) {
	switch name {
	case "docker", "podman", "nerdctl", "finch":
		return InContainer, []string{"run", "exec", "start", "create", "attach", "compose", "mcp", "container run", "container exec", "container start", "container create", "container attach", "sandbox run", "sandbox exec"}
	case "docker-compose", "podman-compose":
		return InContainer, []string{"run", "exec", "up", "start"}
	case "kubectl", "oc", "k0s", "k3s", "microk8s":
		return InContainer, []string{"exec", "run", "debug", "attach", "rsh", "kubectl exec", "kubectl run"}
	case "crictl":
		return InContainer, []string{"exec", "run"}
	case "ctr":
		return InContainer, []string{"run", "tasks exec", "task exec", "t exec"}
	case "devcontainer", "devspace":
		return InContainer, []string{"exec", "enter"}
	case "toolbox":
		return InContainer, []string{"run", "enter"}
	case "distrobox":
		return InContainer, []string{"enter", "ephemeral"}
	case "distrobox-enter", "distrobox-ephemeral":
		return InContainer, []string{""}
	case "lxc", "incus":
		return InContainer, []string{"exec", "shell"}
	case "lxc-attach", "lxc-execute", "systemd-nspawn":
		return InContainer, []string{""}
	case "machinectl":
		return InContainer, []string{"shell", "login"}
	}
	return carriesOut(name)
}

// carriesOut returns the same for what starts programs outside of containers.
func carriesOut(name string) (where Where, commands []string) {
	switch name {
	case "flatpak-spawn", "host-spawn", "distrobox-host-exec":
		return OutsideSandbox, []string{""}
	case "ssh", "autossh", "slogin", "mosh", "plink", "rsh":
		return OnMachine, []string{""}
	case "tsh", "tailscale", "coder", "devpod":
		return OnMachine, []string{"ssh"}
	case "gcloud":
		return OnMachine, []string{"compute ssh", "cloud-shell ssh", "alpha cloud-shell ssh", "workstations ssh"}
	case "aws":
		return OnMachine, []string{"ssm start-session", "ecs execute-command"}
	case "az":
		return OnMachine, []string{"ssh vm", "container exec"}
	case "gh":
		return OnMachine, []string{"codespace ssh", "cs ssh"}
	case "fly", "flyctl":
		return OnMachine, []string{"ssh console", "machine exec"}
	case "heroku":
		return OnMachine, []string{"run", "ps:exec"}
	case "railway":
		return OnMachine, []string{"ssh"}
	case "adb":
		return OnMachine, []string{"shell", "exec-out"}
	case "wsl":
		return InSystem, []string{""}
	case "multipass", "limactl":
		return InSystem, []string{"exec", "shell"}
	case "colima", "vagrant":
		return InSystem, []string{"ssh"}
	case "lima", "orb":
		return InSystem, []string{""}
	case "orbctl":
		return InSystem, []string{"run", "shell"}
	case "systemd-run", "run0", "at":
		return ByService, []string{""}
	case "busctl", "launchctl":
		return ByService, []string{"call", "submit", "asuser", "bsexec"}
	case "sudo", "su", "doas", "pkexec", "sudo-rs", "runuser", "gosu", "su-exec":
		return AsOther, []string{""}
	}
	return "", nil
}

// commandAmong returns the command of a line: its first words that are no options. A word after an
// option can be the value of it, so the next one is tried, too.
func commandAmong(words, commands []string) (command string, ok bool) {
	for i, w := range words {
		if w == "" || w[0] == '-' {
			continue
		}
		rest := withoutOptions(words[i:])
		for _, c := range commands {
			parts := strings.Count(c, " ") + 1
			if c != "" && len(rest) >= parts && strings.Join(rest[:parts], " ") == c {
				return c, true
			}
		}
		if i == 0 || words[i-1] == "" || words[i-1][0] != '-' || strings.Contains(words[i-1], "=") {
			break
		}
	}
	for _, c := range commands {
		if c == "" {
			return "", true
		}
	}
	return "", false
}

// withoutOptions returns the first words that are no options.
func withoutOptions(words []string) (plain []string) {
	for _, w := range words {
		if w != "" && w[0] == '-' {
			continue
		}
		if plain = append(plain, w); len(plain) == 3 {
			break
		}
	}
	return plain
}
