// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cabundle

import (
	"context"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
)

// SecretOf returns the name of the Secret whose certificates a check, which has its defaults, trusts; empty for none.
func SecretOf(c *common.Check) string {
	if c.TLS == nil || *c.TLS.InsecureSkipVerify {
		return ""
	}
	return c.TLS.CASecretName
}

const (
	// key is the key of a Secret with certificates.
	key = "ca.crt"
	// maxAge is after how long a Secret in use is read again, plus up to a fifth of it at random. Secrets
	// are read and not watched: the operator may get those that it was granted, and may not list any.
	maxAge = time.Minute
	// retry is the same after a failure.
	retry = 15 * time.Second
	// readTimeout bounds one read.
	readTimeout = 5 * time.Second
	// maxBundles limits how many are kept, and maxBundleSize the bytes of each.
	maxBundles    = 2048
	maxBundleSize = 256 << 10
)

// Bundles are the certificates of Secrets that checks trust. It is safe for concurrent use.
type Bundles struct {
	reader client.Reader
	now    func() time.Time

	mu      sync.Mutex
	bundles map[types.NamespacedName]*Bundle
}

// New returns Bundles that are read from the API server.
func New(reader client.Reader, now func() time.Time) *Bundles {
	return &Bundles{reader: reader, now: now}
}

// Bundle is the content of one Secret.
type Bundle struct {
	// Roots are kept while the Secret cannot be read, and dropped where its content is not valid: then there is
	// nothing to check against.
	Roots []byte
	// Problem is the rest of a sentence that begins with the Secret, or empty.
	Problem string
	// Due is when the Secret is read again.
	Due time.Time
	// denied means that the API server said that the Secret does not exist, or may not be read. It takes two reads for
	// the roots to be dropped for that: a load balancer may have sent one of them elsewhere.
	denied bool
	used   time.Time
}

// Get returns the bundle of a Secret, which is read if that is due.
func (b *Bundles) Get(ctx context.Context, secret types.NamespacedName) Bundle {
	now := b.now()
	b.mu.Lock()
	known, ok := b.bundles[secret]
	if ok {
		known.used = now
		if now.Before(known.Due) {
			defer b.mu.Unlock()
			return *known
		}
	}
	b.mu.Unlock()

	read := b.read(ctx, secret)
	b.mu.Lock()
	defer b.mu.Unlock()
	before, ok := b.bundles[secret]
	if ok && (read.Roots == nil && read.Problem == "" || read.denied && !before.denied && before.Roots != nil) {
		read.Roots, read.Problem = before.Roots, before.Problem
	} else if read.Roots == nil && read.Problem == "" {
		read.Problem = "cannot be read"
	}
	read.used = now
	if b.bundles == nil {
		b.bundles = map[types.NamespacedName]*Bundle{}
	}
	b.bundles[secret] = &read
	b.evict(now)
	return read
}

// read reads the Secret. Neither roots nor a problem means that the API server did not respond to that.
func (b *Bundles) read(ctx context.Context, secret types.NamespacedName) Bundle {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var object corev1.Secret
	err := b.reader.Get(ctx, secret, &object)
	after := func(wait time.Duration) time.Time {
		return b.now().Add(wait + time.Duration(rand.Int64N(int64(wait/5)))) //nolint:gosec // Jitter is no secret.
	}
	pem := object.Data[key]
	switch {
	case apistatus.IsAbsent(err, corev1.Resource("secrets"), secret.Name):
		return Bundle{denied: true, Problem: "does not exist", Due: after(retry)}
	case apierrors.IsForbidden(err):
		return Bundle{denied: true, Problem: "may not be read: grant the operator's service account get on it", Due: after(retry)}
	case err != nil:
		return Bundle{Due: after(retry)}
	case len(pem) == 0:
		return Bundle{Problem: "has no " + key, Due: after(retry)}
	case len(pem) > maxBundleSize:
		return Bundle{Problem: fmt.Sprintf("has a %s of more than %d KiB", key, maxBundleSize>>10), Due: after(retry)}
	case !x509.NewCertPool().AppendCertsFromPEM(pem):
		return Bundle{Problem: "has a " + key + " without a certificate", Due: after(retry)}
	}
	return Bundle{Roots: pem, Due: after(maxAge)}
}

// evict drops bundles that were not used lately, and any where there are too many.
func (b *Bundles) evict(now time.Time) {
	if len(b.bundles) <= maxBundles/2 {
		return
	}
	for secret, known := range b.bundles {
		if now.Sub(known.used) > 2*maxAge || len(b.bundles) > maxBundles {
			delete(b.bundles, secret)
		}
	}
}
