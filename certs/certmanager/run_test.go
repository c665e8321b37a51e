// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/certs/trust"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

// running is a source that serves the content, which every target trusts.
func (t *testCluster) running(data map[string][]byte, change ...func(*Options)) *Source {
	t.Helper()
	t.fill(data)
	source := t.source(change...)
	t.must(source.Prepare(t.Context()))
	t.setTargetBundle(data[certs.CAKey])
	t.run(source)
	synctest.Wait()
	t.changes.Store(0)
	return source
}

func TestARenewalUnderTheSameAuthorityIsServedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		root := newAuthority(t)
		source := w.running(root.issue(t, start.Add(time.Hour)))
		w.targetBundle.Store(nil) // it makes no difference whether a target can be read
		next := root.issue(t, start.Add(2*time.Hour))
		w.fill(next)
		synctest.Wait()
		if !serves(source, next) {
			t.Error("it is not served")
		}
		if w.changes.Load() != 0 {
			t.Error("the bundle was published once more")
		}
	})
}

func TestACertificateOfANewAuthorityWaitsUntilThatIsTrustedEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		before, after := newAuthority(t), newAuthority(t)
		old, next := before.issue(t, start.Add(time.Hour)), after.issue(t, start.Add(100*time.Hour))
		source := w.running(old)
		w.fill(next)
		pass(10 * time.Second)
		both := certs.EncodeCertificates(before.certificate, after.certificate)
		if !bytes.Equal(source.CABundle(), both) || w.changes.Load() != 1 {
			t.Fatalf("not both are published, or not once: %d changes", w.changes.Load())
		}
		if !serves(source, old) || source.Err() != nil {
			t.Fatalf("the new one is served, and no target trusts it: %v", source.Err())
		}
		if pass(time.Minute); source.Err() == nil || !errors.Is(source.Err(), certs.ErrBundleMissing) {
			t.Errorf("after a minute it says %v", source.Err())
		}
		w.setTargetBundle(both)
		pass(3 * time.Second)
		if !serves(source, old) {
			t.Fatal("the new one is served before it was trusted for 5s")
		}
		pass(4 * time.Second)
		if !serves(source, next) || source.Err() != nil {
			t.Fatalf("the new one is not served although it is trusted: %v", source.Err())
		}
		pass(time.Hour)
		if !bytes.Equal(source.CABundle(), both) {
			t.Error("the previous authority was dropped before its certificate and the skew were over")
		}
		pass(2*time.Hour + 10*time.Minute)
		if !bytes.Equal(source.CABundle(), next[certs.CAKey]) || w.changes.Load() != 2 {
			t.Errorf("the previous authority is trusted after its certificate has expired; %d changes", w.changes.Load())
		}
	})
}

// Each request takes half of the time of an attempt, and each other look at the targets fails.
func TestACertificateOfANewAuthorityIsServedThoughTheAPIServerIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		var slow time.Duration
		looks := 0
		w.kube.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			pass(slow)
			return false, nil, nil
		})
		before, after := newAuthority(t), newAuthority(t)
		next := after.issue(t, start.Add(100*time.Hour))
		source := w.running(before.issue(t, start.Add(time.Hour)), func(o *Options) {
			o.Observe = func(ctx context.Context, bundle []byte) error {
				if bytes.Equal(bundle, next[certs.CAKey]) {
					if looks++; looks%2 == 0 {
						return errors.New("targets cannot be read")
					}
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(slow):
				}
				return w.observe(ctx, bundle)
			}
		})
		slow = 5 * time.Second
		w.setTargetBundle(certs.EncodeCertificates(before.certificate, after.certificate))
		w.fill(next)
		pass(5 * time.Minute)
		if !serves(source, next) {
			t.Errorf("the new one is not served after 5m and %d looks", looks)
		}
	})
}

func TestEveryReplicaPublishesTheSameBytesAlsoAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		before, after := newAuthority(t), newAuthority(t)
		one := w.running(before.issue(t, start.Add(time.Hour)))
		w.fill(after.issue(t, start.Add(time.Hour)))
		w.setTargetBundle(certs.EncodeCertificates(before.certificate, after.certificate))
		two := w.source()
		w.must(two.Prepare(t.Context()))
		pass(time.Second)
		if !bytes.Equal(one.CABundle(), two.CABundle()) || !bytes.Equal(one.CABundle(), *w.targetBundle.Load()) {
			t.Error("two replicas publish different bundles")
		}
	})
}

func TestTheFormerIsNotServedWhereNoTargetTrustsItAnyMore(t *testing.T) {
	for title, test := range map[string]struct {
		expires time.Duration
		happen  func(w *testCluster, after *authority)
	}{
		"the authority was replaced by hand": {time.Hour, func(w *testCluster, after *authority) { w.setTargetBundle(certs.EncodeCertificates(after.certificate)) }},
		"it expires, and targets are unread": {50 * time.Second, func(w *testCluster, _ *authority) { w.targetBundle.Store(nil) }},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				after := newAuthority(t)
				source := w.running(newAuthority(t).issue(t, start.Add(test.expires)))
				test.happen(w, after)
				next := after.issue(t, start.Add(time.Hour))
				w.fill(next)
				pass(time.Second)
				if !serves(source, next) {
					t.Error("the new one is not served")
				}
			})
		})
	}
}

func TestAPairThatCannotBeUsedLeavesTheLastGoodOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		root, registry := newAuthority(t), prometheus.NewRegistry()
		good := root.issue(t, start.Add(time.Hour))
		var told []error
		source := w.running(good, func(o *Options) { o.Registerer, o.OnFailure = registry, func(err error) { told = append(told, err) } })
		next := root.issue(t, start.Add(time.Hour))
		half := map[string][]byte{certs.CertKey: next[certs.CertKey], certs.PrivateKey: good[certs.PrivateKey], certs.CAKey: good[certs.CAKey]}
		w.fill(half)
		synctest.Wait()
		if !serves(source, good) {
			t.Error("the last good one is not served")
		}
		if err := source.Err(); err == nil || len(told) != 1 || err.Error() != told[0].Error() || !strings.Contains(err.Error(), certs.PrivateKey) {
			t.Errorf("%v is wrong, and %v was told", err, told)
		}
		w.fill(next)
		synctest.Wait()
		if err := source.Err(); err != nil {
			t.Errorf("still %v", err)
		}
		if !serves(source, next) {
			t.Error("the whole pair is not served")
		}
		if got := counted(t, registry, certs.ReloadChanged); got != 1 {
			t.Errorf("%v changes were counted, want 1", got)
		}
		if counted(t, registry, certs.ReloadFailed) == 0 { // a fake watch tells of other names too, so perhaps more than once
			t.Error("the failure was not counted")
		}
	})
}

func TestWhatIsServedStaysTrustedThoughBothSecretsAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		before, after := newAuthority(t), newAuthority(t)
		source := w.running(before.issue(t, start.Add(time.Hour)))
		secrets := w.kube.CoreV1().Secrets(namespace)
		w.must(secrets.Delete(t.Context(), "fairlead-webhook-tls", metav1.DeleteOptions{}))
		w.must(secrets.Delete(t.Context(), trust.SecretName, metav1.DeleteOptions{}))
		pass(time.Second)
		next := after.issue(t, start.Add(time.Hour))
		w.fill(next)
		pass(time.Second)
		if serves(source, next) {
			t.Error("it is served before a target trusts it")
		}
		if roots, err := pemfile.ParseCertificates(source.CABundle()); err != nil || !certs.Contains(roots, before.certificate) || !certs.Contains(roots, after.certificate) {
			t.Errorf("the bundle has %d authorities, %v", len(roots), err)
		}
		w.setTargetBundle(source.CABundle())
		pass(10 * time.Second)
		if !serves(source, next) {
			t.Error("it is not served though every target trusts it")
		}
	})
}

// counted is how often a result was counted.
func counted(t *testing.T, registry *prometheus.Registry, result string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "fairlead_certificate_reloads_total" && metric.GetLabel()[0].GetValue() == result {
				return metric.GetCounter().GetValue()
			}
		}
	}
	t.Fatalf("result %q is not published", result)
	return 0
}

func TestNothingIsWrittenWhileNothingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		w.running(newAuthority(t).issue(t, start.Add(9*time.Hour)))
		w.kube.ClearActions()
		w.dynamic.ClearActions()
		pass(time.Hour)
		if writes := w.writes(); len(writes) > 0 {
			t.Errorf("written: %v", writes)
		}
		if reads := len(w.kube.Actions()) + len(w.dynamic.Actions()); reads > 60*8 {
			t.Errorf("%d requests in an hour", reads)
		}
	})
}

func TestACertificateThatAUserDeletesIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		w.running(newAuthority(t).issue(t, start.Add(9*time.Hour)))
		w.must(w.dynamic.Tracker().Delete(certificates.resource, namespace, "fairlead-webhook"))
		w.dynamic.ClearActions()
		pass(2 * time.Minute)
		if _, err := w.dynamic.Tracker().Get(certificates.resource, namespace, "fairlead-webhook"); err != nil {
			t.Error(err)
		}
	})
}

func TestAnIssuerWithoutARootLeavesTheBundleAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		root := newAuthority(t)
		data := root.issue(t, start.Add(time.Hour))
		data[certs.CAKey] = nil
		source := w.running(data)
		if !serves(source, data) || source.CABundle() != nil {
			t.Errorf("bundle %q", source.CABundle())
		}
		if writes := w.writes(); strings.Contains(strings.Join(writes, " "), "trust") {
			t.Errorf("written: %v", writes)
		}
	})
	t.Run("but not where another one is trusted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newTestCluster(t)
			good := newAuthority(t).issue(t, start.Add(time.Hour))
			source := w.running(good)
			data := newAuthority(t).issue(t, start.Add(time.Hour))
			data[certs.CAKey] = nil
			w.fill(data)
			pass(time.Minute)
			if !serves(source, good) || !bytes.Equal(source.CABundle(), good[certs.CAKey]) {
				t.Error("a certificate is served that no target trusts")
			}
		})
	})
}

// fakeFallback is a source whose certificate is what it is.
type fakeFallback struct {
	served *tls.Certificate
	bundle []byte
	runs   chan bool
}

func (f *fakeFallback) Prepare(context.Context) error { return nil }
func (f *fakeFallback) Run(ctx context.Context) error {
	f.runs <- true
	<-ctx.Done()
	f.runs <- false
	return nil
}
func (f *fakeFallback) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.served, nil
}
func (f *fakeFallback) CABundle() []byte { return f.bundle }
func (f *fakeFallback) Err() error       { return nil }

func TestTheFallbackServesUntilWhatIsIssuedIsTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		w.uninstall()
		own, theirs := newAuthority(t), newAuthority(t)
		mine := own.issue(t, start.Add(time.Hour))
		fallback := &fakeFallback{pair(t, mine).Served, mine[certs.CAKey], make(chan bool, 2)}
		source := w.source(func(o *Options) { o.Fallback = fallback })
		w.must(source.Prepare(t.Context()))
		w.setTargetBundle(fallback.bundle)
		w.run(source)
		if running := <-fallback.runs; !running || !serves(source, mine) || !bytes.Equal(source.CABundle(), fallback.bundle) {
			t.Fatal("the fallback does not serve")
		}
		pass(time.Hour)
		w.install()
		data := theirs.issue(t, start.Add(9*time.Hour))
		w.fill(data)
		pass(20 * time.Second)
		both := certs.EncodeCertificates(own.certificate, theirs.certificate)
		if !serves(source, mine) || !bytes.Equal(source.CABundle(), both) {
			t.Fatal("the fallback no longer serves, or not both authorities are published")
		}
		w.setTargetBundle(both)
		pass(7 * time.Second)
		if running := <-fallback.runs; running || !serves(source, data) {
			t.Fatal("what is issued is not served, or the fallback runs on")
		}
	})
}

func TestWithoutAFallbackAMissingCertManagerIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		w.uninstall()
		if err := w.source().Prepare(t.Context()); !errors.Is(err, errNotInstalled) {
			t.Errorf("Prepare: %v", err)
		}
	})
}
