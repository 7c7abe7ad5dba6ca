package install

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/python"
)

func (p *pythonFetch) configure() error {
	config, err := p.readConfig()
	if err == nil {
		err = p.believeFiles(&config)
	}
	if err != nil {
		return err
	}
	p.config = config
	p.request = python.NewRequest(p.line, &p.config)
	if p.config.Index == "" {
		p.config.Index = python.DefaultIndex
	}
	if p.jail.Registries, err = p.config.Addresses(); err != nil {
		return err
	}
	home := p.jail.Home()
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	if err := p.writeNetrc(home); err != nil {
		return err
	}
	// The jail of the Python that was tried before is used again.
	clear(p.jail.Variables)
	if p.uv != "" {
		maps.Copy(p.jail.Variables, p.config.UvVariables(home))
	} else {
		maps.Copy(p.jail.Variables, p.config.PipVariables(home))
	}
	p.grantFiles()
	return nil
}

// readConfig returns the configuration of the installer. If pip installs, the
// configuration of uv is used if it says where packages come from.
func (p *pythonFetch) readConfig() (python.Config, error) {
	getenv := func(name string) string { v, _ := p.Host.Getenv(name); return v }
	var texts [][]byte
	for _, name := range p.uvFiles(getenv) {
		text, err := p.readBelieved("uv's configuration", name)
		if err != nil {
			return python.Config{}, err
		}
		texts = append(texts, []byte(text))
	}
	config, configured, err := python.UvConfig(texts, getenv)
	if err != nil || configured || p.uv != "" {
		return config, err
	}
	var files []string
	for _, name := range p.pipFiles(getenv) {
		text, err := p.readBelieved("pip's configuration", name)
		if err != nil {
			return python.Config{}, err
		}
		files = append(files, text)
	}
	return python.PipConfig(files, p.Host.Environ)
}

// believeFiles returns an error if a server may write what the configuration names: certificates,
// or files of packages.
func (p *pythonFetch) believeFiles(c *python.Config) error {
	for _, name := range append([]string{c.Cert, c.ClientCert}, c.FindLinks...) {
		name = strings.TrimPrefix(name, "file://")
		if _, err := os.Stat(name); err != nil || !filepath.IsAbs(name) {
			continue
		}
		if err := p.believe("the path in the settings of pip or uv", name); err != nil {
			return err
		}
	}
	return nil
}

// pipFiles returns the paths of pip's configuration files, of which a later one counts more: the
// system's, the user's, that of the Python, and the one that PIP_CONFIG_FILE names.
func (p *pythonFetch) pipFiles(getenv func(string) string) (files []string) {
	own := getenv("PIP_CONFIG_FILE")
	if strings.EqualFold(own, os.DevNull) {
		return nil
	}
	for dir := range strings.SplitSeq(cmp.Or(getenv("XDG_CONFIG_DIRS"), "/etc/xdg"), string(filepath.ListSeparator)) {
		files = append(files, filepath.Join(dir, "pip/pip.conf"))
	}
	files = append(files, "/etc/pip.conf")
	if _, err := os.Stat(own); own == "" || err != nil {
		config := cmp.Or(getenv("XDG_CONFIG_HOME"), filepath.Join(p.Host.Home, ".config"))
		files = append(files, filepath.Join(p.Host.Home, ".pip/pip.conf"), filepath.Join(config, "pip/pip.conf"))
	}
	files = append(files, filepath.Join(filepath.Dir(filepath.Dir(p.python.Path)), "pip.conf"))
	if own != "" {
		files = append(files, own)
	}
	return slices.DeleteFunc(files, func(file string) bool { return !filepath.IsAbs(file) })
}

// uvFiles returns the paths of uv's configuration files: the user's and the system's, or the one
// that UV_CONFIG_FILE names.
func (p *pythonFetch) uvFiles(getenv func(string) string) []string {
	if file := getenv("UV_CONFIG_FILE"); file != "" {
		return []string{file}
	}
	if getenv("UV_NO_CONFIG") != "" {
		return nil
	}
	config := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(config) {
		config = filepath.Join(p.Host.Home, ".config")
	}
	return []string{filepath.Join(config, "uv", "uv.toml"), "/etc/uv/uv.toml"}
}

func (p *pythonFetch) writeNetrc(home string) error {
	file, _ := p.Host.Getenv("NETRC")
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.Host.Home, ".netrc")
	}
	text, err := p.readBelieved("the file of logins", file)
	if err != nil {
		return err
	}
	var hosts []string
	for _, u := range p.jail.Registries {
		hosts = append(hosts, u.Hostname())
	}
	return os.WriteFile(filepath.Join(home, netrcName), []byte(python.Netrc(text, hosts)), 0o600)
}

// netrcName is in the HOME of the installer, beside the other files that may hold a login: pip's log, and
// lists of what is installed from where.
const netrcName = "netrc"

// grantFiles makes readable in the jail: the files that the configuration and the line name, and
// for uv the interpreter.
func (p *pythonFetch) grantFiles() {
	p.jail.Readable = nil
	add := func(name string) {
		name = strings.TrimPrefix(name, "file://")
		if filepath.IsAbs(name) {
			if _, err := os.Stat(name); err == nil {
				p.jail.Readable = append(p.jail.Readable, name)
			}
		}
	}
	for _, list := range [][]string{p.config.FindLinks, p.request.Files, p.request.Constraints, p.request.Requirements, {p.config.Cert, p.config.ClientCert}} {
		for _, name := range list {
			add(name)
		}
	}
	if p.uv != "" { // uv runs the interpreter to learn about it
		add(p.python.Path)
		if prefix := filepath.Dir(filepath.Dir(p.python.Path)); filepath.Base(filepath.Dir(p.python.Path)) == "bin" && prefix != "/usr" && prefix != "/" {
			add(prefix)
		}
	}
}
