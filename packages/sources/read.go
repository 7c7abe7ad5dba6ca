package sources

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// maxText is how many bytes a configuration file may have.
const maxText = 1 << 20

// fact is what a file or a variable says of one key.
type fact struct {
	key    string
	values []string // several for a list
	from   string   // "~/.npmrc", or the name of the variable, in which case named is false
	named  bool     // key is worth a word beside from
	chosen bool     // a variable has chosen it, or the file that says it
	source int      // facts of one source have one number
	lacks  string   // the variable without which it cannot be filled in; "" if there is none
}

// String names the fact for a message.
func (f fact) String() string {
	if f.named {
		return show.Line(f.key + " in " + f.from)
	}
	return show.Line(f.from)
}

// reading is a Reader at work.
type reading struct {
	Reader
	*Sources
	said      []fact // what counts more comes first
	sources   int
	elsewhere bool // a variable has chosen the files
	err       error
	indexed   bool // Index has been read
	ages      int  // the source of the age of a version
}

// Read reads the configuration of a tool.
func (r Reader) Read(tool Tool) (*Sources, error) {
	in := &reading{Reader: r, Sources: &Sources{
		Tool: tool, Index: defaultIndex[tool], Scopes: map[string]string{}, Proxy: map[string]string{},
		values: map[meaning][]string{}, variables: map[string]string{}, npmLogins: map[string]string{},
	}}
	switch tool {
	case NPM:
		in.readNPM()
	case Pip:
		in.readPip()
	case Uv:
		in.readUv()
	}
	for _, name := range authorityVariables[tool] {
		if file, ok := r.variable(name); ok && in.certificate(file) {
			in.variables[name] = file
		}
	}
	in.takeAll()
	if tool == NPM {
		in.keepUsedLogins()
	} else {
		in.readLogins()
	}
	if in.err != nil {
		return nil, in.err
	}
	slices.Sort(in.chosen)
	in.chosen = slices.Compact(in.chosen)
	return in.Sources, nil
}

func (r Reader) variable(name string) (value string, ok bool) {
	value, ok = r.Host.Getenv(name)
	return value, ok && value != ""
}

// fail keeps the first error.
func (in *reading) fail(err error) {
	if in.err == nil {
		in.err = err
	}
}

// add adds what a source says, after all that counts more.
func (in *reading) add(facts []fact) {
	in.sources++
	for _, f := range facts {
		f.source = in.sources
		in.said = append(in.said, f)
	}
}

// text returns a file that is to be believed, or "" if there is none: most users have no such file.
func (in *reading) text(file string) string {
	if !filepath.IsAbs(file) {
		return ""
	}
	f, err := os.OpenFile(file, os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err != nil || len(text) > maxText || len(text) == 0 {
		return ""
	}
	in.believe(file)
	return string(text)
}

func (in *reading) believe(file string) {
	if in.Believe != nil {
		if err := in.Believe(file); err != nil {
			in.fail(err)
		}
	}
}

// certificate adds a file that the tool reads. It reports whether there is one.
func (in *reading) certificate(file string) bool {
	if info, err := os.Stat(file); !filepath.IsAbs(file) || err != nil || !info.Mode().IsRegular() {
		return false
	}
	in.believe(file)
	if !slices.Contains(in.Certificates, file) {
		in.Certificates = append(in.Certificates, file)
	}
	return true
}

// takeAll takes the facts. Of a key with several, the first one counts.
func (in *reading) takeAll() {
	seen := map[string]bool{}
	for _, f := range in.said {
		row, known := settingOf(in.Tool, f.key)
		joined := in.Tool == Uv && row.what == extra // uv asks the indexes of all its files
		if known && seen[f.key] && !joined {
			continue
		}
		seen[f.key] = true
		switch text := strings.Join(f.values, " "); {
		case !known:
			if !isNoise(in.Tool, f.key) {
				in.leave(f)
			}
		case text == "null", row.what == place, row.what == login && !in.Logins:
		case f.lacks != "" && (row.what == index || row.what == scope):
			in.fail(f.unfilled(in.Logins))
		case f.lacks != "", strings.ContainsAny(text, "\r\n\x00") && row.what != ca:
			in.leave(f)
		default:
			in.take(row.what, f, text)
		}
	}
	if in.elsewhere { // also if they name none
		in.choose(index, "", in.Index)
	}
}

// leave names a fact that is not used, unless it is one of the system's defaults.
func (in *reading) leave(f fact) {
	name := f.String()
	if f.lacks != "" && in.Logins {
		name += show.Line(" (" + f.lacks + " is not set)")
	}
	if !strings.HasPrefix(f.from, "/usr/") && !slices.Contains(in.NotUsed, name) {
		in.NotUsed = append(in.NotUsed, name)
	}
}

func (f fact) unfilled(logins bool) error {
	if logins {
		return fmt.Errorf("%s is no address: the variable %s is not set. Set it where mcp-jail starts, or write the address itself", f, show.Line(f.lacks))
	}
	return fmt.Errorf("%s is no address: ${%s} is filled in for servers of your own configuration only. Write the address itself", f, show.Line(f.lacks))
}

func (in *reading) take(what meaning, f fact, text string) {
	switch what {
	case index:
		if !in.indexed {
			in.Index, in.indexed = in.address(index, f, text), true
		}
		in.Configured = true
	case scope:
		in.Scopes[strings.TrimSuffix(f.key, ":registry")] = in.address(scope, f, text)
	case extra:
		for _, one := range strings.Fields(text) {
			in.Extra = append(in.Extra, in.address(extra, f, one))
		}
		in.Configured = in.Configured || len(in.Extra) > 0
	case login:
		in.npmLogins[f.key] = text
	case cafile, identity:
		if file := in.home(text); in.certificate(file) {
			in.values[what] = []string{file}
		} else {
			in.leave(f)
		}
	case proxy:
		in.takeProxy(f, text)
	case minAge, before:
		if in.ages == 0 || in.ages == f.source { // a stronger source's wins over the other one of a weaker source
			in.ages, in.values[what] = f.source, f.values
		}
	default:
		in.values[what] = append(in.values[what], f.values...)
	}
}

// home returns a path with the home directory for a "~" at its start.
func (in *reading) home(file string) string {
	if below, ok := strings.CutPrefix(file, "~/"); ok {
		return filepath.Join(in.Host.Home, below)
	}
	return file
}

// short returns a path as the user writes it.
func (in *reading) short(file string) string {
	if below, ok := strings.CutPrefix(file, in.Host.Home+string(filepath.Separator)); ok {
		return "~/" + below
	}
	return file
}

// address returns the address of a registry without a login, which it keeps.
func (in *reading) address(what meaning, f fact, text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		in.fail(fmt.Errorf("%s is not the address of a registry: it has no host, or begins with neither https:// nor http://. Correct it%s", f, in.correction(f)))
		return ""
	}
	user := u.User
	u.User, u.Fragment = nil, ""
	clean := u.String()
	if user != nil && in.Logins {
		password, _ := user.Password()
		in.logins = append(in.logins, hostLogin{clean, u.Hostname(), user.Username(), password})
	}
	if f.chosen {
		in.choose(what, f.key, clean)
	}
	return clean
}

// correction is what the user can type.
func (in *reading) correction(f fact) string {
	switch {
	case !f.named:
		return ", or unset it"
	case in.Tool == NPM:
		return ", for example with: npm config set " + show.Line(f.key) + " URL"
	}
	return " there"
}

// choose notes that a variable has chosen a registry.
func (in *reading) choose(what meaning, key, address string) {
	switch {
	case what == index && in.Tool == NPM:
		key = "registry"
	case what == index:
		key = "index-url"
	case what == extra:
		key = "extra-index-url"
	}
	in.chosen = append(in.chosen, "--"+key+"="+address)
}

// takeProxy takes a proxy of all registries, or the hosts that are reached without one.
func (in *reading) takeProxy(f fact, text string) {
	if f.key == "noproxy" {
		in.Proxy["NO_PROXY"] = strings.Join(f.values, ",")
		return
	}
	if text == "false" || in.Proxy["HTTPS_PROXY"] != "" && f.key != "https-proxy" {
		return
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" {
		in.fail(fmt.Errorf("%s is not the address of a proxy. Correct it%s", f, in.correction(f)))
		return
	}
	if !in.Logins {
		u.User = nil
	}
	in.Proxy["HTTPS_PROXY"], in.Proxy["HTTP_PROXY"] = u.String(), u.String()
}
