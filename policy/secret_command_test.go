package policy

import (
	"testing"
)

func TestCredentialFieldsMayBeNamed(t *testing.T) {
	if err := checkSecret(Secret{Env: "T", Header: CredentialFields}); err != nil {
		t.Error(err)
	}
}
