// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

func TestReplicasThatStartAtOnceShareOneRoot(t *testing.T) {
	const replicas = 8
	client := newCluster(t)
	var arrived sync.WaitGroup
	arrived.Add(replicas)
	sources := make([]*Authority, replicas)
	failures := make(chan error, replicas)
	for i := range replicas {
		first := sync.OnceFunc(func() { arrived.Done(); arrived.Wait() }) // no replica writes before all have read
		sources[i] = newAuthority(t, Options{Client: hookedClient{client, func(context.Context) error { first(); return nil }}})
		go func() { failures <- sources[i].Prepare(bounded(t)) }()
	}
	for range replicas {
		if err := <-failures; err != nil {
			t.Errorf("Prepare: %v", err)
		}
	}
	if got, want := writes(client), map[string]int{"create": replicas}; !cmp.Equal(got, want) {
		t.Fatalf("writes %v, want %v: the race did not take place", got, want)
	}
	bundle := stored(t, client).Data[certs.CAKey]
	for i, source := range sources {
		if !bytes.Equal(source.CABundle(), bundle) {
			t.Errorf("replica %d publishes another bundle than the Secret's", i)
		}
		if err := handshake(t, source, "fairlead-webhook.fairlead-system.svc", bundle); err != nil {
			t.Errorf("replica %d: %v", i, err)
		}
	}
	serials := map[string]bool{}
	for _, source := range sources {
		serials[leafOf(t, source).SerialNumber.String()] = true
	}
	if len(serials) != replicas {
		t.Errorf("%d serial numbers among %d serving certificates", len(serials), replicas)
	}
}

func TestReplicasThatReplaceAnExpiredRootShareOneRootAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, secret := rootAt(t, time.Now().Add(-11*365*24*time.Hour))
		client := newCluster(t, secret)
		began := time.Now()
		const replicas = 4
		var arrived sync.WaitGroup
		arrived.Add(replicas)
		sources := make([]*Authority, replicas)
		failures := make(chan error, replicas)
		for i := range replicas {
			first := sync.OnceFunc(func() { arrived.Done(); arrived.Wait() })
			sources[i] = newAuthority(t, Options{Client: hookedClient{client, func(context.Context) error { first(); return nil }}})
			go func() { failures <- sources[i].Prepare(bounded(t)) }()
		}
		for range replicas {
			if err := <-failures; err != nil {
				t.Errorf("Prepare: %v", err)
			}
		}
		if got, want := writes(client), map[string]int{"update": replicas}; !cmp.Equal(got, want) {
			t.Fatalf("writes %v, want %v: the race did not take place", got, want)
		}
		for i, source := range sources {
			if !bytes.Equal(source.CABundle(), sources[0].CABundle()) {
				t.Errorf("replica %d publishes another bundle than replica 0", i)
			}
			if err := handshake(t, source, "fairlead-webhook.fairlead-system.svc", sources[0].CABundle()); err != nil {
				t.Errorf("replica %d: %v", i, err)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the losers waited %s", took)
		}
	})
}

func TestCertificatesCarryWhatClientsCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(t)
		source := prepared(t, Options{Client: client, ExtraNames: []string{"localhost", "127.0.0.1", "::1"}})
		roots, err := pemfile.ParseCertificates(source.CABundle())
		if err != nil || len(roots) != 1 {
			t.Fatalf("bundle of %d roots, %v", len(roots), err)
		}
		root, leaf, now := roots[0], leafOf(t, source), time.Now()
		if !root.IsCA || root.Subject.String() != root.Issuer.String() || root.MaxPathLen != 0 || len(root.SubjectKeyId) == 0 {
			t.Errorf("not a root that signs leaves only: CA %v, path %d, key id %x", root.IsCA, root.MaxPathLen, root.SubjectKeyId)
		}
		if bits := root.SerialNumber.BitLen(); bits < 64 {
			t.Errorf("root serial of %d bits", bits)
		}
		if bits := leaf.SerialNumber.BitLen(); bits < 64 {
			t.Errorf("leaf serial of %d bits", bits)
		}
		if leaf.IsCA || !bytes.Equal(leaf.AuthorityKeyId, root.SubjectKeyId) || len(leaf.SubjectKeyId) == 0 {
			t.Errorf("leaf CA %v, authority %x, subject %x; root %x", leaf.IsCA, leaf.AuthorityKeyId, leaf.SubjectKeyId, root.SubjectKeyId)
		}
		if got := root.PublicKey.(*ecdsa.PublicKey).Curve.Params().Name; got != "P-384" {
			t.Errorf("root on %s", got)
		}
		if got := leaf.PublicKey.(*ecdsa.PublicKey).Curve.Params().Name; got != "P-256" {
			t.Errorf("leaf on %s", got)
		}
		if got, want := leaf.NotBefore, now.Add(-24*time.Hour); !got.Equal(want) {
			t.Errorf("leaf valid from %s, want %s", got, want)
		}
		if got, want := leaf.NotAfter, now.Add(7*24*time.Hour); !got.Equal(want) {
			t.Errorf("leaf valid to %s, want %s", got, want)
		}
		if got, want := root.NotAfter, now.Add(10*365*24*time.Hour); !got.Equal(want) {
			t.Errorf("root valid to %s, want %s", got, want)
		}
		wantNames := []string{"fairlead-webhook.fairlead-system.svc", "fairlead-webhook.fairlead-system.svc.cluster.local", "localhost"}
		if diff := cmp.Diff(wantNames, leaf.DNSNames); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
		pool := x509.NewCertPool()
		pool.AddCert(root)
		for _, name := range append(wantNames, "127.0.0.1", "::1") {
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name, CurrentTime: now}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if stored(t, client).Type != corev1.SecretTypeTLS {
			t.Errorf("Secret of type %s", stored(t, client).Type)
		}
	})
}

func TestARestartKeepsTheRootAndWritesNothing(t *testing.T) {
	client := newCluster(t)
	first := prepared(t, Options{Client: client})
	client.ClearActions()
	second := prepared(t, Options{Client: client})
	if !bytes.Equal(first.CABundle(), second.CABundle()) {
		t.Error("the bundle changed")
	}
	if got := writes(client); len(got) != 0 {
		t.Errorf("writes: %v", got)
	}
}

func TestBeforePrepareThereIsAnErrorAndNoBundle(t *testing.T) {
	source := newAuthority(t, Options{Client: newCluster(t)})
	if _, err := source.GetCertificate(nil); err == nil || !strings.Contains(err.Error(), namespace+"/"+name) {
		t.Errorf("GetCertificate: %v", err)
	}
	if got := source.CABundle(); got != nil {
		t.Errorf("bundle %q", got)
	}
}

func TestPrepareBearsWithADeadServerAndLogsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(t)
		dead := true
		client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			if dead {
				return true, nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
			}
			return false, nil, nil
		})
		log := &logLines{}
		source := newAuthority(t, Options{Client: client, Log: log.logger()})
		time.AfterFunc(10*time.Minute, func() { dead = false })
		if err := source.Prepare(t.Context()); err != nil {
			t.Fatalf("Prepare: %v", err)
		}
		if got := log.count("connection refused"); got != 1 {
			t.Errorf("%d lines about one error", got)
		}
		if attempts := len(client.Actions()); attempts > 10*60/5+10 {
			t.Errorf("%d requests in ten minutes", attempts)
		}
	})
}

func TestPrepareAgainstAServerThatNeverAnswersSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := hookedClient{newCluster(t), func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
		log := &logLines{}
		source := newAuthority(t, Options{Client: silent, Log: log.logger()})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := source.Prepare(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Prepare: %v", err)
		}
		for _, part := range []string{"secret fairlead-system/fairlead-webhook-ca", "no answer within 10s"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in: %v", part, err)
			}
		}
		if got := log.count("no answer within 10s"); got != 1 {
			t.Errorf("%d lines about one error", got)
		}
	})
}

func TestPrepareNamesThePermissionsAndStopsAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(t)
		client.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(secretsResource.GroupResource(), name, errors.New("no role"))
		})
		source := newAuthority(t, Options{Client: client})
		began := time.Now()
		err := source.Prepare(t.Context())
		if !apierrors.IsForbidden(err) {
			t.Fatalf("Prepare: %v", err)
		}
		if took := time.Since(began); took < 30*time.Second || took > time.Minute {
			t.Errorf("gave up after %s", took)
		}
		for _, part := range []string{"get, update and watch", "config/rbac", namespace + "/" + name} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q is not in: %v", part, err)
			}
		}
	})
}

func TestPrepareEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	client := newCluster(t)
	if err := newAuthority(t, Options{Client: client}).Prepare(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Prepare: %v", err)
	}
	if got := writes(client); len(got) != 0 {
		t.Errorf("writes: %v", got)
	}
}

func TestOptionsThatContradictAreRefused(t *testing.T) {
	if _, err := New(Options{}); err == nil {
		t.Error("no client is accepted")
	}
	if _, err := New(Options{Client: newCluster(t), RootValidity: time.Hour, LeafValidity: time.Hour}); err == nil {
		t.Error("a leaf that outlives its root is accepted")
	}
}

// Replicas of another source are being replaced by a rolling update: what they serve stays trusted for as long as it is known to
// be served, and a start is ready once clients trust its own root beside. The Secret has this source's roots alone.
func TestTheAuthoritiesOfAnotherSourceAreTrustedForAsLongAsTheyAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, secret := rootAt(t, time.Now())
		other, _ := rootAt(t, time.Now())
		client := newCluster(t, secret)
		var published []string
		var asked [][]*x509.Certificate
		var failure error
		others := []*x509.Certificate{other.certificate()}
		options := Options{
			Client: client,
			Observe: func(context.Context, []byte) error {
				if len(published) == 0 {
					return certs.ErrBundleMissing
				}
				return nil
			},
			Publish: func(_ context.Context, bundle []byte) error {
				published = append(published, string(bundle))
				return nil
			},
			OtherAuthorities: func(_ context.Context, roots []*x509.Certificate) ([]*x509.Certificate, error) {
				asked = append(asked, roots)
				return others, failure
			},
		}
		began := time.Now()
		first := prepared(t, options)
		if time.Since(began) < 10*time.Second || len(published) != 1 || published[0] != string(first.CABundle()) {
			t.Errorf("after %s it serves, and %d bundles were published before", time.Since(began), len(published))
		}
		trusts := func(want ...*root) {
			t.Helper()
			latest, err := first.Latest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, bundle := range [][]byte{first.CABundle(), latest} {
				found, err := pemfile.ParseCertificates(bundle)
				if err != nil || len(found) != len(want) || !certs.Contains(found, want[len(want)-1].certificate()) {
					t.Fatalf("%d are trusted, want %d: %v", len(found), len(want), err)
				}
			}
		}
		own, err := read(secret, time.Now())
		if err != nil || len(asked) != 1 || len(asked[0]) != 1 || !asked[0][0].Equal(own.signer.certificate()) {
			t.Fatalf("it was asked with %v: %v", asked, err)
		}
		trusts(own.signer, other)
		began = time.Now()
		if prepared(t, options); len(published) != 1 || time.Since(began) > time.Second {
			t.Errorf("%d bundles were published, after %s", len(published), time.Since(began))
		}
		running(t, first)
		others, failure = nil, errors.New("unreachable")
		<-time.After(time.Hour)
		trusts(own.signer, other) // unknown takes nothing away
		failure = nil
		<-time.After(2 * time.Minute)
		trusts(own.signer)
		if got := writes(client); len(got) > 0 {
			t.Errorf("writes %v", got)
		}
	})
}

func TestAnotherSourceThatIsNotKnownOrNotInUseHoldsUpNoStart(t *testing.T) {
	for title, err := range map[string]error{"not in use": nil, "not known": errors.New("forbidden")} {
		t.Run(title, func(t *testing.T) {
			_, secret := rootAt(t, time.Now())
			client := newCluster(t, secret)
			prepared(t, Options{
				Client: client, Publish: func(context.Context, []byte) error { t.Error("it was published first"); return nil },
				OtherAuthorities: func(context.Context, []*x509.Certificate) ([]*x509.Certificate, error) { return nil, err },
			})
			if got := writes(client); len(got) > 0 {
				t.Errorf("writes %v", got)
			}
		})
	}
}
