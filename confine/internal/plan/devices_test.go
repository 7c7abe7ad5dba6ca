package plan

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDeviceTypes: a granted device adds the commands of its driver and no filesystem's.
func TestDeviceTypes(t *testing.T) {
	ru := policy.Read | policy.Update
	for _, c := range []struct {
		path   string
		rights policy.Rights
		has    string
		hasNot string
	}{
		{"/dev/kvm", ru, "\xae", "dfT\x94"},
		{"/dev/dri/renderD128", policy.Read, "db>", "fV"},
		{"/dev/dri", ru, "db>", "fV"},
		{"/dev/ttyUSB0", ru, "T", "Vf"},
		{"/dev/net/tun", ru, "T", "\x89"},
		{"/dev/sgx_enclave", ru, "\xa4", "\x12"},
		{"/dev/sda", policy.Read, "\x12\x22", "fT\x94"},
		{"/dev/null", ru, "", "VdfT\xae"},
		{"/dev/shm", ru, "", "VdfT\xae"},
		{"/dev/kvm", 0, "", "\xae"},
		{"/dev/kvm", policy.Execute, "", "\xae"},
		{"/dev/of-a-vendor", ru, "Vd\xae\x00", "T\x89fvXrn\x94\xf5!"},
		{"/dev", policy.Read, "Vd\xaeT\x00", "fvX\x94\xf5!"},
		{"/", ru, "Vd\xaeT", "fvX\x94\xf5!"},
		{"/home/u/dev/kvm", ru, "", "\xaedT"},
		{"/devices", ru, "", "\xaedT"},
	} {
		d := deviceTypes([]policy.Entry{{Path: c.path, Rights: c.rights}})
		for _, x := range []byte(c.has) {
			if !d.Has(x) {
				t.Errorf("%s (%s): %q is refused", c.path, c.rights, x)
			}
		}
		for _, x := range []byte(c.hasNot) {
			if d.Has(x) {
				t.Errorf("%s (%s): %q is allowed", c.path, c.rights, x)
			}
		}
	}
	for _, row := range deviceCommands {
		for _, x := range []byte(row.types) {
			if x != 'T' && x != 'o' && otherTypes(x) {
				t.Errorf("%s: %q belongs to filesystems, terminals or sockets", row.path, x)
			}
		}
	}
}
