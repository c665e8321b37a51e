// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/test/framework"
)

const (
	lookEvery        = 200 * time.Millisecond
	handshakeTimeout = 10 * time.Second
	// memory is for how long after a change of a bundle a client may still have the one before: API
	// servers hear of it by a watch.
	memory = 2 * time.Second
)

// published holds the CA bundles of the API server at one moment.
type published struct {
	at time.Time
	// bundles by where they stand.
	bundles map[string]string
	// written is how often the CRDs' specs were written, added up.
	written int64
}

// handshaker opens new connections to every replica all the time, and verifies each as the API server
// would: by every bundle that stands anywhere, and by those that stood there a moment ago. The API
// server keeps its connections, so that a certificate that no new client would trust may go unnoticed by
// it.
type handshaker struct {
	site   *site
	cancel context.CancelFunc
	done   chan struct{}

	mu         sync.Mutex // guards what follows
	now        published
	past       []published // before now, not older than memory
	first      published
	handshakes int
	refusals   map[string]int
	serials    map[string]map[string]bool // of leaves, by replica
	signer     map[string]string          // key of the root that signed the last one, by replica
}

// watch starts a handshaker that works until Close is called or ctx ends.
func (s *site) watch(ctx context.Context) (*handshaker, error) {
	w := &handshaker{site: s, done: make(chan struct{}), refusals: map[string]int{}, serials: map[string]map[string]bool{}, signer: map[string]string{}}
	var err error
	if w.first, err = s.published(ctx); err != nil {
		return nil, err
	}
	w.now = w.first
	running, cancel := context.WithCancel(ctx)
	w.cancel = cancel
	go w.run(running)
	// What is there must have been seen before anything changes.
	if err := w.shows(ctx, 1); err != nil {
		cancel()
		<-w.done
		return nil, err
	}
	return w, nil
}

// shows waits until every replica has shown so many certificates.
func (h *handshaker) shows(ctx context.Context, want int) error {
	return framework.Eventually(ctx, renewedWithin, func(context.Context) error {
		if n := h.leaves(); n < want {
			return fmt.Errorf("a replica has shown %d certificates, not %d", n, want)
		}
		return nil
	})
}

func (h *handshaker) run(ctx context.Context) {
	defer close(h.done)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if now, err := h.site.published(ctx); err == nil {
			h.follow(now)
		}
		for _, r := range h.site.running() {
			h.look(ctx, r)
		}
	}
}

// close ends the handshaker and says what it saw.
func (h *handshaker) close(a *attempt) {
	h.cancel()
	<-h.done
	h.mu.Lock()
	defer h.mu.Unlock()
	for reason, n := range h.refusals {
		a.wrong("%d new connections were refused: %s", n, reason)
	}
	a.note("%d new connections verified by every published bundle, those of a moment ago too; CRDs written %d times",
		h.handshakes, h.now.written-h.first.written)
}

func (h *handshaker) follow(now published) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.past = append(h.past, h.now)
	for len(h.past) > 1 && now.at.Sub(h.past[1].at) > memory {
		h.past = h.past[1:]
	}
	h.now = now
}

// look opens a connection and verifies it.
func (h *handshaker) look(ctx context.Context, r *replica) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	dialer := tls.Dialer{Config: &tls.Config{
		ServerName: "fairlead-webhook." + framework.Namespace + ".svc", NextProtos: []string{"http/1.1"},
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // verified below, by more than one pool
	}}
	conn, err := dialer.DialContext(ctx, "tcp", r.Webhook)
	if err != nil {
		return // a connection that is refused tells nothing about certificates
	}
	state := conn.(*tls.Conn).ConnectionState() //nolint:errcheck,forcetypeassert // tls.Dialer makes no other
	_ = conn.Close()

	h.mu.Lock()
	defer h.mu.Unlock()
	h.handshakes++
	leaf := state.PeerCertificates[0]
	if h.serials[r.ID] == nil {
		h.serials[r.ID] = map[string]bool{}
	}
	h.serials[r.ID][leaf.SerialNumber.Text(16)] = true
	h.signer[r.ID] = fmt.Sprintf("%x", leaf.AuthorityKeyId)
	for _, p := range append(h.past, h.now) {
		for where, bundle := range p.bundles {
			if err := verify(state, bundle, dialer.Config.ServerName); err != nil {
				h.refusals[fmt.Sprintf("%s, by the bundle of %s: %v", r.ID, where, err)]++
			}
		}
	}
}

func verify(state tls.ConnectionState, bundle, name string) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(bundle)) {
		return errors.New("the bundle has no certificate")
	}
	between := x509.NewCertPool()
	for _, c := range state.PeerCertificates[1:] {
		between.AddCert(c)
	}
	_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: name, Roots: roots, Intermediates: between})
	return err
}

// leaves is the least number of different certificates that a replica has shown.
func (h *handshaker) leaves() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	least := -1
	for _, r := range h.site.running() {
		if n := len(h.serials[r.ID]); least < 0 || n < least {
			least = n
		}
	}
	return least
}

// signers are the roots that signed what the replicas show now, and how often each.
func (h *handshaker) signers() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := map[string]int{}
	for _, r := range h.site.running() {
		n[h.signer[r.ID]]++
	}
	delete(n, "")
	return n
}

// trusted is how many certificates each published bundle has now.
func (h *handshaker) trusted() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := map[string]int{}
	for where, bundle := range h.now.bundles {
		n[where] = strings.Count(bundle, "BEGIN CERTIFICATE")
	}
	return n
}

// published reads what stands in the webhook configurations and the CRDs.
func (s *site) published(ctx context.Context) (published, error) {
	p := published{at: time.Now(), bundles: map[string]string{}}
	for _, name := range framework.WebhookConfigurations {
		var validating admissionregistrationv1.ValidatingWebhookConfiguration
		if err := s.admin.Get(ctx, client.ObjectKey{Name: name}, &validating); err != nil {
			return p, err
		}
		for _, hook := range validating.Webhooks {
			p.bundles[hook.Name] = string(hook.ClientConfig.CABundle)
		}
		var mutating admissionregistrationv1.MutatingWebhookConfiguration
		if err := s.admin.Get(ctx, client.ObjectKey{Name: name}, &mutating); err != nil {
			return p, err
		}
		for _, hook := range mutating.Webhooks {
			p.bundles[hook.Name] = string(hook.ClientConfig.CABundle)
		}
	}
	for _, name := range framework.Definitions {
		definition := &unstructured.Unstructured{}
		definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		if err := s.admin.Get(ctx, client.ObjectKey{Name: name}, definition); err != nil {
			return p, err
		}
		encoded, _, err := unstructured.NestedString(definition.Object, "spec", "conversion", "webhook", "clientConfig", "caBundle")
		if err != nil {
			return p, err
		}
		bundle, err := decode(encoded)
		if err != nil {
			return p, fmt.Errorf("caBundle of %s: %w", name, err)
		}
		p.bundles[name] = bundle
		p.written += definition.GetGeneration()
	}
	return p, nil
}
