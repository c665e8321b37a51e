// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package externalservice

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

	networkingv1 "github.com/fairlead-dev/fairlead/api/networking/v1"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
)

// caSecretOf returns the name of the Secret whose certificates the check trusts, or "".
func caSecretOf(h *networkingv1.HealthCheck) string {
	if h.TLS == nil || *h.TLS.InsecureSkipVerify {
		return ""
	}
	return h.TLS.CASecretName
}

const (
	// caKey is the key of a Secret with certificates.
	caKey = "ca.crt"
	// caMaxAge is after how long a Secret in use is read again, plus up to a fifth of it at random. Secrets
	// are read and not watched: the operator may get those that it was granted, and may not list any.
	caMaxAge = time.Minute
	// caRetry is the same after a failure.
	caRetry = 15 * time.Second
	// caReadTimeout bounds one read.
	caReadTimeout = 5 * time.Second
	// maxBundles limits how many are kept, and maxBundleSize the bytes of each.
	maxBundles    = 2048
	maxBundleSize = 256 << 10
)

// caBundles are the certificates of Secrets that health checks trust.
type caBundles struct {
	reader client.Reader
	now    func() time.Time

	mu      sync.Mutex
	bundles map[types.NamespacedName]*caBundle
}

// caBundle is the content of one Secret.
type caBundle struct {
	// roots are kept while the Secret cannot be read, and dropped where its content is not valid: then there is
	// nothing to check against.
	roots []byte
	// problem is the rest of a sentence that begins with the Secret, or empty.
	problem string
	// denied means that the API server said that the Secret does not exist, or may not be read. It takes two reads for
	// the roots to be dropped for that: a load balancer may have sent one of them elsewhere.
	denied bool
	due    time.Time
	used   time.Time
}

// get returns the bundle of a Secret, which is read if that is due.
func (b *caBundles) get(ctx context.Context, secret types.NamespacedName) caBundle {
	now := b.now()
	b.mu.Lock()
	known, ok := b.bundles[secret]
	if ok {
		known.used = now
		if now.Before(known.due) {
			defer b.mu.Unlock()
			return *known
		}
	}
	b.mu.Unlock()

	read := b.read(ctx, secret)
	b.mu.Lock()
	defer b.mu.Unlock()
	before, ok := b.bundles[secret]
	if ok && (read.roots == nil && read.problem == "" || read.denied && !before.denied && before.roots != nil) {
		read.roots, read.problem = before.roots, before.problem
	} else if read.roots == nil && read.problem == "" {
		read.problem = "cannot be read"
	}
	read.used = now
	if b.bundles == nil {
		b.bundles = map[types.NamespacedName]*caBundle{}
	}
	b.bundles[secret] = &read
	b.evict(now)
	return read
}

// read reads the Secret. Neither roots nor a problem means that the API server did not respond to that.
func (b *caBundles) read(ctx context.Context, secret types.NamespacedName) caBundle {
	ctx, cancel := context.WithTimeout(ctx, caReadTimeout)
	defer cancel()
	var object corev1.Secret
	err := b.reader.Get(ctx, secret, &object)
	after := func(wait time.Duration) time.Time {
		return b.now().Add(wait + time.Duration(rand.Int64N(int64(wait/5)))) //nolint:gosec // Jitter is no secret.
	}
	pem := object.Data[caKey]
	switch {
	case apistatus.IsAbsent(err, corev1.Resource("secrets"), secret.Name):
		return caBundle{denied: true, problem: "does not exist", due: after(caRetry)}
	case apierrors.IsForbidden(err):
		return caBundle{denied: true, problem: "may not be read: grant the operator's service account get on it", due: after(caRetry)}
	case err != nil:
		return caBundle{due: after(caRetry)}
	case len(pem) == 0:
		return caBundle{problem: "has no " + caKey, due: after(caRetry)}
	case len(pem) > maxBundleSize:
		return caBundle{problem: fmt.Sprintf("has a %s of more than %d KiB", caKey, maxBundleSize>>10), due: after(caRetry)}
	case !x509.NewCertPool().AppendCertsFromPEM(pem):
		return caBundle{problem: "has a " + caKey + " without a certificate", due: after(caRetry)}
	}
	return caBundle{roots: pem, due: after(caMaxAge)}
}

// evict drops bundles that were not used lately, and any where there are too many.
func (b *caBundles) evict(now time.Time) {
	if len(b.bundles) <= maxBundles/2 {
		return
	}
	for secret, known := range b.bundles {
		if now.Sub(known.used) > 2*caMaxAge || len(b.bundles) > maxBundles {
			delete(b.bundles, secret)
		}
	}
}
