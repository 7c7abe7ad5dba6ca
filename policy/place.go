package policy

import (
	"net/netip"
	"strings"
)

// metadataNames are names at which clouds serve credentials to their machines.
var metadataNames = [...]string{
	"metadata.google.internal", "metadata.goog", "metadata",
	"instance-data", "instance-data.ec2.internal",
	"metadata.tencentyun.com", "api.metadata.cloud.ibm.com",
}

// places warns of rules that grant what only a machine inside of some network reaches.
// Of "*" and of wide wildcards nothing is said: they do not grant such an address.
func (b *builder) places(rules []NetRule) {
	for _, r := range rules {
		switch what := r.place(); {
		case !r.Allow || what == "":
		case what == metadata:
			b.warn("metadata-host", r.Where, "host = %s %s: the server can get them, and act as this machine", tomlString(r.Host), what)
		default:
			b.warn("private-host", r.Where, "host = %s %s: what answers there may trust whatever comes from this machine", tomlString(r.Host), what)
		}
	}
}

// place says what the host of a rule is, as [special] does, "" where nothing has to be
// said of it. The host's loopback has no other way to be named, and is no surprise.
func (r NetRule) place() string {
	if addr, err := netip.ParseAddr(r.Host); err == nil {
		if what := special(addr); what == metadata || what == private || what == linkLocal || what == carrier {
			return what
		}
		return ""
	}
	for _, name := range metadataNames {
		if suffix, wild := strings.CutPrefix(r.Host, "*"); r.Host == name || wild && suffix != "" && strings.HasSuffix(name, suffix) {
			return metadata
		}
	}
	return ""
}
