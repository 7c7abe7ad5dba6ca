package sources_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/packages/sources"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// user makes a host with a home directory. files are by their names below it; in them and in the
// variables, HOME stands for it.
func user(t *testing.T, files map[string]string, environ ...string) *hostfs.Host {
	t.Helper()
	host := testkit.Get(hostfs.LocalHost())(t)
	host.Home = testkit.ShortDir(t)
	host.Environ = nil
	read := host.ReadHead
	host.ReadHead = func(file string, n int) ([]byte, error) {
		if strings.HasPrefix(file, "/etc/") { // what this machine has
			return nil, fs.ErrNotExist
		}
		return read(file, n)
	}
	for _, v := range environ {
		host.Environ = append(host.Environ, strings.ReplaceAll(v, "HOME/", host.Home+"/"))
	}
	for name, text := range files {
		name = filepath.Join(host.Home, name)
		testkit.Must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		testkit.WriteFile(t, name, strings.ReplaceAll(text, "HOME/", host.Home+"/"))
	}
	return &host
}

// printed is what sources are and write: Chosen, Proxy, NotUsed, and the variables and the file of
// Write, a line each. A registry that is the default is left out, and so is what says where the file is.
func printed(t *testing.T, s *sources.Sources, home string) string {
	t.Helper()
	jail := testkit.ShortDir(t)
	variables, err := s.Write(jail)
	if err != nil {
		return "error: " + err.Error()
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if !slices.Contains([]string{"NETRC", "PIP_CONFIG_FILE", "UV_NO_CONFIG", "npm_config_userconfig", "npm_config_globalconfig"}, name) {
			lines = append(lines, name+"="+variables[name])
		}
	}
	for _, file := range s.Files(jail) {
		if info, err := os.Lstat(file); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
		lines = append(lines, strings.Split(strings.TrimSpace(testkit.ReadFile(t, file)), "\n")...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Proxy)) {
		lines = append(lines, "proxy "+name+"="+s.Proxy[name])
	}
	for _, name := range s.NotUsed {
		lines = append(lines, "not used: "+name)
	}
	for _, option := range s.Chosen() {
		lines = append(lines, "chosen: "+option)
	}
	for _, file := range s.Certificates {
		lines = append(lines, "reads "+file)
	}
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return line == "" || strings.Contains(line, "registry.npm") || strings.Contains(line, "//pypi.") && !strings.HasPrefix(line, "chosen")
	})
	return strings.ReplaceAll(strings.Join(lines, "\n"), home+"/", "HOME/")
}

func show(tool sources.Tool, reader sources.Reader, t *testing.T) string {
	s, err := reader.Read(tool)
	if err != nil {
		return "error: " + err.Error()
	}
	return printed(t, s, reader.Host.Home)
}

// shape is a configuration, and what comes of it for a line of the user's own.
type shape struct {
	name    string
	files   map[string]string
	environ string // names and values, a line each
	want    string
}

func (s shape) host(t *testing.T) *hostfs.Host {
	return user(t, s.files, strings.FieldsFunc(s.environ, func(r rune) bool { return r == '\n' })...)
}

func rc(lines ...string) map[string]string {
	return map[string]string{".npmrc": strings.Join(lines, "\n")}
}

var npmShapes = []shape{
	{"nothing", nil, "", ``},
	{"a mirror with a path", rc("registry=https://a.test/npm/", "//a.test/npm/:_authToken=t"), "",
		`"registry"="https://a.test/npm/"` + "\n" + `"//a.test/npm/:_authToken"="t"`},
	{"a login of another host", rc("registry=https://a.test/", "//b.test/:_authToken=t", "//a.test.evil.test/:_authToken=t", "//a.tes/:_authToken=t"), "",
		`"registry"="https://a.test/"`},
	{"a login of another port", rc("registry=https://a.test/", "//a.test:8443/:_authToken=t", "@b:registry=http://b.test:81/", "//b.test/:_auth=t"), "",
		`"registry"="https://a.test/"` + "\n" + `"@b:registry"="http://b.test:81/"`},
	{"the usual port", rc("registry=https://A.test:443/", "//a.test/:_authToken=t", "//a.test:443/:_auth=no"), "",
		`"registry"="https://A.test:443/"` + "\n" + `"//a.test/:_authToken"="t"`},
	{"logins of parts of a registry", rc("registry=https://a.test/npm/all", "//a.test/npm/:_authToken=t", "//a.test/np/:_authToken=no", "//a.test/npm/all2/:_authToken=no", "//a.test/npm/all/x/:_authToken=no"), "",
		`"registry"="https://a.test/npm/all"` + "\n" + `"//a.test/npm/:_authToken"="t"`},
	{"the longest beginning counts", rc("registry=https://a.test/npm/", "//a.test/:_authToken=no", "//a.test/npm:username=me", "//a.test/npm:_password=cHc="), "",
		`"registry"="https://a.test/npm/"` + "\n" + `"//a.test/npm:username"="me"` + "\n" + `"//a.test/npm:_password"="cHc="`},
	{"a name without a password", rc("registry=https://a.test/", "//a.test/:username=me"), "", `"registry"="https://a.test/"`},
	{"scopes", rc("@a:registry=https://a.test/", "@b:registry=https://b.test", "//b.test/:_authToken=t", "@c:registry=null"), "",
		`"@a:registry"="https://a.test/"` + "\n" + `"@b:registry"="https://b.test"` + "\n" + `"//b.test/:_authToken"="t"`},
	{"a variable in a login", rc("registry=https://a.test/", "//a.test/:_authToken=${T}", "//a.test/:email=${NO}"), "T=;#\"'${X}=\\ x",
		`"registry"="https://a.test/"` + "\n" + `"//a.test/:_authToken"=";#\"'\\${X}=\\ x"`},
	{"a variable that is not set", rc("registry=https://a.test/", "//a.test/:_authToken=${T}"), "",
		`"registry"="https://a.test/"` + "\nnot used: //a.test/:_authToken in ~/.npmrc (T is not set)"},
	{"a question mark", rc("registry=https://a.test/${P?}", "//a.test/:_authToken=x${T?}"), "",
		`"registry"="https://a.test/"` + "\n" + `"//a.test/:_authToken"="x"` + "\nchosen: --registry=https://a.test/"},
	{"variables in a registry and a key", rc("registry=${R}", "//${H}/:_authToken=t"), "R=https://a.test/\nH=a.test",
		`"registry"="https://a.test/"` + "\n" + `"//a.test/:_authToken"="t"` + "\nchosen: --registry=https://a.test/"},
	{"a registry that is not set", rc("registry=${R}"), "", `error: registry in ~/.npmrc is no address: R is not filled in. Set that variable where mcp-jail starts, or write the address itself, as servers that are not your own need it`},
	{"a backslash before a variable", rc("registry=https://a.test/", `//a.test/:_authToken=\${T}`, `@b:registry=https://b.test/\${T}`), "T=no",
		`"registry"="https://a.test/"` + "\n" + `"@b:registry"="https://b.test/\\${T}"` + "\n" + `"//a.test/:_authToken"="\\${T}"`},
	{"quotes", rc(`"registry" = "https://a.test/" `, `//a.test/:_authToken='t;"#'`), "", `"registry"="https://a.test/"` + "\n" + `"//a.test/:_authToken"="t;\"#"`},
	{"comments", rc("; x", "# x", "  # registry=https://no.test/", "registry = https://a.test/ ; ours", `//a.test/:_authToken=t\;\#u#no`), "",
		`"registry"="https://a.test/"` + "\n" + `"//a.test/:_authToken"="t;#u"`},
	{"CRLF", rc("registry=https://a.test/\r", "//a.test/:_authToken=t\r", "\r", "@b:registry=https://b.test/\r"), "",
		`"registry"="https://a.test/"` + "\n" + `"@b:registry"="https://b.test/"` + "\n" + `"//a.test/:_authToken"="t"`},
	{"a section", rc("registry=https://a.test/", "[x]", "registry=https://no.test/", "//a.test/:_authToken=no"), "", `"registry"="https://a.test/"`},
	{"a login in the address", rc("registry=https://me:p%3Aw@a.test/npm/"), "", `"registry"="https://a.test/npm/"` + "\n" + `"//a.test/npm/:_auth"="bWU6cDp3"`},
	{"a login in the address and one by key", rc("registry=https://me:pw@a.test/", "//a.test/:_authToken=t"), "", `"registry"="https://a.test/"` + "\n" + `"//a.test/:_authToken"="t"`},
	{"a registry twice, and a variable", rc("registry=https://a.test/", "registry=https://b.test/"), "npm_config_registry=https://me:pw@c.test/",
		`"registry"="https://c.test/"` + "\n" + `"//c.test/:_auth"="bWU6cHc="` + "\nchosen: --registry=https://c.test/"},
	{"variables in any case", nil, "NPM_CONFIG_@S:REGISTRY=https://s.test/\nnpm_config_//s.test/:_authToken=t\nnpm_config_min_release_age=3\nnpm_config_cache=/x\nNPM_CONFIG_CA=one\n\ntwo",
		`"@s:registry"="https://s.test/"` + "\n" + `"//s.test/:_authToken"="t"` + "\n" + `"ca[]"="one"` + "\n" + `"min-release-age"="3"` + "\nchosen: --@s:registry=https://s.test/"},
	{"authorities", merged(rc("cafile=~/ca.pem", "ca[]=one", `ca[]="t\nwo"`, "strict-ssl=false", "replace-registry-host=always"), map[string]string{"ca.pem": "x", "extra.pem": "x"}), "NODE_EXTRA_CA_CERTS=HOME/extra.pem\nSSL_CERT_FILE=HOME/none.pem",
		"NODE_EXTRA_CA_CERTS=HOME/extra.pem\n" + `"cafile"="HOME/ca.pem"` + "\n" + `"ca[]"="one"` + "\n" + `"ca[]"="t\nwo"` + "\n" + `"strict-ssl"="false"` + "\n" + `"replace-registry-host"="always"` + "\nreads HOME/extra.pem\nreads HOME/ca.pem"},
	{"authorities that are not there", rc("cafile=ca.pem"), "", "not used: cafile in ~/.npmrc"},
	{"a certificate of the client", merged(rc("registry=https://a.test/", "//a.test/:certfile=HOME/c.pem", "//a.test/:keyfile=HOME/k.pem", "//b.test/:certfile=HOME/c2.pem", "//b.test/:keyfile=HOME/c2.pem"), map[string]string{"c.pem": "x", "k.pem": "x", "c2.pem": "x"}), "",
		`"registry"="https://a.test/"` + "\n" + `"//a.test/:certfile"="HOME/c.pem"` + "\n" + `"//a.test/:keyfile"="HOME/k.pem"` + "\nreads HOME/c.pem\nreads HOME/k.pem"},
	{"a proxy", rc("proxy=http://p.test:1", "https-proxy=http://me:pw@q.test:2", "noproxy[]=a", "noproxy[]=b"), "", "proxy HTTPS_PROXY=http://me:pw@q.test:2\nproxy HTTP_PROXY=http://me:pw@q.test:2\nproxy NO_PROXY=a,b"},
	{"no proxy", rc("proxy=null", "https-proxy=false"), "", ""},
	{"ages", rc("min-release-age=9"), "npm_config_min_release_age=3", `"min-release-age"="3"`},
	{"not used", rc("tokenHelper=/bin/helper", "//a.test/:tokenHelper=/bin/helper", "_authToken=x", "MIIBpiece", "init-author-name=x", "save-exact=true", "//a.test/:email=x", "always-auth=true"), "npm_config_foo=x",
		"not used: tokenHelper in ~/.npmrc\nnot used: //a.test/:tokenHelper in ~/.npmrc\nnot used: _authToken in ~/.npmrc"},
	{"the file that a variable names", map[string]string{"mine": "registry=https://a.test/", ".npmrc": "registry=https://no.test/"}, "npm_config_userconfig=~/mine", `"registry"="https://a.test/"` + "\nchosen: --registry=https://a.test/"},
	{"the usual file, named", rc("registry=https://a.test/"), "npm_config_userconfig=HOME/.npmrc", `"registry"="https://a.test/"`},
	{"the global file", map[string]string{".npmrc": "prefix=~/p", "p/etc/npmrc": "registry=https://a.test/"}, "", `"registry"="https://a.test/"`},
	{"no address", rc("registry=a.test"), "", `error: registry in ~/.npmrc is not the address of a registry: it has no host, or begins with neither https:// nor http://. Correct it`},
	{"a file", nil, "npm_config_registry=file:///etc/passwd", `error: npm_config_registry is not the address of a registry: it has no host, or begins with neither https:// nor http://. Correct it`},
}

func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

func conf(text string) map[string]string { return map[string]string{".config/pip/pip.conf": text} }

var pipShapes = []shape{
	{"nothing", nil, "", ""},
	{"a mirror", conf("[global]\nindex-url = https://a.test/simple\n"), "", "PIP_INDEX_URL=https://a.test/simple"},
	{"a login in the address", conf("[global]\nindex-url: https://me:p%20w%22%5C@A.test:8443/simple\n"), "", "PIP_INDEX_URL=https://A.test:8443/simple\n" + `machine a.test login me password "p w\"\\"`},
	{"a token in the place of the name", conf("[global]\nindex-url = https://TOKEN@a.test/simple\n"), "", "PIP_INDEX_URL=https://a.test/simple\n" + `machine a.test login TOKEN password ""`},
	{"further indexes", conf("[install]\nextra_index_url =\n  https://b.test/simple\n  # x\n  https://u:p@c.test/simple\n[global]\nextra-index-url = https://no.test\n"), "", "PIP_EXTRA_INDEX_URL=https://b.test/simple https://c.test/simple\nmachine c.test login u password p"},
	{"a section of a weaker file", map[string]string{".pip/pip.conf": "[install]\nindex-url=https://a.test/s", ".config/pip/pip.conf": "[global]\nindex-url=https://no.test/s\n[list]\nindex-url=https://no.test/s"}, "", "PIP_INDEX_URL=https://a.test/s"},
	{"a variable", conf("[install]\nindex-url = https://no.test/s\ntimeout = 5\n"), "PIP_INDEX_URL=https://me:${X}@a.test/s\nPIP_TRUSTED_HOST=a.test b.test\nPIP_RETRIES=", "PIP_INDEX_URL=https://a.test/s\nPIP_TIMEOUT=5\nPIP_TRUSTED_HOST=a.test b.test\nmachine a.test login me password ${X}\nchosen: --index-url=https://a.test/s"},
	{"another file", merged(conf("[global]\nindex-url=https://no.test/s"), map[string]string{"p": "[global]\nindex-url=https://a.test/s"}), "PIP_CONFIG_FILE=HOME/p", "PIP_INDEX_URL=https://a.test/s\nchosen: --index-url=https://a.test/s"},
	{"another file that names none", merged(conf("[global]\nindex-url=https://no.test/s"), map[string]string{"p": "[global]\ntimeout=3"}), "PIP_CONFIG_FILE=HOME/p", "PIP_TIMEOUT=3\nchosen: --index-url=https://pypi.org/simple"},
	{"certificates", merged(conf("[global]\ncert = ~/ca.pem\nclient-cert=HOME/none.pem"), map[string]string{"ca.pem": "x", "r.pem": "x"}), "REQUESTS_CA_BUNDLE=HOME/r.pem", "PIP_CERT=HOME/ca.pem\nREQUESTS_CA_BUNDLE=HOME/r.pem\nnot used: client-cert in ~/.config/pip/pip.conf\nreads HOME/r.pem\nreads HOME/ca.pem"},
	{"a proxy", conf("[global]\nproxy = me:pw@p.test:3128\n"), "", "proxy HTTPS_PROXY=http://me:pw@p.test:3128\nproxy HTTP_PROXY=http://me:pw@p.test:3128"},
	{"CRLF and comments", conf("# x\r\n[global]\r\n; x\r\nindex-url = https://a.test/s\r\n"), "", "PIP_INDEX_URL=https://a.test/s"},
	{"not used", conf("[global]\nkeyring-provider = subprocess\nfind-links = /x\nno-index = yes\nconstraint=c.txt\nquiet=1\n"), "PIP_FIND_LINKS=/y", "not used: PIP_FIND_LINKS\nnot used: keyring-provider in ~/.config/pip/pip.conf\nnot used: find-links in ~/.config/pip/pip.conf\nnot used: no-index in ~/.config/pip/pip.conf\nnot used: constraint in ~/.config/pip/pip.conf"},
	{"a netrc", merged(conf("[global]\nindex-url=https://a.test/s\nextra-index-url=https://b.test/s"), map[string]string{".netrc": "# x\nmachine no.test login x password no\nmachine a.test\n  login me account c # x\n  password p#w\ndefault login x password no\n"}), "", "PIP_EXTRA_INDEX_URL=https://b.test/s\nPIP_INDEX_URL=https://a.test/s\n" + "machine a.test login me password p#w"},
	{"a netrc with quotes", merged(conf("[global]\nindex-url=https://a.test/s"), map[string]string{".netrc": "machine a.test login me password \"p q\""}), "", "PIP_INDEX_URL=https://a.test/s\nnot used: the login of a.test in ~/.netrc"},
	{"an address before the netrc", merged(conf("[global]\nindex-url=https://u:p@a.test/s"), map[string]string{"n": "machine a.test login no password no\n"}), "NETRC=HOME/n", "PIP_INDEX_URL=https://a.test/s\nmachine a.test login u password p"},
	{"two ports", conf("[global]\nindex-url=https://u:p@a.test/s\nextra-index-url=https://a.test:444/s"), "", "error: https://a.test/s and https://a.test:444/s have one host and not one login: pip and uv are given logins by the name of the host. Give them one login, or one of them another name"},
	{"two logins", conf("[global]\nindex-url=https://u:p@a.test/1\nextra-index-url=https://u:q@a.test/2"), "", "error: https://a.test/1 and https://a.test/2 have one host and not one login: pip and uv are given logins by the name of the host. Give them one login, or one of them another name"},
	{"no section", conf("index-url=https://a.test/s"), "", "error: line 1 of ~/.config/pip/pip.conf is neither [SECTION] nor NAME = VALUE. Correct it; pip config debug lists pip's files"},
	{"no address", conf("[global]\nindex-url=/srv/simple"), "", "error: index-url in ~/.config/pip/pip.conf is not the address of a registry: it has no host, or begins with neither https:// nor http://. Correct it"},
}

func uvToml(text string) map[string]string { return map[string]string{".config/uv/uv.toml": text} }

var uvShapes = []shape{
	{"nothing", nil, "", ""},
	{"tables", uvToml("[[index]]\nname='b-b'\nurl='https://b.test/s'\n[[index]]\nurl='https://u:p@a.test/s'\ndefault=true\n[[index]]\nname='x'\nurl='https://no.test/s'\nexplicit=true\n"), "UV_INDEX_B_B_USERNAME=me\nUV_INDEX_B_B_PASSWORD=p@w", "UV_DEFAULT_INDEX=https://a.test/s\nUV_INDEX=https://b.test/s\nmachine a.test login u password p\nmachine b.test login me password p@w"},
	{"the older keys", uvToml("index-url = 'https://a.test/s'\nextra-index-url = ['https://b.test/s', 'https://c.test/s']\nallow-insecure-host = ['a.test']\nnative-tls = true"), "", "UV_DEFAULT_INDEX=https://a.test/s\nUV_INDEX=https://b.test/s https://c.test/s\nUV_INSECURE_HOST=a.test\nUV_NATIVE_TLS=true"},
	{"variables", uvToml("[[index]]\nurl='https://b.test/s'\n"), "UV_INDEX_URL=https://no.test/s\nUV_DEFAULT_INDEX=https://a.test/s\nUV_INDEX=mine=https://c.test/s https://d.test/s\nUV_INDEX_MINE_PASSWORD=pw\nUV_KEYRING_PROVIDER=x\nUV_INDEX_STRATEGY=unsafe-best-match", "UV_DEFAULT_INDEX=https://a.test/s\nUV_INDEX=https://c.test/s https://d.test/s https://b.test/s\nmachine c.test login \"\" password pw\nnot used: UV_KEYRING_PROVIDER\nnot used: UV_INDEX_STRATEGY\nchosen: --extra-index-url=https://c.test/s\nchosen: --extra-index-url=https://d.test/s\nchosen: --index-url=https://a.test/s"},
	{"not used", uvToml("find-links=['/x']\nkeyring-provider='subprocess'\nexclude-newer='2026-01-01'\ncache-dir='/x'\n[pip]\nno-index=true\n"), "", "not used: exclude-newer in ~/.config/uv/uv.toml\nnot used: find-links in ~/.config/uv/uv.toml\nnot used: keyring-provider in ~/.config/uv/uv.toml"},
	{"no TOML", uvToml("index-url = "), "", "error: ~/.config/uv/uv.toml is not used: toml: expected value, not end of input. Correct it"},
	{"no files", uvToml("index-url = 'https://no.test/'"), "UV_NO_CONFIG=1", "chosen: --index-url=https://pypi.org/simple"},
}

// TestRead tests what is written for a line of the user's own, and what is said not to be used.
func TestRead(t *testing.T) {
	for tool, shapes := range map[sources.Tool][]shape{sources.NPM: npmShapes, sources.Pip: pipShapes, sources.Uv: uvShapes} {
		for _, s := range shapes {
			t.Run(string(tool)+" "+s.name, func(t *testing.T) {
				testkit.Equal(t, "", show(tool, sources.Reader{Host: s.host(t), Logins: true}, t), s.want)
			})
		}
	}
}

// TestReadNotOwn tests what is left for a line that is not the user's own: registries, and no secret.
func TestReadNotOwn(t *testing.T) {
	for _, c := range []struct {
		tool sources.Tool
		shape
	}{
		{sources.NPM, shape{"logins", rc("registry=https://me:s3cret@a.test/", "//a.test/:_authToken=s3cret", "@b:registry=https://b.test/", "proxy=http://me:s3cret@p.test:1", "cafile=${T}"), "T=s3cret",
			`"registry"="https://a.test/"` + "\n" + `"@b:registry"="https://b.test/"` + "\nproxy HTTPS_PROXY=http://p.test:1\nproxy HTTP_PROXY=http://p.test:1\nnot used: cafile in ~/.npmrc"}},
		{sources.NPM, shape{"a variable in an address", rc("registry=https://a.test/${T}"), "T=s3cret", "error: registry in ~/.npmrc is no address: T is not filled in. Set that variable where mcp-jail starts, or write the address itself, as servers that are not your own need it"}},
		{sources.Pip, shape{"logins", merged(conf("[global]\nindex-url=https://me:s3cret@a.test/s"), map[string]string{".netrc": "machine a.test login me password s3cret"}), "PIP_EXTRA_INDEX_URL=https://me:s3cret@b.test/s",
			"PIP_EXTRA_INDEX_URL=https://b.test/s\nPIP_INDEX_URL=https://a.test/s\nchosen: --extra-index-url=https://b.test/s"}},
		{sources.Pip, shape{"a certificate of the client", merged(conf("[global]\nclient-cert=~/c.pem"), map[string]string{"c.pem": "s3cret"}), "PIP_INDEX_URL=https://a.test/s",
			"PIP_INDEX_URL=https://a.test/s\nchosen: --index-url=https://a.test/s"}},
		{sources.Uv, shape{"logins", uvToml("[[index]]\nname='a'\nurl='https://a.test/s'"), "UV_INDEX_A_PASSWORD=s3cret", "UV_INDEX=https://a.test/s"}},
	} {
		s, err := sources.Reader{Host: c.host(t)}.Read(c.tool)
		if err == nil && len(s.Secrets()) > 0 {
			t.Errorf("%s %s: %v", c.tool, c.name, s.Secrets())
		}
		testkit.Equal(t, fmt.Sprintf("%s %s", c.tool, c.name), show(c.tool, sources.Reader{Host: c.host(t)}, t), c.want)
	}
}

// TestReadFiles tests that each file that counts is asked for, and which files are as good as none.
func TestReadFiles(t *testing.T) {
	host := user(t, merged(rc("cafile=~/ca.pem", "prefix=~/p", "//registry.test/:certfile=HOME/no.pem", "//registry.test/:keyfile=HOME/no.pem"), map[string]string{"ca.pem": "x", "no.pem": "x", "p/etc/npmrc": "registry=https://a.test/"}))
	testkit.Must(t, os.Rename(filepath.Join(host.Home, ".npmrc"), filepath.Join(host.Home, "rc")))
	testkit.Must(t, os.Symlink("rc", filepath.Join(host.Home, ".npmrc")))
	var asked []string
	reader := sources.Reader{Host: host, Believe: func(file string) error { asked = append(asked, strings.TrimPrefix(file, host.Home)); return nil }}
	s := testkit.Get(reader.Read(sources.NPM))(t)
	if want := []string{"/.npmrc", "/p/etc/npmrc", "/ca.pem"}; !slices.Equal(asked, want) || s.Index != "https://a.test/" {
		t.Errorf("asked for %q, want %q; %+v", asked, want, s)
	}
	for _, refused := range asked {
		reader.Believe = func(file string) error {
			if strings.HasSuffix(file, refused) {
				return os.ErrPermission
			}
			return nil
		}
		if s, err := reader.Read(sources.NPM); !errors.Is(err, os.ErrPermission) || s != nil {
			t.Errorf("%s: %v, %v", refused, s, err)
		}
	}
	reader.Believe = nil
	for name, make := range map[string]func(file string) error{
		"a directory": func(file string) error { return os.Mkdir(file, 0o755) },
		"too large": func(file string) error {
			return os.WriteFile(file, []byte("registry=https://a.test/\n"+strings.Repeat("#", 1<<20)), 0o644)
		},
	} {
		file := filepath.Join(host.Home, ".npmrc")
		testkit.Must(t, os.Remove(file))
		testkit.Must(t, make(file))
		testkit.Equal(t, name, show(sources.NPM, reader, t), "")
	}
}

// TestAs tests that uv's sources are written for pip, and what pip has no word for is named.
func TestAs(t *testing.T) {
	host := user(t, uvToml("index-url='https://me:pw@a.test/s'\nallow-insecure-host=['a.test']\nnative-tls=true"))
	s := testkit.Get(sources.Reader{Host: host, Logins: true}.Read(sources.Uv))(t)
	want := "PIP_INDEX_URL=https://a.test/s\nPIP_TRUSTED_HOST=a.test\nmachine a.test login me password pw\nnot used: native-tls of uv"
	if got := printed(t, s.As(sources.Pip), host.Home); got != want || !s.Configured {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRegistries tests which hosts may be reached: that of Python's files only beside its own index.
func TestRegistries(t *testing.T) {
	for want, c := range map[string]struct {
		tool  sources.Tool
		files map[string]string
	}{
		"https://pypi.org/simple https://files.pythonhosted.org/": {sources.Uv, nil},
		"https://a.test/1 https://a.test:444/3":                   {sources.Pip, conf("[global]\nindex-url=https://a.test/1\nextra-index-url=https://a.test/2 https://a.test:444/3")},
		"https://a.test/ https://b.test/ https://c.test/":         {sources.NPM, rc("registry=https://a.test/", "@b:registry=https://b.test/", "@c:registry=https://c.test/", "@d:registry=https://b.test/x/")},
	} {
		s := testkit.Get(sources.Reader{Host: user(t, c.files)}.Read(c.tool))(t)
		testkit.Equal(t, "", strings.Trim(fmt.Sprint(s.Registries()), "[]"), want)
	}
}
