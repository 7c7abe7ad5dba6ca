package runline

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// carried are command lines that have another process start the server, with what does so. Words are
// apart by blanks; what is between «» is one word.
var carried = map[Where]string{
	InContainer: `
docker run -i --rm mcp/x
/usr/bin/docker --context far run -i x
docker -H ssh://h run x
docker.exe mcp gateway run
docker container exec -i c server
docker compose -f x.yml run --rm server
docker-compose exec -T app server
podman --log-level debug run x
/usr/local/bin/nerdctl run x
env A=1 docker run x
env -i A=1 docker run x
sh -c «docker run -i x»
bash -lc «cd /srv && exec docker compose run --rm x»
cmd /c docker run x
timeout 30 docker run x
op run --env-file=.env -- docker run -e TOKEN x
kubectl exec -i pod -- server
kubectl -n ns --context c exec -i deploy/x -c main -- server
oc rsh pod server
microk8s kubectl exec -i p -- s
toolbox run server
distrobox enter box -- server
distrobox-enter -n box -- server
incus exec box -- server
lxc exec box -- server
machinectl -q shell user@box /bin/server
devcontainer exec --workspace-folder . server
systemd-nspawn -M box server`,
	OnMachine: `
ssh host server
ssh -T -o BatchMode=yes me@host «cd /srv && ./server»
/usr/bin/ssh -i key host server
C:\Windows\System32\OpenSSH\ssh.exe host server
env A=B ssh host server
env -u X -C /tmp ssh host server
env -S «-i A=B ssh host server»
nice -n 5 ssh host server
timeout -k 5 30 ssh host server
timeout -- 30 ssh host server
nohup setsid ssh host server
stdbuf -oL ssh host server
sshpass -f pw ssh host server
proxychains4 -q -f /etc/p.conf ssh host server
torsocks ssh host server
tini -- ssh host server
dumb-init -c ssh host server
flock -w 5 /tmp/lock ssh host server
prlimit --nofile=5 ssh host server
setarch x86_64 -R ssh host server
xargs -I {} ssh host {}
bash -c «ssh host server»
bash -lc «exec ssh host server 2>/dev/null»
sh -ec «A=b ssh host "a b" | cat»
bash -o pipefail -c «ssh host server | tee /tmp/log»
sh -c «test -f x && ssh host server || exit 1»
sh -c «if true; then ssh host server; else node s.js; fi»
sh -c «eval "ssh host server"»
sh -c «exec -a name ssh host server»
sh -c «cat x > y; 'ssh' host server; exit $?»
zsh -ic «source ~/.zshrc; ssh host server»
busybox sh -c «ssh host server»
fish --command «ssh host server»
cmd /c ssh host server
cmd.exe /d /c «ssh host server»
powershell -NoProfile -Command «& ssh host server»
sh -c «bash -c "ssh host server"»
doppler run --project p -- ssh host server
mise exec node@20 -- ssh host server
aws-vault exec prof -- ssh host server
direnv exec . ssh host server
tailscale ssh host server
gcloud --project p compute ssh vm --command server
gh codespace ssh -c x server
fly ssh console -C server
autossh -M 0 host server
adb shell server`,
	InSystem: `
wsl.exe -d Ubuntu bash -c «node server.js»
wsl node server.js
C:\Windows\System32\wsl.exe -- server
multipass exec vm -- server
limactl shell default server
vagrant ssh -c server
cmd /c wsl node server.js`,
	OutsideSandbox: `
flatpak-spawn --host server
/usr/bin/flatpak-spawn --host --env=A=b node s.js
host-spawn server
env A=1 flatpak-spawn --host npx -y x`,
	ByService: `
systemd-run --user --pipe --wait server
run0 server
sh -c «exec systemd-run --user -P server»
at now`,
	AsOther: `
sudo -n server
sudo -u other npx -y x
env A=b sudo server
sh -c «sudo server»
su me -c server
doas server
pkexec server
timeout 5 sudo server
runuser -u me -- server
gosu me server
su-exec me server`,
}

// direct are command lines that have such names in them and start their server themselves.
const direct = `
node server.js ssh host
npx -y docker-mcp run
npx -y @x/mcp-server-kubernetes exec
uvx mcp-server-docker run
docker-mcp run
kubectl-mcp-server exec
mcp-ssh-server host
ssh-mcp host
./docker run x
bin/ssh host
/opt/ssh-tools/server ssh
docker ps --filter run
docker --version
kubectl port-forward svc/x 80
kubectl proxy exec
kubectl -n ns get exec
kubectl --namespace=ns get exec
toolbox --help
toolbox list
gh mcp server
gh issue list ssh
gcloud mcp ssh
aws s3 ssh
lxc list exec
python -m ssh_server ssh
python3 /srv/docker.py run
bash /srv/ssh.sh host
bash -lc «node server.js --via ssh»
sh -c «echo ssh host; node server.js»
sh -c «TOKEN=$(ssh host cat token) exec node server.js»
sh -c «TOKEN="$(docker run x)" && node server.js»
sh -c «ssh -fN -L 5432:db:5432 host; node server.js»
sh -c «ssh -N host & node server.js»
sh -c «docker start db && node server.js»
sh -c «which docker && node server.js # ssh host»
sh -c «node server.js 2> ssh»
sh -c «node 'ssh host' | grep -v ssh»
sh -c «node server.js --run "docker run x"»
sh ssh host
env SSH=ssh node server.js
env -u ssh node server.js
timeout 30 node ssh
nice -n 5 node docker run
op run -- node ssh
op item get ssh
doppler secrets get ssh
mise exec node@20 -- node server.js ssh
cmd /c node server.js ssh
cmd /c dir ssh
nohup node server.js
vagrant status ssh
az login ssh`

// wordsOf returns the words of a line of the tables.
func wordsOf(line string) (words []string) {
	for i, text := range strings.FieldsFunc(line, func(r rune) bool { return r == '«' || r == '»' }) {
		if i%2 == 1 {
			words = append(words, text)
		} else {
			words = append(words, strings.Fields(text)...)
		}
	}
	return words
}

// TestElsewhere: a line counts as one that has its server started elsewhere for what it starts, and
// not for a word in it.
func TestElsewhere(t *testing.T) {
	rows := 0
	for where, text := range carried {
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			_, err := Parse(wordsOf(line))
			var away *ElsewhereError
			if !errors.As(err, &away) || !errors.Is(err, ErrNotLauncher) || away.Where != where || !strings.HasPrefix(err.Error(), away.Program) {
				t.Errorf("%s: %v, want one that starts it %s", line, err, where)
			}
			rows++
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(direct), "\n") {
		var away *ElsewhereError
		if _, err := Parse(wordsOf(line)); errors.As(err, &away) {
			t.Errorf("%s: %v", line, err)
		}
		rows++
	}
	if rows < 130 {
		t.Errorf("control: %d rows", rows)
	}
}

// TestEmptyWords: a word of a client's file may be empty, or missing at the end.
func TestEmptyWords(t *testing.T) {
	all := direct
	for _, text := range carried {
		all += text
	}
	for line := range strings.Lines(all) {
		words := wordsOf(line)
		for i := range words {
			empty := slices.Clone(words)
			empty[i] = ""
			for _, argv := range [][]string{words[:i], empty} {
				_, err := Parse(argv)
				inner, _ := Behind(argv)
				if err == nil && i < 1 || len(inner) > len(argv) {
					t.Errorf("%q: %v, and it starts %q", argv, err, inner)
				}
			}
		}
	}
}

// TestBehind: what wrappers start in the end.
func TestBehind(t *testing.T) {
	for line, want := range map[string]string{
		"node s.js":           "node s.js",
		"timeout 30 npx -y x": "npx -y x | timeout",
		"timeout -k 5 -s KILL 30 nice -n 5 npx x": "npx x | timeout, nice",
		"env -C /srv npx x":                       "npx x | env",
		"env -S «A=b npx -y x»":                   "npx -y x | env",
		"op run --env-file=.env -- npx -y x":      "npx -y x | op run*",
		"op run --env-file .env npx -y x":         "npx -y x | op run*",
		"op --account a run -- npx -y x":          "npx -y x | op run*",
		"op item get x":                           "op item get x",
		"doppler run -p a -c b -- npx -y x":       "npx -y x | doppler run*",
		"direnv exec /srv npx x":                  "npx x | direnv exec*",
		"mise exec node@20 -- npx x":              "npx x | mise exec*",
		"mise x node@20 npx x":                    "npx x | mise x*",
		"dotenv -e .env -- npx x":                 "npx x | dotenv*",
		"dotenv -f .env run -- npx x":             "npx x | dotenv run*",
		"dotenvx run -f .env -- npx x":            "npx x | dotenvx run*",
		"aws-vault exec prof -- uvx x":            "uvx x | aws-vault exec*",
		"aws-vault exec -d 1h prof -- uvx x":      "uvx x | aws-vault exec*",
		"infisical run --env=dev -- npx x":        "npx x | infisical run*",
		"sops exec-env s.yaml «npx -y x»":         "npx -y x | sops exec-env*",
		"asdf exec npx x":                         "npx x | asdf exec*",
		"cross-env A=b npx x":                     "npx x | cross-env*",
		"./op run -- npx x":                       "./op run -- npx x",
		"sh -c «npx x»":                           "sh -c npx x",
		"timeout 30":                              "timeout 30",
	} {
		inner, passed := Behind(wordsOf(line))
		got := strings.Join(inner, " ")
		for i, p := range passed {
			got += map[bool]string{true: " | ", false: ", "}[i == 0] + p.Program + map[bool]string{true: "*"}[p.Secrets]
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
