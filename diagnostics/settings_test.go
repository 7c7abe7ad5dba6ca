package diagnostics

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestSettings: a program that says in its own words that it lacks an identity, a login or a key
// leads to what it keeps in the user's home, if that exists and is not granted.
func TestSettings(t *testing.T) {
	const byHand = "To grant it, if you know what the server does with it: mcp-jail grant github "
	for _, tt := range []struct {
		name, text string
		has        string // in the home
		sure       Attribution
		cause, fix string
		withheld   string
	}{
		{"git", "Author identity unknown\n\n*** Please tell me who you are.", ".gitconfig", Likely, `git looks for "~/.gitconfig"`, "grant --read ~/.gitconfig", ""},
		{"git for https", "fatal: could not read Username for 'https://github.com': No such device or address", ".git-credentials", Likely, `git looks for "~/.git-credentials"`, byHand + "--read ~/.git-credentials", ""},
		{"gpg", "error: gpg failed to sign the data\nfatal: failed to write commit object", ".gnupg/pubring.kbx .gnupg/gpg.conf .gnupg/S.gpg-agent", Likely, `gpg looks for "~/.gnupg/pubring.kbx"`,
			byHand + "--read ~/.gnupg/pubring.kbx --read ~/.gnupg/gpg.conf --write ~/.gnupg/S.gpg-agent", ""},
		{"gpg with its agent elsewhere", "error: gpg failed to sign the data", ".gnupg/pubring.kbx", Likely, `gpg looks for "~/.gnupg/pubring.kbx"`, "before that, run `ln -s \"$(gpgconf", ""},
		{"gh", "To get started with GitHub CLI, please run:  gh auth login", ".config/gh/hosts.yml", Likely, `gh looks for "~/.config/gh"`, byHand + "--read ~/.config/gh", ""},
		{"aws", "Unable to locate credentials. You can configure credentials by running \"aws configure\".", ".aws/credentials", Likely, `aws looks for "~/.aws"`, byHand + "--read ~/.aws", ""},
		{"aws by a variable", "Unable to locate credentials.", "", Likely, "aws reads the variable AWS_PROFILE", "grant --env AWS_PROFILE", "AWS_PROFILE"},
		{"aws without a region", "You must specify a region. You can also configure your region", ".aws/config", Likely, "AWS_REGION", "grant --env AWS_REGION", "AWS_REGION"},
		{"gcloud", "google.auth.exceptions.DefaultCredentialsError: Your default credentials were not found.", ".config/gcloud/x.json", Likely, `gcloud looks for "~/.config/gcloud"`, byHand, ""},
		{"az", "Please run 'az login' to setup account.", ".azure/x", Likely, `az looks for "~/.azure"`, byHand, ""},
		{"kubectl", "The connection to the server localhost:8080 was refused - did you specify the right host or port?", ".kube/config", Likely, `kubectl looks for "~/.kube/config"`, byHand, ""},
		{"kubectl, and more lines", "couldn't get current server API group list: Get \"http://localhost:8080/api?timeout=32s\": dial tcp [::1]:8080: connect: connection refused\nThe connection to the server localhost:8080 was refused", ".kube/config", Likely, `kubectl looks for "~/.kube/config"`, byHand, ""},
		{"docker", "Error response from daemon: Get \"https://r/v2/\": no basic auth credentials", ".docker/config.json", Likely, `docker looks for "~/.docker/config.json"`, byHand, ""},
		{"npm", "npm error code ENEEDAUTH\nnpm error need auth This command requires you to be logged in", ".npmrc", Likely, `npm looks for "~/.npmrc"`, byHand, ""},
		{"ssh", "git@github.com: Permission denied (publickey).\nfatal: Could not read from remote repository.", ".ssh/id_ed25519", Likely, `ssh looks for "~/.ssh"`, byHand + "--read ~/.ssh", ""},
		{"ssh and its agent", "Could not open a connection to your authentication agent.", "", Likely, "ssh reads the variable SSH_AUTH_SOCK", "grant --env SSH_AUTH_SOCK", "SSH_AUTH_SOCK"},
		{"ssh to an unknown host", "Host key verification failed.", ".ssh/known_hosts", Likely, `"~/.ssh/known_hosts"`, byHand, ""},
		{"ssh to a name of its settings", "ssh: Could not resolve hostname work: Temporary failure in name resolution", ".ssh/config", Likely, `ssh looks for "~/.ssh/config"`, byHand, ""},
		{"ssh to a host", "ssh: Could not resolve hostname git.example.com: Temporary failure in name resolution", ".ssh/config", Likely, `the host "git.example.com:22"`, "--net git.example.com:22", ""},
		{"ssh without an agent", "Could not open a connection to your authentication agent.", ".ssh/id_ed25519", None, "", "", ""},
		{"cargo", "error: no token found, please run `cargo login`", ".cargo/credentials.toml", Likely, `"~/.cargo/credentials.toml"`, byHand, ""},
		{"models that were fetched before", "OSError: We couldn't connect to 'https://huggingface.co' to load the files, and couldn't find them in the cached files.", ".cache/huggingface/hub/models--x/a", Likely, `Hugging Face's library looks for "~/.cache/huggingface/hub"`, "grant --read ~/.cache/huggingface/hub", ""},
		{"a keyring", "No recommended backend was available. Install a recommended 3rd party backend package", "", Likely, "DBUS_SESSION_BUS_ADDRESS, which names the session bus", "grant --env DBUS_SESSION_BUS_ADDRESS", "DBUS_SESSION_BUS_ADDRESS"},
		{"op", "[ERROR] You are not currently signed in.", ".config/op/config", Likely, `op looks for "~/.config/op"`, byHand, ""},
		{"words that other faults have", "gh: Not Found", ".config/gh/hosts.yml", Possible, `gh looks for "~/.config/gh"`, byHand, ""},
		{"no such place", "To get started with GitHub CLI, please run:  gh auth login", "", None, "", "", ""},
		{"another program", "hub: not found in the list", ".config/gh/hosts.yml", None, "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			ev.FromCommandLine = true
			ev.Profile.Default = true
			if tt.withheld != "" {
				ev.Profile.Withheld = append(ev.Profile.Withheld, tt.withheld)
			}
			there := host{}
			for _, name := range strings.Fields(tt.has) {
				there["/home/u/"+name] = true
			}
			ev.Exists = func(p string) bool { return there.exists(p) || policy.Within(p, "/home/u/work") }
			d := Diagnose(ev)
			if d.Attribution != tt.sure || !strings.Contains(d.Cause, tt.cause) || !strings.Contains(advised(d), tt.fix) {
				t.Errorf("%s", d.Text())
			}
			if strings.Contains(tt.fix, byHand) && len(d.Words) > 0 {
				t.Errorf("flags for a sensitive path: %s", d.Text())
			}
			// What is granted is not the cause.
			ev.Profile = fixture(func(p *policy.Profile) {
				p.Entries = append(p.Entries, policy.Entry{Path: "/home/u", Kind: policy.KindDir, Rights: policy.Read | policy.Write, Origin: policy.OriginRule})
				p.Withheld = nil
			})
			if d := Diagnose(ev); strings.Contains(d.Cause, "looks for") || strings.Contains(d.Cause, "reads the variable") {
				t.Errorf("granted: %s", d.Text())
			}
		})
	}
}

// TestSettingsInTheWay: a file that the server's program made at the place in the private HOME wins
// over the user's, so the advice has it removed.
func TestSettingsInTheWay(t *testing.T) {
	ev := evidence("error: gpg failed to sign the data")
	ev.FromCommandLine = true
	there := host{"/home/u/.gnupg/pubring.kbx": true, "/home/u/.gnupg/S.gpg-agent": true, privateHome + "/.gnupg/pubring.kbx": true}
	ev.Exists = there.exists
	if d := Diagnose(ev); !strings.Contains(advised(d), `before that, remove "~/.local/state/mcp-jail/homes/github/.gnupg/pubring.kbx", which the server has in its place`) {
		t.Errorf("%s", d.Text())
	}
}

// TestOwnSettings: a server that says in its own words that it lacks a login leads to the directory in
// the home that has its name. That is possible, no more.
func TestOwnSettings(t *testing.T) {
	for _, tt := range []struct {
		name, text, flags string
		argv              []string
		has               string
	}{
		{"by its package", "Not authenticated. Run `gmail auth` first.", "--read ~/.gmail-mcp", []string{"node", "/x/node_modules/@gongrzhe/server-gmail-autoauth-mcp/dist/index.js"}, ".gmail-mcp/credentials.json"},
		{"by its program", "error: no credentials", "--read ~/.config/acme-notes", []string{"/usr/bin/acme-notes"}, ".config/acme-notes/token"},
		{"by the word of a launcher", "Login required", "--read ~/.acme", []string{"npx", "-y", "@x/mcp-acme@1.2"}, ".acme/token"},
		{"by the command to run", "You are not logged in. Run `acme login` first.", "--read ~/.config/acme", []string{"/usr/bin/python3", "srv.py"}, ".config/acme/credentials.yml"},
		{"by the command, without quotes", "no notebook found, please run: zettel init", "--read ~/.local/share/zettel", []string{"/usr/bin/python3", "srv.py"}, ".local/share/zettel/notes.db"},
		{"a command and a sensitive place", "Run `aws configure` first.", "", []string{"/usr/bin/python3", "srv.py"}, ".aws/credentials"},
		{"a command without a place", "Run `acme login` first.", "", []string{"/usr/bin/python3", "srv.py"}, ".config/other/x"},
		{"a word that is no command", "the value of acme login is wrong", "", []string{"/usr/bin/python3", "srv.py"}, ".config/acme/credentials.yml"},
		{"other words", "error: the note is too long", "", []string{"/usr/bin/acme-notes"}, ".config/acme-notes/token"},
		{"another name", "error: no credentials", "", []string{"/usr/bin/notes"}, ".config/acme/token"},
		{"the name of many", "error: no credentials", "", []string{"node", "server.js"}, ".config/node/token .local/server"},
		{"a sensitive place", "error: no credentials", "", []string{"/usr/bin/aws"}, ".aws/credentials"},
	} {
		ev := evidence(tt.text)
		ev.FromCommandLine, ev.Profile.Argv = true, tt.argv
		there := host{}
		for _, name := range strings.Fields(tt.has) {
			there["/home/u/"+name] = true
		}
		ev.Exists = there.exists
		d := Diagnose(ev)
		if got := strings.Join(d.Words, " "); got != tt.flags || got != "" && d.Attribution != Possible {
			t.Errorf("%s: %q, want %q\n%s", tt.name, got, tt.flags, d.Text())
		}
	}
}
