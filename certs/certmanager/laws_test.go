// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/trust"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// The steps of a history: what cert-manager, an administrator and time do to two replicas.
const (
	renew        = "cert-manager renews"
	reissue      = "cert-manager issues from another authority"
	corrupt      = "the serving Secret is corrupted"
	deleteTLS    = "the serving Secret is deleted"
	deleteTrust  = "the trust Secret is deleted"
	emptyTrust   = "the trust Secret is emptied"
	unreadable   = "targets cannot be read"
	published    = "the bundle reaches the targets"
	restart      = "a replica restarts"
	secondPasses = "a second passes"
	minutePasses = "a minute passes"
)

// lawChecks is how many histories the laws are checked on, unless the flag rapid.checks says otherwise.
const lawChecks = "30"

// No step makes a target meet a certificate that it does not trust; when the world is at rest, what cert-manager has
// issued is served by every replica.
func TestLawsOfWhatCertManagerIssues(t *testing.T) {
	isSet := false
	flag.Visit(func(f *flag.Flag) { isSet = isSet || f.Name == "rapid.checks" })
	if !isSet {
		if err := flag.Set("rapid.checks", lawChecks); err != nil {
			t.Fatal(err)
		}
	}
	steps := []string{renew, reissue, corrupt, deleteTLS, deleteTrust, emptyTrust, unreadable, published, restart, secondPasses, minutePasses}
	rapid.Check(t, func(r *rapid.T) {
		history := rapid.SliceOfN(rapid.SampledFrom(steps), 1, 25).Draw(r, "history")
		var failure string
		synctest.Test(t, func(t *testing.T) { failure = playIssued(t, history) })
		if failure != "" {
			r.Fatal(failure)
		}
	})
}

// playIssued plays a history, and returns which law it broke; empty for none.
func playIssued(t *testing.T, history []string) string {
	w := newTestCluster(t)
	w.setTargetBundle(nil)
	issuer := newAuthority(t)
	issued := issuer.issue(t, time.Now().Add(24*time.Hour))
	// As the operator's own injector does, which writes what it is given.
	publishes := func(o *Options) {
		o.Publish = func(_ context.Context, bundle []byte) error {
			w.setTargetBundle(bundle)
			return nil
		}
		o.Published = func(context.Context) ([]byte, error) {
			if carried := w.targetBundle.Load(); carried != nil {
				return *carried, nil
			}
			return nil, errors.New("targets cannot be read")
		}
	}
	replicas := []*Source{w.running(issued, publishes), w.source(publishes)}
	w.must(replicas[1].Prepare(t.Context()))
	w.run(replicas[1])
	prepared := []bool{true, true}
	// As the operator does, which attempts a phase of its start again until it succeeds.
	prepare := func() {
		for i, one := range replicas {
			if prepared[i] {
				continue
			}
			attempt, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			if one.Prepare(attempt) == nil {
				prepared[i] = true
				w.run(one)
			}
			cancel()
		}
	}
	secrets := w.kube.CoreV1().Secrets(namespace)
	publish := func() {
		// Any replica's injector writes; each writes what it has.
		for _, one := range replicas {
			if bundle := one.CABundle(); bundle != nil {
				w.setTargetBundle(bundle)
			}
		}
	}
	last := *w.targetBundle.Load()
	for n, step := range history {
		if carried := w.targetBundle.Load(); carried != nil {
			last = *carried
		}
		switch step {
		case renew:
			issued = issuer.issue(t, time.Now().Add(24*time.Hour))
			w.fill(issued)
		case reissue:
			issuer = newAuthority(t)
			issued = issuer.issue(t, time.Now().Add(24*time.Hour))
			w.fill(issued)
		case corrupt:
			w.fill(map[string][]byte{certs.CertKey: issued[certs.CertKey], certs.PrivateKey: []byte("junk"), certs.CAKey: issued[certs.CAKey]})
		case deleteTLS:
			_ = secrets.Delete(t.Context(), "fairlead-webhook-tls", metav1.DeleteOptions{})
		case deleteTrust:
			_ = secrets.Delete(t.Context(), trust.SecretName, metav1.DeleteOptions{})
		case emptyTrust:
			if secret, err := secrets.Get(t.Context(), trust.SecretName, metav1.GetOptions{}); err == nil {
				secret.Data = nil
				_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
				w.must(err)
			}
		case unreadable:
			w.targetBundle.Store(nil)
		case published:
			w.setTargetBundle(last)
			publish()
		case restart:
			replicas[n%2], prepared[n%2] = w.source(publishes), false
		case secondPasses:
			pass(time.Second)
		case minutePasses:
			pass(time.Minute)
		}
		prepare()
		synctest.Wait()
		if carried := w.targetBundle.Load(); carried != nil {
			last = *carried
		}
		for i, one := range replicas {
			if err := acceptedBy(one, last); err != nil {
				return fmt.Sprintf("after %q (step %d) replica %d: %v", step, n, i, err)
			}
		}
	}
	w.fill(issued)
	for range 10 {
		prepare()
		w.setTargetBundle(last)
		publish()
		pass(time.Minute)
		last = *w.targetBundle.Load()
	}
	for i, one := range replicas {
		if !serves(one, issued) {
			return fmt.Sprintf("replica %d does not serve what was issued last", i)
		}
	}
	return ""
}

// acceptedBy returns why a client with a bundle refuses what a source serves; nil where it serves nothing yet.
func acceptedBy(source *Source, bundle []byte) error {
	served, err := source.GetCertificate(nil)
	if err != nil {
		return nil //nolint:nilerr // it is not ready
	}
	roots, err := pemfile.ParseCertificates(bundle)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	for _, one := range roots {
		pool.AddCert(one)
	}
	_, err = served.Leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: time.Now()})
	return err
}
