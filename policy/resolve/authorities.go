package resolve

import (
	"bytes"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// authorities grants the files of certificates that the host's environment names, after all that hides.
type authorities struct {
	*facts
	writers *writers
	links   *[]policy.Link
}

// authorityDirs is a list of directories of authorities, with ":" between them.
const authorityDirs = "SSL_CERT_DIR"

// grant grants the files of authorities that the user's environment names, if a host is
// granted: where the proxy of a company ends TLS, a server reaches no host without them. It returns
// the variables that the server gets, unless a rule says otherwise.
//
// A project may set such a variable, so the file must be one of certificates alone, where no server
// can write.
func (b *authorities) grant(net []policy.NetRule) (variables map[string]string) {
	if !slices.ContainsFunc(net, func(r policy.NetRule) bool { return r.Allow }) {
		return nil
	}
	variables = map[string]string{}
	for _, name := range policy.AuthorityVariables {
		value, set := b.h.Getenv(name)
		if rule, ok := policy.MatchEnv(b.p.Env, name); !set || !path.IsAbs(value) || rule.Name != "" && !ok {
			continue
		}
		file, _ := b.places.Expand(value, "/")
		at, err := b.paths.Resolve(file)
		if err != nil || !at.Exists() {
			continue // as outside of a jail, where the program says so
		}
		if e, ok := b.entries.Find(at.Path); !ok || !e.Rights.Has(policy.Read) {
			if why := b.whyNoAuthority(at, e, ok); why != "" {
				b.warnings.warn("authorities", "", "%s names %s, which the server does not get: %s", name, value, why)
				continue
			}
			b.entries[at.Path] = policy.Entry{Path: at.Path, Kind: policy.KindFile, Rights: policy.Read, Origin: policy.OriginBaseline, Named: file, Rule: policy.AuthorityRule + ": " + name, ID: at.Info.ID}
		}
		*b.links = append(*b.links, at.Links...)
		variables[name] = value
	}
	if value, set := b.h.Getenv(authorityDirs); set && b.canRead(strings.Split(value, ":")) {
		if rule, ok := policy.MatchEnv(b.p.Env, authorityDirs); rule.Name == "" || ok {
			variables[authorityDirs] = value
		}
	}
	return variables
}

// whyNoAuthority returns why a file is not granted as one of authorities, or "". The entry is the
// nearest one, which does not let the server read it.
func (b *authorities) whyNoAuthority(at hostfs.ResolvedPath, near policy.Entry, covered bool) string {
	switch {
	case covered && near.Path != "/":
		return "it is hidden (" + near.Rule + ")"
	case !at.Info.Mode.IsRegular():
		return "it is not a regular file"
	}
	if sensitive := places.Sensitive(b.h, b.p, at.Path); sensitive != "" {
		return "it is a sensitive file (" + sensitive + ")"
	}
	if why := b.writers.whyChangeable(at); why != "" {
		return why
	}
	var owner *hostfs.OwnerError
	if err := b.paths.CheckTrusted(at.Path); errors.As(err, &owner) {
		return owner.Detail()
	} else if err != nil {
		return err.Error()
	}
	text, err := b.h.ReadHead(at.Path, maxAuthorities+1)
	switch {
	case err != nil:
		return "it cannot be read"
	case len(text) > maxAuthorities:
		return "it is larger than 2 MB"
	case !bytes.Contains(text, []byte(beginCertificate)):
		return "it contains no certificate in the PEM format"
	case !onlyCertificates(string(text)):
		return "it contains something else than certificates and comments, such as a private key or a password"
	}
	return ""
}

// onlyCertificates reports whether a text has certificates in the PEM format, and around them only what
// the tools write that make such files: comments, curl's headings, openssl's descriptions.
func onlyCertificates(text string) bool {
	lines := strings.Split(text, "\n")
	within, described := false, false
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case within:
			within = line != "-----END CERTIFICATE-----"
			if within && !base64Line().MatchString(line) {
				return false
			}
		case line == beginCertificate:
			within, described = true, false
		case strings.TrimSpace(line) == "", line[0] == '#', headingLine().MatchString(line):
		case i+1 < len(lines) && strings.HasPrefix(lines[i+1], "=") && headingLine().MatchString(strings.TrimSuffix(lines[i+1], "\r")):
		case line == "Certificate:", line == "Bag Attributes":
			described = true
		case described && (line[0] == ' ' || line[0] == '\t'):
		case !describingLine().MatchString(line):
			return false
		}
	}
	return !within
}

var (
	base64Line     = show.Pattern(`^[A-Za-z0-9+/=]*$`)
	headingLine    = show.Pattern(`^=+$`)
	describingLine = show.Pattern(`^(subject|issuer|serial|notBefore|notAfter|(SHA|sha)[0-9]+ Fingerprint) ?[=:]`)
)

const (
	beginCertificate = "-----BEGIN CERTIFICATE-----"
	maxAuthorities   = 2 << 20
)

func (b *authorities) canRead(dirs []string) bool {
	return !slices.ContainsFunc(dirs, func(dir string) bool {
		if !path.IsAbs(dir) {
			return true
		}
		at, err := b.paths.Resolve(path.Clean(dir))
		e, ok := b.entries.Find(at.Path)
		return err != nil || !at.Exists() || !ok || !e.Rights.Has(policy.Read)
	})
}
