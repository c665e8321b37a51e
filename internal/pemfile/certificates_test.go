// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package pemfile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"slices"
	"testing"
)

// newCertificate returns a certificate as PEM, and its key.
func newCertificate(t *testing.T) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key
}

func TestParseCertificatesTakesCertificatesAndNothingElse(t *testing.T) {
	one, key := newCertificate(t)
	two, _ := newCertificate(t)
	good := slices.Concat(one, two)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	junk := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("junk")})
	for title, test := range map[string]struct {
		text  []byte
		count int
	}{
		"two":                     {good, 2},
		"white space around":      {slices.Concat([]byte("\n\n"), good, []byte("\n \n")), 2},
		"nothing":                 {nil, 0},
		"white space":             {[]byte(" \n"), 0},
		"text":                    {[]byte("text"), 0},
		"text at the end":         {slices.Concat(good, []byte("text")), 0},
		"the second one cut":      {good[:len(good)-30], 0},
		"a key":                   {private, 0},
		"a key at the end":        {slices.Concat(good, private), 0},
		"what is no certificate":  {junk, 0},
		"junk after certificates": {slices.Concat(good, junk), 0},
	} {
		found, err := ParseCertificates(test.text)
		if len(found) != test.count || (err == nil) != (test.count > 0) {
			t.Errorf("%s: %d certificates, %v", title, len(found), err)
		}
	}
	if _, err := ParseCertificates(nil); !errors.Is(err, ErrNoCertificate) {
		t.Errorf("nothing: %v", err)
	}
}
