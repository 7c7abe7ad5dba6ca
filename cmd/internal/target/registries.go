package target

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/npm"
	"github.com/mcp-jail/mcp-jail/packages/python"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// maxRegistryFile bounds what is read of a file with credentials, in bytes; maxRegistryCredentials
// bounds what is looked for.
const (
	maxRegistryFile        = 64 << 10
	maxRegistryCredentials = 20
)

// registryCredentials returns the user's passwords and tokens of package registries, which no
// server gets. They come from the files and variables of npm, pip and uv that belong to the user:
// no program is asked, as an installation does, and a file that cannot be read has none.
func registryCredentials(host hostfs.Host) (secret []policy.Variable) {
	first := func(file, otherwise string) string {
		if filepath.IsAbs(file) {
			return file
		}
		return otherwise
	}
	variable := func(name string) string { v, _ := host.Getenv(name); return v }
	home := func(parts ...string) string { return filepath.Join(append([]string{host.Home}, parts...)...) }
	config := first(variable("XDG_CONFIG_HOME"), home(".config"))

	var settings []npm.Setting
	userconfig := home(".npmrc")
	for _, v := range host.Environ {
		name, value, _ := strings.Cut(v, "=")
		const prefix = "npm_config_"
		if len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
			continue
		}
		if name = name[len(prefix):]; strings.EqualFold(name, "userconfig") {
			userconfig = first(value, userconfig)
		}
		settings = append(settings, npm.Setting{Name: name, Value: value})
	}
	settings = append(npm.Settings(readPrivate(userconfig), host.Getenv), settings...)
	for _, s := range npm.Credentials(settings) {
		secret = append(secret, policy.Variable{Name: "npm's " + s.Name, Value: s.Value, Secret: true})
	}

	var indexes []string
	for _, name := range []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_EXTRA_INDEX_URL"} {
		indexes = append(indexes, variable(name))
	}
	for _, file := range []string{
		first(variable("PIP_CONFIG_FILE"), ""), filepath.Join(config, "pip", "pip.conf"), home(".pip", "pip.conf"),
		first(variable("UV_CONFIG_FILE"), filepath.Join(config, "uv", "uv.toml")),
	} {
		indexes = append(indexes, readPrivate(file))
	}
	netrc := first(variable("NETRC"), home(".netrc"))
	secret = append(secret, python.Credentials(indexes, readPrivate(netrc), host.Environ)...)

	secret = slices.CompactFunc(secret, func(a, b policy.Variable) bool { return a == b })
	return secret[:min(len(secret), maxRegistryCredentials)]
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
