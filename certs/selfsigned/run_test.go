// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package selfsigned

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-dev/fairlead/certs"
	"github.com/fairlead-dev/fairlead/internal/pemfile"
)

const webhookName = "fairlead-webhook.fairlead-system.svc"

func TestTheServingCertificateIsRenewedAtTwoThirdsOfItsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := prepared(t, Options{Client: newCluster(t)})
		first, bundle := leafOf(t, source), source.CABundle()
		running(t, source)
		pass(7*24*time.Hour*2/3 - time.Minute)
		if !leafOf(t, source).Equal(first) {
			t.Error("renewed too early")
		}
		pass(3 * time.Minute)
		if leafOf(t, source).Equal(first) {
			t.Error("not renewed")
		}
		if err := handshake(t, source, webhookName, bundle); err != nil {
			t.Error(err)
		}
		if !bytes.Equal(source.CABundle(), bundle) {
			t.Error("the bundle changed with the serving certificate")
		}
	})
}

func TestTheServingCertificateIsRenewedWhileTheServerIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(t)
		log := &logLines{}
		source := prepared(t, Options{Client: client, Log: log.logger()})
		client.PrependReactor("*", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("connection refused")
		})
		client.PrependWatchReactor("secrets", func(clienttesting.Action) (bool, watch.Interface, error) {
			return true, nil, errors.New("connection refused")
		})
		running(t, source)
		pass(30 * 24 * time.Hour)
		if err := handshake(t, source, webhookName, source.CABundle()); err != nil {
			t.Error(err)
		}
		if got := log.count("connection refused"); got != 2 { // the read and the watch
			t.Errorf("%d lines about two errors in a month", got)
		}
	})
}

func TestARootPutThereByAnAdministratorIsPublishedBeforeItSigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(t)
		var changes atomic.Int32
		source := prepared(t, Options{Client: client, OnChange: func() { changes.Add(1) }})
		old := stored(t, client)
		running(t, source)
		synctest.Wait()
		first := leafOf(t, source)

		next, secret := rootAt(t, time.Now())
		secret.ResourceVersion = old.ResourceVersion
		secret.Data[certs.CAKey] = append(secret.Data[certs.CAKey], old.Data[certs.CAKey]...)
		update(t, client.CoreV1().Secrets(namespace).Update, secret)
		synctest.Wait() // no time passes: the watch signals it
		if got := changes.Load(); got != 2 {
			t.Errorf("OnChange called %d times, want 2", got)
		}
		if !bytes.Equal(source.CABundle(), secret.Data[certs.CAKey]) {
			t.Error("the new bundle is not published")
		}
		if !leafOf(t, source).Equal(first) {
			t.Error("the new root signs before clients can know it")
		}
		pass(4 * time.Minute)
		if err := leafOf(t, source).CheckSignatureFrom(next.certificate()); err != nil {
			t.Errorf("the new root does not sign: %v", err)
		}
	})
}

func TestARootThatIsNoLongerTrustedStopsSigningAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(t)
		source := prepared(t, Options{Client: client})
		running(t, source)
		synctest.Wait()
		next, secret := rootAt(t, time.Now())
		secret.ResourceVersion = stored(t, client).ResourceVersion
		update(t, client.CoreV1().Secrets(namespace).Update, secret)
		synctest.Wait()
		if err := leafOf(t, source).CheckSignatureFrom(next.certificate()); err != nil {
			t.Errorf("the new root does not sign: %v", err)
		}
	})
}

// Such a root passes for an authority, and no client is served with what it signs.
func TestARootWhoseCertificatesNoClientTakesReplacesNone(t *testing.T) {
	for title, change := range map[string]func(*x509.Certificate){
		"for other names": func(c *x509.Certificate) {
			c.PermittedDNSDomains, c.PermittedDNSDomainsCritical = []string{"example.com"}, true
		},
		"for clients":         func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} },
		"valid for a year on": func(c *x509.Certificate) { c.NotBefore = c.NotBefore.AddDate(1, 0, 0) },
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newCluster(t)
				source := prepared(t, Options{Client: client})
				running(t, source)
				synctest.Wait()
				first, bundle := leafOf(t, source), source.CABundle()
				made, secret := rootAt(t, time.Now())
				template := *made.certificate()
				change(&template)
				certificate, err := create(&template, &template, made.key.Public(), made.key)
				if err != nil {
					t.Fatal(err)
				}
				secret.ResourceVersion = stored(t, client).ResourceVersion
				secret.Data[certs.CertKey] = certs.EncodeCertificates(certificate)
				secret.Data[certs.CAKey] = secret.Data[certs.CertKey]
				update(t, client.CoreV1().Secrets(namespace).Update, secret)
				pass(10 * time.Minute)
				latest, err := source.Latest(t.Context())
				if err != nil || !bytes.Equal(latest, bundle) || !bytes.Equal(source.CABundle(), bundle) || !leafOf(t, source).Equal(first) {
					t.Errorf("it is in use; %v", err)
				}
			})
		})
	}
}

// The clocks of the API server and of the other replicas may be behind that of the replica which makes the root.
func TestARootIsValidForClocksThatAreADayBehind(t *testing.T) {
	client := newCluster(t)
	prepared(t, Options{Client: client, Clock: skewedClock{by: 23 * time.Hour}})
	leaf := leafOf(t, prepared(t, Options{Client: client}))
	if leaf.NotBefore.After(time.Now()) {
		t.Errorf("valid from %s", leaf.NotBefore)
	}
}

func TestADeletedSecretIsMadeAgainAndTheOldRootStaysTrusted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(t)
		one := prepared(t, Options{Client: client})
		two := prepared(t, Options{Client: client})
		old := leafOf(t, one)
		before, err := pemfile.ParseCertificates(one.CABundle())
		if err != nil {
			t.Fatal(err)
		}
		running(t, one)
		running(t, two)
		synctest.Wait()
		if err := client.CoreV1().Secrets(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !bytes.Equal(one.CABundle(), two.CABundle()) {
			t.Error("the replicas publish different bundles")
		}
		after, err := pemfile.ParseCertificates(one.CABundle())
		if err != nil || len(after) != 2 || after[0].Equal(before[0]) || !after[1].Equal(before[0]) {
			t.Fatalf("%d roots (%v), want a new one and the old one", len(after), err)
		}
		if !leafOf(t, one).Equal(old) {
			t.Error("the new root signs before clients can know it")
		}
		pass(5 * time.Minute)
		for i, source := range []*Authority{one, two} {
			if err := leafOf(t, source).CheckSignatureFrom(after[0]); err != nil {
				t.Errorf("replica %d: the new root does not sign: %v", i, err)
			}
		}
	})
}

func TestASecretThatBecomesUnusableForUsLeavesTheLastGoodOneInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(t)
		log := &logLines{}
		source := prepared(t, Options{Client: client, Log: log.logger()})
		bundle := source.CABundle()
		running(t, source)
		synctest.Wait()
		broken := stored(t, client).DeepCopy()
		delete(broken.Data, certs.PrivateKey)
		update(t, client.CoreV1().Secrets(namespace).Update, broken)
		pass(10 * 24 * time.Hour)
		if !bytes.Equal(source.CABundle(), bundle) {
			t.Error("the bundle changed")
		}
		if err := handshake(t, source, webhookName, bundle); err != nil {
			t.Error(err)
		}
		if got := log.count("no tls.key"); got != 1 {
			t.Errorf("%d lines about one error in ten days", got)
		}
	})
}

func TestTheRootIsReplacedInTimeWithoutAFailedHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := newCluster(t)
		source := prepared(t, Options{Client: client, RootValidity: 100 * 24 * time.Hour, Interval: 6 * time.Hour, Overlap: 12 * time.Hour})
		running(t, source)
		bundles := map[string]bool{}
		for range 120 * 4 {
			published := source.CABundle() // what clients knew six hours ago
			bundles[string(published)] = true
			pass(6 * time.Hour)
			if err := handshake(t, source, webhookName, published); err != nil {
				t.Fatalf("at %s: %v", time.Now(), err)
			}
		}
		if len(bundles) != 3 { // the first root, both, and the second
			t.Errorf("%d bundles in 120 days of a root of 100", len(bundles))
		}
	})
}

// pass lets time go by on the bubble's clock and waits for what it sets off.
func pass(span time.Duration) {
	time.Sleep(span) //nolint:forbidigo // the bubble's clock goes at once to its end
	synctest.Wait()
}

func update(t *testing.T, put func(context.Context, *corev1.Secret, metav1.UpdateOptions) (*corev1.Secret, error), secret *corev1.Secret) {
	t.Helper()
	if _, err := put(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("update the Secret: %v", err)
	}
}

func TestTheNextWakeIsTheEarliestTimeAtWhichSomethingIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := prepared(t, Options{Client: newCluster(t), LeafValidity: 9 * time.Minute, Interval: time.Hour})
		running(t, source)
		pass(7 * time.Minute)
		if left := time.Until(leafOf(t, source).NotAfter); left < 5*time.Minute {
			t.Errorf("the serving certificate is valid for %s, and was not renewed by itself", left)
		}
	})
}
