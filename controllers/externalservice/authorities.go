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
)

const (
	// caKey is the entry of a Secret that holds certificates.
	caKey = "ca.crt"
	// caMaxAge is after how long a Secret is read again, while it is used; up to a fifth of it is
	// added at random. Secrets are read and not watched: the operator may see those that
	// it was granted, and no list of them.
	caMaxAge = time.Minute
	// caRetry is the same after a failure.
	caRetry = 15 * time.Second
	// caReadTimeout bounds one read.
	caReadTimeout = 5 * time.Second
	// maxBundles bounds how many are kept, and maxAuthority how large one may be, in bytes.
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

// caBundle is what one Secret says.
type caBundle struct {
	// roots are the last that were good. They are kept while the Secret cannot be read, and not
	// where it says something else: then there is nothing to check against.
	roots []byte
	// problem is the rest of a sentence that begins with the Secret; empty where all is well.
	problem string
	due     time.Time
	used    time.Time
}

// get returns what a Secret says, reading it where that is due.
func (a *caBundles) get(ctx context.Context, secret types.NamespacedName) caBundle {
	now := a.now()
	a.mu.Lock()
	known, ok := a.bundles[secret]
	if ok {
		known.used = now
		if now.Before(known.due) {
			defer a.mu.Unlock()
			return *known
		}
	}
	a.mu.Unlock()

	read := a.read(ctx, secret)
	a.mu.Lock()
	defer a.mu.Unlock()
	if before, ok := a.bundles[secret]; ok && read.roots == nil && read.problem == "" {
		read.roots, read.problem = before.roots, before.problem // it could not be read
	} else if read.roots == nil && read.problem == "" {
		read.problem = "cannot be read"
	}
	read.used = now
	if a.bundles == nil {
		a.bundles = map[types.NamespacedName]*caBundle{}
	}
	a.bundles[secret] = &read
	a.evict(now)
	return read
}

// read asks the API server. Neither roots nor a fault means that it did not answer.
func (a *caBundles) read(ctx context.Context, secret types.NamespacedName) caBundle {
	ctx, cancel := context.WithTimeout(ctx, caReadTimeout)
	defer cancel()
	var object corev1.Secret
	err := a.reader.Get(ctx, secret, &object)
	after := func(wait time.Duration) time.Time {
		return a.now().Add(wait + time.Duration(rand.Int64N(int64(wait/5)))) //nolint:gosec // Jitter is no secret.
	}
	pem := object.Data[caKey]
	switch {
	case apierrors.IsNotFound(err):
		return caBundle{problem: "does not exist", due: after(caRetry)}
	case apierrors.IsForbidden(err):
		return caBundle{problem: "may not be read: grant the operator's service account get on it", due: after(caRetry)}
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

// evict drops what was not used for a while, and anything where there is too much.
func (a *caBundles) evict(now time.Time) {
	if len(a.bundles) <= maxBundles/2 {
		return
	}
	for secret, known := range a.bundles {
		if now.Sub(known.used) > 2*caMaxAge || len(a.bundles) > maxBundles {
			delete(a.bundles, secret)
		}
	}
}
