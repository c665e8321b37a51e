// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/certs"
)

func TestPrepareAsksForTheWholeChainAndWaitsForTheSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		source := w.source()
		prepared := make(chan error, 1)
		go func() { prepared <- source.Prepare(t.Context()) }()
		pass(5 * time.Second)
		if _, err := source.GetCertificate(nil); err == nil || source.CABundle() != nil {
			t.Fatal("something is served before anything was issued")
		}
		data := newAuthority(t).issue(t, start.Add(time.Hour))
		w.fill(data)
		w.must(<-prepared)
		if !serves(source, data) || !bytes.Equal(source.CABundle(), data[certs.CAKey]) {
			t.Error("what was issued is not served")
		}
		want := []string{
			"create secrets/fairlead-webhook-trust",
			"patch issuers/fairlead-webhook-bootstrap", "patch certificates/fairlead-webhook-root",
			"patch issuers/fairlead-webhook", "patch certificates/fairlead-webhook",
		}
		if diff := gocmp.Diff(want, w.writes()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
		standing, err := w.kube.CoreV1().Secrets(namespace).Get(t.Context(), "fairlead-webhook-trust", metav1.GetOptions{})
		w.must(err)
		if standing.Labels["app.kubernetes.io/managed-by"] != "fairlead.dev" || standing.Annotations["cert-manager.io/allow-direct-injection"] != "true" {
			t.Errorf("labels %v, annotations %v", standing.Labels, standing.Annotations)
		}
	})
}

func TestANamedIssuerNeedsNoAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		w.fill(newAuthority(t).issue(t, start.Add(time.Hour)))
		w.must(w.source(func(o *Options) { o.IssuerName, o.IssuerKind = "corporate", "ClusterIssuer" }).Prepare(t.Context()))
		if diff := gocmp.Diff([]string{"create secrets/fairlead-webhook-trust", "patch certificates/fairlead-webhook"}, w.writes()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}

func TestACertificateOfAnotherOwnerIsCheckedAndNeverWritten(t *testing.T) {
	spec := func(change func(map[string]any)) map[string]any {
		fits := map[string]any{"secretName": "fairlead-webhook-tls", "dnsNames": []any{"*.fairlead-system.svc"}}
		change(fits)
		return fits
	}
	for title, test := range map[string]struct {
		spec  map[string]any
		extra []string
		want  string
	}{
		"fits":            {spec(func(map[string]any) {}), nil, ""},
		"another Secret":  {spec(func(s map[string]any) { s["secretName"] = "other" }), nil, `spec.secretName is "other", but the operator reads "fairlead-webhook-tls"`},
		"another name":    {spec(func(s map[string]any) { s["dnsNames"] = []any{"example.com"} }), nil, `spec.dnsNames lacks "` + serverName + `": add it`},
		"a name missing":  {spec(func(map[string]any) {}), []string{"example.com"}, `spec.dnsNames lacks "example.com"`},
		"address missing": {spec(func(map[string]any) {}), []string{"192.0.2.1"}, `spec.ipAddresses lacks "192.0.2.1"`},
		"address":         {spec(func(s map[string]any) { s["ipAddresses"] = []any{"192.0.2.1"} }), []string{"192.0.2.1"}, ""},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				w.put(certificates, "fairlead-webhook", test.spec, nil)
				w.fill(newAuthority(t).issue(t, start.Add(time.Hour)))
				err := w.source(func(o *Options) { o.ExtraNames = test.extra }).Prepare(t.Context())
				if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("Prepare: %v, want %q", err, test.want)
				}
				for _, one := range w.writes() {
					if one != "create secrets/fairlead-webhook-trust" {
						t.Errorf("unexpected: %s", one)
					}
				}
			})
		})
	}
}

func TestWhatIsOursIsBroughtUpToDateAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		w.fill(newAuthority(t).issue(t, start.Add(time.Hour)))
		w.must(w.source().Prepare(t.Context()))
		w.dynamic.ClearActions()
		w.must(w.source().Prepare(t.Context()))
		if got := len(w.writes()); got != 1 { // the trust, when it was made
			t.Errorf("nothing has changed, and yet: %v", w.writes())
		}
		w.must(w.source(func(o *Options) { o.ExtraNames = []string{"example.com"} }).Prepare(t.Context()))
		if got := w.writes(); got[len(got)-1] != "patch certificates/fairlead-webhook" {
			t.Errorf("another name is not asked for: %v", got)
		}
	})
}

func TestWhatKeepsPrepareIsToldInTime(t *testing.T) {
	ready := func(status, reason, message string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": status, "reason": reason, "message": message}}}
	}
	certificate := map[string]any{
		"secretName": "fairlead-webhook-tls", "dnsNames": []any{serverName},
		"issuerRef": map[string]any{"name": "corporate", "kind": "Issuer", "group": "cert-manager.io"},
	}
	for title, test := range map[string]struct {
		prepare func(*testCluster)
		want    []string
	}{
		"no cert-manager": {(*testCluster).uninstall, []string{"cert-manager is not installed", "does not serve cert-manager.io/v1", "install cert-manager", "webhook.certificates.certManager.fallback"}},
		"no controller works": {func(w *testCluster) {
			w.put(certificates, "fairlead-webhook", certificate, nil)
		}, []string{"certificate fairlead-system/fairlead-webhook: cert-manager has not looked at it", "issuer fairlead-system/corporate does not exist: create it", "does not exist yet"}},
		"an issuer that fails": {func(w *testCluster) {
			w.put(issuers, "corporate", nil, ready("False", "ErrInitIssuer", "vault is sealed"))
			w.put(certificates, "fairlead-webhook", certificate, ready("False", "DoesNotExist", "Issuing certificate as Secret does not exist"))
		}, []string{"is not ready, DoesNotExist: Issuing certificate", "issuer fairlead-system/corporate is not ready, ErrInitIssuer: vault is sealed"}},
		"half a pair": {func(w *testCluster) {
			data := newAuthority(w.T).issue(w.T, start.Add(time.Hour))
			data[certs.PrivateKey] = newAuthority(w.T).issue(w.T, start.Add(time.Hour))[certs.PrivateKey]
			w.fill(data)
		}, []string{"secret fairlead-system/fairlead-webhook-tls: tls.key: does not belong"}},
		"the trust is another owner's": {func(w *testCluster) {
			w.fill(newAuthority(w.T).issue(w.T, start.Add(time.Hour)))
			_, err := w.kube.CoreV1().Secrets(namespace).Create(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "fairlead-webhook-trust"}}, metav1.CreateOptions{})
			w.must(err)
		}, []string{"secret fairlead-system/fairlead-webhook-trust: refused", "delete the Secret, or add the label"}},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				test.prepare(w)
				began := time.Now()
				err := w.source(func(o *Options) { o.PrepareTimeout = 30 * time.Second }).Prepare(t.Context())
				if err == nil {
					t.Fatal("prepared")
				}
				for _, part := range test.want {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("%q is not in: %v", part, err)
					}
				}
				if took := time.Since(began); took < 30*time.Second || took > time.Minute {
					t.Errorf("it took %s, with a timeout of 30s", took)
				}
			})
		})
	}
}

func TestWhatWasIssuedIsServedAlthoughCertManagerIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		data := newAuthority(t).issue(t, start.Add(time.Hour))
		w.fill(data)
		w.uninstall()
		source := w.source()
		w.must(source.Prepare(t.Context()))
		if !serves(source, data) {
			t.Error("it is not served")
		}
	})
}

func TestPrepareWaitsForOtherReplicasToPublishANewAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		before, after := newAuthority(t), newAuthority(t)
		w.fill(before.issue(t, start.Add(time.Hour)))
		w.must(w.source().Prepare(t.Context()))
		w.setTargetBundle(certs.EncodeCertificates(before.certificate))
		w.fill(after.issue(t, start.Add(time.Hour)))
		prepared := make(chan error, 1)
		began := time.Now()
		go func() { prepared <- w.source().Prepare(t.Context()) }()
		pass(8 * time.Second)
		w.setTargetBundle(certs.EncodeCertificates(before.certificate, after.certificate))
		w.must(<-prepared)
		if took := time.Since(began); took < 8*time.Second || took > 12*time.Second {
			t.Errorf("it took %s, and the authority was published after 8s", took)
		}
	})
}

func TestReplicasOfAnotherSourceStayTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		before := certs.EncodeCertificates(newAuthority(t).certificate)
		var published []byte
		data := newAuthority(t).issue(t, start.Add(time.Hour))
		w.fill(data)
		source := w.source(func(o *Options) {
			o.FormerAuthorities = func(context.Context) []byte { return before }
			o.Publish = func(_ context.Context, bundle []byte) error { published = bundle; return nil }
		})
		w.must(source.Prepare(t.Context()))
		if both := append(bytes.Clone(before), data[certs.CAKey]...); !bytes.Equal(source.CABundle(), both) || !bytes.Equal(published, both) {
			t.Error("not both authorities are trusted, or they were not published before anything is served")
		}
	})
}

// The trust Secret is of a time before the other source was in use again: what is published says that it is.
func TestReplicasOfAnotherSourceThatIsInUseAgainStayTrusted(t *testing.T) {
	for title, inUse := range map[string]bool{"in use": true, "not in use": false} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				before := certs.EncodeCertificates(newAuthority(t).certificate)
				data := newAuthority(t).issue(t, start.Add(time.Hour))
				w.fill(data)
				secret := newTrustSecret()
				secret.Data = map[string][]byte{certs.CAKey: data[certs.CAKey]}
				_, err := w.kube.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{})
				w.must(err)
				unreadable := errors.New("targets cannot be read")
				source := w.source(func(o *Options) {
					o.FormerAuthorities = func(context.Context) []byte { return before }
					o.Publish = func(context.Context, []byte) error { return nil }
					o.Published = func(context.Context) ([]byte, error) {
						if inUse {
							return before, unreadable
						}
						return data[certs.CAKey], unreadable
					}
				})
				attempt, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := source.Prepare(attempt); err == nil || source.CABundle() != nil {
					t.Errorf("prepared, although the published bundle is unknown: %v", err)
				}
				unreadable = nil
				w.must(source.Prepare(t.Context()))
				want := data[certs.CAKey]
				if inUse {
					want = append(bytes.Clone(want), before...)
				}
				if got := source.CABundle(); !bytes.Equal(got, want) {
					t.Errorf("%d authorities are trusted", bytes.Count(got, []byte("BEGIN")))
				}
			})
		})
	}
}

// Another replica may serve by an authority that was in the trust Secret, which was deleted or emptied.
func TestAReplicaThatFindsNoTrustKeepsWhatIsPublished(t *testing.T) {
	for title, content := range map[string]map[string][]byte{"deleted": nil, "emptied": {"other": []byte("x")}} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				if content != nil {
					secret := newTrustSecret()
					secret.Data = content
					_, err := w.kube.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{})
					w.must(err)
				}
				before := certs.EncodeCertificates(newAuthority(t).certificate)
				data, unreadable := newAuthority(t).issue(t, start.Add(time.Hour)), errors.New("targets cannot be read")
				w.fill(data)
				source := w.source(func(o *Options) {
					o.Publish = func(context.Context, []byte) error { return nil }
					o.Published = func(context.Context) ([]byte, error) { return before, unreadable }
				})
				attempt, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := source.Prepare(attempt); err == nil || source.CABundle() != nil {
					t.Errorf("prepared, although the published bundle is unknown: %v", err)
				}
				unreadable = nil
				w.must(source.Prepare(t.Context()))
				if both := append(bytes.Clone(before), data[certs.CAKey]...); !bytes.Equal(source.CABundle(), both) {
					t.Error("not both authorities are trusted")
				}
			})
		})
	}
}

func TestAReplicaThatIsAlonePublishesOnlyWhenItCanBeReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		w.fill(newAuthority(t).issue(t, start.Add(time.Hour)))
		w.must(w.source(func(o *Options) {
			o.Publish = func(context.Context, []byte) error { t.Error("published"); return nil }
		}).Prepare(t.Context()))
	})
}

func TestOptionsThatContradictThemselvesAreRefused(t *testing.T) {
	w := newTestCluster(t)
	for title, change := range map[string]func(*Options){
		"no client":          func(o *Options) { o.Client = nil },
		"too short":          func(o *Options) { o.Validity = time.Minute },
		"outlives the root":  func(o *Options) { o.RootValidity = 24 * time.Hour },
		"the trust's Secret": func(o *Options) { o.SecretName = "fairlead-webhook-trust" },
		"the root's Secret":  func(o *Options) { o.SecretName = "fairlead-webhook-root" },
	} {
		options := Options{Client: w.kube, Dynamic: w.dynamic}
		change(&options)
		if _, err := New(options); err == nil {
			t.Errorf("%s: accepted", title)
		}
	}
}

// A replica restarts after another authority was issued, before cert-manager's CA injector has published it. The other replicas
// continue with the previous certificate, and no request may come here.
func TestARestartedReplicaIsNotReadyWhileNoTargetTrustsItsCertificate(t *testing.T) {
	for title, test := range map[string]struct {
		observed error // in place of what the targets carry
		ready    bool
	}{
		"no target trusts it":            {nil, false},
		"one of them does":               {certs.ErrBundleMissing, true},
		"whether one does is unknown":    {errors.New("the targets may not be read"), true},
		"those that can be read do not":  {errors.Join(certs.ErrTrustedNowhere, certs.ErrBundleMissing, errors.New("one may not be read")), false},
		"the API server does not answer": {context.DeadlineExceeded, true},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				before, after := newAuthority(t), newAuthority(t)
				next := after.issue(t, start.Add(time.Hour))
				w.setTargetBundle(certs.EncodeCertificates(before.certificate))
				w.running(before.issue(t, start.Add(time.Hour)))
				w.fill(next)
				pass(time.Second)
				restarted := w.source(func(o *Options) {
					o.Observe = func(ctx context.Context, bundle []byte) error {
						return cmp.Or(test.observed, w.observe(ctx, bundle))
					}
				})
				if err := restarted.Prepare(t.Context()); (err == nil) != test.ready {
					t.Errorf("Prepare: %v", err)
				}
				if _, err := restarted.GetCertificate(nil); (err == nil) != test.ready {
					t.Errorf("GetCertificate: %v", err)
				}
				test.observed = nil
				w.setTargetBundle(certs.EncodeCertificates(before.certificate, after.certificate))
				if err := restarted.Prepare(t.Context()); err != nil || !serves(restarted, next) {
					t.Errorf("once it is published: %v", err)
				}
			})
		})
	}
}
