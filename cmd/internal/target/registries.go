package target

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/leak"
	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// maxRegistryFile bounds the bytes that are read of a file with credentials.
// maxRegistryCredentials bounds the credentials of each kind.
const (
	maxRegistryFile        = 64 << 10
	maxRegistryCredentials = 20
)

// registryCredentials returns the user's tokens of package registries, which servers are not
// granted. Passwords that a server could guess are left out: a blocked answer would tell the
// server that its guess is right. Each credential has the name of its kind, because a server sees
// the name.
//
// The files are those that npm, pip and uv read for each user. Files in places that a variable
// names are left out, because a server may be able to write them. A file that cannot be read has
// no credentials.
func registryCredentials(host hostfs.Host) (secret []policy.Variable) {
	add := func(name string, values ...string) {
		n := 0
		for _, value := range values {
			known := slices.ContainsFunc(secret, func(v policy.Variable) bool { return v.Value == value })
			if n++; !known && n <= maxRegistryCredentials {
				secret = append(secret, policy.Variable{Name: name, Value: value, Secret: true})
			}
		}
	}
	var tokens []string
	for _, c := range npm.Credentials(npmSettings(host)) {
		if !leak.IsToken(c.Secret) {
			continue
		}
		if tokens = append(tokens, c.Secret); c.Written != c.Secret {
			tokens = append(tokens, c.Written)
		}
	}
	add("a token of an npm registry", tokens...)

	var indexes []string
	for _, name := range []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_EXTRA_INDEX_URL"} {
		value, _ := host.Getenv(name)
		indexes = append(indexes, value)
	}
	config := filepath.Join(host.Home, ".config")
	for _, file := range []string{filepath.Join(config, "pip", "pip.conf"), filepath.Join(host.Home, ".pip", "pip.conf"), filepath.Join(config, "uv", "uv.toml")} {
		indexes = append(indexes, readPrivate(file))
	}
	passwords := python.Credentials(indexes, readPrivate(filepath.Join(host.Home, ".netrc")), host.Environ)
	add("a token of a Python index", slices.DeleteFunc(passwords, func(p string) bool { return !leak.IsToken(p) })...)
	return secret
}

// npmSettings returns the settings in the user's .npmrc, and those in variables.
func npmSettings(host hostfs.Host) []npm.Setting {
	settings := npm.Settings(readPrivate(filepath.Join(host.Home, ".npmrc")), host.Getenv)
	const prefix = "npm_config_"
	for _, v := range host.Environ {
		if name, value, _ := strings.Cut(v, "="); len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			if name = name[len(prefix):]; !strings.HasPrefix(name, "//") {
				name = strings.ToLower(name)
			}
			settings = append(settings, npm.Setting{Name: name, Value: value})
		}
	}
	return settings
}

// readPrivate returns the beginning of a regular file, "" if it cannot be read.
func readPrivate(name string) string {
	f, err := os.OpenFile(name, os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, maxRegistryFile))
	if err != nil {
		return ""
	}
	return string(text)
}
