// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// untilKey is the key of the trust Secret, beside ca.crt, that says how long each authority stays.
const untilKey = "until.json"

// maxTrusted bounds how many authorities are trusted at once. Beyond it the one goes first whose
// certificates expire first.
const maxTrusted = 8

// trusted is an authority and when the last certificate is gone that was seen under it. Without a
// time it stays until it expires itself, such as one that an administrator has added.
type trusted struct {
	certificate *x509.Certificate
	until       time.Time
}

// trust is who is trusted, in the order in which they came. It is changed by making another.
type trust []trusted

// with adds the authorities, or lets those that are there stay longer.
func (t trust) with(authorities []*x509.Certificate, until time.Time) trust {
	next := slices.Clone(t)
	for _, one := range authorities {
		at := slices.IndexFunc(next, func(each trusted) bool { return each.certificate.Equal(one) })
		switch {
		case at < 0:
			next = append(next, trusted{one, until})
		case !next[at].until.IsZero() && next[at].until.Before(until):
			next[at].until = until
		}
	}
	return next
}

// without leaves out who has nothing left to be trusted for, but none of those in use.
func (t trust) without(now time.Time, inUse []*x509.Certificate) trust {
	var next trust
	for _, one := range t {
		over := now.After(one.certificate.NotAfter) || !one.until.IsZero() && now.After(one.until)
		if !over || certs.Contains(inUse, one.certificate) {
			next = append(next, one)
		}
	}
	for len(next) > maxTrusted {
		first := -1
		for i, one := range next {
			if !certs.Contains(inUse, one.certificate) && (first < 0 || one.expiry().Before(next[first].expiry())) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		next = slices.Delete(next, first, first+1)
	}
	return next
}

func (t trusted) expiry() time.Time {
	if t.until.IsZero() || t.certificate.NotAfter.Before(t.until) {
		return t.certificate.NotAfter
	}
	return t.until
}

func (t trust) certificates() []*x509.Certificate {
	all := make([]*x509.Certificate, 0, len(t))
	for _, one := range t {
		all = append(all, one.certificate)
	}
	return all
}

// bundle is what clients must trust.
func (t trust) bundle() []byte { return certs.EncodeCertificates(t.certificates()...) }

// data is the trust as its Secret holds it.
func (t trust) data() (map[string][]byte, error) {
	until := map[string]time.Time{}
	for _, one := range t {
		if !one.until.IsZero() {
			until[fingerprint(one.certificate)] = one.until.UTC().Truncate(time.Second)
		}
	}
	text, err := json.Marshal(until)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{certs.CAKey: t.bundle(), untilKey: text}, nil
}

// readTrust is the reverse of data. What cannot be read is left out: those who are in use are added
// again, and a bundle that does not parse must not be an outage.
func readTrust(data map[string][]byte) trust {
	certificates, err := pemfile.ParseCertificates(data[certs.CAKey])
	if err != nil {
		return nil
	}
	var until map[string]time.Time
	if err := json.Unmarshal(data[untilKey], &until); err != nil {
		until = nil
	}
	var found trust
	for _, one := range certificates {
		if !certs.Contains(found.certificates(), one) {
			found = append(found, trusted{one, until[fingerprint(one)]})
		}
	}
	return found
}

func fingerprint(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	return hex.EncodeToString(sum[:])
}
