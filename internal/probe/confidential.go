// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"slices"
)

// Secrets is the content of the Secrets that a check names.
type Secrets struct {
	// RootPEM is the ca.crt of tls.caSecretName. If it holds no certificate every probe ends in TLSFailed. It must not be
	// changed. Defaults to the roots of the system.
	RootPEM []byte
	// ClientPEM is the tls.crt and the tls.key of tls.clientCertificateSecretName, one after the other. Without it, a check
	// that names the Secret ends in TLSFailed.
	ClientPEM Confidential
	// Values are those of sendFrom, in the order of the steps that have one. Without one of them every probe ends in
	// ProtocolError.
	Values []Confidential
}

// Equal reports whether two contents are the same.
func (s *Secrets) Equal(o *Secrets) bool {
	return bytes.Equal(s.RootPEM, o.RootPEM) && s.hasSameCredentials(o)
}

// hasSameCredentials is Equal for what is presented to a server.
func (s *Secrets) hasSameCredentials(o *Secrets) bool {
	return s.ClientPEM.equal(o.ClientPEM) && slices.EqualFunc(s.Values, o.Values, Confidential.equal)
}

// isEmpty reports whether a check reads no Secret.
func (s *Secrets) isEmpty() bool {
	return len(s.RootPEM) == 0 && !s.ClientPEM.isSet() && len(s.Values) == 0
}

// Confidential is content of a Secret that a check presents to a server. It can be compared and sent. Whatever prints it
// prints neither the content nor a hash that a guess could be compared with.
type Confidential struct {
	sum [sha256.Size]byte
	// content returns it: no printer calls a function.
	content func() []byte
}

// sumKey makes sums of no use outside of this process.
var sumKey = []byte(rand.Text())

// NewConfidential returns content, which must not be changed.
func NewConfidential(content []byte) Confidential {
	mac := hmac.New(sha256.New, sumKey)
	mac.Write(content)
	c := Confidential{content: func() []byte { return content }}
	mac.Sum(c.sum[:0])
	return c
}

// String returns a fixed text.
func (Confidential) String() string { return "(confidential)" }

// GoString returns a fixed text.
func (c Confidential) GoString() string { return c.String() }

// Reveal returns the content, which must not be changed; nil where there is none.
func (c Confidential) Reveal() []byte {
	if !c.isSet() {
		return nil
	}
	return c.content()
}

func (c Confidential) isSet() bool { return c.content != nil }

func (c Confidential) equal(o Confidential) bool { return c.sum == o.sum && c.isSet() == o.isSet() }
