package sources

import (
	"slices"
	"strings"
)

// meaning is what a setting says, whichever tool it is of.
type meaning string

const (
	index    meaning = "the registry"
	scope    meaning = "the registry of a scope"
	extra    meaning = "further registries"
	login    meaning = "a login"
	cafile   meaning = "a file of authorities"
	ca       meaning = "authorities"
	identity meaning = "a client's certificate"
	tls      meaning = "whether certificates are checked"
	tarballs meaning = "whether files come from the registry too"
	insecure meaning = "hosts whose certificates are not checked"
	systemCA meaning = "whether the system's authorities count"
	proxy    meaning = "a proxy"
	noProxy  meaning = "hosts without a proxy"
	minAge   meaning = "the age of a version"
	before   meaning = "the date of a version"
	timeout  meaning = "a timeout"
	retries  meaning = "the number of retries"
	place    meaning = "a file with settings"
)

// setting is a row of the table: a key of a tool.
type setting struct {
	tool Tool
	// key is its name in the tool's files, where a "*" is any text. The variable of the same name is
	// npm_config_KEY in any case, PIP_KEY or UV_KEY, with "_" for "-".
	key  string
	what meaning
	// written is how the tool in the jail is told: a key of npm's file, or a variable of pip or uv.
	// "*" is the key itself. Without it, Write does not write it: the gateway is told of a proxy.
	written string
}

// table has the settings that are used. Of two rows with one meaning, the first one counts more.
var table = []setting{
	{NPM, "registry", index, "registry"},
	{NPM, "@*:registry", scope, "*"},
	{NPM, "//*:_authToken", login, "*"},
	{NPM, "//*:_auth", login, "*"},
	{NPM, "//*:username", login, "*"},
	{NPM, "//*:_password", login, "*"},
	{NPM, "//*:certfile", login, "*"},
	{NPM, "//*:keyfile", login, "*"},
	{NPM, "cafile", cafile, "cafile"},
	{NPM, "ca", ca, "ca[]"},
	{NPM, "strict-ssl", tls, "strict-ssl"},
	{NPM, "replace-registry-host", tarballs, "replace-registry-host"},
	{NPM, "https-proxy", proxy, ""},
	{NPM, "proxy", proxy, ""},
	{NPM, "noproxy", noProxy, ""},
	{NPM, "min-release-age", minAge, "min-release-age"},
	{NPM, "before", before, "before"},
	{NPM, "userconfig", place, ""},
	{NPM, "globalconfig", place, ""},
	{NPM, "prefix", place, ""},

	{Pip, "index-url", index, "PIP_INDEX_URL"},
	{Pip, "extra-index-url", extra, "PIP_EXTRA_INDEX_URL"},
	{Pip, "cert", cafile, "PIP_CERT"},
	{Pip, "client-cert", identity, "PIP_CLIENT_CERT"},
	{Pip, "trusted-host", insecure, "PIP_TRUSTED_HOST"},
	{Pip, "proxy", proxy, ""},
	{Pip, "timeout", timeout, "PIP_TIMEOUT"},
	{Pip, "retries", retries, "PIP_RETRIES"},
	{Pip, "config-file", place, ""},

	{Uv, "default-index", index, "UV_DEFAULT_INDEX"},
	{Uv, "index-url", index, ""},
	{Uv, "index", extra, "UV_INDEX"},
	{Uv, "extra-index-url", extra, ""},
	{Uv, "allow-insecure-host", insecure, "UV_INSECURE_HOST"},
	{Uv, "insecure-host", insecure, ""}, // the variable
	{Uv, "native-tls", systemCA, "UV_NATIVE_TLS"},
	{Uv, "config-file", place, ""},
	{Uv, "no-config", place, ""},
}

// noise has the keys that decide neither where packages come from nor how one logs in there: what a
// tool prints and asks, how long it waits, where it keeps its own files, and what it writes into a
// project. No word is lost on them.
var noise = map[Tool]string{
	NPM: "email //*:email always-auth //*:always-auth audit* cache color fetch-* fund init* loglevel logs-* maxsockets nodedir omit-lockfile-* progress save* update-notifier yes",
	Pip: "break-system-packages cache-dir default-timeout disable-pip-version-check log no-cache-dir no-color no-input progress-bar quiet require-virtualenv root-user-action user verbose",
	Uv:  "cache-dir color compile-bytecode link-mode no-cache no-progress pip preview project* python python-downloads python-preference required-version system-python tool-*",
}

// authorityVariables name files of authorities for all programs of a kind. They are handed on.
var authorityVariables = map[Tool][]string{
	NPM: {"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"},
	Pip: {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"},
	Uv:  {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT"}, // pip may do its work: see As
}

// rowOf returns the number of the row of a key, or -1.
func rowOf(tool Tool, key string) int {
	return slices.IndexFunc(table, func(s setting) bool { return s.tool == tool && matches(s.key, key) })
}

func isNoise(tool Tool, key string) bool {
	return slices.ContainsFunc(strings.Fields(noise[tool]), func(pattern string) bool { return matches(pattern, key) })
}

// matches reports whether a key has a pattern, in which "*" is any text.
func matches(pattern, key string) bool {
	begin, end, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == key
	}
	return len(key) >= len(begin)+len(end) && strings.HasPrefix(key, begin) && strings.HasSuffix(key, end)
}
