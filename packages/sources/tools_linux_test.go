package sources_test

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/registry"
	"github.com/mcp-jail/mcp-jail/packages/sources"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// secrets are a login that files have to quote, and one that a netrc of every Python can hold.
const difficult, simple = `s3cret;#"'${x}=\ y`, "s3cret-word"

// A trial is a configuration with which a real tool fetches from two hosts. In text and environ, OWN and
// OTHER are the addresses of a registry that demands the secret, and of one that must not see it;
// OWNHOST and OTHERHOST are these without http://. SECRET is the secret for an address, QUOTED for a value
// of an npmrc, BASE64 its base64 form, and USER64 that with the name before it.
type trial struct {
	name    string
	text    string // of ~/.npmrc, or of pip.conf
	environ string
	netrc   string // in place of ~/.netrc; the secret is then a simple one
	fails   string // what the tool, or Read, says; "" if all packages come
	other   string // the address of OTHER, if it is not 127.0.0.2
	moved   bool   // OWN sends those who ask for a file to OTHER
}

var npmTrials = []trial{
	{name: "a scope", text: "registry=OTHER/\n@priv:registry=OWN/\n//OWNHOST/:_authToken=QUOTED"},
	{name: "a variable", text: "registry=OTHER/\n@priv:registry=OWN/\n//OWNHOST/:_authToken=${T}"},
	{name: "a scope elsewhere", text: "registry=OWN/\n@open:registry=OTHER/\n//OWNHOST/:_authToken=${T}"},
	{name: "a mirror with a path", text: "registry=OTHER/npm/\n@priv:registry=OWN/npm\n//OWNHOST/npm/:_authToken=${T}"},
	{name: "a login of the host", text: "registry=OTHER/npm/\n@priv:registry=OWN/npm/\n//OWNHOST/:_authToken=${T}"},
	{name: "a login in the address", text: "registry=OTHER/\n@priv:registry=http://__token__:SECRET@OWNHOST/"},
	{name: "a login in an address by variables", text: "registry=OTHER/\n@priv:registry=${R}"},
	{name: "a password", text: "registry=OTHER/\n@priv:registry=OWN/\n//OWNHOST/:username=__token__\n//OWNHOST/:_password=BASE64"},
	{name: "basic", text: "registry=OTHER/\n@priv:registry=OWN/\n//OWNHOST/:_auth=USER64\nalways-auth=true\nemail=x"},
	{name: "CRLF, comments and a section", text: "; x\r\nregistry=OTHER/ # y\r\n@priv:registry=OWN/\r\n//OWNHOST/:_authToken=${T}\r\n[s]\r\nregistry=OWN/\r\n//OTHERHOST/:_authToken=${T}"},
	{name: "npm's variables", environ: "npm_config_registry=OTHER/\nNPM_CONFIG_@PRIV:REGISTRY=OWN/\nnpm_config_//OWNHOST/:_authToken=${T}"},
	{name: "authorities", text: "registry=OTHER/\n@priv:registry=OWN/\n//OWNHOST/:_authToken=${T}\ncafile=~/ca.pem\nstrict-ssl=false", environ: "NODE_EXTRA_CA_CERTS=HOME/ca.pem"},
	{name: "a proxy with a login", text: "registry=OTHER/\n@priv:registry=OWN/\n//OWNHOST/:_authToken=${T}\nproxy=http://me:SECRET@OTHERHOST/"},
	{name: "a helper", text: "registry=OTHER/\n@priv:registry=OWN/\n//OWNHOST/:_authToken=${T}\n//OTHERHOST/:tokenHelper=/bin/false"},
	{name: "logins of other places", text: "registry=OTHER/npm/\n@priv:registry=OWN/npm/\n//OWNHOST/np/:_authToken=${T}\n//OWNHOST/npm/x/:_authToken=${T}\n//127.0.0.1/:_authToken=${T}\n//OTHERHOST/nm/:_authToken=${T}", fails: "401"},
	{name: "a variable that is not set", text: "registry=OTHER/\n@priv:registry=OWN/\n//OWNHOST/:_authToken=${NO}", fails: "401"},
	{name: "401", text: "registry=OTHER/\n@priv:registry=OWN/\n//OWNHOST/:_authToken=wrong${T}", fails: "401"},
	{name: "a variable for the address", text: "registry=${NO}\n//OWNHOST/:_authToken=${T}", fails: "registry in ~/.npmrc is no address"},
	{name: "files elsewhere", text: "registry=OTHER/\n@priv:registry=OWN/\n//OWNHOST/:_authToken=${T}", moved: true},
}

var pipTrials = []trial{
	{name: "a login in the address", text: "[global]\nindex-url=http://__token__:SECRET@OWNHOST/simple\nextra-index-url=OTHER/simple"},
	{name: "further indexes", text: "[install]\nindex-url=OTHER/simple\nextra-index-url=\n  http://__token__:SECRET@OWNHOST/npm/simple"},
	{name: "pip's variables", environ: "PIP_INDEX_URL=http://__token__:SECRET@OWNHOST/simple\nPIP_EXTRA_INDEX_URL=OTHER/simple", text: "[global]\nindex-url=OTHER/no"},
	{name: "a netrc", netrc: "machine 127.0.0.1 login __token__ password SECRET", text: "[global]\nindex-url=OWN/simple\nextra-index-url=OTHER/simple"},
	{name: "a netrc for all hosts", netrc: "machine 127.0.0.1 login __token__ password SECRET\ndefault login __token__ password SECRET", text: "[global]\nindex-url=OWN/simple\nextra-index-url=OTHER/simple"},
	{name: "a netrc of another host", netrc: "machine localhost login __token__ password SECRET\ndefault login __token__ password SECRET", text: "[global]\nindex-url=OTHER/simple\nextra-index-url=OWN/simple", fails: "no matching distribution"},
	{name: "401", text: "[global]\nindex-url=http://__token__:xSECRET@OWNHOST/simple\nextra-index-url=OTHER/simple", fails: "no matching distribution"},
	{name: "no variable is filled in", text: "[global]\nindex-url=http://__token__:${T}@OWNHOST/simple\nextra-index-url=OTHER/${T}/simple", fails: "no matching distribution"},
	{name: "trusted hosts and a helper", text: "[global]\nindex-url=http://__token__:SECRET@OWNHOST/simple\nextra-index-url=OTHER/simple\ntrusted-host=OTHERHOST\nkeyring-provider=subprocess"},
	{name: "a proxy with a login", text: "[global]\nindex-url=http://__token__:SECRET@OWNHOST/simple\nextra-index-url=OTHER/simple\nproxy=http://me:SECRET@OTHERHOST"},
	{name: "one name, two ports", text: "[global]\nindex-url=http://__token__:SECRET@OWNHOST/simple\nextra-index-url=OTHER/simple", other: "127.0.0.1", fails: "have one host and not one login"},
	{name: "files elsewhere", text: "[global]\nindex-url=http://__token__:SECRET@OWNHOST/simple\nextra-index-url=OTHER/simple", moved: true},
}

// commands start the tools.
var commands = map[sources.Tool][]string{sources.NPM: {"npm"}, sources.Pip: {"python3", "-m", "pip"}}

func needs(t *testing.T, tool sources.Tool) {
	t.Helper()
	words := map[sources.Tool][]string{sources.NPM: {"sh", "-c", "command -v npm"}, sources.Pip: {"python3", "-c", "import pip"}}[tool]
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		testkit.Skip(t, commands[tool][0], "%v, %s", err, out)
	}
}

// serve serves a stock at an address of loopback, below / and below /npm/.
func serve(t *testing.T, ip string, stock registry.Stock) (url string, r *registry.Registry) {
	l := testkit.Get(net.Listen("tcp", ip+":0"))(t)
	url = "http://" + l.Addr().String()
	stock.Base = url + "/npm"
	r = registry.New(stock)
	mux := http.NewServeMux()
	mux.Handle("/", r)
	mux.Handle("/npm/", http.StripPrefix("/npm", r))
	server := &http.Server{Handler: mux}
	go server.Serve(l)
	t.Cleanup(func() { r.Close(); server.Close() })
	return url, r
}

// TestNoLoginElsewhere has the real npm and pip fetch with what is written for them: a private package
// comes, whose registry demands a login byte by byte, and no byte of the login reaches the other host.
func TestNoLoginElsewhere(t *testing.T) {
	for tool, trials := range map[sources.Tool][]trial{sources.NPM: npmTrials, sources.Pip: pipTrials} {
		needs(t, tool)
		for _, c := range trials {
			t.Run(string(tool)+" "+c.name, func(t *testing.T) { t.Parallel(); c.run(t, tool) })
		}
	}
}

func (c trial) run(t *testing.T, tool sources.Tool) {
	secret := difficult
	if c.netrc != "" {
		secret = simple
	}
	stock := registry.Stock{
		Packages: []registry.Package{{Name: "plain", Version: "1.0.0"}, {Name: "@open/y", Version: "1.0.0"}, {Name: "@priv/x", Version: "1.0.0"}},
		Wheels:   []registry.Wheel{{Name: "plain", Version: "1.0.0"}, {Name: "priv-x", Version: "1.0.0"}},
	}
	other, seen := serve(t, cmp.Or(c.other, "127.0.0.2"), registry.Stock{Packages: stock.Packages[:2], Wheels: stock.Wheels[:1]})
	stock.Token = secret
	if c.moved {
		stock.Faults = []registry.Fault{{Path: "*.tgz", Redirect: other + "/x"}, {Path: "*.whl", Redirect: other + "/x"}}
		c.fails = "404"
	}
	own, _ := serve(t, "127.0.0.1", stock)
	base64Of := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	quoted := testkit.Get(json.Marshal(strings.Replace(secret, "${", `\${`, 1)))(t)
	fill := strings.NewReplacer("OWNHOST", own[7:], "OTHERHOST", other[7:], "OWN", own, "OTHER", other, "SECRET", url.PathEscape(secret),
		"QUOTED", string(quoted), "BASE64", base64Of(secret), "USER64", base64Of("__token__:"+secret)).Replace
	file := map[sources.Tool]string{sources.NPM: ".npmrc", sources.Pip: ".config/pip/pip.conf"}[tool]
	environ := append(strings.Split(fill(c.environ), "\n"), "T="+secret, "R="+fill("http://__token__:SECRET@OWNHOST/"))
	host := user(t, map[string]string{file: fill(c.text), ".netrc": fill(c.netrc), "ca.pem": ""}, environ...)
	said := fetch(t, tool, sources.Reader{Host: host, Logins: true})
	if strings.Contains(strings.ToLower(said), c.fails) == (c.fails == "") && !(c.fails == "" && said == "") {
		t.Errorf("it says %q, want %q", said, c.fails)
	}
	requests := seen.Requests()
	if refused := strings.Contains(c.fails, "no address") || c.other != ""; len(requests) == 0 && !refused {
		t.Error("control: the other registry was not asked")
	}
	for _, q := range requests {
		head := testkit.Get(json.Marshal(q.Header))(t)
		all := q.URI + string(head) + q.Body
		for _, form := range []string{"s3cret", "czNjcmV0", base64Of("__token__:s3cret"), "Authorization", "Cookie"} {
			if strings.Contains(all, form) {
				t.Errorf("the other registry gets %q: %s", form, all)
			}
		}
	}
}

// fetch has a tool fetch all packages, with nothing but what is written for it. It returns what went wrong.
func fetch(t *testing.T, tool sources.Tool, reader sources.Reader) string {
	s, err := reader.Read(tool)
	if err != nil {
		return err.Error()
	}
	home := testkit.ShortDir(t)
	variables, input := s.Written(home)
	options := "install --ignore-scripts --no-audit --no-fund --fetch-retries=0 --no-update-notifier plain @open/y @priv/x"
	if tool == sources.Pip {
		options = "download --no-deps --disable-pip-version-check --no-input --no-cache-dir --retries 0 plain priv-x"
	}
	words := append(slices.Clone(commands[tool]), strings.Fields(options)...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin = opened(t, input)
	cmd.Dir, cmd.Env = home, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home}
	for name, value := range variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if slices.ContainsFunc(cmd.Env, func(v string) bool { return strings.Contains(v, "s3cret") }) {
		t.Errorf("a variable has the login: %q", cmd.Env)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return string(out) + err.Error()
	}
	for _, name := range []string{"node_modules/@priv/x", "priv_x-1.0.0-py3-none-any.whl"} {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			return ""
		}
	}
	return "the private package did not come"
}

// TestReadAsTools: npm and pip read what is written for them as they read the user's own configuration.
func TestReadAsTools(t *testing.T) {
	npmrc := rc("#registry=https://no.test/", "  ; @x:registry=https://no.test/", "registry=${A} # a remark", `@b:registry="https://b.test/#x"`, `@c:registry='https://c.test/'`, `"@d:registry" = https://d.test/x\;y\#z`,
		`@e:registry=https://e.test/${E?}${NO?}`, `@f:registry=https://f.test/\${A}`, "=x", "@h:registry=", "@i:registry=https://no.test/", "@i:registry=https://i.test/${A?}",
		"cafile=~/ca.pem", "ca[]=one", "ca[]=two", "ca=three", `ca[]="${x\${A}"`, "strict-ssl=false", "min-release-age = 3 ", "[section]", "registry=https://section.test/")
	pipConf := conf("# x\n[global]\nindex_url = https://a.test/\ntimeout: 7\nextra-index-url = https://b.test/s\n  # no\n  https://c.test/s\nCERT=~/ca.pem\nretries = 3\n")
	for tool, files := range map[sources.Tool]map[string]string{sources.NPM: npmrc, sources.Pip: pipConf} {
		needs(t, tool)
		host := user(t, merged(files, map[string]string{"ca.pem": "x"}), "A=https://a.test/", "E=")
		s := testkit.Get(sources.Reader{Host: host, Logins: true}.Read(tool))(t)
		variables, input := s.Written(testkit.ShortDir(t))
		want, got := settings(t, tool, host, nil, ""), settings(t, tool, host, variables, input)
		if want != got || !strings.Contains(want, "ca.pem") || !strings.Contains(want, "https://a.test/") {
			t.Errorf("%s: from what is written it reads\n%s\nand from the user's file\n%s", tool, got, want)
		}
	}
}

// opened returns a file with a text, which a program can open again as its stdin.
func opened(t *testing.T, text string) *os.File {
	name := filepath.Join(t.TempDir(), "input")
	testkit.WriteFile(t, name, text)
	f := testkit.Get(os.Open(name))(t)
	t.Cleanup(func() { f.Close() })
	return f
}

// settings returns what a tool says that it reads: of npm a registry, an authority or an age, of pip all.
func settings(t *testing.T, tool sources.Tool, host *hostfs.Host, variables map[string]string, input string) string {
	words := append(slices.Clone(commands[tool]), map[sources.Tool][]string{sources.NPM: {"config", "list", "--json"}, sources.Pip: {"config", "list"}}[tool]...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdin = opened(t, input)
	cmd.Dir, cmd.Env = host.Home, append(slices.Clone(host.Environ), "PATH="+os.Getenv("PATH"), "HOME="+host.Home, "XDG_CONFIG_DIRS="+host.Home)
	for name, value := range variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out := testkit.Get(cmd.Output())(t)
	var lines []string
	for line := range strings.Lines(string(out)) {
		line = strings.NewReplacer("global.", "", ":env:.", "", `\n`, " ", "~", host.Home, "=' ", "='").Replace(line)
		if _, path, _ := strings.Cut(line, "config-file"); path == "" {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
	}
	if tool == sources.NPM {
		var all map[string]any
		testkit.Must(t, json.Unmarshal(out, &all))
		lines = nil
		for name, value := range all {
			if name[0] == '@' && value != "" || slices.Contains([]string{"registry", "ca", "cafile", "strict-ssl", "min-release-age"}, name) {
				lines = append(lines, fmt.Sprint(name, "=", value))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
