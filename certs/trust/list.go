// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"crypto/x509"
	"encoding/json"
	"slices"
	"time"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// untilKey is the key of the trust Secret, beside ca.crt, with the time until which each authority stays.
const untilKey = "until.json"

// maxTrusted bounds the trusted authorities. Beyond it the one is removed first whose certificates expire
// first.
const maxTrusted = 8

// trusted is an authority and when the last known certificate of it expires. Without a time it stays until
// it expires itself, such as one that an administrator has added.
type trusted struct {
	certificate *x509.Certificate
	until       time.Time
}

// list are the trusted authorities in the order in which they were added. It is immutable.
type list []trusted

// latestUntil is before the end of the years that JSON has: a certificate that never expires has its last second (RFC 5280, 4.1.2.5).
var latestUntil = time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)

// with adds the authorities, or extends the time of existing ones.
func (t list) with(authorities []*x509.Certificate, until time.Time) list {
	if until.After(latestUntil) {
		until = latestUntil
	}
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

// without removes authorities that have no valid certificate left, but none that is in use.
func (t list) without(now time.Time, inUse []*x509.Certificate) list {
	var next list
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

func (t list) certificates() []*x509.Certificate {
	all := make([]*x509.Certificate, 0, len(t))
	for _, one := range t {
		all = append(all, one.certificate)
	}
	return all
}

// bundle returns the certificates that clients must trust, in PEM.
func (t list) bundle() []byte { return certs.EncodeCertificates(t.certificates()...) }

// data is the content of the trust Secret.
func (t list) data() (map[string][]byte, error) {
	until := map[string]time.Time{}
	for _, one := range t {
		if !one.until.IsZero() {
			until[certs.Fingerprint(one.certificate)] = one.until.UTC().Truncate(time.Second)
		}
	}
	text, err := json.Marshal(until)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{certs.CAKey: t.bundle(), untilKey: text}, nil
}

// readList is the reverse of data. Invalid content is ignored: authorities in use are added again, and an
// invalid bundle must not cause an outage.
func readList(data map[string][]byte) list {
	certificates, err := pemfile.ParseCertificates(data[certs.CAKey])
	if err != nil {
		return nil
	}
	var until map[string]time.Time
	if err := json.Unmarshal(data[untilKey], &until); err != nil {
		until = nil
	}
	var found list
	for _, one := range certificates {
		if !certs.Contains(found.certificates(), one) {
			found = append(found, trusted{one, until[certs.Fingerprint(one)]})
		}
	}
	return found
}
