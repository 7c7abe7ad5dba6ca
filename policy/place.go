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

// place says what the host of a rule is, as [special] does, "" where nothing has to be
// said of it. The host's loopback has no other way to be named, and is no surprise.
func (r NetRule) SpecialTarget() string {
	if addr, err := netip.ParseAddr(r.Host); err == nil {
		if what := specialAddress(addr); what == ReasonMetadata || what == private || what == linkLocal || what == carrier {
			return what
		}
		return ""
	}
	for _, name := range metadataNames {
		if suffix, wild := strings.CutPrefix(r.Host, "*"); r.Host == name || wild && suffix != "" && strings.HasSuffix(name, suffix) {
			return ReasonMetadata
		}
	}
	return ""
}
