package change

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Name returns what an object is called: a path, a host, a variable, a port, a program, or what a setting is set to.
func (o Object) Name() string {
	switch {
	case o.Fs.Path != "":
		return o.Fs.Path
	case o.Net.Host != "" && o.Net.Port != 0:
		return net.JoinHostPort(o.Net.Host, strconv.Itoa(o.Net.Port))
	case o.Net.Host != "":
		return o.Net.Host
	case o.Env != "":
		return o.Env
	case o.Inbound != 0:
		return strconv.Itoa(o.Inbound)
	case o.Program != "":
		return o.Program
	case o.Setting.Key != "" && !o.Setting.hasFlag():
		return o.Setting.Key + "=" + o.Setting.Value
	}
	return o.Setting.Value
}

// hasFlag reports whether a setting has a flag of its own, and not --limit.
func (s Setting) hasFlag() bool { return s.Key == "workspace" || s.Key == "home" || s.Key == "preset" }

// flags returns the flags of mcp-jail grant that change an object: --write and --execute read, too.
func (o Object) flags() (flags []string) {
	rights := o.Fs.Rights()
	switch {
	case o.Fs.Deny != 0:
		return []string{"--deny"}
	case o.Net.Host != "":
		return []string{"--net"}
	case o.Env != "":
		return []string{"--env"}
	case o.Inbound != 0:
		return []string{"--inbound"}
	case o.Setting.hasFlag():
		return []string{"--" + o.Setting.Key}
	case o.Setting.Key != "":
		return []string{"--limit"}
	case rights == policy.Read:
		return []string{"--read"}
	}
	if rights&policy.Write != 0 {
		flags = append(flags, "--write")
	}
	if rights.Has(policy.Execute) {
		flags = append(flags, "--execute")
	}
	return flags
}

// Words returns an object as words for mcp-jail grant, not quoted. It returns nil for what no flag changes.
func (o Object) Words() (words []string) {
	for _, flag := range o.flags() {
		if name := o.Name(); strings.HasPrefix(name, "-") { // it would be read as the next flag
			words = append(words, flag+"="+name)
		} else {
			words = append(words, flag, name)
		}
	}
	return words
}

// AsTyped returns words as they are typed in a shell.
func AsTyped(words []string) string {
	typed := make([]string, len(words))
	for i, w := range words {
		typed[i], _ = show.Path(w)
	}
	return show.Line(strings.Join(typed, " "))
}

// Read returns the objects that words of mcp-jail grant name, one for each flag. It is the inverse of Words.
func Read(words []string) (objects []Object, err error) {
	for len(words) > 0 {
		flag, name, joined := strings.Cut(words[0], "=")
		if words = words[1:]; !joined {
			if len(words) == 0 {
				return nil, errors.New(flag + " has no value")
			}
			name, words = words[0], words[1:]
		}
		o, err := read(flag, name)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", flag, policy.Abbreviate(name), err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

func read(flag, name string) (o Object, err error) {
	switch flag {
	case "--read":
		return Path(name, policy.Read), nil
	case "--write":
		return Path(name, policy.Read|policy.Write), nil
	case "--execute":
		return Path(name, policy.Read|policy.Execute), nil
	case "--deny":
		o.Fs = policy.FsRule{Path: name, Deny: policy.AllRights}
	case "--net":
		o.Net.Allow = true
		o.Net.Host, o.Net.Port, err = policy.ParseHostPort(name)
	case "--env":
		o.Env = name
	case "--inbound":
		o.Inbound, err = strconv.Atoi(name)
	case "--workspace", "--home", "--preset":
		o.Setting = Setting{flag[2:], name}
	case "--limit":
		o.Setting.Key, o.Setting.Value, _ = strings.Cut(name, "=")
	default:
		err = errors.New("mcp-jail grant has no such flag")
	}
	return o, err
}
