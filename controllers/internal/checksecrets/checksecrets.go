// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package checksecrets

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/api/common"
	"github.com/fairlead-dev/fairlead/controllers/internal/controller"
	"github.com/fairlead-dev/fairlead/internal/apistatus"
	"github.com/fairlead-dev/fairlead/internal/probe"
	"github.com/fairlead-dev/fairlead/internal/rules"
)

const (
	// maxAge is after how long a Secret in use is read again, plus up to a fifth of it at random. Secrets
	// are read and not watched: the operator may get those that it was granted, and may not list any.
	maxAge = time.Minute
	// retry is the same after a failure, and minAge after a check has failed.
	retry  = 15 * time.Second
	minAge = 5 * time.Second
	// readTimeout bounds one read.
	readTimeout = 5 * time.Second
	// maxEntries limits how many are kept, and maxPEM and maxValue the bytes of each.
	maxEntries = 2048
	maxPEM     = 256 << 10
	maxValue   = 1 << 10
)

// Reader reads the Secrets that checks name. It is safe for concurrent use.
type Reader struct {
	reader client.Reader
	now    func() time.Time

	mu      sync.Mutex
	entries map[source]*entry
}

// New returns a Reader that reads from the API server.
func New(reader client.Reader, now func() time.Time) *Reader {
	return &Reader{reader: reader, now: now, entries: map[source]*entry{}}
}

// Content holds the Secrets that a check names.
type Content struct {
	probe.Secrets

	// Problem is the part of a sentence that says which Secret cannot be used; empty where all can.
	Problem string
	// Due is when a Secret is read again; zero for never.
	Due time.Time
}

// source is one key of a Secret, or its certificate and private key if key is empty.
type source struct {
	types.NamespacedName

	key string
}

// entry is the cached result of a read.
type entry struct {
	// content is kept while the Secret cannot be read, and dropped where it is not valid: then there is nothing to check by.
	content probe.Confidential
	hasAny  bool
	// problem is the rest of a sentence that begins with the Secret, or empty.
	problem   string
	read, due time.Time
	// denied means that the API server said that the Secret does not exist, or may not be read. It takes two reads for
	// the content to be dropped for that: a load balancer may have sent one of them elsewhere.
	denied bool
	used   time.Time
}

// Of returns what a check, which has its defaults, needs. at is its path for messages. A Secret that was read before a check
// failed is read again.
func (r *Reader) Of(ctx context.Context, namespace string, at *field.Path, c *common.Check, failed time.Time) Content {
	var all Content
	for _, named := range rules.CheckSecrets(at, c) {
		if named.Key == rules.CAKey && !named.IsCredential && ptr.Deref(c.TLS.InsecureSkipVerify, false) {
			continue
		}
		is := r.get(ctx, source{types.NamespacedName{Namespace: namespace, Name: named.Name}, named.Key}, failed)
		all.Due = controller.Earliest(all.Due, is.due)
		switch {
		case is.problem != "":
			if all.Problem == "" {
				all.Problem = fmt.Sprintf("Secret %s, which %s names, %s", named.Name, named.Path, is.problem)
			}
		case !named.IsCredential:
			all.RootPEM = is.content.Reveal()
		case named.Key == "":
			all.ClientPEM = is.content
		default:
			all.Values = append(all.Values, is.content)
		}
	}
	return all
}

// get returns what a source has, which is read if that is due.
func (r *Reader) get(ctx context.Context, from source, failed time.Time) entry {
	now := r.now()
	r.mu.Lock()
	known, ok := r.entries[from]
	if ok {
		known.used = now
		if now.Before(known.due) && (!failed.After(known.read) || now.Sub(known.read) < minAge) {
			defer r.mu.Unlock()
			return *known
		}
	}
	r.mu.Unlock()

	read := r.fetch(ctx, from)
	r.mu.Lock()
	defer r.mu.Unlock()
	before, ok := r.entries[from]
	if ok && (!read.hasAny && read.problem == "" || read.denied && !before.denied && before.hasAny) {
		read.content, read.hasAny, read.problem = before.content, before.hasAny, before.problem
	} else if !read.hasAny && read.problem == "" {
		read.problem = "cannot be read"
	}
	read.read, read.used = now, now
	r.entries[from] = &read
	r.evict(now)
	return read
}

// fetch reads the Secret. Neither content nor a problem means that the API server did not respond to that.
func (r *Reader) fetch(ctx context.Context, from source) entry {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var object corev1.Secret
	err := r.reader.Get(ctx, from.NamespacedName, &object)
	after := func(wait time.Duration) time.Time {
		return r.now().Add(wait + time.Duration(rand.Int64N(int64(wait/5)))) //nolint:gosec // Jitter is no secret.
	}
	again := after(retry)
	switch {
	case apistatus.IsAbsent(err, corev1.Resource("secrets"), from.Name):
		return entry{denied: true, problem: "does not exist", due: again}
	case apierrors.IsForbidden(err):
		return entry{denied: true, problem: "may not be read: grant the operator's service account get on it", due: again}
	case err != nil:
		return entry{due: again}
	}
	content, problem := from.contentOf(object.Data)
	if problem != "" {
		return entry{problem: problem, due: again}
	}
	return entry{content: probe.NewConfidential(content), hasAny: true, due: after(maxAge)}
}

// contentOf returns the content of a Secret that is of use, or what is wrong with it.
func (s source) contentOf(data map[string][]byte) (content []byte, problem string) {
	keys, most := []string{s.key}, maxValue
	switch s.key {
	case "":
		keys, most = []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey}, maxPEM
	case rules.CAKey:
		most = maxPEM
	}
	for _, key := range keys {
		switch size := len(data[key]); {
		case size == 0:
			return nil, "has no " + key
		case size > most:
			return nil, fmt.Sprintf("has a %s of more than %d KiB", key, most>>10)
		}
		content = append(slices.Concat(content, data[key]), '\n')
	}
	switch s.key {
	case "":
		if _, err := tls.X509KeyPair(data[keys[0]], data[keys[1]]); err != nil {
			return nil, "has no tls.crt with the certificate of its tls.key"
		}
		return content, ""
	case rules.CAKey:
		if !x509.NewCertPool().AppendCertsFromPEM(content) {
			return nil, "has a " + s.key + " without a certificate"
		}
	}
	return data[s.key], ""
}

// evict drops entries that were not used lately, and any where there are too many.
func (r *Reader) evict(now time.Time) {
	if len(r.entries) <= maxEntries/2 {
		return
	}
	for from, known := range r.entries {
		if now.Sub(known.used) > 2*maxAge || len(r.entries) > maxEntries {
			delete(r.entries, from)
		}
	}
}
