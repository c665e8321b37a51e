// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"
)

// The image has no file but the program, and an https check without a Secret must work in it.
func TestASystemWithoutCertificatesHasThoseOfTheProgram(t *testing.T) {
	const inside = "FAIRLEAD_TEST_WITHOUT_ROOTS"
	if os.Getenv(inside) != "" {
		roots, err := x509.SystemCertPool()
		if err != nil || roots.Equal(x509.NewCertPool()) {
			t.Errorf("no certificates, or %v", err)
		}
		return
	}
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
	command.Env = append(os.Environ(), inside+"=1", "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent")
	if said, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}
