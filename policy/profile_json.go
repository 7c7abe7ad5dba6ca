package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"strconv"
	"time"
)

type limitsJSON struct {
	MemoryMB   int `json:"memory_mb"`
	Processes  int `json:"processes"`
	OpenFiles  int `json:"open_files"`
	FileSizeMB int `json:"file_size_mb"`
	MessageMB  int `json:"message_mb"`

	NetOutMB    int `json:"net_out_mb,omitempty"`
	Connections int `json:"connections,omitempty"`
}

func (l limitsJSON) write(j *jsonText) {
	j.begin('{')
	j.member("memory_mb").integer(int64(l.MemoryMB))
	j.member("processes").integer(int64(l.Processes))
	j.member("open_files").integer(int64(l.OpenFiles))
	j.member("file_size_mb").integer(int64(l.FileSizeMB))
	j.member("message_mb").integer(int64(l.MessageMB))
	j.optionInt("net_out_mb", l.NetOutMB)
	j.optionInt("connections", l.Connections)
	j.end('}')
}

// String names the kind.
func (k Kind) String() string {
	switch k {
	case KindDir:
		return "directory"
	case KindFile:
		return "file"
	case KindSpecial:
		return "special"
	}
	return "unknown"
}

// String names the origin.
func (o Origin) String() string {
	switch o {
	case OriginBaseline:
		return "baseline"
	case OriginRule:
		return "rule"
	case OriginHome:
		return "home"
	case OriginSensitive:
		return "sensitive"
	case OriginProtected:
		return "protected"
	}
	return "unknown"
}

// MarshalJSON prints the profile for plan: its names are stable, and [Profile.Key]
// is made of it. The value of a secret variable never appears.
func (p *Profile) MarshalJSON() ([]byte, error) {
	j := jsonText{html: true}
	p.write(&j)
	return j.b, nil
}

func (p *Profile) write(j *jsonText) {
	j.begin('{')
	j.member("server").text(p.Server)
	j.option("tool", p.Tool)
	j.member("program").text(p.Program)
	texts(j.member("argv"), list(p.Argv))
	j.member("dir").text(p.Dir)
	j.option("workspace", p.Workspace)
	j.member("home").text(p.Home)
	j.member("home_private").boolean(p.HomePrivate)
	j.member("default_policy").boolean(p.Default)
	p.writeFs(j)
	texts(j.member("unprotected_names"), list(p.Unprotected))
	p.writeFolded(j)
	texts(j.member("programs"), p.Programs) // null: any
	j.options("loaders", p.Loaders)
	j.options("command_args", p.CommandArgs)
	p.writeNet(j)
	p.writeEnv(j)
	texts(j.member("withheld"), list(p.Withheld))
	limitsJSON(p.Limits).write(j.member("limits"))
	texts(j.member("waive"), list(p.Waive))
	j.member("startup_timeout_secs").seconds(p.Startup)
	j.member("call_timeout_secs").seconds(p.Call)
	j.member("roots").text(p.Roots)
	j.member("advertise").boolean(p.Advertise)
	j.end('}')
}

func (p *Profile) writeFolded(j *jsonText) {
	var names []string
	for _, f := range p.Folded {
		name := f.Path
		if f.BypassesMount && f.OtherSpelling != "" {
			name += " (" + f.OtherSpelling + ")"
		}
		names = append(names, name)
	}
	j.options("folded_names", names)
}

func (p *Profile) writeFs(j *jsonText) {
	j.member("fs").begin('[')
	for _, e := range p.Entries {
		j.begin('{')
		j.member("path").text(e.Path)
		j.member("kind").text(e.Kind.String())
		j.member("rights").rights(e.Rights)
		j.member("origin").text(e.Origin.String())
		if e.Named != e.Path {
			j.option("named", e.Named)
		}
		j.member("rule").text(e.Rule)
		j.flag("make", e.Make)
		j.flag("ephemeral", e.Ephemeral) // a copy, thrown away at the end
		j.end('}')
	}
	j.end(']')
	j.member("links").begin('[')
	for _, l := range p.Links {
		j.begin('{')
		j.member("path").text(l.Path)
		j.member("target").text(l.Target)
		j.end('}')
	}
	j.end(']')
}

func (p *Profile) writeNet(j *jsonText) {
	j.member("net").begin('[')
	for _, r := range p.Net {
		j.begin('{')
		j.member("host").text(r.Host)
		j.option("scheme", r.Scheme)
		if !r.coversAllPorts() {
			j.member("ports").integers(r.Ports())
		}
		j.option("path_prefix", r.PathPrefix)
		j.options("methods", r.Methods)
		j.options("secrets", r.SecretNames()) // names of variables
		j.member("allow").boolean(r.Allow)
		j.member("rule").text(r.Where)
		j.end('}')
	}
	j.end(']')
	if len(p.Inbound) > 0 {
		j.member("inbound").integers(p.Inbound)
	}
	if len(p.Secrets) == 0 {
		return
	}
	j.member("secrets").begin('[')
	for _, s := range p.Secrets {
		j.begin('{')
		j.member("env").text(s.Env)
		j.option("file", s.File)
		j.options("command", s.Command)
		j.member("rule").text(s.Where)
		j.end('}')
	}
	j.end(']')
}

func (p *Profile) writeEnv(j *jsonText) {
	j.member("env").begin('[')
	for _, v := range p.Env {
		j.begin('{')
		j.member("name").text(v.Name)
		if !v.Secret {
			j.option("value", v.Value)
		}
		j.flag("secret", v.Secret)
		j.member("rule").text(v.Rule)
		j.end('}')
	}
	j.end(']')
}

func (j *jsonText) rights(r Rights) {
	j.begin('[')
	for _, n := range RightNames {
		if r.Has(n.Right) {
			j.text(n.Name)
		}
	}
	j.end(']')
}

func (j *jsonText) seconds(d time.Duration) {
	if d%time.Second == 0 {
		j.integer(int64(d / time.Second))
		return
	}
	j.any(d.Seconds())
}

// list makes sure that JSON says [] and not null.
func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

// Equal tells whether two profiles are the same in everything, the identity of
// files and the values of variables included.
func (p *Profile) Equal(q *Profile) bool {
	return p == q || p != nil && q != nil && reflect.DeepEqual(p, q)
}

// Key is a digest by which equal profiles can be found again: the same on every
// run. Files enter with their identity; of secret variables only the names do,
// so that the digest can be printed.
func (p *Profile) Key() string {
	j := jsonText{b: make([]byte, 0, 16<<10), html: true}
	j.begin('{')
	p.write(j.member("P"))
	j.member("IDs").begin('[')
	for _, e := range p.Entries {
		j.begin('{')
		j.b = strconv.AppendUint(append(j.b, `"Dev":`...), e.ID.Dev, 10)
		j.b = strconv.AppendUint(append(j.b, `,"Ino":`...), e.ID.Ino, 10)
		j.member("Birth").integer(e.ID.Birth)
		j.end('}')
	}
	j.end(']')
	j.end('}')
	sum := sha256.Sum256(j.b)
	return hex.EncodeToString(sum[:])
}
