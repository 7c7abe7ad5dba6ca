package words

import (
	"slices"
	"strings"
)

// Fault is the kind of a refusal that a line of text describes.
type Fault uint8

const (
	NoFault  Fault = iota
	Absent         // "no such file", also for a path that the jail hides
	Refused        // EACCES, EPERM
	ReadOnly       // EROFS
	Busy           // EBUSY: a name that is a mount point cannot be moved or replaced
	Network        // names do not resolve or connections fail
)

// faultSignatures lists what runtimes print for a fault: names, which must match exactly
// as words (FileNotFoundError is not ENOTFOUND), and phrases in lower case. The first
// group that matches determines the fault. show is the name of the signature in a
// diagnosis.
//
// EPERM and network faults mostly have causes other than a jail, so a signature alone is
// never more than Possible.
var faultSignatures = []struct {
	fault Fault
	show  string
	names []string
	words []string
}{
	{ReadOnly, "EROFS", []string{"EROFS"}, []string{"read-only file system", "readonly file system", "os error 30", "errno 30]", "readonly database", "readonlyfilesystem"}},
	{Refused, "EPERM", []string{"EPERM"}, []string{"operation not permitted", "os error 1)", "os { code: 1,", "errno 1]", "not permitted", "file system sandbox blocked"}},
	{Refused, "EACCES", []string{"EACCES", "PermissionDenied", "PermissionError"}, []string{"permission denied", "insufficient permission for adding", "accessdenied", "access denied", "is denied", "unauthorizedaccess", "os error 13)", "os { code: 13,", "errno 13]", "err_access_denied", "sqlite_cantopen", "unable to open database file"}},
	{Busy, "EBUSY", []string{"EBUSY"}, []string{"resource busy", "os error 16)", "os { code: 16,", "errno 16]"}},
	{Network, "EAI_AGAIN", []string{"EAI_AGAIN"}, []string{"temporary failure in name resolution", "temporary failure resolving"}},
	{Network, "ENOTFOUND", []string{"ENOTFOUND", "EAI_FAIL", "EAI_NODATA", "EAI_NONAME"}, []string{"getaddrinfo", "no such host", "could not resolve", "couldn't resolve", "cannot resolve", "failed to resolve", "unable to resolve", "name or service not known", "nodename nor servname", "name_not_resolved", "nameresolutionerror", "unknownhostexception", "failed to lookup address", "dns error", "could not translate host name"}},
	{Network, "ENETUNREACH", []string{"ENETUNREACH", "EHOSTUNREACH"}, []string{"network is unreachable", "no route to host", "err_internet_disconnected", "err_address_unreachable", "network_unreachable"}},
	{Network, "ENOTCACHED", []string{"ENOTCACHED"}, []string{"only-if-cached"}}, // npm in offline mode
	{Network, "ECONNREFUSED", []string{"ECONNREFUSED"}, []string{"connection refused", "connectionrefused", "err_connection_refused", "tunnel connection failed: 403", "proxyerror", "connect tunnel failed, response 40", "from proxy after connect", "proxy response (40", "proxy authentication required", "proxyconnect tcp"}},
	{Network, "a failed connection", nil, []string{"fetch failed", "failed to fetch", "error trying to connect", "failed to connect", "could not connect", "couldn't connect", "can't connect to", "cannot connect to host", "connect call failed", "failed, reason:", "refused. check that the hostname", "und_err_connect", "connect etimedout", "connect timeout", "i/o timeout", "err_connection_timed_out", "err_tunnel_connection_failed", "error sending request for url", "newconnectionerror", "connecttimeouterror", "apiconnectionerror", "urlopen error", "dial tcp", "dial udp"}},
	{Absent, "ENOENT", []string{"ENOENT", "ENOTDIR"}, []string{"no such file", "not a directory", "directory nonexistent", "nosuchfile", "filenotfound", "os error 2)", "os { code: 2,", "errno 2]", "cannot find the path", "could not find a part of the path", "could not find file", "err_file_not_found", "cannot find the file", "does not exist", "doesn't exist", "not found", "can't cd to", "couldn't open file",
		"cannot access", "could not access", "unable to access", "not accessible", "inaccessible"}},
}

// MatchFault returns the fault that a line describes and the name of its signature.
func MatchFault(line string) (Fault, string) {
	lower := strings.ToLower(line)
	for _, s := range faultSignatures {
		for _, n := range s.names {
			if HasWord(line, n) {
				return s.fault, s.show
			}
		}
		for _, w := range s.words {
			if strings.Contains(lower, w) {
				return s.fault, s.show
			}
		}
	}
	return NoFault, ""
}

// LacksFile reports whether a line tells of a file that was not found or not opened, and of nothing else.
func LacksFile(line string) bool {
	f, _ := MatchFault(line)
	return !Elsewhere(line) && (f == Refused || f == ReadOnly || f == Absent && (HasWord(line, "ENOENT") || ContainsAny(strings.ToLower(line), []string{"no such file", "os error 2)", "filenotfound", "main class"})))
}

// HasWord reports whether name is in line as a separate word.
func HasWord(line, name string) bool { return standsApart(line, name, isWordByte, "") }

// standsApart reports whether name is in line, with no byte of its kind before and after it. What
// ends with prefix may be before it.
func standsApart(line, name string, isPart func(byte) bool, prefix string) bool {
	for from := 0; ; {
		at := strings.Index(line[from:], name)
		if at < 0 {
			return false
		}
		at += from
		from = at + len(name)
		if (at == 0 || !isPart(line[at-1]) || prefix != "" && strings.HasSuffix(line[:at], prefix)) && (from == len(line) || !isPart(line[from])) {
			return true
		}
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// ContainsAny reports whether s contains one of words.
func ContainsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}
