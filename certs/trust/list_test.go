// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-dev/fairlead/certs"
)

const namespace = "fairlead-system"

// start is when the tests take place.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// authority signs certificates for tests.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "authority"},
		NotBefore: start.Add(-time.Hour), NotAfter: start.Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	made := &authority{certificate: template, key: key}
	made.certificate = made.sign(t, template, key)
	return made
}

func (a *authority) sign(t *testing.T, template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func TestAFormerAuthorityStaysTrustedUntilItsLastCertificateIsGone(t *testing.T) {
	one, two := newAuthority(t).certificate, newAuthority(t).certificate
	all := list(nil).with([]*x509.Certificate{one}, start.Add(time.Hour)).with([]*x509.Certificate{two}, start.Add(3*time.Hour))
	all = all.with([]*x509.Certificate{one}, start.Add(2*time.Hour)) // renewed under it
	for _, test := range []struct {
		now   time.Time
		inUse []*x509.Certificate
		want  []*x509.Certificate
	}{
		{start, []*x509.Certificate{two}, []*x509.Certificate{one, two}},
		{start.Add(2 * time.Hour), []*x509.Certificate{two}, []*x509.Certificate{one, two}},
		{start.Add(2*time.Hour + 1), []*x509.Certificate{two}, []*x509.Certificate{two}},
		{start.Add(9 * time.Hour), []*x509.Certificate{two}, []*x509.Certificate{two}},
		{start.Add(9 * time.Hour), []*x509.Certificate{one}, []*x509.Certificate{one}},
	} {
		got := all.without(test.now, test.inUse)
		if !bytes.Equal(got.bundle(), certs.EncodeCertificates(test.want...)) {
			t.Errorf("after %s %d are trusted, want %d", test.now.Sub(start), len(got), len(test.want))
		}
	}
}

func TestTrustIsReadAsItWasWritten(t *testing.T) {
	one, two := newAuthority(t).certificate, newAuthority(t).certificate
	written := list{{one, start.Add(time.Hour)}, {two, time.Time{}}}
	data, err := written.data()
	if err != nil {
		t.Fatal(err)
	}
	read := readList(data)
	if len(read) != 2 || !read[0].certificate.Equal(one) || !read[0].until.Equal(start.Add(time.Hour)) || !read[1].until.IsZero() {
		t.Errorf("read %v", read)
	}
	again, err := read.data()
	if err != nil || !bytes.Equal(again[untilKey], data[untilKey]) || !bytes.Equal(again[certs.CAKey], data[certs.CAKey]) {
		t.Errorf("written again it is another: %v", err)
	}
	if got := read.without(start.Add(1001*time.Hour), nil); len(got) != 0 {
		t.Errorf("an authority that has expired itself is trusted without an end: %v", got)
	}
}

// A certificate without an end has the last second of the year 9999, which with a skew is none that JSON has.
func TestAnAuthorityWithoutAnEndCanBeStored(t *testing.T) {
	one := newAuthority(t).certificate
	endless := list{}.with([]*x509.Certificate{one}, time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC).Add(skew))
	data, err := endless.data()
	if err != nil {
		t.Fatal(err)
	}
	if read := readList(data); len(read) != 1 || read[0].until.Year() != 9999 {
		t.Errorf("read %v", read)
	}
}

// A replica that cannot take up what was issued last knows the bundle of those that can.
func TestTheLatestBundleIsThatOfTheSecret(t *testing.T) {
	own, stored := newAuthority(t), newAuthority(t)
	bundle := certs.EncodeCertificates(own.certificate)
	of := func(change func(*corev1.Secret)) *corev1.Secret {
		secret := newSecret(namespace)
		var err error
		if secret.Data, err = (list{}).with([]*x509.Certificate{stored.certificate}, start.Add(time.Hour)).data(); err != nil {
			t.Fatal(err)
		}
		change(secret)
		return secret
	}
	for title, test := range map[string]struct {
		secret *corev1.Secret
		want   []byte
	}{
		"of another replica": {of(func(*corev1.Secret) {}), certs.EncodeCertificates(stored.certificate)},
		"junk":               {of(func(s *corev1.Secret) { s.Data[certs.CAKey] = []byte("junk") }), bundle},
		"of another owner":   {of(func(s *corev1.Secret) { s.Labels = nil }), bundle},
		"none":               {nil, bundle},
	} {
		secrets := fake.NewClientset().CoreV1().Secrets(namespace)
		replica := NewHolder(Options{Secrets: secrets, Namespace: namespace})
		replica.bundle.Store(&bundle)
		if test.secret != nil {
			if _, err := secrets.Create(t.Context(), test.secret, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, fallback := range []bool{false, true} { // which may serve until what was issued is trusted
			replica.fallback.Store(fallback)
			if got, err := replica.Latest(t.Context()); err != nil || !bytes.Equal(got, test.want) {
				t.Errorf("%s, fallback %t: %v\n%s\nwant\n%s", title, fallback, err, got, test.want)
			}
		}
	}
}

func TestTrustThatCannotBeReadIsNoOutage(t *testing.T) {
	one := newAuthority(t).certificate
	for title, test := range map[string]struct {
		data map[string][]byte
		want int
	}{
		"nothing":          {nil, 0},
		"junk":             {map[string][]byte{certs.CAKey: []byte("junk")}, 0},
		"without times":    {map[string][]byte{certs.CAKey: certs.EncodeCertificates(one)}, 1},
		"with junk times":  {map[string][]byte{certs.CAKey: certs.EncodeCertificates(one), untilKey: []byte("{")}, 1},
		"the same twice":   {map[string][]byte{certs.CAKey: append(certs.EncodeCertificates(one), certs.EncodeCertificates(one)...)}, 1},
		"times of another": {map[string][]byte{certs.CAKey: certs.EncodeCertificates(one), untilKey: []byte(`{"00":"2026-01-01T00:00:00Z"}`)}, 1},
	} {
		if got := readList(test.data); len(got) != test.want {
			t.Errorf("%s: %d are trusted, want %d", title, len(got), test.want)
		}
	}
}

func TestTrustIsBoundedAndKeepsWhoIsInUse(t *testing.T) {
	var all list
	first := newAuthority(t).certificate
	all = all.with([]*x509.Certificate{first}, start.Add(time.Minute))
	for n := range maxTrusted + 3 {
		all = all.with([]*x509.Certificate{newAuthority(t).certificate}, start.Add(time.Duration(n+1)*time.Hour))
	}
	got := all.without(start, []*x509.Certificate{first})
	if len(got) != maxTrusted || !certs.Contains(got.certificates(), first) {
		t.Errorf("%d are trusted, the one in use: %v", len(got), certs.Contains(got.certificates(), first))
	}
	if last := all[len(all)-1].certificate; !certs.Contains(got.certificates(), last) {
		t.Error("the one that is needed longest has been left out")
	}
}

func TestAnotherSourceIsTrustedBesideWhatIsInUse(t *testing.T) {
	own, late, kept, other := newAuthority(t).certificate, newAuthority(t).certificate, newAuthority(t).certificate, newAuthority(t).certificate
	inUse := list{{own, start.Add(time.Hour)}, {late, start.Add(-time.Hour)}, {kept, time.Time{}}}
	for title, test := range map[string]struct {
		stored list
		change func(*corev1.Secret)
		want   []*x509.Certificate
		joined []*x509.Certificate
	}{
		"in use":                  {stored: inUse, want: []*x509.Certificate{own}, joined: []*x509.Certificate{own, kept, other}},
		"joined already":          {stored: list{{own, start.Add(time.Hour)}, {other, start.Add(time.Minute)}}, want: []*x509.Certificate{own}, joined: []*x509.Certificate{own, other}},
		"not in use any more":     {stored: list{{late, start.Add(-time.Hour)}, {kept, time.Time{}}}, joined: []*x509.Certificate{late, kept}},
		"of the other one alone":  {stored: list{{other, start.Add(time.Hour)}}, joined: []*x509.Certificate{other}},
		"not the operator's":      {stored: inUse, change: func(s *corev1.Secret) { s.Labels = nil }, joined: inUse.certificates()},
		"overtaken by a conflict": {stored: inUse, change: func(s *corev1.Secret) { s.Annotations["conflicts"] = "1" }, want: []*x509.Certificate{own}, joined: []*x509.Certificate{own, kept, other}},
		"there is none":           {},
	} {
		t.Run(title, func(t *testing.T) {
			client := fake.NewClientset()
			if test.stored != nil {
				secret := newSecret(namespace)
				data, err := test.stored.data()
				if err != nil {
					t.Fatal(err)
				}
				if secret.Data = data; test.change != nil {
					test.change(secret)
				}
				if err := client.Tracker().Add(secret); err != nil {
					t.Fatal(err)
				}
				conflicts := secret.Annotations["conflicts"] != ""
				client.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
					fails := conflicts
					conflicts = false
					return fails, nil, apierrors.NewConflict(corev1.Resource("secrets"), SecretName, errors.New("changed"))
				})
			}
			secrets := client.CoreV1().Secrets(namespace)
			got, err := Join(t.Context(), secrets, []*x509.Certificate{other}, time.Hour, start)
			if err != nil || !bytes.Equal(certs.EncodeCertificates(got...), certs.EncodeCertificates(test.want...)) {
				t.Errorf("%d are trusted, want %d: %v", len(got), len(test.want), err)
			}
			if test.stored == nil {
				return
			}
			stored, err := secrets.Get(t.Context(), SecretName, metav1.GetOptions{})
			if err != nil || !bytes.Equal(stored.Data[certs.CAKey], certs.EncodeCertificates(test.joined...)) {
				t.Errorf("the Secret has %d, want %d: %v", len(readList(stored.Data)), len(test.joined), err)
			}
			for _, one := range readList(stored.Data) {
				if len(test.want) > 0 && one.certificate.Equal(other) && one.until.Before(start.Add(time.Hour+skew)) {
					t.Errorf("the other one is trusted until %s", one.until)
				}
			}
		})
	}
}
